package quota

import "time"

// epoch is what monotonic readings are counted from.
var epoch = time.Now()

// moment is a point in time by two clocks, in nanoseconds.
type moment struct {
	wall int64 // since 1970: what a day goes by
	mono int64 // since epoch: what a minute goes by, and nobody can set
}

func momentOf(t time.Time) moment { return moment{t.UnixNano(), int64(t.Sub(epoch))} }

const wholeDay = int64(24 * time.Hour)

// day is a day of the calendar in UTC.
//
// It is over when the wall clock shows a later one. While that shows an earlier
// one it was set back, and what was used stays used: until the clock has come
// through this day once more, or as much time has gone by as the day had left
// when it began, whichever is first. So a clock that was years ahead for a moment
// does not close a client's account for years.
type day struct {
	number int64 // since 1970
	end    int64 // when it should be over, by the monotonic clock
}

func dayOf(now moment) day {
	return day{now.wall / wholeDay, now.mono + wholeDay - now.wall%wholeDay}
}

func (d day) over(now moment) bool {
	today := now.wall / wholeDay
	return today > d.number || today < d.number && now.mono >= d.end
}

// rest is how long it is until d is over.
func (d day) rest(now moment) time.Duration {
	byWall := (d.number+1)*wholeDay - now.wall
	if now.wall/wholeDay < d.number {
		return time.Duration(min(byWall, d.end-now.mono))
	}
	return time.Duration(byWall)
}

// recalled returns the day that another process counted for. It does not tell how
// much of it was left, and where it is more than one ahead of the clock it is a
// fault of that process's clock: then it stands for today.
func recalled(number int64, now moment) day {
	today := dayOf(now)
	if number > today.number+1 {
		return today
	}
	return day{number, now.mono + wholeDay}
}
