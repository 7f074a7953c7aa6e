package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"heed/bench/engine/floor"
)

func newRig(t *testing.T) *Rig {
	t.Helper()
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRig(id)
	if err != nil {
		t.Fatal(err)
	}
	r.patience = 200 * time.Millisecond
	t.Cleanup(r.Close)
	return r
}

// run carries a plan out for a moment.
func (r *Rig) run(p Plan) (Result, error) {
	p.Warm, p.Time = 10*time.Millisecond, 50*time.Millisecond
	return r.Run(context.Background(), p, func() {}, func() {})
}

func TestEveryWayLeadsToTheOrigin(t *testing.T) {
	for name, p := range map[string]Plan{
		"plain":            {Conns: 3, Size: Small},
		"plain, large":     {Conns: 2, Size: Large},
		"TLS":              {Way: Intercepted, Conns: 3, Size: Mid},
		"TLS, each anew":   {Way: Intercepted, Conns: 3, Size: Small, Each: true},
		"relay":            {Way: Relayed, Conns: 3, Size: Small},
		"relay, each anew": {Way: Relayed, Conns: 3, Size: Small, Each: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newRig(t).run(p)
			if err != nil {
				t.Fatal(err)
			}
			if got.Answers <= 0 || len(got.Latencies) == 0 || got.At(0) > got.At(0.5) || got.At(0.5) > got.At(1) {
				t.Errorf("%v answers, latencies %v", got.Answers, got.Latencies)
			}
			if p.Each == (got.Connections == p.Conns) {
				t.Errorf("%d connections for %v answers", got.Connections, got.Answers)
			}
		})
	}
}

func TestPlainGoesThroughTheFloor(t *testing.T) {
	for _, size := range []int{Small, Mid, Large} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() { _ = floor.Serve(l) }()
		if _, err := newRig(t).run(Plan{Proxy: addr(l), Conns: 4, Size: size}); err != nil {
			t.Errorf("%d octets: %v", size, err)
		}
	}
}

func addr(l net.Listener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }

// proxy answers each connection as f does.
func proxy(t *testing.T, f func(net.Conn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return addr(l)
}

// say answers every read by the same octets.
func say(octets string) func(net.Conn) {
	return func(c net.Conn) {
		for buf := make([]byte, 4096); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
			if _, err := io.WriteString(c, octets); err != nil {
				return
			}
		}
	}
}

// A proxy that is fast because it does not do its work must not be measured.
func TestProxiesThatCheatAreFound(t *testing.T) {
	page := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", Small, pageBody(Small))
	for _, c := range []struct {
		why   string
		plan  Plan
		proxy func(net.Conn)
		want  string
	}{
		{"it answers in the origin's place", Plan{}, say(page), "something answers in its place"},
		{"it denies everything", Plan{}, say("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), "answered by 403, not 200"},
		{"it forwards what it has to deny", Plan{Denied: true}, say(page), "answered by 200, not 403"},
		{"it refuses tunnels", Plan{Way: Relayed}, say("HTTP/1.1 502 Bad Gateway\r\n\r\n"), "opening a tunnel: answered by\nHTTP/1.1 502"},
		{"it closes at once", Plan{}, func(net.Conn) {}, "closed in place of an answer"},
		{"it never answers", Plan{}, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "2 of 2 clients have had no answer"},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.plan.Proxy, c.plan.Conns, c.plan.Size = proxy(t, c.proxy), 2, Small
			if _, err := newRig(t).run(c.plan); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A proxy that relays is not one that intercepts.
func TestInterceptionIsMadeSureOf(t *testing.T) {
	r := newRig(t)
	at := proxy(t, func(c net.Conn) {
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return
		}
		o, err := net.Dial("tcp", r.TLS.String())
		if err != nil {
			return
		}
		defer o.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(o, c) }()
		_, _ = io.Copy(c, o)
	})
	if _, err := r.run(Plan{Proxy: at, Way: Intercepted, Conns: 1, Size: Small}); err == nil || !strings.Contains(err.Error(), "nothing was intercepted") {
		t.Errorf("got %v", err)
	}
}

// A kept connection may be closed when its answer has been given; that is no
// fault, and the next request goes on another.
func TestAConnectionThatIsNotKeptIsOpenedAgain(t *testing.T) {
	r := newRig(t)
	at := proxy(t, func(c net.Conn) {
		o, err := net.Dial("tcp", r.Plain.String())
		if err != nil {
			return
		}
		defer o.Close()
		buf := make([]byte, 4096)
		n, _ := c.Read(buf)
		_, _ = o.Write(buf[:n])
		if n, err = io.ReadAtLeast(o, buf, Small+100); err == nil {
			_, _ = c.Write(buf[:n])
		}
	})
	got, err := r.run(Plan{Proxy: at, Conns: 2, Size: Small})
	if err != nil || got.Connections < 3 {
		t.Errorf("%d connections, %v", got.Connections, err)
	}
}

func TestRunEndsWhenItIsToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newRig(t).Run(ctx, Plan{Conns: 1, Size: Small, Warm: time.Minute, Time: time.Minute}, func() {}, func() {}); err == nil {
		t.Error("it did as if nothing had happened")
	}
}
