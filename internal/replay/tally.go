package replay

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	mostCauses = 20_000 // origins and rules that are told apart, of each kind of change
	mostFaults = 20     // lines that cannot be read, and are kept with their cause
)

// cause is what a change is counted under.
type cause struct{ origin, why string }

// ruleOctets is how much of a rule is shown.
const ruleOctets = 120

// ruleAt is how a rule is shown.
func ruleAt(rule string, line int) string {
	if len(rule) > ruleOctets {
		rule = rule[:ruleOctets] + "…"
	}
	return fmt.Sprintf("%s (line %d)", rule, line)
}

// counts are the numbers of exchanges.
type counts struct {
	requests, same, moved, marked   int
	passed, answered                int
	nowDenied, nowAllowed, unknowns table
}

func newCounts() *counts {
	return &counts{nowDenied: table{}, nowAllowed: table{}, unknowns: table{}}
}

// table has how often a cause was met. It is bounded; what is beyond is counted
// under the zero cause.
type table map[cause]int

func (t table) add(c cause, n int) {
	if _, known := t[c]; !known && len(t) >= mostCauses {
		c = cause{}
	}
	t[c] += n
}

func (t table) total() (n int) {
	for _, times := range t {
		n += times
	}
	return n
}

func (c *counts) add(x *exchange, before, after *outcome) {
	c.requests++
	switch {
	case after.verdict == unknown:
		c.unknowns.add(cause{x.originText, after.why}, 1)
	case before.verdict != denied && after.verdict == denied:
		c.nowDenied.add(cause{x.originText, after.why}, 1)
	case before.verdict == denied && after.verdict != denied:
		c.nowAllowed.add(cause{x.originText, before.why}, 1)
	default:
		c.same++
		if !after.same {
			c.moved++
		}
		if before.verdict == forwarded && after.verdict == reported {
			c.marked++
		}
	}
}

// Tally adds up what replaying logs came to. Make one with NewTally. It is not
// safe for concurrent use.
type Tally struct {
	all    *counts
	faults []Fault
	unread int
}

// NewTally returns an empty Tally.
func NewTally() *Tally { return &Tally{all: newCounts()} }

func (t *Tally) add(c *counts, faults []Fault) {
	a := t.all
	a.requests, a.same, a.moved, a.marked = a.requests+c.requests, a.same+c.same, a.moved+c.moved, a.marked+c.marked
	a.passed, a.answered = a.passed+c.passed, a.answered+c.answered
	for _, of := range [...][2]table{{a.nowDenied, c.nowDenied}, {a.nowAllowed, c.nowAllowed}, {a.unknowns, c.unknowns}} {
		for cause, n := range of[1] {
			of[0].add(cause, n)
		}
	}
	t.unread += len(faults)
	t.faults = append(t.faults, faults[:min(len(faults), mostFaults-len(t.faults))]...)
}

// Row is an origin, a rule or another cause, and how often it was met.
type Row struct {
	Origin string `json:"origin"`
	Why    string `json:"why"`
	N      int    `json:"n"`
}

// Summary is what a Tally came to.
type Summary struct {
	Requests   int     `json:"requests"` // forwarded or denied
	Same       int     `json:"same"`     // of these: the verdict would be the same
	Moved      int     `json:"moved"`    // of the same: by another rule, or for another reason
	Marked     int     `json:"marked"`   // of the same: forwarded as before, and newly marked in report mode
	NowDenied  int     `json:"newly_denied"`
	NowAllowed int     `json:"newly_allowed"`
	Unknown    int     `json:"unknown"`  // it cannot be told
	Answered   int     `json:"answered"` // no requests: pages of heed's own, and tunnels that it looked into
	Passed     int     `json:"passed"`   // lines of something else
	Unread     int     `json:"unread"`   // lines that cannot be read
	Faults     []Fault `json:"faults"`   // the first of these

	Denied   []Row `json:"newly_denied_by"`  // the most frequent first, the last without an origin for the rest
	Allowed  []Row `json:"newly_allowed_by"` // by what denied them before
	Unknowns []Row `json:"unknown_by"`
}

// Summary returns what it came to, with at most so many rows of a kind.
func (t *Tally) Summary(rows int) Summary {
	a := t.all
	return Summary{
		Requests: a.requests, Same: a.same, Moved: a.moved, Marked: a.marked,
		NowDenied: a.nowDenied.total(), NowAllowed: a.nowAllowed.total(), Unknown: a.unknowns.total(),
		Answered: a.answered, Passed: a.passed, Unread: t.unread, Faults: append([]Fault{}, t.faults...),
		Denied: a.nowDenied.rows(rows), Allowed: a.nowAllowed.rows(rows), Unknowns: a.unknowns.rows(rows),
	}
}

// rows lists the causes, the most frequent first; the last may be for the rest.
func (t table) rows(most int) []Row {
	all, rest := []Row{}, 0
	for c, n := range t {
		if c == (cause{}) {
			rest += n
			continue
		}
		all = append(all, Row{c.origin, c.why, n})
	}
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Why, b.Why))
	})
	for _, r := range all[min(most, len(all)):] {
		rest += r.N
	}
	all = all[:min(most, len(all))]
	if rest > 0 {
		all = append(all, Row{Why: "others", N: rest})
	}
	return all
}
