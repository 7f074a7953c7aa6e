package pace

import "time"

// reading is for how long after a robots.txt came somebody may say what it asks of
// him: it is read and decided by first, on a machine that does other things.
const reading = 500 * time.Millisecond

// A fetch of a robots.txt has no interval of its own: it keeps the one that its
// host's site asked for last. Of a host that is new nobody knows one. So while a
// first fetch is under way others of that host, of another scheme or port, wait for
// what it brings; for a second at most, since it may hang.

// Teach says what a host's site asks of a request as soon as that is known: its turn
// may never be asked for, since a rule disallows it.
func (p *Pacer) Teach(name string, interval time.Duration) {
	h, now := p.host(name), p.now()
	defer h.mu.Unlock()
	if h.teach(interval, now) {
		h.dispatch(now)
	}
}

// teach takes what a site asks of a request, and reports whether a fetch waits for
// that.
func (h *host) teach(interval time.Duration, now moment) (waits bool) {
	if interval > 0 {
		h.usual = min(interval, h.pacer.config.MaxDelay)
	}
	waits = h.learning > now
	h.learning = 0
	return waits
}

// learns has other fetches wait for what t brings, if nothing is known.
func (h *host) learns(t *Turn, now moment) {
	if t.robots && h.usual == 0 {
		h.learning = now + connecting
	}
}

// learned says that a fetch is over. Whoever waits for what it says asks in a moment,
// and then it is known.
func (h *host) learned(t *Turn) {
	if now := h.pacer.now(); t.robots && h.learning > now {
		h.learning = now + reading
	}
}
