package policy

import (
	"iter"
	"slices"
	"time"
)

// Pace is what a robots.txt says of pace to one client: its Crawl-delay,
// Request-rate and Visit-time records. The zero Pace asks for nothing. It is a
// small value that can be compared: two that are equal ask for the same, though
// those of two Policies differ. It refers to its Policy, so who keeps it keeps
// that too.
//
// The records that count are those of the groups that Snapshot.Decide asks: the
// groups of each main token, else those for "*", and those that name one of
// Tokens.Also. They count wherever in their group they stand; one before any
// group is nobody's. Further names can only restrict here as well: the longest
// of all intervals counts, and every token's groups must be open.
//
// A value that cannot be read decides nothing, see ParseCrawlDelay and its like:
// a slip in an extension of no standard must not stop a crawl. One that asks for
// more than LongestInterval counts as that.
//
// Groups are found as the Dialect of the Policy finds them. Caution is about
// what is disallowed, and other dialects are not asked for a pace: they read
// these records alike, and to find their groups takes long.
type Pace struct {
	rules   *Policy // nil: nothing is asked for
	longest uint32  // 1 more than the place in rules.paces of the longest interval at all hours, 0 for none
	count   uint8   // how many spans there are; more than there is room for: each group of the file counts
	starts  uint8   // a bit for each span: it is not of the same token as the one before
	spans   [6]span // of rules.paces: those of a group that has some with hours
}

// Pace returns what the file says of pace to a client. A nil Policy says
// nothing. It allocates nothing where Snapshot.Decide does not.
func (p *Policy) Pace(t Tokens) Pace {
	if p == nil || len(p.paces) == 0 {
		return Pace{}
	}
	return p.paceFor(t)
}

// paceFor is apart, so that Pace can be inlined for the many files without.
func (p *Policy) paceFor(t Tokens) Pace {
	a := Pace{rules: p}
	p.eachRun(t, a.add)
	if a.longest == 0 && a.count == 0 {
		return Pace{}
	}
	return a
}

// eachRun calls f for each run of groups that count for a client, as
// Snapshot.Decide finds them. A run is the groups that count as one, since they
// name the same token; see groupAt.
func (p *Policy) eachRun(t Tokens, f func(run span)) {
	if p.dialect.choice != everyEqual {
		for _, agent := range p.agentsOf(t) {
			if m := p.groupFor(agent); m != nil {
				f(span{m.group, m.group + 1})
			}
		}
		return
	}
	main, unnamed := t.Main, false
	if len(main) == 0 {
		main = everyone
	}
	for _, name := range main {
		if k := p.tokenNamed(name); k.isNamed() {
			f(k.mentions)
		} else if !unnamed {
			unnamed = true
			f(p.global.mentions)
		}
	}
	for _, name := range t.Also {
		f(p.tokenNamed(name).mentions)
	}
}

// groupAt returns the group at a place of a run: the place is one of
// Policy.named, or for a dialect that obeys one group alone the group itself.
func (p *Policy) groupAt(at uint32) uint32 {
	if p.dialect.choice != everyEqual {
		return at
	}
	return p.mentions[p.named[at]].group
}

// add takes in the groups of a run.
func (a *Pace) add(run span) {
	p, starts := a.rules, true
	for at := run.from; at < run.to; at++ {
		s, hours := p.pacesOf(p.groupAt(at)), false
		for i := s.from; i < s.to; i++ {
			if p.hasHours(i) {
				hours = true
			} else {
				a.longest = p.longer(a.longest, i+1)
			}
		}
		if hours {
			a.addSpan(s, starts)
			starts = false
		}
	}
}

func (a *Pace) addSpan(s span, starts bool) {
	if int(a.count) == len(a.spans) {
		a.count++
	}
	if int(a.count) > len(a.spans) {
		return
	}
	if starts {
		a.starts |= 1 << a.count
	}
	a.spans[a.count] = s
	a.count++
}

// eachSpan calls f for the paces of each group that has some with hours, and
// tells whether the group is another token's than the one before. Of a client
// with too many such groups every group of the file is taken, by itself: more
// than those that count, which can only restrict.
func (a *Pace) eachSpan(f func(s span, starts bool)) {
	if int(a.count) > len(a.spans) {
		for s := a.rules.pacesFrom(0); s.from < s.to; s = a.rules.pacesFrom(s.to) {
			f(s, true)
		}
		return
	}
	for i, s := range a.spans[:a.count] {
		f(s, a.starts>>i&1 == 1)
	}
}

// Interval returns the least time between two requests at a time of day in UTC:
// the longest that a Crawl-delay asks for, or a Request-rate whose hours hold
// then, with its requests spaced evenly. Line and key are those of the record, of
// the first if several ask for as long; 0 and Blank if there is none. The time
// can be 0 all the same, by "Crawl-delay: 0".
func (a Pace) Interval(sinceMidnight time.Duration) (d time.Duration, line int, key Kind) {
	longest := a.longest
	if a.count > 0 {
		longest = a.longestAt(timeOfDay(sinceMidnight))
	}
	if longest == 0 {
		return 0, 0, Blank
	}
	t := &a.rules.paces[longest-1]
	r := &a.rules.records[t.record]
	return t.every, int(r.line), r.kind
}

// longestAt is longest with the intervals that hold at a time of day.
func (a *Pace) longestAt(now time.Duration) uint32 {
	p, longest := a.rules, a.longest
	a.eachSpan(func(s span, _ bool) {
		for i := s.from; i < s.to; i++ {
			if p.keyOf(i) == RequestRate && p.paces[i].hours().Contains(now) {
				longest = p.longer(longest, i+1)
			}
		}
	})
	return longest
}

// Text returns the record in a line that Interval or Opens told, key and value as
// written, such as "Crawl-delay: 10"; "" if there is none in it. It may be as
// long as a line that counts (16,663 octets).
func (a Pace) Text(line int) string {
	if a.rules == nil {
		return ""
	}
	i, found := slices.BinarySearchFunc(a.rules.records, line, func(r record, line int) int { return int(r.line) - line })
	if !found {
		return ""
	}
	r := a.rules.recordAt(i)
	return r.Key + ": " + r.Value
}

// PaceRecords yields, in the order of the file, the Crawl-delay, Request-rate and
// Visit-time records that Pace looks at for a client, each with why its value
// cannot be read and so decides nothing; nil if it can. A nil Policy has none.
func (p *Policy) PaceRecords(t Tokens) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if p == nil {
			return
		}
		var groups []uint32
		p.eachRun(t, func(run span) {
			for at := run.from; at < run.to; at++ {
				groups = append(groups, p.groupAt(at))
			}
		})
		for i := range p.records {
			if g := p.records[i].group; !p.records[i].kind.isPace() || g == 0 || !slices.Contains(groups, g-1) {
				continue
			}
			r := p.recordAt(i)
			if _, err := parsePace(r.Kind, r.Value); !yield(r, err) {
				return
			}
		}
	}
}
