package fetch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// filled is an entry as a successful fetch makes it.
func filled(m *memory, o origin.Origin, octets string) *entry {
	l := lifetimes{freshFor: time.Hour, staleFor: time.Hour, retryMin: time.Minute, retryMax: time.Hour}
	a := answer{access: policy.Successful, status: 200, octets: []byte(octets), body: m.bodies.share([]byte(octets), "")}
	return l.next(nil, o.RobotsURL(), a, momentOf(time.Now()), 0)
}

func host(i int) origin.Origin {
	return origin.Origin{Scheme: "https", Host: fmt.Sprintf("host-%07d.shop.example", i), Port: "443"}
}

func quiet(int, int64) {}

// audit compares what is charged with what is there.
func audit(t *testing.T, m *memory) {
	t.Helper()
	var octets int64
	held := map[*body]int{}
	for i := range m.shards {
		now := m.shards[i].now.Load()
		for _, e := range append(now.young.entries(), now.old.entries()...) {
			octets += int64(e.cost)
			if e.body != nil {
				held[e.body]++
			}
		}
	}
	for b, n := range held {
		octets += b.size
		if b.held != n || m.bodies.byKey[b.key] != b {
			t.Errorf("a body is held %d times, counted %d times, in the table %v", n, b.held, m.bodies.byKey[b.key] == b)
		}
	}
	if len(held) != len(m.bodies.byKey) {
		t.Errorf("%d bodies held, %d in the table", len(held), len(m.bodies.byKey))
	}
	if used := m.used.Load(); used != octets {
		t.Errorf("%d octets charged, %d there", used, octets)
	}
}

func TestEqualBodiesAreKeptOnce(t *testing.T) {
	f := newFetcher(t, Config{Transport: answers(200, closedFile+strings.Repeat("Disallow: /x\n", 1000))})
	var rules *policy.Policy
	var octets int64
	for i := range 1000 {
		s := snapshot(t, f, host(i))
		if rules == nil {
			rules, octets = s.Rules, f.Stats().Octets
		}
		if s.Rules != rules {
			t.Fatalf("origin %d has a copy of its own", i)
		}
	}
	s := f.Stats()
	if s.Bodies != 1 || s.Origins != 1000 {
		t.Errorf("%+v", s)
	}
	if more := (s.Octets - octets) / 999; more > 2*entryCost {
		t.Errorf("%d octets for each further origin", more)
	}
	audit(t, f.memory)
}

func TestABodyGoesWithItsLastOrigin(t *testing.T) {
	m := newMemory(1<<30, quiet)
	a, b := host(1), host(2)
	m.put(a, filled(m, a, "one"))
	m.put(b, filled(m, b, "one"))
	m.put(a, filled(m, a, "two"))
	if n := m.bodies.count(); n != 2 {
		t.Errorf("%d bodies, want 2", n)
	}
	m.put(b, filled(m, b, "two"))
	if n := m.bodies.count(); n != 1 {
		t.Errorf("%d bodies, want 1", n)
	}
	audit(t, m)
}

func TestMemoryStaysBoundedWith100000Origins(t *testing.T) {
	const budget = 4 << 20
	var evicted, freed atomic.Int64
	m := newMemory(budget, func(n int, octets int64) { evicted.Add(int64(n)); freed.Add(octets) })
	for i := range 100_000 {
		o := host(i)
		m.put(o, filled(m, o, fmt.Sprintf("User-agent: *\nDisallow: /%d\n", i%500)))
		if used := m.used.Load(); used > budget {
			t.Fatalf("%d octets after %d origins", used, i+1)
		}
		if e := m.get(o); e == nil {
			t.Fatalf("origin %d is forgotten at once", i)
		}
	}
	if n := m.origins(); int64(n) != 100_000-evicted.Load() || n < 4000 {
		t.Errorf("%d origins in memory, %d evicted", n, evicted.Load())
	}
	if freed.Load() <= 0 {
		t.Errorf("%d octets freed", freed.Load())
	}
	audit(t, m)
}

