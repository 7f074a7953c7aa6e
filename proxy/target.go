package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"heed/internal/origin"
)

// readTarget finds the origin and the target of a request from its
// request-target alone (RFC 9112 §3.2.2), and refuses what is malformed. The
// octets of the path and the query stay as they came.
func (p *Proxy) readTarget(x *exchange) error {
	r := x.in
	if len(r.RequestURI) > p.Limits.URL {
		x.entry.Target = x.entry.Target[:min(256, len(x.entry.Target))] + "…"
		return &problem{kind: kindURITooLong, cause: fmt.Errorf("the request-target has %d octets, more than the %d that are allowed (limits.url)", len(r.RequestURI), p.Limits.URL)}
	}
	var err error
	if r.ProtoMajor == 2 {
		if err = p.checkSection(r); err != nil {
			return err
		}
	}
	switch {
	case r.Method == http.MethodConnect && x.tunnel != nil:
		return &problem{kind: kindNestedConnect, cause: errors.New("CONNECT inside a tunnel: send the request itself")}
	case r.Method == http.MethodConnect:
		err = x.readAuthority()
	case x.tunnel != nil:
		err = x.readInside()
	case strings.HasPrefix(r.RequestURI, "/"):
		err = x.readOwnPage()
	default:
		err = x.readAbsolute(r.RequestURI)
	}
	if err != nil {
		return &problem{kind: kindBadRequest, cause: err}
	}
	if err := checkExpect(r); err != nil {
		return err
	}
	x.entry.Target, x.entry.Origin = x.target, x.origin.Within(r.RequestURI)
	return nil
}

// readAuthority reads the authority-form of CONNECT, which must have a port
// (RFC 9110 §9.3.6). Several clients send a Host without one, so Host is not
// looked at.
func (x *exchange) readAuthority() error {
	target := x.in.RequestURI
	shown := redactUserinfo(target)
	if strings.ContainsAny(target, "/?#") {
		return fmt.Errorf("CONNECT target %q must be HOST:PORT alone", shown)
	}
	if x.in.ContentLength > 0 || len(x.in.TransferEncoding) > 0 {
		return errors.New("CONNECT has a body, which has no meaning (RFC 9110 §9.3.6)")
	}
	colon := strings.LastIndexByte(target, ':')
	if colon < 0 || strings.HasSuffix(target, "]") || colon == len(target)-1 {
		return fmt.Errorf("CONNECT target %q has no port; write for example %s:443", shown, strings.TrimSuffix(shown, ":"))
	}
	scheme := "https"
	if target[colon+1:] == "80" {
		scheme = "http" // what is inside a tunnel to port 80, as far as can be told yet
	}
	var err error
	if x.origin, err = origin.Parse(scheme, target); err != nil {
		return fmt.Errorf("CONNECT target %q: %w", shown, err)
	}
	x.target = x.origin.Addr()
	return nil
}

// readInside reads a request that came through a tunnel: its authority must be
// the CONNECT's, or one client could reach any origin under another's rules.
func (x *exchange) readInside() error {
	r := x.in
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
		if err := x.tunnel.checkServerName(r.TLS.ServerName); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(r.RequestURI, "/") && !wholeOrigin(r) {
		if err := x.readAbsolute(r.RequestURI); err != nil {
			return err
		}
		if x.origin.Scheme != scheme {
			return fmt.Errorf("request-target %q names %s inside a tunnel that carries %s", r.RequestURI, x.origin.Scheme, scheme)
		}
	} else if err := x.readOrigin(scheme); err != nil {
		return err
	}
	if x.origin.Host != x.tunnel.origin.Host || x.origin.Port != x.tunnel.origin.Port {
		return fmt.Errorf("request for %s inside a tunnel to %s: the authority must be that of the CONNECT", x.origin.Addr(), x.tunnel.origin.Addr())
	}
	return nil
}

// readOrigin reads the origin-form: the authority is the Host field's (or
// :authority's), or the tunnel's where HTTP/1.0 has none.
func (x *exchange) readOrigin(scheme string) error {
	authority := x.in.Host
	if authority == "" && !x.in.ProtoAtLeast(1, 1) {
		authority = x.tunnel.origin.Addr()
	}
	var err error
	if x.origin, err = origin.Parse(scheme, authority); err != nil {
		return fmt.Errorf("host field %q: %w", authority, err)
	}
	x.target = x.in.RequestURI
	if wholeOrigin(x.in) {
		x.target = "/"
	}
	return checkTarget(x.target)
}

