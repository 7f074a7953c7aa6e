package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// ProxyError is a failure of the upstream proxy, or what it said when it could
// not or would not connect to a target. It is never the word of an origin.
type ProxyError struct {
	Proxy    string // its URL without credentials
	Status   int    // the HTTP status that it answered with, 0 if it did not
	Answered bool   // it works, as far as can be told, and it is the target that it has no way to
	Err      error  // the cause; never nil
}

// Error names the proxy and the cause.
func (e *ProxyError) Error() string { return "upstream proxy " + e.Proxy + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ProxyError) Unwrap() error { return e.Err }

// Blameless reports whether the failure says nothing about the target: the
// proxy did not do its work.
func (e *ProxyError) Blameless() bool { return !e.Answered }

// Timeout reports whether the proxy, or the target behind it, did not answer
// in time.
func (e *ProxyError) Timeout() bool {
	var t net.Error
	return e.Status == 504 || errors.As(e.Err, &t) && t.Timeout()
}

// ParseProxy reads the URL of an upstream proxy: http, https or socks5, host
// and port, and USER:PASSWORD@ where it asks for them. socks5h means the same
// as socks5 here and is returned as it: names always go to the proxy as they
// are. The error says what is wrong and shows no credentials.
func ParseProxy(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	shown := RedactProxy(s)
	if err != nil {
		return nil, fmt.Errorf("proxy %q is not a URL; write for example http://proxy.example:3128, with octets of a password that are neither letters nor digits percent-encoded", shown)
	}
	scheme := u.Scheme
	if scheme == "socks5h" {
		scheme = "socks5"
	}
	switch scheme {
	case "http", "https", "socks5":
	default:
		return nil, fmt.Errorf("proxy %q is not of the form http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT", shown)
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return nil, fmt.Errorf("proxy %q has more than scheme, host and port; write for example http://proxy.example:3128", shown)
	}
	host, err := parseHost(bracketed(u.Hostname()))
	if err != nil || host == "" {
		return nil, fmt.Errorf("proxy %q has no host that can be one; write for example http://proxy.example:3128", shown)
	}
	if u.Port() == "" {
		return nil, fmt.Errorf("proxy %q has no port, and programs differ in which one that means; write for example %s://%s:3128", shown, u.Scheme, bracketed(host))
	}
	port, err := parsePort(u.Port())
	if err != nil {
		return nil, fmt.Errorf("proxy %q: %w", shown, err)
	}
	if err := checkCredentials(scheme, u.User); err != nil {
		return nil, fmt.Errorf("proxy %q: %w", shown, err)
	}
	return &url.URL{Scheme: scheme, User: u.User, Host: net.JoinHostPort(host, port)}, nil
}

// checkCredentials refuses what the proxy's protocol cannot carry: RFC 7617 §2
// has no colon in a name and no controls, RFC 1929 §2 one octet for a length.
func checkCredentials(scheme string, user *url.Userinfo) error {
	if user == nil {
		return nil
	}
	name := user.Username()
	password, _ := user.Password()
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	switch {
	case name == "":
		return errors.New("there is no user before the @; write USER:PASSWORD@, or neither")
	case strings.ContainsFunc(name+password, control):
		return errors.New("the credentials have control octets")
	case scheme != "socks5" && strings.Contains(name, ":"):
		return errors.New("the user has a colon, which HTTP has no way to send (RFC 7617 §2)")
	case scheme == "socks5" && (len(name) > 255 || len(password) > 255 || password == ""):
		return errors.New("SOCKS takes a user and a password of 1 to 255 octets each (RFC 1929 §2)")
	}
	return nil
}

// RedactProxy returns the text of a proxy's URL as it may be shown, whether it
// can be read as one or not: what stands before the last @ may be credentials.
func RedactProxy(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	scheme, _, ok := strings.Cut(s[:at], "://")
	if !ok {
		return "REDACTED" + s[at:]
	}
	return scheme + "://REDACTED" + s[at:]
}

// upstream is the proxy that connections go through.
type upstream struct {
	scheme string // http, https or socks5
	user   *url.Userinfo
	shown  string // its URL without credentials
	at     target
	tls    *tls.Config // nil unless it is spoken to in TLS
	via    string
	direct func(host, port string) bool
}

func newUpstream(c Config) (*upstream, error) {
	if c.Proxy == nil {
		return nil, nil
	}
	p, err := ParseProxy(c.Proxy.String())
	if err != nil {
		return nil, err
	}
	u := &upstream{
		scheme: p.Scheme, user: p.User, shown: p.Scheme + "://" + p.Host,
		at:  target{asked: p.Hostname(), host: p.Hostname(), port: p.Port()},
		via: c.Via, direct: c.Direct,
	}
	if u.direct == nil {
		u.direct = func(string, string) bool { return false }
	}
	if p.Scheme == "https" {
		u.tls = &tls.Config{RootCAs: c.Roots, ServerName: p.Hostname(), MinVersion: tls.VersionTLS12}
	}
	return u, nil
}

// through reports whether the way to a target leads through the upstream
// proxy. Loopback never does: it would be the proxy's own.
func (d *Dialer) through(to target) bool {
	if d.upstream == nil {
		return false
	}
	if a, ok := literal(to.host); ok {
		if a = a.Unmap(); a.IsLoopback() || a.IsUnspecified() {
			return false
		}
	} else if name := canonical(to.host); name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return false // RFC 6761 §6.3
	}
	return !d.upstream.direct(to.host, to.port)
}

// checkTarget is the check on a target that the proxy will connect to. Of a
// name nothing is known here: the proxy resolves it.
func (d *Dialer) checkTarget(to target) error {
	a, ok := literal(to.host)
	if !ok {
		return nil
	}
	if err := d.check(to.asked, net.JoinHostPort(a.WithZone("").String(), to.port), to.named); err != nil {
		return &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return nil
}

// dialProxy connects to the proxy, TLS included. The operator named it, so its
// address may be a special one; heed's own listeners it may not be.
func (d *Dialer) dialProxy(ctx context.Context) (net.Conn, error) {
	u := d.upstream
	conn, err := d.connect(ctx, "tcp", u.at, func(address string) error {
		got, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("checking the address %q: %w", address, err)
		}
		if got = plain(got); d.own(got) {
			return &ProhibitedError{Host: u.at.host, Addr: got, Why: ownListener}
		}
		return nil
	})
	if err != nil {
		return nil, u.failed(err)
	}
	if u.tls == nil {
		return conn, nil
	}
	secure := tls.Client(conn, u.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, u.failed(fmt.Errorf("TLS with it: %w", err))
	}
	return secure, nil
}

// failed is a fault of the proxy itself. One that is a ProhibitedError is about
// the proxy's address, and must not be taken for one about the target's.
func (u *upstream) failed(err error) error {
	if prohibited(err) {
		err = errors.New(err.Error())
	}
	return &ProxyError{Proxy: u.shown, Err: err}
}

// Proxy is the URL of the upstream proxy without credentials; "" if there is
// none.
func (d *Dialer) Proxy() string {
	if d.upstream == nil {
		return ""
	}
	return d.upstream.shown
}

// ProxyIsOwn reports whether the upstream proxy is one of heed's own listeners,
// as far as that can be told without resolving its name.
func (d *Dialer) ProxyIsOwn() bool {
	if d.upstream == nil {
		return false
	}
	to := d.upstream.at
	if canonical(to.host) == "localhost" {
		to.host = "127.0.0.1"
	}
	at, err := netip.ParseAddrPort(to.addr())
	return err == nil && d.own(plain(at))
}
