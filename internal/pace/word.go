package pace

import (
	"math/rand/v2"
	"net/http"
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

// forget takes a host to be well of which nothing was heard for long.
func (w *word) forget(now moment) {
	if w.penalty > 0 && now > w.until+forgiven {
		*w = word{}
	}
}

func (w *word) isOver(now moment) bool {
	w.forget(now)
	return w.penalty == 0 && w.until <= now
}
