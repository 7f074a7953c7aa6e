package config

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"heed/internal/dial"
)

// validate checks what the kind of a value does not say, and what values say
// together.
func (r *reader) validate() {
	r.listeners()
	r.contact()
	r.modes()
	r.https()
	r.upstream()
	r.clients()
	r.bounds()
	r.pace()
	r.overrides()
	c := r.config
	r.oneOf("robots.refused", c.Robots.Refused, Unavailable, Disallowed)
	if len(c.ConnectPorts) == 0 {
		r.blame("connect_ports", "[]", fault("allows no port at all; name the ports that CONNECT may use, or write https.mode: deny"))
	}
	r.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	r.oneOf("log.format", c.Log.Format, "auto", "json", "console")
}

// listeners checks that heed never becomes an open proxy: addresses that
// others can reach need a list of who may use it.
func (r *reader) listeners() {
	c := r.config
	host, port, err := splitHostPort(c.Listen)
	switch {
	case err != nil:
		r.blame("listen", c.Listen, fault("is not HOST:PORT; write for example 127.0.0.1:3128"))
	case !loopback(host) && len(c.Clients.Allow) == 0 && !c.Clients.names():
		r.blame("listen", c.Listen, fault("can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:"+port))
	}
	if c.AdminListen == Off {
		return
	}
	host, port, err = splitHostPort(c.AdminListen)
	switch {
	case err != nil:
		r.blame("admin_listen", c.AdminListen, fault("is neither HOST:PORT nor off; write for example 127.0.0.1:3129"))
	case !loopback(host):
		r.blame("admin_listen", c.AdminListen, fault("can be reached from other machines, and the admin listener has no access control; listen on 127.0.0.1:"+port+", or write off"))
	case c.AdminListen == c.Listen && port != "0":
		r.blame("admin_listen", c.AdminListen, fault("is the address of the proxy too (listen); write another port, or off"))
	}
}

// splitHostPort splits an address to listen on.
func splitHostPort(addr string) (host, port string, err error) {
	if host, port, err = net.SplitHostPort(addr); err != nil {
		return "", "", err
	}
	if strings.ContainsAny(host, " \t\r\n/@?#\\\"") {
		return "", "", fmt.Errorf("host %q is neither a name nor an address", host)
	}
	// ParseUint takes no sign, and port names differ between machines.
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", "", err
	}
	return host, strconv.FormatUint(n, 10), nil
}

// loopback reports whether only this machine can reach a host. A name other
// than localhost might be anything.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// contact checks what heed shows to every origin in its User-Agent field,
// where it stands in a comment (RFC 9110 §10.1.5).
func (r *reader) contact() {
	contact := r.config.Contact
	if contact == "" {
		return
	}
	u, err := url.Parse(contact)
	switch {
	case err != nil || !isWeb(u) && (u.Scheme != "mailto" || !strings.Contains(u.Opaque, "@")):
		r.blame("contact", contact, fault("is not a URL that leads to you; write for example https://example.com/bot or mailto:bot@example.com"))
	case u.User != nil:
		r.blame("contact", contact, fault("holds credentials, and every origin gets to see it; leave out what stands before the @"))
	case strings.ContainsFunc(contact, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`()\"`, c) }):
		r.blame("contact", contact, fault("has octets that cannot stand in a User-Agent comment; percent-encode everything outside ASCII, blanks, quotes and parentheses"))
	}
}

func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

func (r *reader) https() {
	modes := []string{Intercept, Tunnel, Deny}
	r.oneOf("https.mode", r.config.HTTPS.Mode, modes...)
	seen := map[HostPattern]int{}
	for i, e := range r.config.HTTPS.Exceptions {
		key := fmt.Sprintf("https.exceptions[%d]", i)
		if e.Host == "" {
			r.missing(key, "host", "example.com or *.example.com")
		}
		if e.Mode == "" {
			r.missing(key, "mode", "intercept, tunnel or deny")
		} else {
			r.oneOf(key+".mode", e.Mode, modes...)
		}
		if first, twice := seen[e.Host]; twice && e.Host != "" {
			r.blame(key+".host", string(e.Host), fault(fmt.Sprintf("already has an exception, https.exceptions[%d]; keep one of them", first)))
			continue
		}
		seen[e.Host] = i
	}
}

// upstream checks the way to the origins.
func (r *reader) upstream() {
	r.roots()
	if p := r.config.Upstream.Proxy; p != "" && p != Environment {
		if _, err := dial.ParseProxy(p); err != nil {
			r.blame("upstream.proxy", dial.RedactProxy(p), err)
		}
	}
}

