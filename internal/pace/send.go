package pace

import (
	"context"
	"time"
)

// Send says that the request has a connection and goes out now. It is called each
// time that the request goes out: one that is sent once more may have arrived the
// first time. It waits where another has overtaken the request while it connected,
// where it goes out once more, and where the origin has asked meanwhile to be left
// alone; all waits count together as what the request may be held. An error is a
// *Refusal, or the cause of the end of ctx: then it must not go out, and End is to
// be called. The zero Turn may go at any time, and takes no notice of Answered and
// End.
func (t *Turn) Send(ctx context.Context) error {
	if t.host == nil || !t.IsTimed() && !t.host.said.Load() {
		return nil
	}
	for {
		wait, err := t.send()
		if err != nil || wait == 0 {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// send notes that the request goes out, or returns how long it has to wait.
func (t *Turn) send() (wait time.Duration, err error) {
	h := t.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.state != granted { // nobody waits for it any more
		return 0, nil
	}
	now := h.pacer.now()
	h.words.forget(now)
	h.arrived(t, now) // what it was sent on before is over
	h.said.Store(len(h.words) > 0)
	d := h.interval(t)
	at := h.words.until(t)
	if t.isPaced(d) {
		at = h.earliest(t, d)
	}
	if at <= now {
		h.send(t, d, now)
		return 0, nil
	}
	if wait = at - now; t.waited+wait > t.deadline-t.asked {
		return 0, &Refusal{Host: h.name, Cause: h.paceCause(t, now), Interval: d, Retry: max(wait, shortestRetry)}
	}
	if h.gone(t); t.isPaced(d) { // nobody overtakes it any more
		h.unsent = append(h.unsent, t)
	}
	t.connected = true
	t.waited += wait
	return wait, nil
}

// send notes that a request goes out, with the interval that is in force.
func (h *host) send(t *Turn, d time.Duration, now moment) {
	t.sent = now
	if t.isPaced(d) {
		t.arrives = now + onTheWay(t.recorded(d))
		h.past.record(t.recorded(d), t.arrives, h.longest())
	}
	if h.gone(t) || t.isPaced(d) {
		h.dispatch(now)
	}
}

// arrived says that a request that went out has arrived by now; 0 is the time at
// which it is.
func (h *host) arrived(t *Turn, now moment) {
	if t.arrives == 0 {
		return
	}
	if now == 0 {
		now = h.pacer.now()
	}
	h.past.arrived(t.arrives, now)
	t.arrives = 0
}
