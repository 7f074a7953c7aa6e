package pace

import (
	"net/http"
	"time"
)

// slow makes the interval longer where answers are slow.
type slow struct {
	interval time.Duration // 0: none
	last     moment
}

// answered takes how long an answer took. The interval is to become that time
// divided by how many requests are to be under way; it moves half of the way, and
// at once where that is longer. An error does not make it shorter: it may be
// quick since nothing was done.
func (s *slow) answered(now moment, took time.Duration, target float64, status int, most time.Duration) {
	wanted := time.Duration(float64(took) / target)
	next := max(wanted, (s.interval+wanted)/2)
	if status >= http.StatusBadRequest && next < s.interval {
		return
	}
	s.interval, s.last = min(next, most), now
}

// isOver tells whether it is long since there was an answer.
func (s *slow) isOver(now moment) bool { return s.interval == 0 || now > s.last+forgiven }
