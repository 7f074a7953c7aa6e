package pace

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// host is what is known of one.
type host struct {
	pacer *Pacer
	name  string

	mu        sync.Mutex
	forgotten bool          // it is not in the map any more
	underWay  int           // turns granted that have not ended
	unsent    []*Turn       // of which with an interval, and about to go out: no other may
	usual     time.Duration // what its site asked for last; 0: nothing
	learning  moment        // until when a fetch of a robots.txt waits for what another brings
	cut       bool          // it was told that the site asks for more than it is granted
	past      past
	words     words
	slow      slow
	queue     queue
	clients   shares[client]

	at       []*address    // where it is; not changed, but replaced
	resolved moment        // when that was found out; 0: never
	looking  chan struct{} // closed when somebody has looked for that; nil: nobody does
	offered  bool          // a place at an address is meant for it
	said     atomic.Bool   // the origin asked to be left alone, perhaps until later
	timer    *time.Timer
}

func newHost(p *Pacer, name string) *host { return &host{pacer: p, name: name} }

// isUnresolved tells whether it is time to look for the host's addresses, or to
// wait for who does: while nothing is known nobody goes by nothing.
func (h *host) isUnresolved(now moment) bool {
	c := &h.pacer.config
	return c.PerAddress > 0 && c.Addresses != nil &&
		(h.resolved == 0 || now-h.resolved > resolvedFor && h.looking == nil)
}

// resolve finds the host's addresses, which it does not hold the lock for. A name
// that cannot be resolved keeps what it had for a moment: it is connecting that
// will tell why. The error is that of ctx.
func (h *host) resolve(ctx context.Context, addr string) error {
	if h.looking != nil {
		return h.awaitLook(ctx)
	}
	found, err := h.look(ctx, addr)
	now := h.pacer.now()
	switch {
	case err == nil:
		h.settle(h.pacer.addresses.of(found))
		h.resolved = now
		h.dispatch(now) // there may be room
	case ctx.Err() != nil: // that says nothing of the name: the next one looks
		return context.Cause(ctx)
	default:
		h.resolved = now + unresolvedFor - resolvedFor
	}
	return nil
}

// look asks for the addresses without the lock. A panic in it finds the host locked
// again, as its callers have it: to unlock it twice would end the process.
func (h *host) look(ctx context.Context, addr string) ([]netip.Addr, error) {
	h.looking = make(chan struct{})
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		close(h.looking)
		h.looking = nil
	}()
	return h.pacer.config.Addresses(ctx, addr)
}

