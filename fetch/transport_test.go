package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// hostile is an origin on loopback that does with each connection what it
// likes. It reads the request's header first.
type hostile struct {
	origin   origin.Origin
	listener net.Listener
	behave   func(conn net.Conn, n int64)
	conns    atomic.Int64
	requests atomic.Int64
	open     sync.Map
	running  sync.WaitGroup
}

func newHostile(t *testing.T, behave func(conn net.Conn, n int64)) *hostile {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{listener: l, behave: behave, origin: mustParse(t, "http", l.Addr().String())}
	h.running.Go(func() {
		for {
			conn, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // no descriptors, for now
				time.Sleep(time.Millisecond)
				continue
			}
			h.open.Store(conn, nil)
			h.running.Go(func() { h.serve(conn) })
		}
	})
	t.Cleanup(h.close)
	return h
}

func (h *hostile) serve(conn net.Conn) {
	n := h.conns.Add(1)
	defer h.open.Delete(conn)
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if line == "\r\n" {
			h.requests.Add(1)
			h.behave(conn, n)
			return
		}
	}
}

func (h *hostile) close() {
	_ = h.listener.Close()
	h.open.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
	h.running.Wait()
}

// hang waits until the other side closes.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// reset closes with a RST rather than a FIN.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func write(parts ...string) func(net.Conn, int64) {
	return func(conn net.Conn, _ int64) { _, _ = io.WriteString(conn, strings.Join(parts, "")) }
}

