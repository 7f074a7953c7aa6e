package quota

import (
	"math"
	"time"
)

const minute = int64(time.Minute)

// window counts requests of the last minute. Those that are under way and those
// that arrived within it are never more than its limit together, so what came
// last has room in a ring of that size.
type window struct {
	limit    int64 // 0: none, and nothing is counted
	underWay int64
	arrivals []int64 // by the monotonic clock; a ring that grows up to limit
	first, n int     // those within the minute
}

// forget drops what is a minute old.
func (w *window) forget(mono int64) {
	for w.n > 0 && mono-w.arrivals[w.first] >= minute {
		w.first = (w.first + 1) % len(w.arrivals)
		w.n--
	}
}

// left is how many more may be let in. Call forget before.
func (w *window) left() int64 {
	if w.limit == 0 {
		return math.MaxInt64
	}
	return w.limit - w.underWay - int64(w.n)
}

// rest is how long it is until more are left: until the oldest arrival is a
// minute old. Where all are under way still it is not less than a minute.
func (w *window) rest(mono int64) time.Duration {
	if w.n == 0 {
		return time.Minute
	}
	return time.Duration(w.arrivals[w.first] + minute - mono)
}

func (w *window) enter() {
	if w.limit > 0 {
		w.underWay++
	}
}

// arrive notes that one that is under way has arrived; mono is not before that of
// an earlier call.
func (w *window) arrive(mono int64) {
	if w.limit > 0 {
		w.underWay--
		w.push(mono)
	}
}

// leave forgets one that is under way.
func (w *window) leave() {
	if w.limit > 0 {
		w.underWay--
	}
}

func (w *window) push(mono int64) {
	if w.n == len(w.arrivals) {
		w.grow()
	}
	w.arrivals[(w.first+w.n)%len(w.arrivals)] = mono
	w.n++
}

// grow makes room: most clients use little of what they may.
func (w *window) grow() {
	larger := make([]int64, min(w.limit, max(2*int64(len(w.arrivals)), 64)))
	copy(larger[copy(larger, w.arrivals[w.first:]):], w.arrivals[:w.first])
	w.arrivals, w.first = larger, 0
}
