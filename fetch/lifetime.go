package fetch

import (
	"math"
	"time"

	"heed/policy"
)

// ownPause is what clients are told after a fault of heed's own, which is over as
// soon as some other work is done.
const ownPause = time.Second

// lifetimes says how long what is known stays in use. It is arithmetic alone:
// the time comes in, no clock is read.
type lifetimes struct {
	freshMin, freshFor time.Duration // floor and cap of a freshness lifetime
	staleFor           time.Duration
	retryMin, retryMax time.Duration
}

// next returns what is known of an origin after a fetch that ended at now with
// a. prev is what was known before, nil if nothing. jitter is in [0, 1).
func (l lifetimes) next(prev *entry, url string, a answer, now moment, jitter float64) *entry {
	if a.access == policy.Unreachable {
		return l.unreachable(prev, url, a, now, jitter)
	}
	e := &entry{url: url, access: a.access, status: status16(a.status), good: now}
	life := l.freshness(prev, a)
	e.freshFor = int32(life / time.Second)
	e.freshUntil = now.plus(life)
	var m more
	switch {
	case a.confirmed:
		e.takeBody(prev, &m)
		e.validators = a.validators
		if e.validators == "" {
			e.validators = prev.validators
		}
	case a.access == policy.Successful:
		e.body, e.size, e.validators = a.body, int32(len(a.octets)), a.validators
		e.utf8, m.octets = isUTF8(a.charset), a.kept
	}
	m.hops = a.hops
	e.setMore(m)
	return e
}

// freshness is how long an answer is used without asking again: for what its
// fields tell, but neither shorter than the floor nor longer than the cap,
// which is also for what they do not tell (RFC 9309 §2.4, RFC 9111 §4.2). To
// confirm without telling confirms what was told before (RFC 9111 §4.3.4). A
// redirect on the way that was to be used for less makes it less.
func (l lifetimes) freshness(prev *entry, a answer) time.Duration {
	life := l.freshFor
	switch {
	case a.told:
		life = a.life
	case a.confirmed:
		life = time.Duration(prev.freshFor) * time.Second
	}
	if a.hopTold {
		life = min(life, a.hopLife)
	}
	return min(max(life, l.freshMin), l.freshFor)
}

// unreachable is next for an attempt that failed: it sets the pause before the
// following one. What the last good answer told stands beside it, for as long
// as that is fresh; and its rules, while they are young enough.
func (l lifetimes) unreachable(prev *entry, url string, a answer, now moment, jitter float64) *entry {
	f := &failure{at: now, status: a.status, hops: a.hops, err: oneLine(a.err), cause: keepable(a.err)}
	e := &entry{url: url, access: policy.Unreachable}
	var m more
	if prev != nil {
		if last := prev.rest().failure; last != nil {
			f.attempts = last.attempts
		}
		m = l.keepGood(e, prev, now)
	}
	pause := ownPause
	if !ours(a.err) {
		f.attempts++
		pause = l.pause(f.attempts, a.retryAfter, jitter)
	}
	f.retry = now.plus(pause)
	m.failure = f
	e.setMore(m)
	return e
}

// keepGood takes over into e what prev has of the last good answer, unless it
// is of no more use.
func (l lifetimes) keepGood(e, prev *entry, now moment) more {
	rules := prev.body != nil && !prev.good.plus(l.staleFor).over(now)
	if !rules && !prev.isFresh(now) {
		return more{}
	}
	e.access, e.status = prev.access, prev.status
	e.good, e.freshUntil, e.freshFor = prev.good, prev.freshUntil, prev.freshFor
	m := more{hops: prev.rest().hops}
	e.takeBody(prev, &m)
	return m
}

// believed is after how many failures in a row a Retry-After counts only where it
// asks for more than the pause that grows: one that asks for a second, each time,
// does not know how long it will take.
const believed = 3

// pause returns how long not to ask after n failures in a row: what the origin
// asked for, else between retryMin and 1.25 × retryMin after the first, twice
// that after each further one, never more than retryMax. The jitter keeps
// origins that failed together from being asked together.
func (l lifetimes) pause(n int, retryAfter time.Duration, jitter float64) time.Duration {
	switch {
	case retryAfter <= 0:
		return l.growing(n, jitter)
	case n <= believed:
		return retryAfter
	}
	return max(retryAfter, l.growing(n-believed, jitter))
}

func (l lifetimes) growing(n int, jitter float64) time.Duration {
	const spread = 0.25
	top := time.Duration(float64(l.retryMax) / (1 + spread))
	base := l.retryMin
	for ; n > 1 && base < top; n-- {
		base *= 2
	}
	base = max(min(base, top), l.retryMin)
	return min(base+time.Duration(jitter*spread*float64(base)), l.retryMax)
}

func status16(status int) int16 { return int16(min(max(status, 0), math.MaxInt16)) }
