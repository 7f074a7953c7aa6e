package roundtrip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/testnet"
)

// h2Server is an origin that offers HTTP/2 if h2 says so, at each handshake.
type h2Server struct {
	*httptest.Server
	conns atomic.Int64
	one   atomic.Int64 // requests in HTTP/1.1
	two   atomic.Int64
	h2    atomic.Bool
}

func newH2Server(t *testing.T, handle http.HandlerFunc) *h2Server {
	t.Helper()
	s := &h2Server{}
	s.h2.Store(true)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			s.two.Add(1)
		} else {
			s.one.Add(1)
		}
		b, _ := io.ReadAll(r.Body)
		if handle != nil {
			handle(w, r)
		}
		_, _ = w.Write(append([]byte(r.URL.Path), b...))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: authority().TLS.Certificates}
	s.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := serverTLS()
		c.NextProtos = []string{"http/1.1"}
		if s.h2.Load() {
			c.NextProtos = []string{"h2", "http/1.1"}
		}
		return c, nil
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func withHTTP2(b *http.Transport) { b.ForceAttemptHTTP2 = true }

func TestFirstRequestsShareOneConnection(t *testing.T) {
	for _, exchange := range []bool{false, true} {
		for range 10 {
			s := newH2Server(t, nil)
			tr := newClient(t, withHTTP2)
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					req := newRequest(t, "GET", fmt.Sprintf("%s/%d", s.URL, i), nil)
					if exchange {
						req = req.WithContext(With(req.Context(), &Exchange{}))
					}
					if _, body, err := fetch(tr, req); body != req.URL.Path || err != nil {
						t.Errorf("%q, %v", body, err)
					}
				})
			}
			all.Wait()
			if s.two.Load() != 20 || s.conns.Load() != 1 {
				t.Errorf("exchange %t: %d of 20 in HTTP/2, on %d connections, want 1", exchange, s.two.Load(), s.conns.Load())
			}
			tr.CloseIdleConnections()
			s.Close()
		}
	}
}

func TestHTTP2NeedsToBeAskedFor(t *testing.T) {
	s := newH2Server(t, nil)
	if _, _, err := fetch(newClient(t, nil), newRequest(t, "GET", s.URL, nil)); err != nil || s.one.Load() != 1 {
		t.Errorf("%d in HTTP/1.1, %v", s.one.Load(), err)
	}
}

func TestResponseBelongsToTheRequestThatWasMade(t *testing.T) {
	s := newH2Server(t, nil)
	tr := newClient(t, withHTTP2)
	for range 2 {
		req := newRequest(t, "POST", s.URL, strings.NewReader("x"))
		req = req.WithContext(With(req.Context(), &Exchange{}))
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Request != req {
			t.Error("the response is of another request")
		}
		_ = resp.Body.Close()
	}
}

// What net/http would read in HTTP/1.1 nobody has looked at.
func TestOriginThatStopsSpeakingHTTP2(t *testing.T) {
	for _, body := range []string{"", "upload"} {
		s := newH2Server(t, nil)
		tr := newClient(t, withHTTP2)
		ask := func(want string) {
			t.Helper()
			req := newRequest(t, "PUT", s.URL+"/", io.NopCloser(strings.NewReader(body)))
			if body == "" {
				req.Body = nil
			}
			e := &Exchange{}
			req = req.WithContext(With(req.Context(), e))
			if _, got, err := fetch(tr, req); got != "/"+body || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			if here := strings.HasPrefix(string(e.Response), "HTTP/1.1 200"); here != (want == "HTTP/1.1") {
				t.Errorf("read here: %t, want %s", here, want)
			}
		}
		ask("HTTP/2")
		s.h2.Store(false)
		tr.base.CloseIdleConnections()
		ask("HTTP/1.1")
		ask("HTTP/1.1")
		if s.conns.Load() != 2 {
			t.Errorf("%d connections, want one for each version", s.conns.Load())
		}
		s.h2.Store(true)
		tr.CloseIdleConnections()
		ask("HTTP/2")
		ask("HTTP/2")
		if s.conns.Load() != 3 {
			t.Errorf("%d connections, want one for each time", s.conns.Load())
		}
	}
}

