package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// crowds: slow answers do not pile up at an origin, nor at
// an address that has many names.
var crowds = []scenario{
	{"at an origin", func(t *testing.T) { bounded(t, "per_origin: 4\n", 4, "http://one.example") }},
	{"at an origin, over both schemes", func(t *testing.T) { bounded(t, "per_origin: 4\n", 4, "http://one.example", "https://one.example") }},
	{"at an address with many names", func(t *testing.T) {
		var names []string
		for i := range 10 {
			names = append(names, fmt.Sprintf("http://name%d.example", i))
		}
		bounded(t, "per_origin: 4\nper_address: 6\n", 6, names...)
	}},
	{"by default, at an origin", func(t *testing.T) { bounded(t, "", 8, "http://one.example") }},
}

// crowd counts the requests that are under way at an origin.
type crowd struct {
	mu         sync.Mutex
	most, here int
	served     int
}

// slow answers after a while, a part of it when the head has gone.
func (c *crowd) slow(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.here++
	c.most = max(c.most, c.here)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.here--
		c.served++
		c.mu.Unlock()
	}()
	if pause(r.Context(), 250*time.Millisecond) {
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		pause(r.Context(), 250*time.Millisecond)
	}
}

// bounded has 64 clients insist on a page each, and looks for the most that are
// under way together: no more than the limit, and not fewer either.
func bounded(t *testing.T, pace string, limit int, origins ...string) {
	c := &crowd{}
	pages := map[string]http.HandlerFunc{}
	paths := numbered("/slow", 64)
	for _, path := range paths {
		pages[path] = c.slow
	}
	p := newPaced(t, nil, pages, pace)
	ctx := within(t, 90*time.Second)
	askers := []*asker{p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11), p.newAsker(t, "127.0.0.2", "OtherBot/1.0", http2)}
	var all sync.WaitGroup
	for i, path := range paths {
		origin := origins[i%len(origins)]
		all.Go(func() {
			if got := askers[i%2].insist(ctx, origin+path); got.status != 200 || got.body != "begun" {
				t.Errorf("%s%s: %d, %q, %v", origin, path, got.status, got.body, got.err)
			}
		})
	}
	all.Wait()
	t.Logf("%d requests were under way together at most, of %d", c.most, limit)
	if c.most != limit {
		t.Errorf("%d requests were under way together, want %d", c.most, limit)
	}
	if c.served != len(paths) {
		t.Errorf("%d of %d were served", c.served, len(paths))
	}
}
