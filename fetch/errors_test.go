package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"heed/policy"
)

func dnsError(text string, timeout bool) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: text, Name: "a.example", IsTimeout: timeout}}
}

// cutShort is a body that ends before its length.
func cutShort(*http.Request) (*http.Response, error) {
	resp := response(200, "")
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("User-agent: *\n"), brokenReader{io.ErrUnexpectedEOF}))
	return resp, nil
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func TestErrIsOneBoundedLine(t *testing.T) {
	for _, r := range []struct{ why, in, want string }{
		{"as it is", "connection refused", "connection refused"},
		{"line ends and controls", "a\r\nSet-Cookie: x\x00\x1b[2J", "a  Set-Cookie: x  [2J"},
		{"no UTF-8", "caf\xe9", "caf\uFFFD"},
		{"too long", strings.Repeat("x", 600), strings.Repeat("x", 500) + "…"},
		{"too long, cut inside a rune", strings.Repeat("x", 499) + "é" + strings.Repeat("y", 9), strings.Repeat("x", 499) + "…"},
	} {
		if got := oneLine(errors.New(r.in)); got != r.want {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
	if got := oneLine(nil); got != "" {
		t.Errorf("nil: %q", got)
	}
}

func TestTheCauseIsKeptUnlessItIsLarge(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("prohibited")}
	for _, r := range []struct {
		why  string
		err  error
		kept bool
	}{
		{"an error of the dialer", refused, true},
		{"a stack", newPanicError("boom"), false},
	} {
		f := newFetcher(t, Config{Transport: fails(r.err)})
		s := snapshot(t, f, at(t, "a.example"))
		if (s.Cause != nil) != r.kept || s.Err != r.err.Error() {
			t.Errorf("%s: cause %v, err %q", r.why, s.Cause, s.Err)
		}
		if r.kept && !errors.Is(s.Cause, r.err) {
			t.Errorf("%s: cause %v", r.why, s.Cause)
		}
	}
	chain := &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{{}}, Err: x509.UnknownAuthorityError{Cert: &x509.Certificate{}}}
	f := newFetcher(t, Config{Transport: fails(fmt.Errorf("handshake: %w", chain))})
	var kept *tls.CertificateVerificationError
	if s := snapshot(t, f, at(t, "a.example")); !errors.As(s.Cause, &kept) || kept.UnverifiedCertificates != nil || errors.As(kept.Err, new(x509.UnknownAuthorityError)) {
		t.Errorf("a failed verification: cause %#v, want its kind and its words, and no certificate", s.Cause)
	}
	small := &entry{more: &more{failure: &failure{err: "x"}}}
	large := &entry{more: &more{failure: &failure{err: "x", cause: errors.New(strings.Repeat("x", 1000))}}}
	if n := costOf(large) - costOf(small); n < 1000 {
		t.Errorf("a cause of 1000 octets is charged with %d", n)
	}
}

func TestAPanicIsUnreachableAndRemembered(t *testing.T) {
	var last Event
	transport := &counted{answer: func(*http.Request) (*http.Response, error) { panic("boom") }}
	f := newFetcher(t, Config{Transport: transport, Observe: Observer{Fetched: func(e Event) { last = e }}})
	for range 2 {
		s := snapshot(t, f, at(t, "a.example"))
		if s.Access != policy.Unreachable || allowed(s, "/") || s.Err != "a fault in heed itself: panic: boom" {
			t.Errorf("%+v", s)
		}
	}
	var fault *PanicError
	if !errors.As(last.Err, &fault) || fault.Value != "boom" || !strings.Contains(string(fault.Stack), "errors_test.go") {
		t.Errorf("event %+v", last)
	}
	if n := transport.asked.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestAPanicInTheObserverReleasesTheCallersAndAllowsNothing(t *testing.T) {
	f := newFetcher(t, Config{Transport: answers(200, ""), Observe: Observer{Fetched: func(Event) { panic("boom") }}})
	s := snapshot(t, f, at(t, "a.example"))
	if s.Access != policy.Unreachable || s.Err != "a fault in heed itself: panic: boom" {
		t.Errorf("%+v", s)
	}
	if f.Stats().Fetching != 0 || len(f.retriever.gate.places) != 0 {
		t.Errorf("the flight or its slot is still there: %+v", f.Stats())
	}
}

func TestATransportThatReturnsNothingIsUnreachable(t *testing.T) {
	s := snapshot(t, newFetcher(t, Config{Transport: fails(nil)}), at(t, "a.example"))
	if s.Access != policy.Unreachable || allowed(s, "/") {
		t.Errorf("%+v", s)
	}
}

// An origin in plain text on a port for TLS is remembered without the
// connection, which is many times as large as what is charged.
func TestTheCauseKeepsNoConnection(t *testing.T) {
	conn, other := net.Pipe()
	defer conn.Close()
	defer other.Close()
	f := newFetcher(t, Config{Transport: fails(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake", Conn: conn})})
	s := snapshot(t, f, at(t, "a.example"))
	var plain tls.RecordHeaderError
	if !errors.As(s.Cause, &plain) || plain.Conn != nil || plain.Msg == "" {
		t.Errorf("%#v", s.Cause)
	}
}

// A proxy on the way whose certificate is not trusted stays a proxy on the way:
// the cause must not pass for the origin's certificate.
func TestTheCauseTellsWhatLiesOnTheWay(t *testing.T) {
	proxy := proxyFailed{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	s := snapshot(t, newFetcher(t, Config{Transport: fails(proxy)}), at(t, "a.example"))
	var kept proxyFailed
	if !errors.As(s.Cause, &kept) {
		t.Errorf("%#v", s.Cause)
	}
}

type proxyFailed struct{ error }

func (proxyFailed) Blameless() bool { return true }
func (p proxyFailed) Unwrap() error { return p.error }

// An origin that redirects to a long URL does not hide what went wrong there.
func TestTheCauseIsNotLostBehindALongURL(t *testing.T) {
	f := newFetcher(t, Config{Transport: script(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return response(302, "", "Location: /"+strings.Repeat("x", 16000)), nil
		}
		return nil, errDown
	})})
	s := snapshot(t, f, at(t, "a.example"))
	if !strings.HasPrefix(s.Err, "after the redirect to https://a.example/xxx") || !strings.HasSuffix(s.Err, errDown.Error()) || len(s.Cause.Error()) > maxErr {
		t.Errorf("%q", s.Err)
	}
}
