package pace

import (
	"hash/maphash"
	"slices"
	"time"
)

// Due tells in how much time a turn that waits will come, as far as can be told,
// and the *Refusal of who cannot wait for it. It is 0 where others have to end
// first. A nil error: the turn does not wait, or not any more, or for no longer than
// another fetch of a robots.txt takes, of which nobody knows what it brings.
func (t *Turn) Due() (in time.Duration, late error) {
	h := t.host
	if h == nil {
		return 0, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.state != waiting {
		return 0, nil
	}
	now := h.pacer.now()
	h.eachTurn(now, func(i int, at moment) bool {
		if h.queue.turns[i] != t {
			return true
		}
		if t.robots && at <= h.learning {
			return false
		}
		in = at - now
		late = &Refusal{Host: h.name, Cause: h.causeOf(t, i, now), Interval: h.interval(t), Retry: max(in, shortestRetry)}
		return false
	})
	return in, late
}

// Promise tells a request when to come back that cannot ask for its turn yet,
// since something has to come before it that takes some time: the robots.txt of
// its origin. It is promised as to one that was refused. The interval is what the
// host's site asked for last.
func (p *Pacer) Promise(r Request, after time.Duration) (retry time.Duration) {
	h, now := p.host(r.Host), p.now()
	defer h.mu.Unlock()
	t := &Turn{
		host: h, service: service(r.Port), state: waiting, ready: make(chan struct{}), site: h.usual,
		what: maphash.String(seed, r.What), asked: now, deadline: now,
	}
	h.tag(t, &r.By, now)
	h.queue.insert(t)
	at := now
	h.eachTurn(now, func(i int, when moment) bool {
		at = when
		return h.queue.turns[i] != t
	})
	h.refuse(slices.Index(h.queue.turns, t), max(at, now+after), now)
	return t.refusal.Retry
}
