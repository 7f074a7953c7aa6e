package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"heed/internal/audit"
	"heed/internal/dial"
	"heed/internal/roundtrip"
)

// dialing sets the dialer.
func dialing(d dial.Config) func(*Config) {
	if d.Allow == nil {
		d.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	dialer, err := dial.New(d)
	if err != nil {
		panic(err)
	}
	return func(c *Config) { c.Dial = dialer.DialContext }
}

// failing is a dialer that has met an error of the system.
func failing(errno syscall.Errno) func(*Config) {
	return func(c *Config) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		}
	}
}

// nameServer answers every question with a code, or never if it is negative.
func nameServer(t *testing.T, code int) *net.Resolver {
	t.Helper()
	s, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := s.ReadFrom(b)
			if err != nil {
				return
			}
			if code >= 0 {
				b[2], b[3] = 0x81, 0x80|byte(code) // a response, recursion available (RFC 1035 §4.1.1)
				_, _ = s.WriteTo(b[:n], from)
			}
		}
	}()
	// The resolver goes on for seconds when nobody waits any more, unless its
	// connections are closed.
	over, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(over, "udp", s.LocalAddr().String())
		if err == nil {
			context.AfterFunc(over, func() { _ = c.Close() })
		}
		return c, err
	}}
}

func tlsServer(t *testing.T, config *tls.Config) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// TestOriginsFaults: each way in which an origin cannot be asked has its own
// status, error type (RFC 9209 §2.3) and reason, and is never called a denial
// by robots.txt.
func TestOriginsFaults(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	silence := func(c net.Conn) { _, _ = io.ReadAll(c) }
	reset := func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }
	scripted := func(answer func(net.Conn)) string { host, _ := script(t, answer); return host }
	short := func(c *Config) {
		c.Timeouts.TLSHandshake, c.Timeouts.ResponseHeader = 100*time.Millisecond, 100*time.Millisecond
	}
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // it never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()

	for _, tt := range []struct {
		why    string
		set    func(*Config)
		url    string
		status int
		signal string
		reason string
		cause  string
	}{
		{"an address that is not allowed", dialing(dial.Config{Allow: []netip.Prefix{}}), "http://127.0.0.1:9/", 403, "destination_ip_prohibited", "address-prohibited", "127.0.0.1"},
		{"a name that does not exist", dialing(dial.Config{Resolver: nameServer(t, 3)}), "http://missing.example/", 502, "dns_error", "dns-error", "no such host"},
		{"a name service that fails", dialing(dial.Config{Resolver: nameServer(t, 2)}), "http://servfail.example/", 502, "dns_error", "dns-error", "servfail.example"},
		{"a name service that is silent", dialing(dial.Config{Resolver: nameServer(t, -1), Timeout: 200 * time.Millisecond}), "http://silent.example/", 504, "dns_timeout", "dns-timeout", "silent.example"},
		{"nobody listens", nil, "http://" + closed.Addr().String() + "/", 502, "connection_refused", "connection-refused", "refused"},
		{"no descriptors left", failing(syscall.EMFILE), "http://127.0.0.1:9/", 503, "proxy_internal_error", "overload", "too many open files"},
		{"no ports left", failing(syscall.EADDRNOTAVAIL), "http://127.0.0.1:9/", 503, "proxy_internal_error", "overload", "cannot assign"},
		{"no route to the host", failing(syscall.EHOSTUNREACH), "http://127.0.0.1:9/", 502, "destination_ip_unroutable", "unroutable", "no route"},
		{"no route to the network", failing(syscall.ENETUNREACH), "http://127.0.0.1:9/", 502, "destination_ip_unroutable", "unroutable", "unreachable"},
		{"no answer to SYN", func(c *Config) { c.Dial = (&net.Dialer{Deadline: time.Unix(1, 0)}).DialContext }, "http://127.0.0.1:9/", 504, "connection_timeout", "connection-timeout", "timeout"},
		{"a certificate of an unknown CA", func(c *Config) { c.Roots = x509.NewCertPool() }, newTLSOrigin(t, true, nil) + "/", 502, "tls_certificate_error", "tls-certificate", "unknown authority"},
		{"a certificate for another name", dialing(dial.Config{ConnectTo: []dial.ConnectTo{{ToHost: "127.0.0.1", ToPort: port(newTLSOrigin(t, true, nil))}}}), "https://other.test/", 502, "tls_certificate_error", "tls-certificate", "other.test"},
		{"TLS 1.1 alone", nil, tlsServer(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}) + "/", 502, "tls_alert_received", "tls-alert", "protocol version"},
		{"a client certificate is wanted", nil, tlsServer(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert}) + "/", 502, "tls_alert_received", "tls-alert", "certificate"},
		{"plain HTTP behind https", nil, "https" + strings.TrimPrefix(newOrigin(t, nil), "http") + "/", 502, "tls_protocol_error", "tls-error", "TLS"},
		{"TLS that makes no sense", nil, "https://" + raw(t, "\x16\x03\x03\x00\x04\x01\x00\x00\x00") + "/", 502, "tls_protocol_error", "tls-error", "tls"},
		{"no answer to the handshake", short, "https://" + deaf.Addr().String() + "/", 504, "connection_timeout", "connection-timeout", "TLS handshake timeout"},
		{"no answer to the request", short, "http://" + scripted(silence) + "/", 504, "http_response_timeout", "response-timeout", "timeout"},
		{"closed before the answer", nil, "http://" + scripted(write("")) + "/", 502, "connection_terminated", "connection-terminated", "EOF"},
		{"reset before the answer", nil, "http://" + scripted(reset) + "/", 502, "connection_terminated", "connection-terminated", "reset"},
		{"closed within the header", nil, "http://" + scripted(write("HTTP/1.1 200 OK\r\nX: ")) + "/", 502, "connection_terminated", "connection-terminated", "EOF"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			if tt.set == nil {
				tt.set = func(*Config) {}
			}
			r := start(t, tt.set)
			a := r.get(t, tt.url)
			if a.StatusCode != tt.status {
				t.Errorf("%s, want %d: %s", a.Status, tt.status, a.body)
			}
			if ps := a.Header.Get("Proxy-Status"); !strings.HasPrefix(ps, "heed;error="+tt.signal+";") || !strings.Contains(ps, tt.cause) {
				t.Errorf("Proxy-Status: %s, want error=%s and %q", ps, tt.signal, tt.cause)
			}
			if !strings.Contains(a.body, tt.cause) {
				t.Errorf("the body does not name %q: %s", tt.cause, a.body)
			}
			e := r.entry(t)
			if e.Reason != tt.reason || !strings.Contains(e.Err, tt.cause) || e.Status != tt.status {
				t.Errorf("recorded as %s, %d, cause %q", e.Reason, e.Status, e.Err)
			}
			want := audit.Forwarded
			if tt.status == 403 || tt.status == 503 {
				want = audit.Denied // nothing left this machine
			}
			if e.Verdict != want {
				t.Errorf("recorded as %v, want %v", e.Verdict, want)
			}
			if field := a.Header.Get("Robots-Decision"); !strings.HasPrefix(field, "allowed;") {
				t.Errorf("Robots-Decision: %s: robots.txt was not what failed", field)
			}
		})
	}
}

