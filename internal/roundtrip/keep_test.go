package roundtrip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestConnectionIsUsedAgain(t *testing.T) {
	for _, secure := range []bool{false, true} {
		o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
			for c.request() != nil {
				c.say(ok("hello"))
			}
		})
		tr := newClient(t, nil)
		for range 5 {
			if _, body, err := fetch(tr, newRequest(t, "GET", o.url(secure), nil)); err != nil || body != "hello" {
				t.Fatalf("%q, %v", body, err)
			}
		}
		if n := o.accepted.Load(); n != 1 {
			t.Errorf("secure %t: %d connections for 5 requests, want 1", secure, n)
		}
		tr.CloseIdleConnections()
		eventually(t, "the kept connection is closed", func() bool { return o.open.Load() == 0 })
	}
}

// An answer that nobody asked for would be that to the next request: one
// client's page would be given to another.
func TestOctetsBehindAnAnswerAreNobodysAnswer(t *testing.T) {
	poison := ok("poison")
	for _, r := range []struct {
		why    string
		method string
		say    []string // in one go
		later  []string // when the answer was read
	}{
		{"in the same write", "GET", []string{ok("first") + poison}, nil},
		{"in a write of its own, and in TLS a record", "GET", []string{ok("first"), poison}, nil},
		{"half of it, and half a record", "GET", []string{ok("first"), poison[:20]}, []string{poison[20:]}},
		{"on the idle connection", "GET", []string{ok("first")}, []string{poison}},
		{"a body that HEAD has none of", "HEAD", []string{"HTTP/1.1 200 OK\r\nContent-Length: 67\r\n\r\n", poison}, nil},
		{"a body that 204 has none of", "GET", []string{"HTTP/1.1 204 No Content\r\n\r\n", poison}, nil},
		{"a body that 304 has none of", "GET", []string{"HTTP/1.1 304 Not Modified\r\nContent-Length: 67\r\n\r\n" + poison}, nil},
		{"behind the last chunk", "GET", []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n", poison}, nil},
		{"behind trailers", "GET", []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n" + poison}, nil},
		{"a 408 for being idle", "GET", []string{ok("first")}, []string{"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"}},
		{"one octet", "GET", []string{ok("first")}, []string{"\n"}},
	} {
		for _, secure := range []bool{false, true} {
			wasRead, said := make(chan struct{}), make(chan struct{})
			o := newOrigin(t, tlsIf(secure), func(c *peer, n int64) {
				if c.request() == nil {
					return
				}
				if n > 1 {
					c.say(ok("right"))
					return
				}
				c.say(r.say...)
				<-wasRead
				if r.later != nil {
					c.say(r.later...)
				}
				close(said)
				_, _ = io.Copy(io.Discard, c)
			})
			tr := newClient(t, nil)
			if _, _, err := fetch(tr, newRequest(t, r.method, o.url(secure), nil)); err != nil {
				t.Fatalf("%s: %v", r.why, err)
			}
			close(wasRead)
			<-said
			_, body, err := fetch(tr, newRequest(t, "GET", o.url(secure), nil))
			if err != nil || body != "right" {
				t.Errorf("%s, TLS %t: the next answer is %q, %v", r.why, secure, body, err)
			}
			tr.CloseIdleConnections()
		}
	}
}

func TestStaleConnection(t *testing.T) {
	for _, r := range []struct {
		why    string
		method string
		body   string
		asked  int64 // how often the origin sees the request
		works  bool
	}{
		{"once more", "GET", "", 2, true},
		{"once more", "HEAD", "", 2, true},
		{"once more", "OPTIONS", "", 2, true},
		{"not safe to repeat", "POST", "", 1, false},
		{"not safe to repeat", "DELETE", "", 1, false},
		{"not safe to repeat", "PATCH", "x", 1, false},
		{"a body that was read is gone", "GET", "x", 1, false},
	} {
		for _, secure := range []bool{false, true} {
			var asked atomic.Int64
			o := newOrigin(t, tlsIf(secure), func(c *peer, n int64) {
				for i := 0; ; i++ {
					if c.request() == nil {
						return
					}
					if i > 0 || n > 1 {
						asked.Add(1)
					}
					if i > 0 { // it was just about to close
						return
					}
					c.say(ok(""))
				}
			})
			tr := newClient(t, nil)
			if _, _, err := fetch(tr, newRequest(t, "GET", o.url(secure), nil)); err != nil {
				t.Fatal(err)
			}
			_, _, err := fetch(tr, newRequest(t, r.method, o.url(secure), strings.NewReader(r.body)))
			if (err == nil) != r.works || asked.Load() != r.asked {
				t.Errorf("%s %q, TLS %t (%s): seen %d times, want %d; %v", r.method, r.body, secure, r.why, asked.Load(), r.asked, err)
			}
			tr.CloseIdleConnections()
		}
	}
}

// An origin that closes whatever is asked is not asked for ever.
func TestStaleConnectionOnceMoreIsOnce(t *testing.T) {
	var asked atomic.Int64
	o := newOrigin(t, nil, func(c *peer, n int64) {
		for i := 0; c.request() != nil; i++ {
			if n == 1 && i == 0 {
				c.say(ok(""))
				continue
			}
			asked.Add(1)
			return
		}
	})
	tr := newClient(t, nil)
	_, _, _ = fetch(tr, newRequest(t, "GET", o.url(false), nil))
	_, _, err := fetch(tr, newRequest(t, "GET", o.url(false), nil))
	if !errors.Is(err, io.ErrUnexpectedEOF) && !brokenOff(err) || asked.Load() != 2 {
		t.Errorf("asked %d times, want 2; %v", asked.Load(), err)
	}
}

// A request that may not be repeated goes out on a connection that was closed
// long ago in no case: it is looked at.
func TestClosedConnectionIsNotUsed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		closed := make(chan struct{}, 10)
		o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
			if c.request() != nil {
				c.say(ok("hello"))
			}
			if secure {
				_ = c.Conn.Close() // with a close_notify
			}
			_ = c.raw.Close()
			closed <- struct{}{}
		})
		tr := newClient(t, nil)
		for range 5 {
			if _, _, err := fetch(tr, newRequest(t, "POST", o.url(secure), nil)); err != nil {
				t.Fatalf("TLS %t: %v", secure, err)
			}
			<-closed
		}
	}
}

