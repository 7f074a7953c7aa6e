package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"heed/internal/audit"
)

// channel is a way for a request to come in.
type channel struct {
	name   string
	as     audit.Channel
	origin string // of the handler that newChannels was given
	http.RoundTripper
}

// newChannels serves h as an origin and returns every way to it through r.
func newChannels(t testing.TB, r *rig, h http.HandlerFunc) []channel {
	t.Helper()
	plain, secure, h2 := newOrigin(t, h), newTLSOrigin(t, false, h), newTLSOrigin(t, true, h)
	return []channel{
		{"plain", audit.Plain, plain, r.client(t, false).Transport},
		{"plain inside CONNECT", audit.Tunnel, plain, r.tunnelled(t)},
		{"intercepted HTTP/1.1", audit.Intercepted, secure, r.client(t, false).Transport},
		{"intercepted HTTP/2", audit.Intercepted, h2, r.client(t, true).Transport},
		{"https in absolute form", audit.Plain, h2, absolute{r.direct(t)}},
	}
}

// tunnelled sends plain HTTP inside a CONNECT, as Node's fetch does.
func (r *rig) tunnelled(t testing.TB) http.RoundTripper {
	tr := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", r.addr)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(c, "CONNECT "+addr+" HTTP/1.1\r\nHost: "+addr+"\r\n\r\n"); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), &http.Request{Method: http.MethodConnect})
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			return nil, errors.New(resp.Status)
		}
		return c, nil
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// direct connects to the proxy whatever the URL says.
func (r *rig) direct(t testing.TB) http.RoundTripper {
	tr := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", r.addr)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// absolute puts the whole URL into the request line, as wget2 does for https.
type absolute struct{ http.RoundTripper }

func (a absolute) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Opaque = req.URL.String()
	out.URL.Scheme, out.URL.RawQuery = "http", ""
	return a.RoundTripper.RoundTrip(out)
}

// do sends a request for a target of the channel's origin. It sends no
// User-Agent unless fields have one.
func (c channel) do(t testing.TB, method, target string, body io.Reader, fields ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.origin+target, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		if name == "User-Agent" {
			req.Header.Set(name, value)
			continue
		}
		req.Header.Add(name, value)
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// whole reads a body that must be whole.
func whole(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	return string(b)
}

// forAll runs a test on every channel.
func forAll(t *testing.T, r *rig, h http.HandlerFunc, test func(*testing.T, channel)) {
	t.Helper()
	for _, c := range newChannels(t, r, h) {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

// TestEveryChannelIsDecided: the same rule holds however a request comes in,
// and the entry says how it came.
func TestEveryChannelIsDecided(t *testing.T) {
	r := start(t)
	reached := make(chan string, 100)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		reached <- req.URL.Path
		_, _ = io.WriteString(w, "of the origin")
	}, func(t *testing.T, c channel) {
		r.policies.set(c.origin, rules(c.origin, "User-agent: *\nDisallow: /private/\n"))
		resp := c.do(t, "GET", "/open", nil)
		if body := whole(t, resp); resp.StatusCode != 200 || body != "of the origin" {
			t.Errorf("/open: %s: %s", resp.Status, body)
		}
		if e := r.entryOf(t, c.as); e.Verdict != audit.Forwarded || e.Status != 200 || e.Reason != "allowed" || e.BytesOut != 13 || e.Origin != c.origin || e.Target != "/open" {
			t.Errorf("/open was recorded as %+v", e)
		}
		resp = c.do(t, "GET", "/private/x", nil)
		if body := whole(t, resp); resp.StatusCode != 403 || !strings.Contains(body, "Disallow: /private/") {
			t.Errorf("/private/x: %s: %s", resp.Status, body)
		}
		if e := r.entryOf(t, c.as); e.Verdict != audit.Denied || e.Status != 403 || e.Reason != "disallowed" || e.Decision.Line != 2 {
			t.Errorf("/private/x was recorded as %+v", e)
		}
		if path := <-reached; path != "/open" || len(reached) > 0 {
			t.Errorf("%s reached the origin, and %d more", path, len(reached))
		}
	})
}

// TestInterceptionShowsOurCertificate: the client of a tunnel sees a leaf of
// heed's CA, for a name and for an address, and speaks what ALPN agrees on.
func TestInterceptionShowsOurCertificate(t *testing.T) {
	r := start(t)
	for _, tt := range []struct{ authority, name, protocol string }{
		{"a.example:443", "a.example", "h2"},
		{"a.example:443", "a.example", "http/1.1"},
		{"127.0.0.1:443", "127.0.0.1", "http/1.1"}, // no SNI: an address has none
	} {
		w := r.secure(t, r.connect(t, tt.authority), tt.name, tt.protocol)
		state := w.Conn.(*tls.Conn).ConnectionState()
		if state.NegotiatedProtocol != tt.protocol {
			t.Errorf("%s: ALPN agreed on %q", tt.authority, state.NegotiatedProtocol)
		}
		roots := x509.NewCertPool()
		roots.AddCert(r.ca.Certificate())
		if _, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: tt.name}); err != nil {
			t.Errorf("%s: %v", tt.authority, err)
		}
		_ = w.Close()
	}
}

// TestInterceptionResumesSessions: goproxy clones its config for each
// connection, so that no session can be resumed (https.go:401).
func TestInterceptionResumesSessions(t *testing.T) {
	r := start(t)
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	config := &tls.Config{ServerName: "heed.internal", RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(2)}
	for _, resumed := range []bool{false, true} {
		c := tls.Client(r.connect(t, "heed.internal:443").Conn, config)
		w := &wire{c, bufio.NewReader(c)}
		if a := w.send(t, "GET / HTTP/1.1\r\nHost: heed.internal\r\n\r\n"); a.StatusCode != 200 {
			t.Fatalf("heed's own page inside TLS: %s: %s", a.Status, a.body)
		}
		if got := c.ConnectionState().DidResume; got != resumed {
			t.Errorf("resumed: %v, want %v", got, resumed)
		}
		_ = c.Close()
	}
}
