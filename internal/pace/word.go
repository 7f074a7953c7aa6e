package pace

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

const (
	// firstPause is the pause after an answer that asks for fewer requests and
	// does not say for how long; it doubles up to longestPause.
	firstPause   = time.Second
	longestPause = 5 * time.Minute

	// smallestPenalty is the interval below which a host is taken to be well.
	smallestPenalty = 50 * time.Millisecond

	// forgiven is how long after its last refusal a host is taken to be well,
	// though nobody has asked.
	forgiven = 10 * time.Minute
)

// word is what an origin itself said of being asked too much.
type word struct {
	service string
	until   moment        // nothing goes out before; 0: at any time
	penalty time.Duration // the interval that is kept since; 0: none
	last    moment        // when it said so last
	told    bool          // it named the time itself
}

// isBackOff tells whether a status asks for fewer requests (RFC 6585 §4, RFC 9110
// §15.6.4).
func isBackOff(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// pause takes the origin's word, on a request that went out at sent. Of many that
// were under way together one counts for how long the pause is. A zero
// retryAfter means that it named no time: then there is a jitter, so that not all
// who share a server come back together.
func (w *word) pause(now, sent moment, retryAfter time.Duration) {
	if sent >= w.last || w.penalty == 0 {
		w.penalty = min(max(2*w.penalty, firstPause), longestPause)
	}
	w.last = now
	until := now + retryAfter
	if retryAfter <= 0 {
		until = now + w.penalty + time.Duration(rand.Float64()*float64(w.penalty)/2)
	}
	if until > w.until {
		w.until, w.told = until, retryAfter > 0
	}
}

// recover takes an answer to a request that went out at sent.
func (w *word) recover(sent moment, status int) {
	if w.penalty == 0 || sent < w.until || status >= http.StatusInternalServerError {
		return
	}
	if w.penalty /= 2; w.penalty < smallestPenalty {
		w.penalty = 0
	}
}

// isOver tells whether it means nothing any more: the host recovered, or nothing
// was heard of it for long.
func (w *word) isOver(now moment) bool {
	return w.until <= now && w.penalty == 0 || now > w.until+forgiven
}

// service is what an origin speaks for: its port, at which another server may
// answer than at the next. The two ports that need not be written are one.
func service(port string) string {
	if port == "443" {
		return "80"
	}
	return port
}

// words are those of a host, of whatever services of it said something that still
// counts: most often there is none.
type words []word

// until is when requests like t may go out again; 0: at any time.
func (all words) until(t *Turn) moment {
	if w := all.find(t); w != nil {
		return w.until
	}
	return 0
}

// penalty is the interval that requests like t keep since; 0: none.
func (all words) penalty(t *Turn) time.Duration {
	if w := all.find(t); w != nil {
		return w.penalty
	}
	return 0
}

// find returns the word of t's service; nil if there is none.
func (all words) find(t *Turn) *word {
	for i := range all {
		if all[i].service == t.service {
			return &all[i]
		}
	}
	return nil
}

// add returns the word of t's service, which may be a new one.
func (all *words) add(t *Turn) *word {
	if w := all.find(t); w != nil {
		return w
	}
	*all = append(*all, word{service: t.service})
	return &(*all)[len(*all)-1]
}

// forget drops those that are over.
func (all *words) forget(now moment) {
	if len(*all) == 0 {
		return
	}
	if *all = slices.DeleteFunc(*all, func(w word) bool { return w.isOver(now) }); len(*all) == 0 {
		*all = nil
	}
}

// last returns that which is over last; the zero word if there is none.
func (all words) last() (w word) {
	for i := range all {
		if all[i].until >= w.until {
			w = all[i]
		}
	}
	return w
}

// longestPenalty is the longest interval that any of them keeps.
func (all words) longestPenalty() (d time.Duration) {
	for i := range all {
		d = max(d, all[i].penalty)
	}
	return d
}