func TestUpgradeIsAskedForInHTTP1(t *testing.T) {
	s := newH2Server(t, nil)
	tr := newClient(t, withHTTP2)
	req := newRequest(t, "GET", s.URL, nil)
	req.Header.Set("Upgrade", "websocket")
	for range 2 {
		if _, _, err := fetch(tr, req); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := fetch(tr, newRequest(t, "GET", s.URL, nil)); err != nil || s.one.Load() != 2 || s.two.Load() != 1 {
		t.Errorf("%d in HTTP/1.1, %d in HTTP/2, %v", s.one.Load(), s.two.Load(), err)
	}
}

// learners returns a Transport whose connections are made by dial, which is told
// how many they are.
func learners(t *testing.T, dial func(ctx context.Context, n int) (net.Conn, error)) *Transport {
	t.Helper()
	var n atomic.Int64
	return New(Config{Base: &http.Transport{
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, int(n.Add(1)))
		},
	}})
}

// Who waits for another to find out goes on when that one fails, and all at
// once: one after the other the last would wait for as many times a dial takes.
func TestLearnerThatFails(t *testing.T) {
	refused := errors.New("refused")
	for _, cancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tr := learners(t, func(ctx context.Context, n int) (net.Conn, error) {
				wait := 10 * time.Second
				if cancelled && n == 1 {
					wait = time.Hour
				}
				select {
				case <-time.After(wait):
					return nil, refused
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if cancelled {
				time.AfterFunc(10*time.Second, cancel)
			}
			began := time.Now()
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					req := newRequest(t, "GET", "https://a.example/", nil)
					if i == 0 {
						req = req.WithContext(ctx)
					} else {
						time.Sleep(time.Second)
					}
					_, _, err := fetch(tr, req)
					if want := cancelled && i == 0; errors.Is(err, context.Canceled) != want || errors.Is(err, refused) == want {
						t.Errorf("%d: %v", i, err)
					}
				})
			}
			all.Wait()
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("all took %v, want twice a dial", took)
			}
			time.Sleep(time.Minute)
		})
	}
}

// A panic leaves nobody waiting.
func TestLearnerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		tr := learners(t, func(_ context.Context, n int) (net.Conn, error) {
			if n == 1 {
				panic("a fault")
			}
			return nil, refused
		})
		func() {
			defer func() { _ = recover() }()
			_, _, _ = fetch(tr, newRequest(t, "GET", "https://a.example/", nil))
			t.Error("no panic")
		}()
		if _, _, err := fetch(tr, newRequest(t, "GET", "https://a.example/", nil)); !errors.Is(err, refused) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}

// A connection that the http.Transport did not take is closed, however often the
// host is asked for.
func TestLeftOverConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testnet.New(testnet.Config{})
		n.SetName("a.example", netipAddr(0))
		l, err := n.Listen("192.0.2.1:443")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan time.Time, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			config := serverTLS()
			config.NextProtos = []string{"h2"}
			_, _ = io.Copy(io.Discard, tls.Server(c, config))
			ended <- time.Now()
			_ = c.Close()
		}()
		tr := New(Config{Base: &http.Transport{DialContext: n.DialContext, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots(), ServerName: "example.com", Time: func() time.Time { return authority().Certificate().NotBefore.Add(time.Hour) }}}})
		h := tr.pool.host(key{secure: true, host: "a.example"})
		_, err = tr.dial(t.Context(), h, either)
		var over2 *http2Conn
		if !errors.As(err, &over2) {
			t.Fatal(err)
		}
		h.handOver(over2.Conn)
		h.learned(http2)
		began := time.Now()
		for range 30 {
			time.Sleep(time.Second)
			_, _, _ = h.protocol(t.Context())
		}
		select {
		case at := <-ended:
			if at.Sub(began) > 2*sweepEvery {
				t.Errorf("closed after %v", at.Sub(began))
			}
		default:
			t.Error("it is open")
		}
		_ = l.Close()
		time.Sleep(time.Minute)
	})
}

