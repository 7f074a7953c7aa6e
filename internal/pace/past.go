package pace

import (
	"math"
	"time"
)

// mostPast is how many requests that went out are remembered of a host.
const mostPast = 4

// anything is the interval of a request of which nobody knows what its origin
// will ask for, since it is for the robots.txt: it keeps whatever others have.
const anything time.Duration = math.MaxInt64

// past is which requests went out, as far as it matters to those that come. Each
// is later than the one before and has a shorter interval: what a later one with
// a longer interval forbids is all that an earlier one did. It is a plain value.
type past struct {
	n    int
	sent [mostPast]sent
}

type sent struct {
	at       moment
	interval time.Duration
}

// record notes a request that will have arrived at now. longest is what no interval exceeds.
func (p *past) record(interval time.Duration, now moment, longest time.Duration) {
	n := 0
	for _, s := range p.sent[:p.n] {
		if s.interval > interval && s.at+min(s.interval, longest) > now {
			p.sent[n] = s
			n++
		}
	}
	if n == mostPast { // the last two as one that forbids what either does
		n--
		p.sent[n-1].at = p.sent[n].at
	}
	p.sent[n] = sent{now, interval}
	p.n = n + 1
}

// arrived says that the request which was recorded for a time has arrived by now.
func (p *past) arrived(recorded, now moment) {
	for i := range p.sent[:p.n] {
		if s := &p.sent[i]; s.at == recorded {
			s.at = min(s.at, now)
		}
	}
}

// onTheWay is how long a request is taken to be on its way that was not answered
// yet: to a busy origin a connection is there before it is looked at. An interval
// counts from when a request arrives.
func onTheWay(interval time.Duration) time.Duration { return min(interval/20, 100*time.Millisecond) }

// earliest is when a request of an interval may go out. For a robots.txt the
// interval is what is kept from the last fetch of one.
func (p *past) earliest(interval time.Duration, robots bool) (at moment) {
	for _, s := range p.sent[:p.n] {
		gap := min(interval, s.interval)
		if robots && s.interval != anything {
			gap = s.interval
		}
		at = max(at, s.at+gap)
	}
	return at
}

// isOver tells whether nothing of it matters any more.
func (p *past) isOver(now moment, longest time.Duration) bool {
	for _, s := range p.sent[:p.n] {
		if s.at+min(s.interval, longest) > now {
			return false
		}
	}
	return true
}
