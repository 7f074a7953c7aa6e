package proxy

import (
	"net/netip"
	"sync"
	"time"

	"heed/internal/origin"
)

// Clients that want several things of an origin at once open a connection for
// each: Go's and browsers. When the first agrees on HTTP/2 they use that one, and
// close the others unused, as a client does that does not trust heed.
const (
	// spareTime is how long after a connection in HTTP/2 has begun others of the
	// same client, to the same origin, count as spare.
	spareTime = 5 * time.Second

	// spareGrace is how long a connection that was closed unused waits for another
	// that was faster and is seen later.
	spareGrace = 100 * time.Millisecond

	// mostBegun bounds what is remembered; what is lost at worst is a line too many.
	mostBegun = 1024
)

// begun remembers when clients began to speak HTTP/2 inside a tunnel: a client
// that does trusts heed.
type begun struct {
	mu   sync.Mutex
	last map[peers]time.Time
}

// peers are the ends of a connection.
type peers struct {
	client netip.Addr
	origin origin.Origin
}

// note is called when a connection begins to be used.
func (b *begun) note(t *tunnel) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil || len(b.last) >= mostBegun {
		b.last = map[peers]time.Time{}
	}
	b.last[peers{t.client, t.origin}] = time.Now()
}

// recent reports whether one of the same client and origin began not long ago.
func (b *begun) recent(t *tunnel) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.last[peers{t.client, t.origin}]
	return ok && time.Since(at) < spareTime
}

// spare reports whether a connection that was closed unused was one too many. It
// waits a little before it says no.
func (b *begun) spare(t *tunnel) bool {
	if b.recent(t) {
		return true
	}
	<-time.After(spareGrace)
	return b.recent(t)
}
