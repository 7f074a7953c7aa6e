package roundtrip

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/testnet"
)

// inMemory returns a Transport whose origins are all served by serve, and how
// many connections are open at the origins' end.
func inMemory(t *testing.T, change func(*http.Transport), serve func(c io.ReadWriter)) (tr *Transport, dialled func(host string) int, end func()) {
	t.Helper()
	n := testnet.New(testnet.Config{Latency: time.Millisecond})
	l, err := n.Listen("192.0.2.1:80")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		n.SetName(fmt.Sprintf("h%d.example", i), netip.MustParseAddr("192.0.2.1"))
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	base := &http.Transport{DialContext: n.DialContext}
	if change != nil {
		change(base)
	}
	tr = New(Config{Base: base})
	end = func() { // Cleanup would come after the bubble, and no time passes there
		tr.CloseIdleConnections()
		_ = l.Close()
		time.Sleep(time.Minute)
	}
	return tr, func(host string) int { return n.Dialled(host + ":80") }, end
}

// polite answers all that is asked.
func polite(c io.ReadWriter) {
	p := newReader(c)
	for {
		r, err := http.ReadRequest(p)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, ok("hello"))
	}
}

// kept is what the pool holds, by each of the ways in which it is counted.
func kept(t *testing.T, tr *Transport) int {
	t.Helper()
	p := &tr.pool
	var hosts []*host
	for h := range p.each {
		hosts = append(hosts, h)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	inHosts, inOrder := 0, 0
	for _, h := range hosts {
		inHosts += len(h.idle)
	}
	since := time.Time{}
	for c := p.oldest; c != nil; c = c.newer {
		if c.since.Before(since) {
			t.Error("the order is not that of time")
		}
		since = c.since
		inOrder++
	}
	if inHosts != p.idle || inOrder != p.idle {
		t.Errorf("kept by hosts %d, in order %d, counted %d", inHosts, inOrder, p.idle)
	}
	return p.idle
}

func (p *pool) hosts() (n int) {
	for range p.each {
		n++
	}
	return n
}

func get(t *testing.T, tr http.RoundTripper, host string) {
	t.Helper()
	if _, body, err := fetch(tr, newRequest(t, "GET", "http://"+host+"/", nil)); err != nil || body != "hello" {
		t.Fatalf("%s: %q, %v", host, body, err)
	}
}

func TestLongestKeptGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, dialled, end := inMemory(t, func(b *http.Transport) { b.MaxIdleConns = 3 }, polite)
		defer end()
		for _, host := range []string{"h0.example", "h1.example", "h2.example", "h0.example", "h3.example"} {
			get(t, tr, host)
			time.Sleep(100 * time.Millisecond)
		}
		if n := kept(t, tr); n != 3 {
			t.Errorf("%d kept, want 3", n)
		}
		for _, host := range []string{"h0.example", "h2.example", "h3.example"} {
			get(t, tr, host)
			if n := dialled(host); n != 1 {
				t.Errorf("%s was dialled %d times: its connection was kept before that of h1", host, n)
			}
		}
		get(t, tr, "h1.example")
		if n := dialled("h1.example"); n != 2 {
			t.Errorf("h1 was dialled %d times, want 2: its connection was the longest kept", n)
		}
	})
}

func TestMostForAHost(t *testing.T) {
	for most, want := range map[int]int{-1: 0, 0: defaultPerHost, 1: 1, 5: 4} {
		synctest.Test(t, func(t *testing.T) {
			tr, _, end := inMemory(t, func(b *http.Transport) { b.MaxIdleConnsPerHost = most }, polite)
			defer end()
			var open []*http.Response
			for range 4 {
				resp, err := tr.RoundTrip(newRequest(t, "GET", "http://h0.example/", nil))
				if err != nil {
					t.Fatal(err)
				}
				open = append(open, resp)
			}
			for _, resp := range open {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if n := kept(t, tr); n != want {
				t.Errorf("MaxIdleConnsPerHost %d: %d kept of 4, want %d", most, n, want)
			}
		})
	}
}

func TestIdleConnectionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 1)
		tr, dialled, end := inMemory(t, func(b *http.Transport) { b.IdleConnTimeout = time.Minute }, func(c io.ReadWriter) {
			polite(c)
			ended <- time.Now()
		})
		defer end()
		get(t, tr, "h0.example")
		began := time.Now()
		time.Sleep(59 * time.Second)
		get(t, tr, "h0.example")
		if n := dialled("h0.example"); n != 1 {
			t.Fatalf("dialled %d times within IdleConnTimeout", n)
		}
		if took := (<-ended).Sub(began); took < 119*time.Second || took > 119*time.Second+2*sweepEvery {
			t.Errorf("closed after %v, want IdleConnTimeout after the last use, and a sweep", took)
		}
		time.Sleep(time.Minute + 2*sweepEvery)
		if n := tr.pool.hosts(); n != 0 || tr.pool.armed.Load() {
			t.Errorf("%d hosts are remembered at which nothing is kept; a sweep will come: %t", n, tr.pool.armed.Load())
		}
	})
}

