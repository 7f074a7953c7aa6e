package pace

import (
	"context"
	"net/netip"
	"time"
)

// Request is what a turn is asked for.
type Request struct {
	Host string // in canonical form (origin.Origin.Host)
	Port string // of the origin: what it says of being asked too much counts for that port
	Addr string // host:port, for Config.Addresses
	By   Asker
	What string // is asked for, such as a path: who comes back for it is told the same time

	// Interval is what the site asks of this client, as long as it says: 0 for
	// nothing. Config.MaxDelay is applied to it.
	Interval time.Duration

	// Asks is the record that says so: Site or Rate.
	Asks Cause

	// Hold is how long the request may wait. 0: not at all.
	Hold time.Duration

	// At is when that time begins, as time.Now returned it, a moment ago: to read
	// the clock is a third of what a turn costs that need not wait. Zero: now.
	At time.Time
}

// Asker is who asks. Askers of one client share what is due to the client.
type Asker struct {
	Client string     // a name of the operator's; "" for one that has none
	Addr   netip.Addr // where it is, if it has no name
	Agent  string     // what it calls itself, such as its product token
}

// state is where a turn is on its way.
type state uint8

const (
	unasked state = iota
	waiting       // in its host's queue
	granted       // it may go, or has gone
	over          // it was refused, or has ended
)

// Turn is the turn of one request. The zero value can be asked for; it must not
// be copied after that. One goroutine asks and waits; Send and Answered may be
// called by others.
type Turn struct {
	host    *host
	service string

	// guarded by host.mu
	state     state
	robots    bool // it is a fetch of a robots.txt
	asks      Cause
	cause     Cause // why it had to wait
	site      time.Duration
	interval  time.Duration // in force when it was granted
	what      uint64        // a hash of what is asked for
	asked     moment
	deadline  moment
	granted   moment
	sent      moment
	arrives   moment         // by when it is taken to have arrived; 0: it keeps no interval
	tag       int64          // by which it goes
	within    int64          // by which it goes among those of its client
	share     *share[client] // nil: it does not wait
	agent     *share[string]
	at        []*address // where it holds a place
	waited    time.Duration
	connected bool // it waits with its connection
	refusal   *Refusal
	ready     chan struct{} // closed when it does not wait any more; nil: it never did
}

// Ask asks for a turn. Nil means that the turn will come: Wait waits for it, and
// End must be called. An error is a *Refusal, or the cause of the end of ctx.
func (p *Pacer) Ask(ctx context.Context, t *Turn, r Request) error {
	return p.ask(ctx, t, &r, false)
}

// AskRobots is Ask for a fetch of the host's robots.txt. It goes before all that
// waits, since they may wait for it.
func (p *Pacer) AskRobots(ctx context.Context, t *Turn, r Request) error {
	return p.ask(ctx, t, &r, true)
}

func (p *Pacer) ask(ctx context.Context, t *Turn, r *Request, robots bool) error {
	h, now := p.host(r.Host), p.at(r.At)
	defer h.mu.Unlock()
	for h.isUnresolved(now) {
		if err := h.resolve(ctx, r.Addr); err != nil {
			return err
		}
		now = p.now()
	}
	if r.Interval > p.config.MaxDelay {
		h.tellCut(r.Interval)
	}
	taught := !robots && h.teach(r.Interval, now)
	*t = Turn{host: h, service: service(r.Port), robots: robots, asks: r.Asks, site: min(max(r.Interval, 0), p.config.MaxDelay), asked: now, deadline: now + max(r.Hold, 0)}
	if h.mayGo(t, now) {
		h.charge(t, r, now)
		h.grant(t, now)
		if taught {
			h.dispatch(now)
		}
		return nil
	}
	if refusal := h.enqueue(t, r, now); refusal != nil {
		return refusal
	}
	return nil
}

// Wait waits for the turn. An error is a *Refusal, or the cause of the end of
// ctx: then the place is given up.
func (t *Turn) Wait(ctx context.Context) error {
	if t.ready == nil {
		return nil
	}
	select {
	case <-t.ready:
	case <-ctx.Done():
		t.End()
		return context.Cause(ctx)
	}
	if t.refusal != nil {
		return t.refusal
	}
	return nil
}

// Waits tells whether Wait may take time.
func (t *Turn) Waits() bool { return t.ready != nil }

// Waited is how long it took until the turn came or was refused, for after Wait,
// and what it waited in Send.
func (t *Turn) Waited() time.Duration {
	if t.host == nil {
		return 0
	}
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.waited
}

// WaitedFor is why a turn that came had to wait, and the interval that is in
// force for it, for after Wait.
func (t *Turn) WaitedFor() (Cause, time.Duration) { return t.cause, t.interval }

// IsTimed tells whether it matters when the request goes out, for after Wait.
func (t *Turn) IsTimed() bool {
	return t.host != nil && (t.isPaced(t.interval) || t.host.pacer.config.TargetConcurrency > 0)
}

// Answered says what the origin answered, and what its Retry-After asks for: 0
// for nothing.
func (t *Turn) Answered(status int, retryAfter time.Duration) {
	h := t.host
	if h == nil || !isBackOff(status) && !t.IsTimed() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.state != granted {
		return
	}
	now := h.pacer.now()
	h.arrived(t, now)
	if t.robots && status >= 300 && status < 400 {
		h.learning = 0 // it is where to look further
	}
	if isBackOff(status) {
		h.words.add(t).pause(now, t.sentOr(t.granted), retryAfter)
		h.said.Store(true)
	} else if w := h.words.find(t); w != nil {
		w.recover(t.sentOr(t.granted), status)
	}
	if target := h.pacer.config.TargetConcurrency; target > 0 && t.sent > 0 {
		h.slow.answered(now, now-t.sent, target, status, h.pacer.config.MaxDelay)
	}
	h.dispatch(now)
}

func (t *Turn) sentOr(otherwise moment) moment {
	if t.sent > 0 {
		return t.sent
	}
	return otherwise
}

// End ends the turn, or gives up waiting for it. It may be called more than once.
func (t *Turn) End() {
	h := t.host
	if h == nil {
		return
	}
	h.mu.Lock()
	freed := h.end(t)
	h.mu.Unlock()
	for _, a := range freed {
		a.offer()
	}
}