func TestWhatIsInUseStaysInMemory(t *testing.T) {
	m := newMemory(1<<20, quiet)
	used := make([]origin.Origin, 100)
	for i := range used {
		used[i] = host(-i - 1)
		m.put(used[i], filled(m, used[i], closedFile))
	}
	lost := 0
	for i := range 30_000 {
		m.put(host(i), filled(m, host(i), closedFile))
		if i%100 != 0 {
			continue
		}
		for _, o := range used {
			if m.get(o) == nil {
				lost++
				m.put(o, filled(m, o, closedFile))
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d lookups of origins in use found nothing", lost)
	}
	audit(t, m)
}

func TestAnEvictedOriginIsAskedAgainAndNotAllowed(t *testing.T) {
	transport := &counted{answer: answers(200, "User-agent: *\nDisallow: /\n")}
	f := newFetcher(t, Config{Transport: transport, MemoryBytes: 1})
	for range 3 {
		if s := snapshot(t, f, at(t, "a.example")); allowed(s, "/") {
			t.Errorf("%+v", s)
		}
	}
	if n := transport.asked.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if s := f.Stats(); s.Origins != 0 || s.Bodies != 0 || s.Octets != 0 {
		t.Errorf("%+v", s)
	}
}

// What is charged must be near what the process really takes, or the bound
// means nothing.
func TestTheChargeIsTheMemoryTaken(t *testing.T) {
	for _, r := range []struct {
		why    string
		origin func(int) origin.Origin
		body   func(int) string
	}{
		{"one body for all", host, func(int) string { return closedFile }},
		{"bodies of their own", host, func(i int) string {
			return fmt.Sprintf("User-agent: *\nDisallow: /%d/\nAllow: /%d/public/\nUser-agent: ExampleBot\nDisallow: /\n", i, i)
		}},
		{"ports of their own", func(i int) origin.Origin {
			o := host(i)
			o.Port = "8443"
			return o
		}, func(int) string { return closedFile }},
	} {
		m := newMemory(1<<40, quiet)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 20_000 {
			o := r.origin(i)
			m.put(o, filled(m, o, r.body(i)))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		taken, charged := int64(after.HeapAlloc)-int64(before.HeapAlloc), m.used.Load()
		ratio := float64(taken) / float64(charged)
		t.Logf("%s: %d octets an origin, %d charged", r.why, taken/20_000, charged/20_000)
		if ratio < 0.5 || ratio > 1.2 {
			t.Errorf("%s: %d octets taken, %d charged", r.why, taken, charged)
		}
		runtime.KeepAlive(m)
	}
}

func TestALookupAllocatesNothing(t *testing.T) {
	f := newFetcher(t, Config{Transport: answers(200, closedFile)})
	for _, r := range []struct {
		o    origin.Origin
		most float64
	}{
		{mustParse(t, "https", "a-host-name-that-is-longer-than-thirty-two-octets.example"), 0},
		{mustParse(t, "http", "a-host-name-that-is-longer-than-thirty-two-octets.example"), 0},
		{mustParse(t, "https", "a.example:8443"), 1}, // the key
	} {
		snapshot(t, f, r.o)
		ctx := context.Background()
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := f.Snapshot(ctx, r.o); err != nil {
				t.Error(err)
			}
		}); n > r.most {
			t.Errorf("%s: %v allocations, at most %v expected", r.o, n, r.most)
		}
	}
}

// Readers, writers and evictions at once: a reader sees what belongs to its
// origin and nothing else, and the books balance at the end.
func TestMemoryUnderConcurrentUse(t *testing.T) {
	m := newMemory(100_000, quiet)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 3000 {
				o := host(random.IntN(400))
				if random.IntN(3) > 0 {
					if e := m.get(o); e != nil && e.url != o.RobotsURL() {
						t.Errorf("%s has the entry of %s", o, e.url)
					}
					continue
				}
				m.put(o, filled(m, o, fmt.Sprint("Disallow: /", random.IntN(20))))
			}
		})
	}
	wg.Wait()
	audit(t, m)
}

func TestACarriedEntryIsFoundByEverybody(t *testing.T) {
	m := newMemory(1<<30, quiet)
	o := host(1)
	kind, key := place(o)
	m.put(o, filled(m, o, closedFile))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if m.get(o) == nil {
					t.Error("an entry was not found while it was carried over")
					return
				}
			}
		})
	}
	s := m.shard(o)
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
		s.turn()
		for { // until a reader carried it
			if _, ok := s.now.Load().young[kind].Get(key); ok || t.Failed() {
				break
			}
			runtime.Gosched()
		}
	}
	close(done)
	wg.Wait()
}

// Two origins share a place only when they are one.
func FuzzPlace(f *testing.F) {
	f.Add("http", "a.example", "https", "a.example")
	f.Add("https", "a.example:80", "http", "a.example:443")
	f.Add("https", "a.example:8443", "https", "8443.a.example")
	f.Add("http", "[::1]:8080", "http", "[::1:8080]")
	f.Fuzz(func(t *testing.T, scheme1, authority1, scheme2, authority2 string) {
		a, err1 := origin.Parse(scheme1, authority1)
		b, err2 := origin.Parse(scheme2, authority2)
		if err1 != nil || err2 != nil {
			return
		}
		kindA, keyA := place(a)
		kindB, keyB := place(b)
		if (a == b) != (kindA == kindB && keyA == keyB) {
			t.Fatalf("%+v at %d %q, %+v at %d %q", a, kindA, keyA, b, kindB, keyB)
		}
	})
}