// The end of a request's context must never end another's request, however
// close to the end of the answer it comes.
func TestAbortNeverMeetsAKeptConnection(t *testing.T) {
	o := newOrigin(t, nil, func(c *peer, _ int64) {
		for c.request() != nil {
			c.say(ok("hello"))
		}
	})
	tr := newClient(t, func(b *http.Transport) { b.ResponseHeaderTimeout = patience }) // of which a deadline is kept, too
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				req := newRequest(t, "GET", o.url(false), nil).WithContext(ctx)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Errorf("a request that nobody cancelled: %v", err)
					cancel()
					return
				}
				ended := make(chan struct{})
				go func() { defer close(ended); cancel() }()
				if i%4 == 0 { // the answer is there, and is read when the connection was aborted
					<-ended
					time.Sleep(time.Millisecond)
				}
				if i%2 == 0 {
					_, err = io.Copy(io.Discard, resp.Body)
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("reading: %v", err)
					}
				}
				_ = resp.Body.Close()
				<-ended
			}
		})
	}
	all.Wait()
}

// Connections go round among requests of all kinds without getting mixed up.
func TestAnswersBelongToTheirRequests(t *testing.T) {
	for _, secure := range []bool{false, true} {
		o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
			for {
				r := c.request()
				if r == nil {
					return
				}
				body, _ := io.ReadAll(r.Body)
				c.say(ok(r.URL.Path + string(body)))
				if strings.HasSuffix(r.URL.Path, "7") {
					return
				}
			}
		})
		tr := newClient(t, func(b *http.Transport) { b.MaxIdleConns = 3 })
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 40 {
					path := fmt.Sprintf("%d/%d", g, i)
					resp, err := tr.RoundTrip(newRequest(t, "GET", o.url(secure)+path, strings.NewReader("")))
					if err != nil {
						t.Error(err)
						return
					}
					if i%5 == 0 {
						_ = resp.Body.Close()
						continue
					}
					b, err := io.ReadAll(resp.Body)
					if string(b) != "/"+path || err != nil {
						t.Errorf("%q, %v for %s", b, err, path)
					}
				}
			})
		}
		all.Wait()
		tr.CloseIdleConnections()
		eventually(t, "no connection is left", func() bool { return o.open.Load() == 0 })
	}
}

