package pace

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"
)

const (
	// grace is for how much longer than it was told a client is expected back.
	grace = 2 * time.Second

	// shortestRetry is what a client is told at least.
	shortestRetry = time.Second

	// guessed is what a place is taken to be held for, where there is no interval.
	guessed = 100 * time.Millisecond
)

// queue is what waits at a host, in the order in which it goes.
type queue struct {
	turns         []*Turn
	waitsForPlace bool // the first waits for others to end, not for its time
}

// insert puts a turn behind all with the same tag or a lower one.
func (q *queue) insert(t *Turn) {
	i, _ := slices.BinarySearchFunc(q.turns, t.tag+1, func(other *Turn, tag int64) int { return cmp.Compare(other.tag, tag) })
	q.turns = slices.Insert(q.turns, i, t)
}

func (q *queue) remove(t *Turn) {
	if i := slices.Index(q.turns, t); i >= 0 {
		q.turns = slices.Delete(q.turns, i, i+1)
	}
}

// charge charges a turn that goes at once, where turns are shared.
func (h *host) charge(t *Turn, r *Request, now moment) {
	if len(h.clients.all) == 0 || t.robots || !t.isPaced(h.interval(t)) {
		return
	}
	s := h.clients.of(r.By.client(), now)
	if len(s.agents.all) > 0 {
		a := s.agents.of(r.By.Agent, now)
		s.keep(a, maphash.String(seed, r.What))
		s.agents.virtual = max(s.agents.virtual, s.agents.take(a, now))
	}
	h.clients.virtual = max(h.clients.virtual, h.clients.take(s, now))
}

// enqueue has a turn wait, if it will come in time, and refuses those that will
// not come in time because of it. The refusal is that of the turn itself.
func (h *host) enqueue(t *Turn, r *Request, now moment) *Refusal {
	t.state, t.ready = waiting, make(chan struct{})
	t.tag = first
	if !t.robots {
		h.tag(t, &r.By, now)
		t.what = maphash.String(seed, r.What)
	}
	h.queue.insert(t)
	h.dispatch(now)
	if t.state == waiting {
		t.cause = h.causeOf(t, slices.Index(h.queue.turns, t), now)
	}
	return t.refusal
}

// tag gives a turn its tag. What is due to a client goes to its agents by turns:
// they change places among themselves.
func (h *host) tag(t *Turn, by *Asker, now moment) {
	s := h.clients.of(by.client(), now)
	t.share = s
	t.tag = h.clients.take(s, now)
	a := s.agents.of(by.Agent, now)
	t.agent, t.within = a, s.agents.take(a, now)
	s.waiting++
	a.waiting++
	mine := []*Turn{}
	for _, other := range h.queue.turns {
		if other.share == s {
			mine = append(mine, other)
		}
	}
	if len(mine) == 0 || mine[len(mine)-1].within <= t.within {
		return
	}
	// Theirs are the same tags as before, in another order.
	mine = append(mine, t)
	tags := make([]int64, len(mine))
	for i, m := range mine {
		tags[i] = m.tag
	}
	slices.SortStableFunc(mine, func(a, b *Turn) int { return cmp.Compare(a.within, b.within) })
	for i, m := range mine {
		m.tag = tags[i]
	}
	slices.SortStableFunc(h.queue.turns, func(a, b *Turn) int { return cmp.Compare(a.tag, b.tag) })
}

// left takes a turn out of its shares. One that did not go is not charged.
func (h *host) left(t *Turn, went bool) {
	if t.share == nil {
		return
	}
	t.share.waiting--
	t.agent.waiting--
	if went {
		t.share.keep(t.agent, t.what)
		h.clients.virtual = max(h.clients.virtual, t.tag)
		t.share.agents.virtual = max(t.share.agents.virtual, t.within)
	} else {
		t.share.next--
		t.agent.next--
	}
	t.share, t.agent = nil, nil
}

// refuseLate refuses what will not come in time, and what there is no room for.
func (h *host) refuseLate(now moment) {
	for {
		late, at := -1, moment(0)
		h.eachTurn(now, func(i int, when moment) bool {
			if when <= h.queue.turns[i].deadline && i < h.pacer.config.Queue {
				return true
			}
			late, at = i, when
			return false
		})
		if late < 0 {
			return
		}
		h.refuse(late, at, now)
	}
}

// eachTurn calls do with when each turn that waits will come, in order, as far as
// can be told: where it waits for others to end that is now. It goes on while do
// returns true.
func (h *host) eachTurn(now moment, do func(i int, at moment) bool) {
	seen := h.past
	if len(h.unsent) > 0 {
		seen.record(anything, now, h.longest())
	}
	earliest := now
	order := h.heldLast(now)
	for i := range h.queue.turns {
		if order != nil {
			i = order[i]
		}
		t := h.queue.turns[i]
		at := max(now, h.words.until(t))
		if t.robots {
			at = max(at, h.learning)
		}
		if d := h.interval(t); t.isPaced(d) {
			at = max(at, earliest, seen.earliest(d, t.robots))
			earliest = at
			seen.record(t.recorded(d), at, h.longest())
		}
		if !do(i, at) {
			return
		}
	}
}

// heldLast returns the places of the turns that wait, with those last whose own
// service asked to be left alone: the others go past them meanwhile. That they are
// let go in between, once their time has come, is not foreseen. Nil: as they stand.
func (h *host) heldLast(now moment) []int {
	if h.words.last().until <= now {
		return nil
	}
	order := make([]int, len(h.queue.turns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(max(now, h.words.until(h.queue.turns[a])), max(now, h.words.until(h.queue.turns[b])))
	})
	return order
}

// recorded is the interval that a request is remembered with.
func (t *Turn) recorded(d time.Duration) time.Duration {
	if t.robots {
		return anything
	}
	return d
}

// refuse refuses the turn at a place of the queue, which would come at a time.
func (h *host) refuse(i int, at, now moment) {
	t := h.queue.turns[i]
	cause := h.causeOf(t, i, now)
	h.queue.turns = slices.Delete(h.queue.turns, i, i+1)
	s, a := t.share, t.agent
	h.left(t, false)
	t.state, t.waited = over, now-t.asked
	t.refusal = &Refusal{Host: h.name, Cause: cause, Interval: h.interval(t), Retry: max(at-now, shortestRetry)}
	if s != nil {
		t.refusal.Retry = h.promise(s, a, t, at, now) - now
	}
	close(t.ready)
}
