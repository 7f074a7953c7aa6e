package proxy

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/pace"
)

// arrivals are the times at which requests came to an origin.
type arrivals struct {
	mu sync.Mutex
	at []time.Time
}

func (a *arrivals) note() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Now())
	return len(a.at)
}

// wantGaps looks at the gaps between n requests, of which the first went out after
// began. A busy machine may have the origin note each of them late, so that a gap
// between two notes says little; that no request is early is to be seen from the
// time before all.
func (a *arrivals) wantGaps(t *testing.T, began time.Time, n int, least time.Duration) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) != n {
		t.Errorf("%d requests came, want %d", len(a.at), n)
	}
	for i, at := range a.at {
		if after := at.Sub(began); after < time.Duration(i)*least {
			t.Errorf("request %d came after %v, with gaps that are to be of %v", i, after, least)
		}
	}
}

// forgetful is an origin that reads the second request of a connection, and
// closes it instead of answering.
func forgetful(t *testing.T, a *arrivals) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for n := range 2 {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					a.note()
					if n == 0 {
						_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

// TestARequestThatIsSentOnceMoreKeepsTheInterval: the origin may have seen it the
// first time.
func TestARequestThatIsSentOnceMoreKeepsTheInterval(t *testing.T) {
	const interval = 600 * time.Millisecond
	a := new(arrivals)
	origin := forgetful(t, a)
	r := start(t, pacedBy(t, pace.Config{}, 10*time.Second))
	r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 0.6\n"))
	began := time.Now()
	for range 2 {
		if got := r.get(t, origin+"/"); got.StatusCode != 200 {
			t.Fatalf("%s: %s", got.Status, got.body)
		}
	}
	a.wantGaps(t, began, 3, interval)
	r.entry(t)
	if e := r.entry(t); e.PaceWait < interval*11/10 { // one wait is not so long
		t.Errorf("it waited twice, which is recorded as %v", e.PaceWait)
	}
}

// TestARequestThatWouldBeSentOnceMoreTooLateIsTold429, as one that waits for its
// turn.
func TestARequestThatWouldBeSentOnceMoreTooLateIsTold429(t *testing.T) {
	a := new(arrivals)
	origin := forgetful(t, a)
	r := start(t, pacedBy(t, pace.Config{}, time.Second))
	r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 0.9\n"))
	began := time.Now()
	r.get(t, origin+"/")
	got := r.get(t, origin+"/")
	if got.StatusCode != 429 || got.Header.Get("Retry-After") != "1" || !strings.Contains(got.Header.Get("Robots-Decision"), "paced") {
		t.Errorf("%s, %v: %s", got.Status, got.Header, got.body)
	}
	a.wantGaps(t, began, 2, 900*time.Millisecond)
}

// TestAfterA429NothingThatIsStillConnectingGoesOut, whatever is spoken.
func TestAfterA429NothingThatIsStillConnectingGoesOut(t *testing.T) {
	for _, newOrigin := range []func(testing.TB, http.HandlerFunc) string{
		newOrigin,
		func(t testing.TB, h http.HandlerFunc) string { return newTLSOrigin(t, false, h) },
	} {
		a := new(arrivals)
		origin := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
			a.note()
			w.Header().Set("Retry-After", "100")
			w.WriteHeader(429)
		})
		var dials atomic.Int32
		dialling, said := make(chan struct{}), make(chan struct{})
		r := start(t, pacedBy(t, pace.Config{PerOrigin: 8}, time.Second), func(c *Config) {
			direct := c.Dial
			c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if dials.Add(1) == 1 {
					close(dialling)
					<-said
				}
				return direct(ctx, network, addr)
			}
		})
		r.policies.set(origin, rules(origin, ""))
		// What is first spoken inside TLS is found out by one; so the one that
		// connects meanwhile asks for an upgrade, which is for HTTP/1.1.
		slow := make(chan answer)
		go func() {
			slow <- r.get(t, origin+"/slow", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
		}()
		<-dialling
		if got := r.get(t, origin+"/"); got.StatusCode != 429 || got.Header.Get("Robots-Decision") != "" {
			t.Fatalf("%s, %v", got.Status, got.Header)
		}
		close(said)
		got := <-slow
		if got.StatusCode != 429 || got.Header.Get("Retry-After") != "100" || !strings.Contains(got.Header.Get("Robots-Decision"), "retry-after") {
			t.Errorf("%s, %v: %s", got.Status, got.Header, got.body)
		}
		a.wantGaps(t, time.Time{}, 1, 0)
	}
}

// TestAPortThatDoesNotAnswerKeepsNobodyFromAnother: whoever asks there could keep
// a host to himself.
func TestAPortThatDoesNotAnswerKeepsNobodyFromAnother(t *testing.T) {
	a := new(arrivals)
	origin := newOrigin(t, func(http.ResponseWriter, *http.Request) { a.note() })
	const silent = "http://127.0.0.1:9"
	dialling := make(chan struct{})
	r := start(t, pacedBy(t, pace.Config{}, 3*time.Second), func(c *Config) {
		direct := c.Dial
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if "http://"+addr != silent {
				return direct(ctx, network, addr)
			}
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	for _, o := range []string{origin, silent} {
		r.policies.set(o, rules(o, "User-agent: *\nCrawl-delay: 0.1\n"))
	}
	leaves := r.dial(t)
	if _, err := leaves.Write([]byte(request("GET", silent+"/"))); err != nil {
		t.Fatal(err)
	}
	<-dialling
	began := time.Now()
	for range 2 {
		if got := r.get(t, origin+"/"); got.StatusCode != 200 {
			t.Fatalf("%s: %s", got.Status, got.body)
		}
	}
	a.wantGaps(t, began, 2, 100*time.Millisecond)
	_ = leaves.Close()
	r.entry(t)
}
