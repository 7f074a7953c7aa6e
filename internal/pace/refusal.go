package pace

import (
	"fmt"
	"math"
	"time"
)

// Cause is why a request has to wait.
type Cause uint8

const (
	// Site is the interval that the site asks for, by Crawl-delay.
	Site Cause = iota
	// Rate is the interval that the site asks for, by Request-rate.
	Rate
	// Floor is the operator's interval.
	Floor
	// RetryAfter is an origin that said until when it wants to be left alone.
	RetryAfter
	// BackOff is an origin that answered 429 or 503, and did not say until when,
	// or that recovers from it.
	BackOff
	// Slow is an origin whose answers are slow.
	Slow
	// Concurrency is that enough requests are under way at the host.
	Concurrency
	// SharedAddress is that enough requests are under way at its address.
	SharedAddress
	// Queue is that enough requests wait.
	Queue
)

var causes = [...]string{
	Site: "crawl-delay", Rate: "request-rate", Floor: "min-interval", RetryAfter: "retry-after", BackOff: "back-off", Slow: "slow-answers",
	Concurrency: "concurrency", SharedAddress: "address", Queue: "queue",
}

// String returns a word in lower case, which does not change.
func (c Cause) String() string { return causes[c] }

// Refusal is the error of a request that would wait for longer than it may.
type Refusal struct {
	Host     string
	Cause    Cause
	Interval time.Duration // in force for it; 0: none
	Retry    time.Duration // when to come back; a second at least
}

// Error says why, and when to come back.
func (r *Refusal) Error() string {
	const and = "; come back in %d s"
	retry := int(math.Ceil(r.Retry.Seconds()))
	switch r.Cause {
	case RetryAfter:
		return fmt.Sprintf("%s asked to be left alone for now (Retry-After)"+and, r.Host, retry)
	case BackOff:
		return fmt.Sprintf("%s answered that it is asked too much"+and, r.Host, retry)
	case Slow:
		return fmt.Sprintf("%s answers slowly, and is asked every %v"+and, r.Host, r.Interval.Round(time.Millisecond), retry)
	case Concurrency:
		return fmt.Sprintf("enough requests to %s are under way"+and, r.Host, retry)
	case SharedAddress:
		return fmt.Sprintf("enough requests to the address of %s are under way"+and, r.Host, retry)
	case Queue:
		return fmt.Sprintf("enough requests to %s wait"+and, r.Host, retry)
	}
	return fmt.Sprintf("%s is asked every %v (%s), and others come first"+and, r.Host, r.Interval, asksFor[r.Cause], retry)
}

// asksFor is whose interval it is.
var asksFor = map[Cause]string{Site: "Crawl-delay", Rate: "Request-rate", Floor: "pace.min_interval"}

// Blameless tells that the origin is not at fault.
func (r *Refusal) Blameless() bool { return true }

// causeOf says why a turn at a place of the queue has to wait.
func (h *host) causeOf(t *Turn, i int, now moment) Cause {
	d := h.interval(t)
	switch {
	case i >= h.pacer.config.Queue:
		return Queue
	case h.words.until(t) <= now && (!t.isPaced(d) || h.queue.waitsForPlace && i == 0):
		if h.isFull() {
			return Concurrency
		}
		return SharedAddress
	}
	return h.paceCause(t, now)
}

// paceCause says why a turn has to wait where there would be a place for it.
func (h *host) paceCause(t *Turn, now moment) Cause {
	if w := h.words.find(t); w != nil && w.until > now {
		if w.told {
			return RetryAfter
		}
		return BackOff
	}
	return h.causeOfInterval(t, h.interval(t))
}

// causeOfInterval says what makes the interval of a turn as long as it is.
func (h *host) causeOfInterval(t *Turn, d time.Duration) Cause {
	switch {
	case d == t.site:
		return t.asks
	case d == h.pacer.config.MinInterval:
		return Floor
	case d == h.words.penalty(t):
		return BackOff
	case d == h.slow.interval:
		return Slow
	}
	return Site // of a robots.txt, which keeps what others are asked for
}