func port(origin string) string {
	_, port, _ := net.SplitHostPort(hostOf(origin))
	return port
}

// raw is an origin that answers whatever comes with these octets.
func raw(t *testing.T, octets string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, octets)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// TestErrorsWithoutAType: net/http has none for these.
func TestErrorsWithoutAType(t *testing.T) {
	for _, tt := range []struct {
		err  error
		kind *kind
	}{
		{errors.New("http: server closed idle connection"), kindTerminated},
		{errors.New("net/http: TLS handshake timeout"), kindConnectTimeout},
		{fmt.Errorf("dialling: %w", context.Canceled), kindClientGone},
		{&bodyError{os.ErrDeadlineExceeded}, kindBodyTimeout},
		{&bodyError{io.ErrUnexpectedEOF}, kindClientGone},
		{&bodyError{errors.New("invalid byte in chunk length")}, kindBadBody},
		{&bodyError{context.Canceled}, kindClientGone},
		{new(roundtrip.RequestError), kindBadRequest},
		{fmt.Errorf("reading the request's body: %w", new(roundtrip.TrailerError)), kindBadBody},
		{fmt.Errorf("reading: %w", &problem{kind: kindLoop, cause: io.EOF}), kindLoop},
		{&dial.ProxyError{Proxy: "http://p.example:1", Status: 407, Err: io.EOF}, kindProxy},
		{&dial.ProxyError{Proxy: "http://p.example:1", Status: 504, Answered: true, Err: errors.New("it answered 504")}, kindProxyTimeout},
		{&dial.ProxyError{Proxy: "http://p.example:1", Err: &net.DNSError{Err: "no such host"}}, kindProxy},
		{&dial.ProxyError{Proxy: "http://p.example:1", Err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}, kindProxyTimeout},
		{&dial.ProxyError{Proxy: "http://p.example:1", Err: &net.OpError{Op: "dial", Err: context.Canceled}}, kindClientGone},
		{errors.New("something new"), kindBadAnswer},
	} {
		if got := problemOf(tt.err).kind; got != tt.kind {
			t.Errorf("%v: %s, want %s", tt.err, got.name, tt.kind.name)
		}
	}
}

// TestEveryKindIsListed: /problems/NAME and the metrics' label know all kinds,
// each by a name of its own, with a status that tells whose fault it is.
func TestEveryKindIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "kind") {
			declared++
		}
		return true
	})
	if declared == 0 || declared != len(kinds) {
		t.Errorf("%d kinds are declared, %d listed in kinds", declared, len(kinds))
	}
	names := map[string]bool{}
	for _, k := range kinds {
		if names[k.name] {
			t.Errorf("two kinds are called %q", k.name)
		}
		names[k.name] = true
		if kindNamed(k.name) != k {
			t.Errorf("kindNamed(%q) is another", k.name)
		}
		if body := k == kindBadBody || k == kindBodyTimeout; k.after != (k.status == 502 || k.status == 504 || body) {
			t.Errorf("%s has status %d: 502 and 504 are for what was forwarded, and only that, but for its body", k.name, k.status)
		}
		if k.title == "" || k.signal == "" || strings.Trim(k.name, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%+v lacks a title, a signal or a plain name", k)
		}
	}
}