// awaitLook waits for who looks.
func (h *host) awaitLook(ctx context.Context) error {
	looked := h.looking
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case <-looked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle replaces where the host is, which those who hold places there go on to.
func (h *host) settle(at []*address) {
	before := h.at
	h.at = at
	h.pacer.addresses.drop(before)
}

// interval returns the interval that is in force for a turn.
func (h *host) interval(t *Turn) time.Duration {
	site := t.site
	if t.robots {
		site = h.usual
	}
	return max(site, h.pacer.config.MinInterval, h.words.penalty(t), h.slow.interval)
}

// earliest is when a turn of an interval may be granted: 0 for at any time.
func (h *host) earliest(t *Turn, d time.Duration) moment {
	return max(h.words.until(t), h.past.earliest(d, t.robots))
}

// isPaced tells whether a turn keeps an interval from others.
func (t *Turn) isPaced(d time.Duration) bool { return t.robots || d > 0 }

// mayGo tells whether a turn that is asked for now need not wait. Then its places
// at the addresses are taken.
func (h *host) mayGo(t *Turn, now moment) bool {
	h.words.forget(now)
	h.overtake(now)
	if h.isFull() || h.words.until(t) > now {
		return false
	}
	d := h.interval(t)
	if t.robots && h.learning > now {
		return false
	}
	if t.isPaced(d) && (len(h.unsent) > 0 || len(h.queue.turns) > 0 && !t.robots || h.earliest(t, d) > now) {
		return false
	}
	if len(h.queue.turns) > 0 && h.queue.waitsForPlace { // they were here first
		return false
	}
	return h.takePlaces(t)
}

func (h *host) isFull() bool {
	limit := h.pacer.config.PerOrigin
	return limit > 0 && h.underWay >= limit
}

// takePlaces takes places at all addresses of the host, or none.
func (h *host) takePlaces(t *Turn) bool {
	if len(h.at) > 0 && !takeAll(h.at, h) {
		return false
	}
	h.offered = false
	t.at = h.at
	return true
}

// grant lets a turn go.
func (h *host) grant(t *Turn, now moment) {
	t.state, t.granted, t.waited = granted, now, now-t.asked
	t.interval = h.interval(t)
	h.underWay++
	if t.isPaced(t.interval) {
		h.unsent = append(h.unsent, t)
	}
	h.learns(t, now)
	if t.ready != nil {
		close(t.ready)
	}
}

// overtake lets others go before a turn that takes long to connect: it will look
// once more when it is about to go out. So nobody keeps a host to himself by a
// port that does not answer, or a tunnel in which he says nothing.
func (h *host) overtake(now moment) {
	h.unsent = slices.DeleteFunc(h.unsent, func(t *Turn) bool { return !t.connected && now >= t.granted+connecting })
}

// gone takes a turn out of those that are about to go out.
func (h *host) gone(t *Turn) (was bool) {
	i := slices.Index(h.unsent, t)
	if i >= 0 {
		h.unsent = slices.Delete(h.unsent, i, i+1)
	}
	return i >= 0
}

// longest is the longest interval that any request may have.
func (h *host) longest() time.Duration {
	return max(h.pacer.config.MaxDelay, h.pacer.config.MinInterval, h.words.longestPenalty(), h.slow.interval)
}

// end ends a turn. It returns the addresses that got room where some wait for it.
func (h *host) end(t *Turn) (freed []*address) {
	switch t.state {
	case waiting:
		h.queue.remove(t)
		h.left(t, false)
		t.waited = h.pacer.now() - t.asked // in vain
	case granted:
		h.underWay--
		h.learned(t)
		h.arrived(t, 0)
		h.gone(t) // if it never went out, it keeps nobody waiting
		if giveBack(t.at) {
			freed = t.at
		}
		t.at = nil
	default:
		return nil
	}
	t.state = over
	if len(h.queue.turns) > 0 {
		h.dispatch(h.pacer.now())
	} else {
		h.disarm()
	}
	return freed
}

// dispatch grants what may go now, refuses what will not come in time, and sets
// the timer to when one of that is to be done next.
func (h *host) dispatch(now moment) {
	if len(h.queue.turns) == 0 {
		h.disarm()
		return
	}
	h.words.forget(now)
	h.overtake(now)
	next := h.grantAll(now)
	h.refuseLate(now)
	h.arm(next)
}

// grantAll grants what may go now, and returns when the first may go that waits
// for its time; 0 if none does.
func (h *host) grantAll(now moment) (next moment) {
	h.queue.waitsForPlace = false
	held := len(h.unsent) > 0 // to go before that one would be to overtake it
	for i := 0; i < len(h.queue.turns) && !h.queue.waitsForPlace; {
		t := h.queue.turns[i]
		if until := h.words.until(t); until > now { // that keeps nobody else waiting
			next = sooner(next, until)
			i++
			continue
		}
		d := h.interval(t)
		paced := t.isPaced(d)
		if t.robots && h.learning > now { // what it brings may be waited for by what comes behind it
			next, held = sooner(next, h.learning), true
		}
		if at := h.earliest(t, d); paced && !held && at > now {
			next, held = sooner(next, at), true
		}
		switch {
		case paced && held:
			i++
		case h.isFull() || !h.takePlaces(t):
			h.queue.waitsForPlace = true
		default:
			h.queue.turns = slices.Delete(h.queue.turns, i, i+1)
			h.left(t, true)
			h.grant(t, now)
			held = held || len(h.unsent) > 0
		}
	}
	return next
}

// sooner is the earlier of two moments, of which the first may be 0 for none.
func sooner(a, b moment) moment {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// arm sets the timer to next, or to when the first has waited for as long as it
// may, or can overtake one that connects.
func (h *host) arm(next moment) {
	for _, t := range h.unsent {
		if !t.connected {
			next = sooner(next, t.granted+connecting)
		}
	}
	for _, t := range h.queue.turns {
		next = sooner(next, t.deadline+1)
	}
	switch {
	case len(h.queue.turns) == 0:
		h.disarm()
	case h.timer == nil:
		h.timer = time.AfterFunc(next-h.pacer.now(), h.tick)
	default:
		h.timer.Reset(next - h.pacer.now())
	}
}

// disarm stops the timer and drops it: most hosts that somebody waited at have
// nobody wait for long.
func (h *host) disarm() {
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

func (h *host) tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dispatch(h.pacer.now())
}

// isIdle tells whether nothing needs to be known of the host.
func (h *host) isIdle(now moment) bool {
	h.words.forget(now)
	return h.underWay == 0 && len(h.queue.turns) == 0 && h.looking == nil &&
		len(h.words) == 0 && h.past.isOver(now, h.longest()) && h.slow.isOver(now) && h.clients.isOver(now)
}

// tellCut tells of a site that asks for more than it is granted, once.
func (h *host) tellCut(asked time.Duration) {
	if c := &h.pacer.config; !h.cut && c.Cut != nil {
		c.Cut(h.name, asked, c.MaxDelay)
	}
	h.cut = true
}
