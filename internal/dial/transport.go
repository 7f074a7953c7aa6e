package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/dunglas/httpsfv"

	"heed/internal/roundtrip"
)

// Transport makes requests over the connections of a Dialer, by package
// roundtrip. Where there is no upstream proxy it is a roundtrip.Transport and no
// more.
//
// A request for http that goes to an HTTP proxy is sent to it in absolute form,
// since few of them let CONNECT through to port 80. Everything else is sent
// through a connection that DialContext made: https, a WebSocket (RFC 6455
// §4.1), what a ConnectTo rule sends elsewhere, all that goes through SOCKS.
//
// Make one with Dialer.Transport. It is safe for concurrent use.
type Transport struct {
	// OriginsOnly is for requests without a body where the upstream proxy's word
	// must not be taken for the origin's: a 404 for a robots.txt is permission.
	// An answer that the proxy says it made itself (Proxy-Status with an error,
	// RFC 9209; Squid's X-Squid-Error) is an error then. A 4xx without Via, which
	// every proxy adds to what it passes on (RFC 9110 §7.6.3), may be its own:
	// the origin is asked again through CONNECT, and if that is refused, it is an
	// error too. False: such answers are returned like any other. 407 is an error
	// either way. Set it before the first request.
	OriginsOnly bool

	dialer   *Dialer
	dialled  *roundtrip.Transport
	absolute *roundtrip.Transport // requests in absolute form to the proxy; nil: there are none
}

// Transport returns one with the limits and the TLS of base, whose DialContext
// and Proxy it sets. base is not to be used otherwise then.
func (d *Dialer) Transport(base *http.Transport) *Transport {
	base.DialContext, base.Proxy = d.DialContext, nil
	t := &Transport{dialer: d}
	if u := d.upstream; u != nil && u.scheme != "socks5" {
		absolute := base.Clone()
		// TLS with the proxy is part of the connection that dialProxy makes.
		absolute.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, d.timeout)
			defer cancel()
			return d.dialProxy(ctx)
		}
		absolute.MaxIdleConnsPerHost = base.MaxIdleConns // for all origins there is this one host
		t.absolute = roundtrip.New(roundtrip.Config{Base: absolute, Proxy: &url.URL{Scheme: "http", User: u.user, Host: u.at.addr()}})
	}
	t.dialled = roundtrip.New(roundtrip.Config{Base: base})
	return t
}

// RoundTrip makes one request. A failure of the upstream proxy is a
// *ProxyError, a literal address that is refused a *ProhibitedError, whichever
// way the request goes.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	in, err := t.inAbsoluteForm(req)
	switch {
	case err != nil:
		if req.Body != nil {
			_ = req.Body.Close() // as http.RoundTripper wants it
		}
		return nil, err
	case in == nil:
		return t.dialled.RoundTrip(req)
	}
	resp, err := t.absolute.RoundTrip(in)
	if err != nil {
		var fault *ProxyError
		if errors.As(err, &fault) { // without net/http's "proxyconnect"
			return nil, fault
		}
		return nil, err
	}
	if fault := t.ownAnswer(resp); fault != nil {
		_ = resp.Body.Close()
		return nil, fault
	}
	if t.OriginsOnly && perhapsOwn(resp) {
		_ = resp.Body.Close()
		return t.askOrigin(req, resp.StatusCode)
	}
	return resp, nil
}

// perhapsOwn reports whether an answer may be the proxy's own and would be taken
// for an origin's refusal. 429 is an answer that nobody takes for permission,
// and one that asks for fewer requests.
func perhapsOwn(resp *http.Response) bool {
	return resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusTooManyRequests && len(resp.Header["Via"]) == 0
}

// askOrigin makes a request through CONNECT, where the answer is the origin's.
func (t *Transport) askOrigin(req *http.Request, status int) (*http.Response, error) {
	resp, err := t.dialled.RoundTrip(req)
	var fault *ProxyError
	if errors.As(err, &fault) {
		err = fmt.Errorf("it answered %d without the field Via, perhaps itself; and %w", status, fault.Err)
		return nil, &ProxyError{Proxy: fault.Proxy, Status: fault.Status, Answered: true, Err: err}
	}
	return resp, err
}

// CloseIdleConnections closes what is kept.
func (t *Transport) CloseIdleConnections() {
	t.dialled.CloseIdleConnections()
	if t.absolute != nil {
		t.absolute.CloseIdleConnections()
	}
}

// inAbsoluteForm returns the request as it is sent to the proxy; nil if it goes
// another way.
func (t *Transport) inAbsoluteForm(req *http.Request) (*http.Request, error) {
	if t.absolute == nil || req.URL.Scheme != "http" || len(req.Header["Upgrade"]) > 0 {
		return nil, nil
	}
	host, port := req.URL.Hostname(), req.URL.Port()
	if port == "" {
		port = "80"
	}
	to, err := t.dialer.target(net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("asking the upstream proxy: %w", err)
	}
	if to.host != host || to.port != port || !t.dialer.through(to) {
		return nil, nil
	}
	if err := t.dialer.checkTarget(to); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(req.URL.Opaque, "/") || strings.HasPrefix(req.URL.Opaque, "//") {
		return req, nil
	}
	// An Opaque is sent as it is, which here is the path alone.
	in, at := *req, *req.URL
	at.Opaque = "//" + at.Host + at.Opaque
	in.URL = &at
	return &in, nil
}

// ownAnswer returns the error that an answer of the proxy's own is, nil for one
// that may be the origin's.
func (t *Transport) ownAnswer(resp *http.Response) error {
	u := t.dialer.upstream
	if resp.StatusCode == http.StatusProxyAuthRequired {
		return &ProxyError{Proxy: u.shown, Status: resp.StatusCode, Err: u.credentialsWanted()}
	}
	if said := saidByProxy(resp.Header); t.OriginsOnly && said != "" {
		err := fmt.Errorf("it answered %d itself: %.*s", resp.StatusCode, phraseLimit, said)
		return &ProxyError{Proxy: u.shown, Status: resp.StatusCode, Answered: true, Err: err}
	}
	return nil
}

// saidByProxy returns what a proxy says of its having made an answer itself;
// empty where none says so. The last of a Proxy-Status is the proxy nearest to
// heed (RFC 9209 §2). Where the upstream proxy has none that is another one's,
// at the side of the origin: its error is no word of the origin either.
func saidByProxy(h http.Header) string {
	if said := h.Get("X-Squid-Error"); said != "" {
		return "X-Squid-Error: " + said
	}
	list, err := httpsfv.UnmarshalList(h["Proxy-Status"])
	if err != nil || len(list) == 0 {
		return ""
	}
	if last, ok := list[len(list)-1].(httpsfv.Item); ok && last.Params != nil {
		if what, ok := last.Params.Get("error"); ok {
			return fmt.Sprintf("Proxy-Status: %v; error=%v", last.Value, what)
		}
	}
	return ""
}
