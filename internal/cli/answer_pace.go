package cli

import (
	"fmt"
	"strings"
	"time"

	"heed/policy"
)

// mostRecords is how many records of one kind are shown to people.
const mostRecords = 5

// sitePace is what a robots.txt says of pace to who asks, at a time of day in UTC.
type sitePace struct {
	asked   policy.Pace
	at      time.Duration // since midnight
	granted time.Duration // the longest interval that the configuration grants; 0: any

	visits []policy.Record // Visit-times that can be read
	unread []policy.Record
	faults []error // of unread
}

func paceOf(rules *policy.Policy, who policy.Tokens, now time.Time, granted time.Duration) sitePace {
	now = now.UTC()
	p := sitePace{
		granted: granted, asked: rules.Pace(who),
		at: time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute +
			time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond()),
	}
	for r, err := range rules.PaceRecords(who) {
		if err != nil {
			p.unread, p.faults = append(p.unread, r), append(p.faults, err)
		} else if r.Kind == policy.VisitTime {
			p.visits = append(p.visits, r)
		}
	}
	return p
}

// lines are what is printed for people: nothing where nothing is asked for.
func (p sitePace) lines() string {
	var b strings.Builder
	if interval, line, _ := p.asked.Interval(p.at); line > 0 {
		fmt.Fprintf(&b, "  pace    %v between requests by %s (line %d)%s\n", interval, clipped(visible(p.asked.Text(line))), line, p.cut(interval))
	}
	if len(p.visits) > 0 {
		fmt.Fprintf(&b, "  visit   %s\n", p.visit())
	}
	for i, r := range p.unread {
		if i == mostRecords {
			fmt.Fprintf(&b, "  unread  %d more; heed lint lists them\n", len(p.unread)-i)
			break
		}
		fmt.Fprintf(&b, "  unread  %s (line %d), which decides nothing: %v\n", clipped(visible(r.Key+": "+r.Value)), r.Line, p.faults[i])
	}
	return b.String()
}

// capped tells whether an interval is longer than what is granted.
func (p sitePace) capped(interval time.Duration) bool { return p.granted > 0 && interval > p.granted }

// cut says what becomes of an interval that is too long.
func (p sitePace) cut(interval time.Duration) string {
	switch {
	case p.capped(interval):
		return fmt.Sprintf(", cut to %v by pace.max_delay", p.granted)
	case interval >= policy.LongestInterval:
		return ", a day being the most that counts"
	}
	return ""
}

// visit says whether the origin is open now, and by what.
func (p sitePace) visit() string {
	var b strings.Builder
	switch wait, line := p.asked.Opens(p.at); {
	case wait == 0:
		b.WriteString("open now by ")
	case wait >= 24*time.Hour:
		b.WriteString("closed, and never open to all these names together, by ")
	default:
		opening := time.Time{}.Add(p.at + wait)
		fmt.Fprintf(&b, "closed now, opens at %s UTC (in %v, line %d), by ", opening.Format("15:04"), wait.Round(time.Second), line)
	}
	for i, r := range p.visits {
		if i == mostRecords {
			fmt.Fprintf(&b, " and %d more", len(p.visits)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (line %d)", clipped(visible(r.Key+": "+r.Value)), r.Line)
	}
	return b.String()
}

// paceData is a pace as JSON.
type paceData struct {
	Interval float64      `json:"interval_seconds"` // the least time between two requests now
	Line     int          `json:"line,omitempty"`   // whose record that is; absent if none asks for an interval
	Record   string       `json:"record,omitempty"`
	Cut      float64      `json:"cut_to_seconds,omitempty"` // what pace.max_delay leaves of it; absent if that is all
	Visit    *visitData   `json:"visit_time,omitempty"`     // absent if there is none
	Unread   []unreadData `json:"unread,omitempty"`         // records whose value cannot be read, and which decide nothing
}

// visitData is when a client may come. Where it may now Opens and Line are absent.
type visitData struct {
	Open  bool    `json:"open"`
	Opens float64 `json:"opens_in_seconds,omitempty"`
	Line  int     `json:"line,omitempty"`
}

type unreadData struct {
	Line  int    `json:"line"`
	Kind  string `json:"kind"`
	Value string `json:"value"`
	Error string `json:"error"`
}

// data returns the pace as JSON, nil where nothing is asked for.
func (p sitePace) data() *paceData {
	if p.asked == (policy.Pace{}) && len(p.unread) == 0 {
		return nil
	}
	interval, line, _ := p.asked.Interval(p.at)
	data := &paceData{Interval: interval.Seconds(), Line: line, Record: p.asked.Text(line)}
	if p.capped(interval) {
		data.Cut = p.granted.Seconds()
	}
	if len(p.visits) > 0 {
		wait, line := p.asked.Opens(p.at)
		data.Visit = &visitData{wait == 0, wait.Seconds(), line}
	}
	for i, r := range p.unread {
		data.Unread = append(data.Unread, unreadData{r.Line, r.Kind.String(), r.Value, p.faults[i].Error()})
	}
	return data
}
