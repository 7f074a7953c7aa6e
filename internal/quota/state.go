package quota

import (
	"strconv"
	"strings"
	"time"
)

// State is what a client has left at one moment.
type State struct {
	Client string
	Lost   bool // what was used on the day is not known, so that nothing is left of it
	Limits [limitCount]Left
}

// Left is what is left of one limit.
type Left struct {
	Of      int64         // the limit; 0: there is none
	Left    int64         // never below 0
	Rest    time.Duration // until more is left: the oldest request is a minute old, or the day is over
	Refused uint64        // requests, since the process began
}

// Spent reports whether there is a limit and nothing is left of it.
func (l Left) Spent() bool { return l.Of > 0 && l.Left == 0 }

// Rest is how long it is until a request may be let in again: until something is
// left of every limit.
func (s State) Rest() time.Duration {
	var longest time.Duration
	for _, l := range s.Limits {
		if l.Spent() {
			longest = max(longest, l.Rest)
		}
	}
	return longest
}

// Any reports whether there is a limit.
func (s State) Any() bool {
	for _, l := range s.Limits {
		if l.Of > 0 {
			return true
		}
	}
	return false
}

// String says what is used up, when it is renewed, and what is left of the rest.
func (s State) String() string {
	var spent, more []string
	for i, l := range s.Limits {
		switch {
		case l.Spent():
			spent = append(spent, l.spent(Limit(i), s.Lost))
		case l.Of > 0:
			more = append(more, l.more(Limit(i)))
		}
	}
	text := "client " + s.Client + " has used up "
	if len(spent) == 0 {
		text = "client " + s.Client + " has used up nothing"
	}
	text += strings.Join(spent, ", and ")
	if len(more) > 0 {
		text += "; left are " + strings.Join(more, " and ")
	}
	return text
}

func (l Left) spent(limit Limit, lost bool) string {
	text := "its " + limit.amount(l.Of)
	switch {
	case limit == Minute:
		return text + " in a minute: the next may go in " + seconds(l.Rest)
	case lost:
		text += " (what was used was lost, and counts as all of it)"
	}
	return text + " of this day, which is over in " + seconds(l.Rest) + " (at 00:00 UTC)"
}

func (l Left) more(limit Limit) string {
	text := strconv.FormatInt(l.Left, 10) + " of " + limit.amount(l.Of)
	if limit == Minute {
		return text + " in this minute"
	}
	return text + " until 00:00 UTC"
}

// amount is a number of what a limit counts.
func (l Limit) amount(n int64) string {
	unit := " request"
	if l == Bytes {
		unit = " octet"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + unit
}

// Seconds is a time as fields tell it: in whole seconds, never too short.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func seconds(d time.Duration) string { return (time.Duration(Seconds(d)) * time.Second).String() }