// realTransport is set as heed sets its own.
func realTransport(t *testing.T) *http.Transport {
	t.Helper()
	tr := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

func TestFaultsOfTheTransport(t *testing.T) {
	whole := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", okHead, len(closedFile), closedFile)
	for _, r := range []struct {
		why      string
		behave   func(net.Conn, int64)
		access   policy.Access
		requests int64
		err      string // part of it
	}{
		{"a good answer", write(whole), policy.Successful, 1, ""},
		{"no length, close at the end", write(okHead, "Connection: close\r\n\r\n", closedFile), policy.Successful, 1, ""},
		{"HTTP/1.0", write("HTTP/1.0 200 OK\r\n\r\n", closedFile), policy.Successful, 1, ""},
		{"chunked", write(okHead, "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(closedFile), closedFile)), policy.Successful, 1, ""},
		{"early hints first", write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", whole), policy.Successful, 1, ""},

		{"closed before the header: one retry", func(net.Conn, int64) {}, policy.Unreachable, 2, "EOF"},
		{"reset before the header: one retry", func(c net.Conn, _ int64) { reset(c) }, policy.Unreachable, 2, "connection reset by peer"},
		{"closed once, then well", func(c net.Conn, n int64) {
			if n > 1 {
				write(whole)(c, n)
			}
		}, policy.Successful, 2, ""},
		{"header cut between two lines", write("HTTP/1.1 200 OK\r\n"), policy.Unreachable, 2, "unexpected EOF"},
		{"header cut in a line", write("HTTP/1.1 200 OK\r\nContent-Le"), policy.Unreachable, 1, "malformed MIME header"},
		{"hang before the header", func(c net.Conn, _ int64) { hang(c) }, policy.Unreachable, 1, "no complete answer in time: waiting for the header: context deadline exceeded"},
		{"hang in the header", func(c net.Conn, n int64) { write("HTTP/1.1 200 OK\r\nX: ")(c, n); hang(c) }, policy.Unreachable, 1, "no complete answer in time: waiting for the header"},
		{"hang in the body", func(c net.Conn, n int64) { write(okHead, "Content-Length: 99\r\n\r\n", closedFile)(c, n); hang(c) }, policy.Unreachable, 1, "no complete answer in time: body cut short after 34 octets"},
		{"hang after a body without length", func(c net.Conn, n int64) { write(okHead, "\r\n", closedFile)(c, n); hang(c) }, policy.Unreachable, 1, "no complete answer in time: body cut short after 34 octets"},
		{"reset in the body", func(c net.Conn, n int64) {
			write(okHead, "Content-Length: 99\r\n\r\n", closedFile)(c, n)
			time.Sleep(20 * time.Millisecond) // let the octets arrive first
			reset(c)
		}, policy.Unreachable, 1, "body cut short after 34 octets: read tcp"},
		{"short Content-Length", write(okHead, "Content-Length: 99\r\n\r\n", closedFile), policy.Unreachable, 1, "body cut short after 34 octets: unexpected EOF"},
		{"cut chunk", write(okHead, "Transfer-Encoding: chunked\r\n\r\n40\r\n", closedFile), policy.Unreachable, 1, "body cut short after 34 octets: unexpected EOF"},
		{"no last chunk", write(okHead, "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(closedFile), closedFile)), policy.Unreachable, 1, "body cut short after 34 octets: unexpected EOF"},
		{"rubbish for a chunk size", write(okHead, "Transfer-Encoding: chunked\r\n\r\nzz\r\n", closedFile), policy.Unreachable, 1, "invalid byte in chunk length"},
		{"endless trailers", func(c net.Conn, n int64) {
			write(okHead, "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(closedFile), closedFile))(c, n)
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}, policy.Unreachable, 1, "body cut short after 34 octets"},
		{"one octet at a time", func(c net.Conn, _ int64) {
			for _, b := range []byte(whole) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}, policy.Unreachable, 1, "no complete answer in time"},
		{"an endless header", func(c net.Conn, _ int64) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}, policy.Unreachable, 1, "server response headers exceeded"},
		{"an endless line in the header", func(c net.Conn, _ int64) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			for {
				if _, err := io.WriteString(c, strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		}, policy.Unreachable, 1, "server response headers exceeded"},
		{"a flood of 100", func(c net.Conn, _ int64) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\nX: "+strings.Repeat("x", 100)+"\r\n\r\n"); err != nil {
					return
				}
			}
		}, policy.Unreachable, 1, ""},
		{"an endless body", func(c net.Conn, n int64) {
			write(okHead, "\r\n", closedFile)(c, n)
			for {
				if _, err := io.WriteString(c, strings.Repeat("# endless\n", 400)); err != nil {
					return
				}
			}
		}, policy.Successful, 1, ""},
		{"silence just after the limit", func(c net.Conn, n int64) {
			write(okHead, "\r\n", closedFile, strings.Repeat("#", policy.DefaultLimit+1-len(closedFile)))(c, n)
			hang(c)
		}, policy.Successful, 1, ""},
		{"silence in the body of a 404", func(c net.Conn, n int64) {
			write("HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n")(c, n)
			hang(c)
		}, policy.Unavailable, 1, ""},
		{"rubbish", write("SSH-2.0-OpenSSH_9.6\r\n"), policy.Unreachable, 1, "malformed HTTP"},
		{"HTTP/0.9", write(closedFile), policy.Unreachable, 1, "malformed HTTP"},
		{"a version that was not agreed on", write("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"), policy.Unreachable, 1, "answer in HTTP/2.0, which was not agreed on"},
		{"a version that is none", write("HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n"), policy.Unreachable, 1, "answer in HTTP/0.9, which was not agreed on"},
		{"status 999", write("HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n"), policy.Unreachable, 1, "status 999, which is no answer to this request"},
		{"no status", write("HTTP/1.1 OK\r\n\r\n"), policy.Unreachable, 1, "malformed HTTP"},
		{"101 unasked", func(c net.Conn, n int64) {
			write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", closedFile)(c, n)
			hang(c)
		}, policy.Unreachable, 1, "status 101, which is no answer to this request"},
		{"two lengths", write(okHead, "Content-Length: 34\r\nContent-Length: 0\r\n\r\n", closedFile), policy.Unreachable, 1, "Content-Length"},
		{"a negative length", write(okHead, "Content-Length: -1\r\n\r\n", closedFile), policy.Unreachable, 1, "Content-Length"},
		{"TLS on a plain port", write("\x15\x03\x01\x00\x02\x02\x46"), policy.Unreachable, 1, "malformed HTTP"},
		{"a field without a name", write(okHead, ": x\r\n\r\n"), policy.Unreachable, 1, "malformed MIME header"},
		{"a redirect that hangs up", write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"), policy.Unreachable, 1, "after the redirect to http://127.0.0.1:1/: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, r.behave)
			f := newFetcher(t, Config{Transport: realTransport(t), Timeout: time.Second})
			start := time.Now()
			s := snapshot(t, f, h.origin)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if s.Access != r.access || !strings.Contains(s.Err, r.err) || (s.Err == "") != (r.access != policy.Unreachable) {
				t.Errorf("access %v, err %q; want %v, %q", s.Access, s.Err, r.access, r.err)
			}
			if n := h.requests.Load(); n != r.requests {
				t.Errorf("the origin saw %d requests, want %d", n, r.requests)
			}
			if public, private := allowed(s, "/public"), allowed(s, "/private/x"); public != (r.access != policy.Unreachable) || private != (r.access == policy.Unavailable) {
				t.Errorf("/public allowed %v, /private/x allowed %v", public, private)
			}
			if again := snapshot(t, f, h.origin); !reflect.DeepEqual(again, s) {
				t.Error("not remembered")
			}
		})
	}
}

// What is left of a body that does not matter is not waited for.
func TestAFullTimeoutIsNotSpentOnABodyThatDoesNotMatter(t *testing.T) {
	h := newHostile(t, func(c net.Conn, n int64) {
		write("HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n")(c, n)
		hang(c)
	})
	start := time.Now()
	s := snapshot(t, newFetcher(t, Config{Transport: realTransport(t), Timeout: time.Minute}), h.origin)
	if took := time.Since(start); s.Access != policy.Unavailable || took > 20*time.Second {
		t.Errorf("%+v after %v", s, took)
	}
}

func TestThereIsOneRetryInAFetch(t *testing.T) {
	n := 0
	s := snapshot(t, newFetcher(t, Config{Transport: script(func(*http.Request) (*http.Response, error) {
		if n++; n == 2 {
			return response(302, "", "Location: /b"), nil
		}
		return nil, io.EOF
	})}), at(t, "a.example"))
	if n != 3 || s.Access != policy.Unreachable || s.Err != "after the redirect to https://a.example/b: EOF" || s.Status != 302 {
		t.Errorf("%+v after %d requests", s, n)
	}
}

func TestARefusedConnectionIsTriedTwice(t *testing.T) {
	h := newHostile(t, hangAfter)
	h.close()
	dials := 0
	tr := realTransport(t)
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	s := snapshot(t, newFetcher(t, Config{Transport: tr}), h.origin)
	if s.Access != policy.Unreachable || !strings.HasSuffix(s.Err, "connect: connection refused") || dials != 2 || s.Status != 0 {
		t.Errorf("%+v after %d dials", s, dials)
	}
}

func hangAfter(c net.Conn, _ int64) { hang(c) }

func TestANameThatDoesNotExistIsUnreachableAndRemembered(t *testing.T) {
	tr := realTransport(t)
	asked := 0
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		asked++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "gone.example", IsNotFound: true}}
	}
	f := newFetcher(t, Config{Transport: tr})
	o := mustParse(t, "http", "gone.example")
	s := snapshot(t, f, o)
	if s.Access != policy.Unreachable || s.Err != "dial tcp: lookup gone.example: no such host" || s.Attempts != 1 {
		t.Errorf("%+v", s)
	}
	if snapshot(t, f, o); asked != 1 {
		t.Errorf("%d dials", asked)
	}
}

