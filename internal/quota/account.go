package quota

import (
	"sync"
	"time"
)

// Account is what one client has used. Nil is that of a client without a quota:
// it lets everything in and counts nothing. Safe for concurrent use, under a lock
// of its own; but for a larger ring now and then (window) it allocates nothing.
type Account struct {
	name   string
	limits Limits

	mu       sync.Mutex
	latest   int64 // by the monotonic clock
	minute   window
	day      day
	requests int64 // let in on that day
	octets   int64 // carried on that day
	lost     bool  // what was used on that day is not known
	refused  [limitCount]uint64
	changes  uint64 // in what the file has
}

func newAccount(c Client, now moment) *Account {
	return &Account{name: c.Name, limits: c.Limits, latest: now.mono, minute: window{limit: c.Limits[Minute]}, day: dayOf(now)}
}

// Pass is a request that an Account has let in, and whose it is. The zero Pass is
// one that nobody counts. Say Arrived or Return of it, once; what comes after the
// first counts for nothing. Not safe for concurrent use.
type Pass struct {
	day  int32 // on which it was let in
	open bool
}

// Open reports whether nothing was said of it yet.
func (p *Pass) Open() bool { return p.open }

// Take lets a request in, or says what is used up: then ok is false and refusal
// has the state of the account, from which nothing was taken.
func (a *Account) Take(now time.Time) (pass Pass, refusal State, ok bool) {
	if a == nil {
		return Pass{}, State{}, true
	}
	return a.take(momentOf(now))
}

func (a *Account) take(now moment) (pass Pass, refusal State, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now = a.advanceLocked(now)
	ok = true
	for l := range limitCount {
		if a.limits[l] > 0 && a.leftLocked(l) <= 0 {
			a.refused[l]++
			ok = false
		}
	}
	if !ok {
		return Pass{}, a.stateLocked(now), false
	}
	a.minute.enter()
	a.requests++
	a.changes++
	return Pass{int32(a.day.number), true}, State{}, true
}

// advanceLocked lets go what is over by now, which it returns. Whoever waited for
// the lock brings a moment that may be before another's.
func (a *Account) advanceLocked(now moment) moment {
	now.mono = max(now.mono, a.latest)
	a.latest = now.mono
	a.minute.forget(now.mono)
	if a.day.over(now) {
		a.day, a.requests, a.octets, a.lost = dayOf(now), 0, 0, false
	}
	return now
}

// leftLocked is what is left of a limit; below 0 where more was used.
func (a *Account) leftLocked(l Limit) int64 {
	switch {
	case l == Minute:
		return a.minute.left()
	case a.lost:
		return 0
	case l == Day:
		return a.limits[Day] - a.requests
	default:
		return a.limits[Bytes] - a.octets
	}
}

// Arrived says that a request has reached its origin, or may have: its minute
// begins.
func (a *Account) Arrived(p *Pass, now time.Time) { a.arrived(p, momentOf(now)) }

func (a *Account) arrived(p *Pass, now moment) {
	if !p.open {
		return
	}
	p.open = false
	a.mu.Lock()
	defer a.mu.Unlock()
	a.minute.arrive(a.advanceLocked(now).mono)
	a.changes++
}

// Return says that a request was not forwarded: it is as if it had never asked.
func (a *Account) Return(p *Pass, now time.Time) { a.giveBack(p, momentOf(now)) }

func (a *Account) giveBack(p *Pass, now moment) {
	if !p.open {
		return
	}
	p.open = false
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advanceLocked(now)
	a.minute.leave()
	if int32(a.day.number) == p.day {
		a.requests--
	}
	a.changes++
}

// Carried counts octets of bodies.
func (a *Account) Carried(octets int64, now time.Time) { a.carried(octets, momentOf(now)) }

func (a *Account) carried(octets int64, now moment) {
	if a == nil || octets <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advanceLocked(now)
	a.octets += octets
	a.changes++
}

// State returns what is left; the zero State of a nil Account.
func (a *Account) State(now time.Time) State {
	if a == nil {
		return State{}
	}
	return a.state(momentOf(now))
}

func (a *Account) state(now moment) State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stateLocked(a.advanceLocked(now))
}

func (a *Account) stateLocked(now moment) State {
	s := State{Client: a.name, Lost: a.lost}
	for l := range limitCount {
		if a.limits[l] == 0 {
			continue
		}
		rest := a.day.rest(now)
		if l == Minute {
			rest = a.minute.rest(now.mono)
		}
		s.Limits[l] = Left{Of: a.limits[l], Left: max(a.leftLocked(l), 0), Rest: rest, Refused: a.refused[l]}
	}
	return s
}
