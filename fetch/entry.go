package fetch

import (
	"sync/atomic"
	"time"

	"heed/policy"
)

// entry is what is remembered of an origin. It does not change once it is in
// memory, but for asking. There may be millions, so it is small: what few have
// stands in more, and a Snapshot is made of it for whoever asks.
type entry struct {
	freshUntil moment        // the end of the freshness of the last answer that told whether there are rules
	good       moment        // when that came; zero: never
	body       *body         // the rules and what holds them; nil when there are none
	more       *more         // nil for most
	freshFor   int32         // the freshness lifetime of that answer, seconds
	utf8       bool          // the body was declared to be in UTF-8
	asking     atomic.Bool   // somebody fetches ahead of expiry
	status     int16         // HTTP status of that answer
	access     policy.Access // what it told; Unreachable: there was none
	url        string        // of the robots.txt
	size       int32         // octets of the body received
	cost       int32         // octets charged for the entry, without its body
	validators validators    // of the body
}

// more is what few entries have.
type more struct {
	hops    []string // where the last answer was redirected to
	octets  []byte   // the body, where bodies are kept
	failure *failure // of the last attempt; nil when it succeeded
}

// failure is an attempt that failed, the last of some.
type failure struct {
	at       moment
	retry    moment // no attempt before then
	attempts int    // that failed in a row
	status   int    // HTTP status obtained, 0 if none was
	hops     []string
	err      string
	cause    error
}

// none is what few entries have, of one that has none of it.
var none = new(more)

// setMore keeps m unless there is nothing in it.
func (e *entry) setMore(m more) {
	if m.hops != nil || m.octets != nil || m.failure != nil {
		e.more = &m
	}
}

func (e *entry) rest() *more {
	if e.more == nil {
		return none
	}
	return e.more
}

// takeBody takes over the body of prev. m is to be the rest of e.
func (e *entry) takeBody(prev *entry, m *more) {
	last := prev.rest()
	e.body, e.size, e.validators = prev.body, prev.size, prev.validators
	e.utf8, m.octets = prev.utf8, last.octets
}

// known returns the body that is known, if it can be asked for by its validators.
func (e *entry) known() known {
	if e == nil || e.body == nil {
		return known{}
	}
	url := e.url
	if hops := e.rest().hops; len(hops) > 0 {
		url = hops[len(hops)-1]
	}
	return known{url, e.validators}
}

// isFresh reports whether the last answer that told whether there are rules may
// be used without asking again.
func (e *entry) isFresh(now moment) bool { return !e.freshUntil.over(now) }

// isPaused reports whether the origin is not to be asked since it failed.
func (e *entry) isPaused(now moment) bool {
	f := e.rest().failure
	return f != nil && !f.retry.over(now)
}

// isUsable reports whether the entry says what is to be done without asking the
// origin.
func (e *entry) isUsable(now moment) bool { return e.isFresh(now) || e.isPaused(now) }

// isDue reports whether it is time to ask ahead of expiry: in the last tenth of
// the freshness lifetime, the last hour at most.
func (e *entry) isDue(now moment) bool {
	const most = time.Hour
	ahead := min(time.Duration(e.freshFor)*time.Second/10, most)
	return now.wall >= e.freshUntil.wall-int64(ahead) && !e.isPaused(now)
}

// snapshot is what the entry says at a time when it is usable, or when the
// origin just failed. Rules are used on for staleFor after they were obtained
// or confirmed (RFC 9309 §2.3.1.4).
//
// That robots.txt was unavailable is not used on: there is no copy, so
// disallowing everything stays.
func (e *entry) snapshot(now moment, staleFor time.Duration, s *policy.Snapshot) {
	m := e.rest()
	s.URL = e.url
	s.Access, s.Status, s.Hops = e.access, int(e.status), m.hops
	s.Checked = e.good.time()
	if f := m.failure; f != nil {
		s.Checked, s.Attempts, s.Err, s.Cause = f.at.time(), f.attempts, f.err, f.cause
	}
	fresh := e.isFresh(now)
	if !fresh {
		e.snapshotOfFailure(m.failure, s)
	}
	if fresh {
		s.FreshUntil = e.freshUntil.time()
	}
	if e.body == nil || !fresh && e.good.plus(staleFor).over(now) {
		return
	}
	s.Rules, s.Fetched, s.FreshUntil = e.body.rules, e.good.time(), e.freshUntil.time()
	s.Size, s.Truncated, s.Body = int(e.size), e.body.truncated, m.octets
	s.Charset, s.UTF8 = e.body.note, e.utf8
	if !fresh {
		s.StaleSince = s.FreshUntil
	}
}

// snapshotOfFailure says that the origin is unreachable.
func (e *entry) snapshotOfFailure(f *failure, s *policy.Snapshot) {
	s.Access = policy.Unreachable
	if f != nil {
		s.Status, s.Hops = f.status, f.hops
		s.RetryAfter = time.Duration(f.retry.wall - f.at.wall)
	}
}