// A resolver that does not answer is heed's own trouble, even where the
// transport only reports that the time is over.
func TestASilentResolverIsNotRememberedAsTheOriginsState(t *testing.T) {
	silent := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	tr := realTransport(t)
	tr.DialContext = (&net.Dialer{Resolver: silent}).DialContext
	f := newFetcher(t, Config{Transport: tr, Timeout: 100 * time.Millisecond})
	o := mustParse(t, "http", "slow.example")
	s := snapshot(t, f, o)
	if s.Access != policy.Unreachable || !strings.HasPrefix(s.Err, "no complete answer in time: resolving the name: ") || s.Attempts != 0 {
		t.Errorf("%+v", s)
	}
	if _, ok := f.Remembered(o, time.Now()); ok {
		t.Error("remembered")
	}
}

func TestAFailureOfTLSIsUnreachableWithItsReason(t *testing.T) {
	for _, r := range []struct {
		why   string
		setup func(*httptest.Server, *tls.Config)
		err   string
	}{
		{"a certificate that nobody trusts", func(*httptest.Server, *tls.Config) {}, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"a certificate that is over", func(s *httptest.Server, c *tls.Config) {
			c.RootCAs = x509.NewCertPool()
			c.RootCAs.AddCert(s.Certificate())
			c.Time = func() time.Time { return s.Certificate().NotAfter.Add(time.Hour) }
		}, "x509: certificate has expired or is not yet valid"},
		{"another name", func(s *httptest.Server, c *tls.Config) {
			c.RootCAs = x509.NewCertPool()
			c.RootCAs.AddCert(s.Certificate())
			c.ServerName = "b.invalid"
		}, "not b.invalid"},
		{"an old version", func(s *httptest.Server, c *tls.Config) {
			s.TLS.MaxVersion = tls.VersionTLS11
			c.MinVersion = tls.VersionTLS12
		}, "protocol version not supported"},
	} {
		t.Run(r.why, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			defer server.Close()
			tr := realTransport(t)
			tr.TLSClientConfig = &tls.Config{}
			r.setup(server, tr.TLSClientConfig)
			s := snapshot(t, newFetcher(t, Config{Transport: tr}), mustParse(t, "https", server.Listener.Addr().String()))
			if s.Access != policy.Unreachable || !strings.Contains(s.Err, r.err) || allowed(s, "/") {
				t.Errorf("access %v, err %q; want %q", s.Access, s.Err, r.err)
			}
		})
	}
}