func TestBodyAfterItsEnd(t *testing.T) {
	gone := make(chan struct{})
	o := newOrigin(t, nil, func(c *peer, _ int64) {
		if r := c.request(); r != nil && r.URL.Path == "/cut" {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
			return
		}
		c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
		<-gone
	})
	defer close(gone)
	tr := newClient(t, nil)
	resp, err := tr.RoundTrip(newRequest(t, "GET", o.url(false)+"cut", nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // whoever reads on must not take it for whole
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a body that was cut off: %v", err)
		}
	}
	resp, err = tr.RoundTrip(newRequest(t, "GET", o.url(false), nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = resp.Body.Close()
	if n, err := resp.Body.Read(make([]byte, 10)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("reading a closed body: %d, %v", n, err)
	}
}

// As net/http allows it: to close a body is how a Read that waits is ended.
func TestBodyIsClosedWhileItIsRead(t *testing.T) {
	for range 50 {
		o := newOrigin(t, nil, func(c *peer, _ int64) {
			c.request()
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
			_, _ = io.Copy(io.Discard, c)
		})
		tr := newClient(t, nil)
		resp, err := tr.RoundTrip(newRequest(t, "GET", o.url(false), nil))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { _, err := io.Copy(io.Discard, resp.Body); done <- err }()
		_ = resp.Body.Close()
		select {
		case err := <-done:
			if err == nil {
				t.Error("the rest of the body was taken for read")
			}
		case <-time.After(patience):
			t.Fatal("the reader still waits")
		}
		eventually(t, "the connection is closed", func() bool { return o.open.Load() == 0 })
	}
}

// With an upstream proxy the connection may come inside a TLS that was made
// elsewhere. What that holds is looked at, too, and leaves no deadline behind.
func TestConnectionInsideAnothersTLS(t *testing.T) {
	for _, secure := range []bool{false, true} {
		inner := serverTLS()
		o := newOrigin(t, serverTLS(), func(c *peer, n int64) {
			if secure {
				c.Conn = tls.Server(c.Conn, inner)
				c.in = newReader(c.Conn)
			}
			for i := 0; c.request() != nil; i++ {
				if n == 1 && i == 4 {
					c.say(ok("right"), ok("poison"))
					continue
				}
				c.say(ok("right"))
			}
		})
		tr := newClient(t, func(b *http.Transport) {
			b.ResponseHeaderTimeout = time.Minute
			b.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&tls.Dialer{Config: &tls.Config{RootCAs: roots()}}).DialContext(ctx, network, o.addr)
			}
		})
		for i := range 10 {
			if _, body, err := fetch(tr, newRequest(t, "POST", o.url(secure), nil)); body != "right" || err != nil {
				t.Fatalf("TLS in it %t, request %d: %q, %v", secure, i, body, err)
			}
		}
		if n := o.accepted.Load(); n != 2 {
			t.Errorf("TLS in it %t: %d connections, want 2", secure, n)
		}
		tr.CloseIdleConnections()
	}
}
