package fetch

import (
	"net/http"
	"strings"
	"time"

	"heed/policy"
)

const (
	// maxRetryAfter bounds what an origin may ask for by Retry-After.
	maxRetryAfter = 24 * time.Hour

	// ownPause is what clients are told after a fault of heed's own, which is
	// over as soon as some other work is done.
	ownPause = time.Second
)

// entry is what is remembered of an origin. It does not change once it is in
// memory; callers share its snapshot.
type entry struct {
	snapshot policy.Snapshot
	until    time.Time // the snapshot is used without asking until then
	retry    time.Time // no attempt before then; zero unless unreachable
	body     *body     // what holds snapshot.Rules; nil when there are none
	cost     int       // octets charged for it, without its body
}

// lifetimes says how long what is known stays in use. It is arithmetic alone:
// the time comes in, no clock is read.
type lifetimes struct {
	freshFor, staleFor time.Duration
	retryMin, retryMax time.Duration
}

// next returns what is known of an origin after a fetch that ended at now with
// a. prev is what was known before, nil if nothing. jitter is in [0, 1).
//
// RFC 9309 §2.4 lets a crawler use RFC 9111 cache control and does not ask for
// it: every answer is fresh for the same time.
func (l lifetimes) next(prev *entry, url string, a answer, now time.Time, jitter float64) *entry {
	e := &entry{snapshot: policy.Snapshot{
		URL:     url,
		Access:  a.access,
		Status:  a.status,
		Hops:    a.hops,
		Checked: now,
	}}
	if a.access == policy.Unreachable {
		l.unreachable(e, prev, a, now, jitter)
		return e
	}
	e.until = now.Add(l.freshFor)
	e.snapshot.FreshUntil = e.until
	if a.access == policy.Successful {
		e.body = a.body
		e.snapshot.Rules = a.body.rules
		e.snapshot.Fetched = now
		e.snapshot.Size = len(a.octets)
		e.snapshot.Truncated = a.body.rules.Truncated()
	}
	return e
}

// unreachable completes e for an attempt that failed: it sets the pause before
// the next one and, while they are young enough, takes over the rules of prev.
//
// That robots.txt was unavailable before is not taken over: there is no copy
// that could be used on, so disallowing everything stays (§2.3.1.4).
func (l lifetimes) unreachable(e, prev *entry, a answer, now time.Time, jitter float64) {
	s := &e.snapshot
	s.Err, s.Cause = oneLine(a.err), keepable(a.err)
	if prev != nil {
		s.Attempts = prev.snapshot.Attempts
	}
	if ours(a.err) {
		s.RetryAfter = ownPause
	} else {
		s.Attempts++
		s.RetryAfter = l.pause(s.Attempts, a.retryAfter, jitter)
	}
	e.retry = now.Add(s.RetryAfter)
	e.until = e.retry
	if prev == nil || prev.body == nil {
		return
	}
	old := &prev.snapshot
	end := old.Fetched.Add(l.staleFor)
	if passed(now, end) {
		return
	}
	if end.Before(e.until) {
		e.until = end
	}
	e.body = prev.body
	s.Rules, s.Fetched, s.FreshUntil = old.Rules, old.Fetched, old.FreshUntil
	s.Size, s.Truncated, s.Body, s.UTF8 = old.Size, old.Truncated, old.Body, old.UTF8
	s.StaleSince = old.FreshUntil
}

// withoutRules returns e as it is once its rules have become too old, while
// the pause before the next attempt lasts on.
func (e *entry) withoutRules() *entry {
	s := e.snapshot
	s.Rules, s.Size, s.Truncated, s.Body, s.UTF8 = nil, 0, false, nil, false
	s.Fetched, s.FreshUntil, s.StaleSince = time.Time{}, time.Time{}, time.Time{}
	return &entry{snapshot: s, until: e.retry, retry: e.retry}
}

// pause returns how long not to ask after n failures in a row: what the origin
// asked for, else between retryMin and 1.25 × retryMin after the first, twice
// that after each further one, never more than retryMax. The jitter keeps
// origins that failed together from being asked together.
func (l lifetimes) pause(n int, retryAfter time.Duration, jitter float64) time.Duration {
	if retryAfter > 0 {
		return retryAfter
	}
	const spread = 0.25
	top := time.Duration(float64(l.retryMax) / (1 + spread))
	base := l.retryMin
	for ; n > 1 && base < top; n-- {
		base *= 2
	}
	base = max(min(base, top), l.retryMin)
	return min(base+time.Duration(jitter*spread*float64(base)), l.retryMax)
}

// passed reports whether a deadline is over. Either clock can say so: the
// monotonic one, which nobody can set back, or the wall clock, which goes on
// while the machine sleeps.
func passed(now, deadline time.Time) bool {
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// retryAfter reads the Retry-After field (RFC 9110 §10.2.3): seconds, or a
// date, which is taken relative to the answer's own Date where it has one,
// since clocks differ. At most 24 hours; 0 when there is none, when it is
// over, or when it cannot be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		return seconds(v)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// seconds reads decimal digits, of which there may be any number.
func seconds(digits string) time.Duration {
	var d time.Duration
	for i := range len(digits) {
		d = d*10 + time.Duration(digits[i]-'0')*time.Second
		if d > maxRetryAfter {
			return maxRetryAfter
		}
	}
	return d
}
