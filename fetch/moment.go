package fetch

import "time"

// epoch is what monotonic readings are counted from.
var epoch = time.Now()

// moment is a point in time by two clocks, in nanoseconds. Either can say that
// it is over: the monotonic one, which nobody can set back, or the wall clock,
// which goes on while the machine sleeps. The zero moment is never; it is over.
type moment struct {
	wall int64 // since 1970
	mono int64 // since epoch
}

func momentOf(t time.Time) moment { return moment{t.UnixNano(), int64(t.Sub(epoch))} }

func (m moment) isZero() bool { return m == moment{} }

func (m moment) plus(d time.Duration) moment {
	return moment{m.wall + int64(d), m.mono + int64(d)}
}

// over reports whether m has come.
func (m moment) over(now moment) bool { return now.wall >= m.wall || now.mono >= m.mono }

// earlier returns what comes first of m and n, by each clock.
func (m moment) earlier(n moment) moment {
	return moment{min(m.wall, n.wall), min(m.mono, n.mono)}
}

// time returns the time of the wall clock, the zero time for never.
func (m moment) time() time.Time {
	if m.isZero() {
		return time.Time{}
	}
	return time.Unix(0, m.wall)
}

// recalled returns the moment that a wall clock had shown before this process
// began to count.
func recalled(t time.Time, now moment) moment {
	if t.IsZero() {
		return moment{}
	}
	return now.plus(time.Duration(t.UnixNano() - now.wall))
}