// An origin that refuses each stream is asked as often as it says.
func TestOriginThatTakesNothingInHTTP2(t *testing.T) {
	var seen atomic.Int64
	gone := make(chan struct{})
	defer close(gone)
	o := newOrigin(t, &tls.Config{Certificates: authority().TLS.Certificates, NextProtos: []string{"h2"}}, func(c *peer, _ int64) {
		go func() { <-gone; _ = c.raw.Close() }() // net/http keeps it until the streams are answered
		resets(c, '\x07', &seen)                  // REFUSED_STREAM
	})
	tr := newClient(t, withHTTP2)
	req := newRequest(t, "GET", o.url(true), nil)
	_, _, err := fetch(tr, req.WithContext(With(req.Context(), &Exchange{})))
	if !errors.Is(err, errNotTaken) || seen.Load() != maxAttempts {
		t.Errorf("%v; seen %d times, want %d", err, seen.Load(), maxAttempts)
	}
}

func TestHooks(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		s := newH2Server(t, nil)
		s.h2.Store(h2)
		tr := newClient(t, withHTTP2)
		var mu sync.Mutex
		var log []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf(format, args...))
		}
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
			ConnectStart:      func(string, string) { note("connect") },
			TLSHandshakeStart: func() { note("handshake") },
			TLSHandshakeDone:  func(s tls.ConnectionState, err error) { note("done %s %v", s.NegotiatedProtocol, err) },
			GotConn:           func(c httptrace.GotConnInfo) { note("connection %t", c.Reused) },
		})
		for range 2 {
			if _, _, err := fetch(tr, newRequest(t, "GET", s.URL, nil).WithContext(ctx)); err != nil {
				t.Fatal(err)
			}
		}
		want := "connect handshake done http/1.1 <nil> connection false connection true"
		if h2 { // net/http has its own once more
			want = "connect handshake done h2 <nil> handshake done h2 <nil> connection false connection true"
		}
		if got := strings.Join(log, " "); got != want {
			t.Errorf("HTTP/2 %t: %s, want %s", h2, got, want)
		}
	}
}

func TestSessionIsResumed(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c := serverTLS()
		c.MaxVersion = version
		resumed := make(chan bool, 2)
		o := newOrigin(t, c, func(p *peer, _ int64) {
			p.request()
			resumed <- p.Conn.(*tls.Conn).ConnectionState().DidResume
			p.say(ok("hello"))
		})
		tr := newClient(t, func(b *http.Transport) { b.DisableKeepAlives = true; b.TLSClientConfig.ServerName = "example.com" })
		for i := range 2 {
			if _, _, err := fetch(tr, newRequest(t, "GET", o.url(true), nil)); err != nil {
				t.Fatal(err)
			}
			if got := <-resumed; got != (i == 1) {
				t.Errorf("version %x, connection %d: resumed %t", version, i+1, got)
			}
		}
	}
	one, other := newClient(t, nil), newClient(t, nil)
	if one.tls.ClientSessionCache == other.tls.ClientSessionCache {
		t.Error("two Transports, whose roots may differ, share their sessions")
	}
	mine := tls.NewLRUClientSessionCache(1)
	if tr := newClient(t, func(b *http.Transport) { b.TLSClientConfig.ClientSessionCache = mine }); tr.tls.ClientSessionCache != mine {
		t.Error("the caller's cache is not used")
	}
}

// A certificate is looked at for each name, whatever sessions there are.
func TestSessionIsOfItsName(t *testing.T) {
	o := newOrigin(t, serverTLS(), func(p *peer, _ int64) {
		p.request()
		p.say(ok("hello"))
	})
	tr := newClient(t, func(b *http.Transport) {
		b.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, o.addr)
		}
	})
	for range 2 {
		if _, _, err := fetch(tr, newRequest(t, "GET", "https://example.com/", nil)); err != nil {
			t.Fatal(err)
		}
		var wrong *tls.CertificateVerificationError
		if _, _, err := fetch(tr, newRequest(t, "GET", "https://wrong.test/", nil)); !errors.As(err, &wrong) {
			t.Errorf("another name: %v", err)
		}
	}
}