func TestHTTP2IsSpokenWhenNegotiated(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("asked in %s", r.Proto)
		}
		_, _ = io.WriteString(w, closedFile)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	tr := realTransport(t)
	tr.ForceAttemptHTTP2 = true
	tr.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	tr.TLSClientConfig.RootCAs.AddCert(server.Certificate())
	s := snapshot(t, newFetcher(t, Config{Transport: tr}), mustParse(t, "https", server.Listener.Addr().String()))
	if s.Access != policy.Successful || allowed(s, "/private/x") || !allowed(s, "/public") {
		t.Errorf("%+v", s)
	}
}

// What goes over the wire, octet for octet.
func TestTheRequestOnTheWire(t *testing.T) {
	got := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var head strings.Builder
		r := bufio.NewReader(conn)
		for !strings.HasSuffix(head.String(), "\r\n\r\n") {
			b, err := r.ReadByte()
			if err != nil {
				break
			}
			head.WriteByte(b)
		}
		got <- head.String()
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	defer running.Wait()
	defer l.Close()
	f := newFetcher(t, Config{Transport: realTransport(t), UserAgent: "heed/1.0 (+https://ops.example/bot)"})
	if s := snapshot(t, f, mustParse(t, "http", l.Addr().String())); s.Access != policy.Successful {
		t.Fatalf("%+v", s)
	}
	want := "GET /robots.txt HTTP/1.1\r\nHost: " + l.Addr().String() +
		"\r\nUser-Agent: heed/1.0 (+https://ops.example/bot)\r\nAccept: text/plain, */*;q=0.1\r\nAccept-Encoding: gzip\r\n\r\n"
	if head := <-got; head != want {
		t.Errorf("the request is\n%q\nwant\n%q", head, want)
	}
}

// The cause says how far the fetch came.
func TestATimeoutNamesItsPhase(t *testing.T) {
	silent := newHostile(t, nil) // reads a header that never ends
	plain := silent.origin
	overTLS := mustParse(t, "https", silent.listener.Addr().String())
	blackHole := realTransport(t)
	blackHole.DialContext = (&net.Dialer{ControlContext: func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		<-ctx.Done()
		return ctx.Err()
	}}).DialContext
	for _, r := range []struct {
		transport *http.Transport
		origin    origin.Origin
		err       string
	}{
		{blackHole, plain, "no complete answer in time: connecting: "},
		{realTransport(t), overTLS, "no complete answer in time: in the TLS handshake: "},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: r.transport, Timeout: 500 * time.Millisecond}), r.origin)
		if s.Access != policy.Unreachable || !strings.HasPrefix(s.Err, r.err) || s.Attempts != 1 {
			t.Errorf("%+v, want the err %s", s, r.err)
		}
	}
}

// A connection is used again after an answer whose body does not matter.
func TestTheConnectionIsKeptAfterA404(t *testing.T) {
	var conns atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		_, _ = io.WriteString(w, strings.Repeat("no such page ", 500))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	f := newFetcher(t, Config{Transport: realTransport(t), FreshFor: 1})
	o := mustParse(t, "http", server.Listener.Addr().String())
	for range 5 {
		if s := snapshot(t, f, o); s.Access != policy.Unavailable {
			t.Fatalf("%+v", s)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 5 fetches", n)
	}
}

func TestARefusalOfTheDialerIsUnreachableAndRemembered(t *testing.T) {
	prohibited := errors.New("connecting to 10.0.0.1:80 for a.example is prohibited")
	dials := 0
	tr := realTransport(t)
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: prohibited}
	}
	var last Event
	f := newFetcher(t, Config{Transport: tr, Observe: Observer{Fetched: func(e Event) { last = e }}})
	for range 2 {
		s := snapshot(t, f, mustParse(t, "http", "a.example"))
		if s.Access != policy.Unreachable || allowed(s, "/") {
			t.Errorf("%+v", s)
		}
	}
	if dials != 1 || !errors.Is(last.Err, prohibited) {
		t.Errorf("%d dials, err %v", dials, last.Err)
	}
}