// wholeOrigin reports whether a request is about its origin and no page of it:
// OPTIONS with an asterisk or, in absolute-form, without a path (RFC 9112
// §3.2.4). It is decided as one for the path /.
func wholeOrigin(r *http.Request) bool {
	if r.Method != http.MethodOptions {
		return false
	}
	_, rest, absolute := strings.Cut(r.RequestURI, "://")
	return r.RequestURI == "*" || absolute && !strings.ContainsAny(rest, "/?")
}

// sentTarget is the target as the origin is sent it.
func (x *exchange) sentTarget() string {
	if wholeOrigin(x.in) {
		return "*"
	}
	return x.target
}

// readAbsolute reads the absolute-form, the usual one for a proxy.
func (x *exchange) readAbsolute(raw string) error {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return fmt.Errorf("request-target %q is not an absolute URL such as http://a.example/", redactUserinfo(raw))
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	var err error
	if x.origin, err = origin.Parse(scheme, rest[:end]); err != nil {
		return fmt.Errorf("request-target %q: %w", redactUserinfo(raw), err)
	}
	x.target = rest[end:]
	if x.target == "" || x.target[0] == '?' {
		x.target = "/" + x.target // RFC 9112 §3.2.1
	}
	return checkTarget(x.target)
}

// checkExpect refuses an expectation that heed does not know: it could not be met
// (RFC 9110 §10.1.1).
func checkExpect(r *http.Request) error {
	if !r.ProtoAtLeast(1, 1) { // it means nothing there, and does not go on
		return nil
	}
	for _, line := range r.Header["Expect"] {
		for e := range strings.SplitSeq(line, ",") {
			if e = strings.TrimSpace(e); e != "" && !strings.EqualFold(e, "100-continue") {
				return &problem{kind: kindExpectation, cause: fmt.Errorf("expect: %q is not known; 100-continue is", e)}
			}
		}
	}
	return nil
}

// ownOrigin is that of heed's own pages.
var ownOrigin = origin.Origin{Scheme: "http", Host: Host, Port: "80"}

// readOwnPage takes the origin-form on the proxy's own port, as a browser
// sends that was pointed at it. Only a Host that names this machine is
// answered, so that no web site can read heed's pages by DNS rebinding.
func (x *exchange) readOwnPage() error {
	host := x.in.Host
	if o, err := origin.Parse("http", host); err == nil {
		if o.Host == Host || o.Host == "localhost" || isAddress(o.Host) {
			x.origin, x.target = ownOrigin, x.in.RequestURI
			return checkTarget(x.target)
		}
	}
	return fmt.Errorf("request-target %q is in origin-form: this is a proxy, send http://%s%s", x.in.RequestURI, host, x.in.RequestURI)
}

// checkTarget refuses octets that a target cannot have (RFC 9112 §3.2): they
// are read differently by different origins.
func checkTarget(target string) error {
	if target[0] != '/' {
		return fmt.Errorf("path %q does not begin with a slash", target)
	}
	for i := range len(target) {
		switch c := target[i]; {
		case c <= ' ' || c == 0x7f:
			return fmt.Errorf("request-target has the octet %#02x at %d; percent-encode it", c, i)
		case c == '#':
			return errors.New("request-target has a fragment, which is never sent; percent-encode the # as %23")
		case c == '%' && !escaped(target[i:]):
			return fmt.Errorf("request-target has a %% without two hex digits at octet %d; write %%25", i)
		}
	}
	return nil
}

func escaped(s string) bool { return len(s) >= 3 && hex(s[1]) && hex(s[2]) }

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// redactUserinfo keeps credentials out of answers and logs: what stands before
// the @ of an authority, in an absolute URL or alone as CONNECT has it.
func redactUserinfo(raw string) string {
	if strings.IndexByte(raw, '@') < 0 {
		return raw
	}
	start := 0
	if scheme := strings.Index(raw, "://"); scheme >= 0 {
		start = scheme + len("://")
	}
	end := len(raw)
	if i := strings.IndexAny(raw[start:], "/?#"); i >= 0 {
		end = start + i
	}
	at := strings.LastIndexByte(raw[start:end], '@')
	if at < 0 {
		return raw
	}
	return raw[:start] + "…" + raw[start+at:]
}

// outURL returns the URL that makes net/http send target byte for byte: it
// rewrites some octets of a Path, but none of an Opaque. An Opaque that begins
// with two slashes would become another request, so a path that does is sent
// in absolute-form, which every origin must accept (RFC 9112 §3.2.2).
func outURL(o origin.Origin, target string) url.URL {
	u := url.URL{Scheme: o.Scheme, Host: o.Authority()}
	path, query, has := strings.Cut(target, "?")
	u.RawQuery, u.ForceQuery = query, has && query == ""
	if strings.HasPrefix(path, "//") {
		u.Opaque = "//" + u.Host + path
		return u
	}
	u.Opaque = path
	return u
}