// Between two sweeps nothing is used that is too old.
func TestExpiredConnectionIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, dialled, end := inMemory(t, func(b *http.Transport) { b.IdleConnTimeout = time.Second }, polite)
		defer end()
		get(t, tr, "h0.example")
		time.Sleep(1100 * time.Millisecond)
		get(t, tr, "h0.example")
		if n := dialled("h0.example"); n != 2 {
			t.Errorf("dialled %d times, want 2", n)
		}
	})
}

// A host that was forgotten while its answer was under way is known again.
func TestConnectionOutlivesItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, dialled, end := inMemory(t, func(b *http.Transport) { b.IdleConnTimeout = 10 * time.Second }, func(c io.ReadWriter) {
			p := newReader(c)
			for {
				if _, err := http.ReadRequest(p); err != nil {
					return
				}
				time.Sleep(time.Minute)
				_, _ = io.WriteString(c, ok("hello"))
			}
		})
		defer end()
		get(t, tr, "h0.example")
		get(t, tr, "h0.example")
		if n := dialled("h0.example"); n != 1 {
			t.Errorf("dialled %d times, want 1", n)
		}
		time.Sleep(time.Minute)
		if n := kept(t, tr); n != 0 {
			t.Errorf("%d kept", n)
		}
	})
}

func TestSweepClosesWhatTheOriginClosed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		closed := make(chan struct{})
		o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
			c.request()
			c.say(ok("hello"))
			_ = c.Conn.Close()
			close(closed)
		})
		tr := newClient(t, nil)
		if _, _, err := fetch(tr, newRequest(t, "GET", o.url(secure), nil)); err != nil {
			t.Fatal(err)
		}
		<-closed
		eventually(t, "a sweep closes it", func() bool { tr.pool.sweep(); return kept(t, tr) == 0 })
	}
}

func TestNothingIsKeptAfterCloseIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, _, end := inMemory(t, nil, polite)
		defer end()
		get(t, tr, "h0.example")
		resp, err := tr.RoundTrip(newRequest(t, "GET", "http://h1.example/", nil))
		if err != nil {
			t.Fatal(err)
		}
		tr.CloseIdleConnections()
		_, _ = io.Copy(io.Discard, resp.Body)
		if n := kept(t, tr); n != 0 {
			t.Errorf("%d kept after it", n)
		}
		get(t, tr, "h0.example")
		if n := kept(t, tr); n != 1 {
			t.Errorf("%d kept after another request", n)
		}
	})
}

func TestManyHosts(t *testing.T) {
	const hosts, most = 2000, 100
	synctest.Test(t, func(t *testing.T) {
		n := testnet.New(testnet.Config{})
		l, err := n.Listen("192.0.2.1:80")
		if err != nil {
			t.Fatal(err)
		}
		var open atomic.Int64
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				open.Add(1)
				go func() { polite(c); _ = c.Close(); open.Add(-1) }()
			}
		}()
		tr := New(Config{Base: &http.Transport{DialContext: n.DialContext, MaxIdleConns: most, IdleConnTimeout: time.Minute}})
		for i := range hosts {
			name := fmt.Sprintf("h%d.example", i)
			n.SetName(name, netip.MustParseAddr("192.0.2.1"))
			get(t, tr, name)
			if i%50 == 0 && kept(t, tr) > most {
				t.Fatalf("%d kept", kept(t, tr))
			}
		}
		synctest.Wait()
		if kept(t, tr) != most || open.Load() != most {
			t.Errorf("%d kept, %d open, want %d", kept(t, tr), open.Load(), most)
		}
		time.Sleep(2 * time.Minute)
		if n := tr.pool.hosts(); n != 0 || open.Load() != 0 {
			t.Errorf("%d hosts are remembered, %d connections open", n, open.Load())
		}
		_ = l.Close()
		synctest.Wait()
	})
}

func TestKeyOfAHost(t *testing.T) {
	for _, r := range []struct{ url, addr string }{
		{"http://a.example/", "a.example:80"},
		{"http://a.example:80/", "a.example:80"},
		{"http://a.example:443/", "a.example:443"},
		{"https://a.example:443/", "a.example:443"},
		{"https://a.example/", "a.example:443"},
		{"https://a.example:/", "a.example:443"},
		{"https://[2001:db8::1]/", "[2001:db8::1]:443"},
		{"https://[2001:db8::1]:8443/", "[2001:db8::1]:8443"},
		{"http://[2001:db8::80]/", "[2001:db8::80]:80"},
	} {
		h := host{key: keyOf(newRequest(t, "GET", r.url, nil).URL, false)}
		if h.addr() != r.addr {
			t.Errorf("%s is at %s, want %s", r.url, h.addr(), r.addr)
		}
	}
	one := keyOf(newRequest(t, "GET", "https://a.example:443/", nil).URL, false)
	if other := keyOf(newRequest(t, "GET", "https://a.example/", nil).URL, false); one != other || strings.Contains(one.host, ":") {
		t.Errorf("%v is not %v", one, other)
	}
}