// roots reads the extra roots, so that a wrong file is found before the first
// origin is.
func (r *reader) roots() {
	path := r.config.Upstream.Roots
	if path == "" {
		return
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		r.blame("upstream.roots", path, fmt.Errorf("reading certificates: %w", err))
		return
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		r.blame("upstream.roots", path, fault("has no certificate in PEM form; name a file with -----BEGIN CERTIFICATE----- in it"))
	}
}

// bounds checks lengths, sizes and counts against what makes sense and what
// RFC 9309 asks for.
func (r *reader) bounds() {
	c, day := r.config, Duration(24*time.Hour)
	second, minute := Duration(time.Second), Duration(time.Minute)
	for _, b := range []struct {
		key              string
		value, low, high Duration
		why              string
	}{
		{"robots.timeout", c.Robots.Timeout, second / 10, 5 * minute, ""},
		{"robots.fresh_min", c.Robots.FreshMin, second, day, ""},
		{"robots.fresh_for", c.Robots.FreshFor, second, day, " (RFC 9309 §2.4: no copy is used for more than 24 hours)"},
		{"robots.stale_for", c.Robots.StaleFor, 0, 366 * day, ""},
		{"robots.wait", c.Robots.Wait, second / 10, 5 * minute, ""},
		{"timeouts.connect", c.Timeouts.Connect, second / 10, 10 * minute, ""},
		{"timeouts.tls_handshake", c.Timeouts.TLSHandshake, second / 10, 10 * minute, ""},
		{"timeouts.response_header", c.Timeouts.ResponseHeader, second / 10, day, ""},
		{"timeouts.client_header", c.Timeouts.ClientHeader, second / 10, day, ""},
		{"timeouts.idle", c.Timeouts.Idle, second / 10, day, ""},
		{"timeouts.shutdown", c.Timeouts.Shutdown, second / 10, day, ""},
	} {
		r.length(b.key, b.value, b.low, b.high, b.why)
	}
	for _, b := range []struct {
		key              string
		value, low, high Size
		why              string
	}{
		{"robots.limit", c.Robots.Limit, 500 << 10, 64 << 20, " (RFC 9309 §2.5: at least 500 KiB are read)"},
		{"cache.max_bytes", c.Cache.MaxBytes, 1 << 20, 1 << 40, ""},
		{"limits.header", c.Limits.Header, 4 << 10, 16 << 20, ""},
		{"limits.url", c.Limits.URL, 1 << 10, 16 << 20, ""},
	} {
		if b.value < b.low || b.value > b.high {
			r.blame(b.key, b.value.String(), fault(fmt.Sprintf("is not between %s and %s%s", b.low, b.high, b.why)))
		}
	}
	if c.Limits.URL > c.Limits.Header {
		key, value := "limits.url", c.Limits.URL
		if r.sources[key] == "" { // then the other was made too small
			key, value = "limits.header", c.Limits.Header
		}
		r.blame(key, value.String(), fault(fmt.Sprintf("leaves no room: a request-target (limits.url, %s) is part of a header section (limits.header, %s)", c.Limits.URL, c.Limits.Header)))
	}
	r.count("robots.concurrency", c.Robots.Concurrency, 1, 65536)
	r.count("robots.per_address", c.Robots.PerAddress, 1, 65536)
	r.count("limits.leaf_certificates", c.Limits.LeafCertificates, 1, 10_000_000)
}

func (r *reader) length(key string, value, low, high Duration, why string) {
	if value < low || value > high {
		r.blame(key, value.String(), fault(fmt.Sprintf("is not between %s and %s%s", low, high, why)))
	}
}

func (r *reader) count(key string, value, low, high int) {
	if value < low || value > high {
		r.blame(key, strconv.Itoa(value), fault(fmt.Sprintf("is not between %d and %d", low, high)))
	}
}

func (r *reader) oneOf(key, value string, words ...string) {
	if slices.Contains(words, value) {
		return
	}
	last := len(words) - 1
	r.blame(key, value, fault("is not one of "+strings.Join(words[:last], ", ")+" and "+words[last]))
}

// missing blames a list's element for a key that it must have.
func (r *reader) missing(element, key, example string) {
	r.blameElement(element, fmt.Errorf("has no %s; write %s: %s", key, key, example))
}

// blameElement blames a list's element as a whole.
func (r *reader) blameElement(element string, err error) {
	if source := r.sources[element]; source != "" {
		r.faults = append(r.faults, fmt.Errorf("%s: %s: %w", source, element, err))
		return
	}
	r.faults = append(r.faults, fmt.Errorf("%s: %w", element, err))
}
