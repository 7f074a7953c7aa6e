package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

// busy counts how many requests are under way at a time, by what key says of
// each.
type busy struct {
	mu   sync.Mutex
	now  map[string]int
	most map[string]int
}

func (b *busy) answers(d time.Duration, key func(*http.Request) string, s script) script {
	b.now, b.most = map[string]int{}, map[string]int{}
	return func(r *http.Request) (*http.Response, error) {
		k := key(r)
		b.mu.Lock()
		b.now[k]++
		b.most[k] = max(b.most[k], b.now[k])
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			b.now[k]--
			b.mu.Unlock()
		}()
		return after(d, s)(r)
	}
}

// farm has a hundred names at each address: 192.0.2.1 for a.…, 192.0.2.2 for b.….
func farm(_ context.Context, addr string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, addr[0] - 'a'})}, nil
}

func TestSoManyAreAskedAtOneAddressAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b busy
		transport := b.answers(time.Second, func(r *http.Request) string { return r.URL.Host[:1] }, answers(200, closedFile))
		f := newFetcher(t, Config{Transport: transport, Lookup: farm, PerAddress: 3, Concurrency: 100})
		var wg sync.WaitGroup
		began := time.Now()
		for _, name := range []string{"a", "b"} {
			for i := range 30 {
				wg.Go(func() {
					if s := snapshot(t, f, at(t, name+strings.Repeat("x", i)+".example")); s.Access != policy.Successful {
						t.Errorf("%+v", s)
					}
				})
			}
		}
		wg.Wait()
		if b.most["a"] != 3 || b.most["b"] != 3 || time.Since(began) != 10*time.Second {
			t.Errorf("at most %v at a time, %v in all", b.most, time.Since(began))
		}
		if n := len(f.retriever.gate.byAddress); n != 0 {
			t.Errorf("%d addresses are kept", n)
		}
	})
}

// To wait for one's turn is not to be slow: the time of a fetch runs while it is
// under way.
func TestTheTimeDoesNotRunWhileAFetchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(t, Config{Transport: after(9*time.Second, answers(200, closedFile)), Lookup: farm, PerAddress: 1})
		var wg sync.WaitGroup
		var mu sync.Mutex
		var last Event
		f.observe.Fetched = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Waited >= last.Waited {
				last = e
			}
		}
		for i := range 20 {
			wg.Go(func() {
				if s := snapshot(t, f, at(t, "a"+strings.Repeat("x", i)+".example")); s.Access != policy.Successful {
					t.Errorf("%+v", s)
				}
			})
		}
		wg.Wait()
		if last.Waited != 171*time.Second || last.Duration != 9*time.Second {
			t.Errorf("the last waited %v and took %v", last.Waited, last.Duration)
		}
	})
}

// A crowded address takes nothing from the others, and a redirect to it waits
// like everybody.
func TestWhoWaitsForAnAddressHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b busy
		transport := b.answers(10*time.Second, func(r *http.Request) string { return r.URL.Host[:1] }, func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, "c") {
				return response(302, "", "Location: https://a.example/r"+r.URL.Host), nil
			}
			return response(200, closedFile), nil
		})
		f := newFetcher(t, Config{Transport: transport, Lookup: func(ctx context.Context, addr string) ([]netip.Addr, error) {
			if addr[0] == 'c' {
				return nil, nil // not known
			}
			return farm(ctx, addr)
		}, PerAddress: 1, Concurrency: 4, Timeout: 25 * time.Second})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { snapshot(t, f, at(t, "c"+strings.Repeat("x", i)+".example")) })
		}
		time.Sleep(time.Minute) // all of them are at a.example, or wait for it
		began := time.Now()
		if s := snapshot(t, f, at(t, "b.example")); s.Access != policy.Successful || time.Since(began) != 10*time.Second {
			t.Errorf("another origin waited %v: %+v", time.Since(began), s)
		}
		wg.Wait()
		if b.most["a"] != 1 || b.most["c"] != 4 {
			t.Errorf("at most %v at a time", b.most)
		}
	})
}

func TestAnOriginWithoutAnAddressIsUnreachable(t *testing.T) {
	transport := &counted{answer: answers(200, "")}
	f := newFetcher(t, Config{Transport: transport, Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return nil, dnsError("no such host", false)
	}})
	s := snapshot(t, f, at(t, "a.example"))
	if s.Access != policy.Unreachable || allowed(s, "/") || s.Attempts != 1 || transport.asked.Load() != 0 {
		t.Errorf("%+v", s)
	}
}

func TestANameThatIsNotResolvedInTimeSaysNothingOfTheOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(t, Config{Transport: answers(200, ""), Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		s := snapshot(t, f, at(t, "a.example"))
		if s.Access != policy.Unreachable || s.Attempts != 0 || !strings.Contains(s.Err, "resolving") {
			t.Errorf("%+v", s)
		}
	})
}

// An address is bounded also where names have others besides, which are theirs
// alone; and where two have the same in another order, neither waits for ever.
func TestEveryAddressOfANameIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b busy
		transport := b.answers(time.Second, func(*http.Request) string { return "victim" }, answers(200, closedFile))
		victim, other := netip.MustParseAddr("192.0.2.200"), netip.MustParseAddr("192.0.2.201")
		var n atomic.Int64
		f := newFetcher(t, Config{Transport: transport, PerAddress: 2, Lookup: func(context.Context, string) ([]netip.Addr, error) {
			i := n.Add(1)
			own := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
			if i%2 == 0 {
				return []netip.Addr{other, own, victim}, nil
			}
			return []netip.Addr{own, victim, other, victim}, nil
		}})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() { snapshot(t, f, host(i)) })
		}
		wg.Wait()
		if b.most["victim"] != 2 || len(f.retriever.gate.byAddress) != 0 {
			t.Errorf("%d at a time, %d addresses are kept", b.most["victim"], len(f.retriever.gate.byAddress))
		}
	})
}

// Whoever leaves the queue leaves nothing behind.
func TestTheGateKeepsNoPlaceForWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 1)
		here := []netip.Addr{netip.MustParseAddr("2001:db8::1")}
		near := []netip.Addr{netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db9::1")}
		leave, err := g.enter(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		var failed atomic.Int64
		for range 10 {
			go func() {
				if _, err := g.enter(ctx, near); errors.Is(err, gone) {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		cancel(gone)
		synctest.Wait()
		if failed.Load() != 10 || len(g.places) != 1 {
			t.Errorf("%d left for the cause, %d places taken", failed.Load(), len(g.places))
		}
		leave()
		if len(g.places) != 0 || len(g.byAddress) != 0 {
			t.Errorf("%d places, %d addresses are kept", len(g.places), len(g.byAddress))
		}
	})
}
