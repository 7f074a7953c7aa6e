package policy

import "time"

// Opens returns how long it is, at a time of day in UTC, until the client may
// come: 0 if the Visit-times allow it now or there are none. The groups of one
// token are open while one of their Visit-times is, and all tokens' groups that
// have one must be. Line is that of the Visit-time that begins then, 0 if the
// time is. Where they are never all open it is a day, and the line of the first
// that is closed now.
func (a Pace) Opens(sinceMidnight time.Duration) (wait time.Duration, line int) {
	if a.count == 0 {
		return 0, 0
	}
	return a.opensAfter(timeOfDay(sinceMidnight))
}

// opensAfter is Opens where there are hours.
func (a *Pace) opensAfter(now time.Duration) (wait time.Duration, line int) {
	open, closed := a.openMinutes(), int(now/time.Minute)
	if open.has(closed) {
		return 0, 0
	}
	for i := 1; i < minutesOfDay; i++ {
		if minute := (closed + i) % minutesOfDay; open.has(minute) {
			opening := time.Duration(closed+i) * time.Minute
			return opening - now, a.visitWhere(func(v Hours) bool { return v.From == opening%day && v.From != v.To })
		}
	}
	return day, a.visitWhere(func(v Hours) bool { return !v.Contains(now) })
}

// openMinutes returns when all that have Visit-times are open.
func (a *Pace) openMinutes() clock {
	p := a.rules
	var all, token clock
	visits := false // token is not as it was
	all.set(0, minutesOfDay-1)
	endToken := func() {
		if visits {
			all.and(&token)
			token, visits = clock{}, false
		}
	}
	a.eachSpan(func(s span, starts bool) {
		if starts {
			endToken()
		}
		for i := s.from; i < s.to; i++ {
			if p.keyOf(i) == VisitTime {
				visits = true
				token.setHours(&p.paces[i])
			}
		}
	})
	endToken()
	return all
}

// visitWhere returns the line of the first Visit-time with such hours.
func (a *Pace) visitWhere(fits func(Hours) bool) (line int) {
	p := a.rules
	a.eachSpan(func(s span, _ bool) {
		for i := s.from; i < s.to; i++ {
			at := int(p.records[p.paces[i].record].line)
			if p.keyOf(i) == VisitTime && (line == 0 || at < line) && fits(p.paces[i].hours()) {
				line = at
			}
		}
	})
	return line
}

const minutesOfDay = int(day / time.Minute)

// clock is a set of minutes of the day.
type clock [(minutesOfDay + 63) / 64]uint64

func (c *clock) has(minute int) bool { return c[minute/64]>>(minute%64)&1 == 1 }

// set adds the minutes from from to to, both included.
func (c *clock) set(from, to int) {
	for at := from; at <= to; at = (at/64 + 1) * 64 {
		first, last := at%64, min(63, at%64+to-at)
		c[at/64] |= (1<<(last-first+1) - 1) << first
	}
}

// setHours adds the minutes of a Visit-time, see Hours.
func (c *clock) setHours(t *pace) {
	switch from, to := int(t.from), int(t.to); {
	case from == to:
		c.set(0, minutesOfDay-1)
	case from < to:
		c.set(from, to)
	default:
		c.set(from, minutesOfDay-1)
		c.set(0, to)
	}
}

func (c *clock) and(other *clock) {
	for i := range c {
		c[i] &= other[i]
	}
}

// timeOfDay brings a time within a day.
func timeOfDay(d time.Duration) time.Duration { return ((d % day) + day) % day }
