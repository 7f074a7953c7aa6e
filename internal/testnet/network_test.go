package testnet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestDialMeetsTheFaultThatWasSet(t *testing.T) {
	addr, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, row := range []struct {
		why  string
		set  func(*Network)
		addr string
		err  func(error) bool // nil: connected
		took time.Duration
	}{
		{"a name with an address", func(n *Network) { n.SetName("a.example", addr) }, "a.example:80", nil, 0},
		{"names know no case and no dot at the end", func(n *Network) { n.SetName("A.example", addr) }, "a.EXAMPLE.:80", nil, 0},
		{"an address", func(*Network) {}, "192.0.2.1:80", nil, 0},
		{"the first address refuses, the second does not", func(n *Network) { n.SetName("a.example", other, addr) }, "a.example:80", nil, 0},
		{"nobody listens", func(*Network) {}, "192.0.2.1:81", is(syscall.ECONNREFUSED), 0},
		{"no route", func(n *Network) { n.SetRoute(addr, Unroutable) }, "192.0.2.1:80", is(syscall.EHOSTUNREACH), 0},
		{"a black hole", func(n *Network) { n.SetRoute(addr, BlackHole) }, "192.0.2.1:80", timeout, time.Minute},
		{"a name that was not set", func(*Network) {}, "b.example:80", dns(func(e *net.DNSError) bool { return e.IsNotFound && e.Name == "b.example" }), 0},
		{"NXDOMAIN", func(n *Network) { n.SetNameFault("a.example", NoSuchHost) }, "a.example:80", dns(func(e *net.DNSError) bool { return e.IsNotFound }), 0},
		{"SERVFAIL", func(n *Network) { n.SetNameFault("a.example", ServerFailure) }, "a.example:80", dns(func(e *net.DNSError) bool { return e.IsTemporary && !e.IsTimeout }), 0},
		{"a resolver that is silent", func(n *Network) { n.SetNameFault("a.example", Silence) }, "a.example:80", dns(func(e *net.DNSError) bool { return e.IsTimeout }), time.Minute},
		{"no port", func(*Network) {}, "192.0.2.1", func(err error) bool { return err != nil }, 0},
		{"a port that is none", func(*Network) {}, "192.0.2.1:http", func(err error) bool { return err != nil }, 0},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := New(Config{})
				l, err := n.Listen("192.0.2.1:80")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				row.set(n)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				c, err := n.DialContext(ctx, "tcp", row.addr)
				switch {
				case row.err == nil && err != nil, row.err != nil && !row.err(err):
					t.Errorf("got %v", err)
				case time.Since(start) != row.took:
					t.Errorf("took %v, want %v", time.Since(start), row.took)
				case n.Dialled(row.addr) != 1:
					t.Errorf("dialled %d times", n.Dialled(row.addr))
				}
				if op := new(net.OpError); err != nil && (!errors.As(err, &op) || op.Op != "dial") {
					t.Errorf("%T is no error of a dial", err)
				}
				if c != nil {
					_ = c.Close()
				}
			})
		})
	}
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func timeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func dns(holds func(*net.DNSError) bool) func(error) bool {
	return func(err error) bool {
		var e *net.DNSError
		return errors.As(err, &e) && holds(e)
	}
}

func TestADialThatIsCancelledSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Config{Latency: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := n.DialContext(ctx, "tcp", "192.0.2.1:80"); !errors.Is(err, context.Canceled) || timeout(err) {
			t.Errorf("%v", err)
		}
	})
}

func TestAListenerThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Config{})
		l, err := n.Listen("192.0.2.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Listen(l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second listener: %v", err)
		}
		waiting, err := n.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a connection that nobody accepted: %v", err)
		}
		_ = waiting.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
		if _, err := n.DialContext(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a dial later: %v", err)
		}
		again, err := n.Listen(l.Addr().String())
		if err != nil {
			t.Fatalf("the address is not free: %v", err)
		}
		_ = again.Close()
	})
}

// net/http speaks over it, tells its traces what goes on, and leaves nothing
// behind.
func TestHTTPInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Config{Latency: 10 * time.Millisecond})
		n.SetName("a.example", netip.MustParseAddr("192.0.2.1"))
		l, err := n.Listen("192.0.2.1:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
		go func() { _ = server.Serve(l) }()
		defer server.Close()
		tr := &http.Transport{DialContext: n.DialContext}
		defer tr.CloseIdleConnections()
		seen := ""
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			DNSStart:     func(i httptrace.DNSStartInfo) { seen += "name " + i.Host },
			DNSDone:      func(httptrace.DNSDoneInfo) { seen += " done, " },
			ConnectStart: func(_, addr string) { seen += "connect " + addr },
			ConnectDone:  func(string, string, error) { seen += " done" },
		})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusTeapot || seen != "name a.example done, connect 192.0.2.1:80 done" {
			t.Errorf("%s; traced %q", resp.Status, seen)
		}
		if took := time.Since(start); took != 60*time.Millisecond {
			t.Errorf("name, connection and answer took %v, which is not three times there and back", took)
		}
	})
}
