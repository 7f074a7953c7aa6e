// Package lint says what is wrong with a robots.txt, and mends it.
//
//	report := lint.Check(body, lint.Options{})
//	for _, d := range report.Diagnostics {
//		fmt.Println(d)
//	}
//
// # Check
//
// Check reads the lines that package policy makes rules of, [policy.Lines], and
// compares patterns as policy does: what it says of a file is what the file does
// there. A Diagnostic has its place, a stable [Code] with a [Severity], and a
// sentence that says what crawlers make of it and how to mend it. docs/lint.md
// of heed has a row and an example for each code.
//
// That a rule is hidden, [HiddenRule] and [RepeatedRule], is claimed only where
// it can be proved: whatever the target, another rule of the same group matches
// it as well and comes first. Where dialects disagree, [DialectsDisagree], is
// found by asking them: for targets made from the patterns of the file and for
// the agents that it names.
//
// # Fix
//
// [Fix] prints a file that the default dialect reads in the same way: for every
// agent and every target it has the same verdict, by the rule in the same line.
//
// # Cost
//
// Time and memory are proportional to the octets read, whatever they are, but for
// sorting. What would take the product of two numbers of a file — comparing
// patterns with each other, asking dialects — has a budget, and where that is
// used up less is found and [Report.Unprobed] says so. The diagnostics of one
// code are bounded too.
//
// Everything is pure and safe for concurrent use.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"heed/policy"
)

// Options says how a file is checked. The zero Options is good.
type Options struct {
	// Limit is how many octets of the file crawlers read; 0 means
	// policy.DefaultLimit, and less is raised to it. What stands behind is
	// not checked.
	Limit int

	// Most is how many diagnostics of one code are kept; 0 means 100.
	Most int
}

func (o Options) limit() int { return max(o.Limit, policy.DefaultLimit) }

func (o Options) most() int {
	if o.Most == 0 {
		return 100
	}
	return o.Most
}

// Diagnostic is one thing that is wrong, or worth knowing.
type Diagnostic struct {
	// Line counts from 1. Column and EndColumn count octets of that line from
	// 1, a byte order mark included; EndColumn is that of the octet after the
	// last, so an empty place has EndColumn equal to Column.
	Line, Column, EndColumn int

	Code     Code
	Severity Severity

	// Message is a sentence or two without a full stop at the end: what a
	// crawler makes of it, and how to mend it. Text of the file in it is quoted
	// as Go does and clipped.
	Message string

	// Related is the line that it refers to as well, 0 if there is none.
	Related int
}

// String returns the Diagnostic as "3:1: warning: sentence [code]".
func (d Diagnostic) String() string {
	return fmt.Sprintf("%d:%d: %s: %s [%s]", d.Line, d.Column, d.Severity, d.Message, d.Code)
}

// Omission says that there are more diagnostics of a code than were kept.
type Omission struct {
	Code Code
	More int // how many
}

// Report is what Check found.
type Report struct {
	// Diagnostics are in the order of the file.
	Diagnostics []Diagnostic

	// Omitted says of which codes there were more than Options.Most, in the
	// order of Codes.
	Omitted []Omission

	// Unprobed is how many rules dialects were not asked about, since the file
	// is too large for it.
	Unprobed int
}

// Worst returns the highest severity of what was found, false if nothing was.
func (r *Report) Worst() (worst Severity, found bool) {
	for _, d := range r.Diagnostics {
		worst, found = max(worst, d.Severity), true
	}
	return worst, found
}

// Total is how many diagnostics there are, those that were not kept included.
func (r *Report) Total() int {
	total := len(r.Diagnostics)
	for _, o := range r.Omitted {
		total += o.More
	}
	return total
}

// Check checks the body of a robots.txt.
func Check(body []byte, o Options) *Report {
	c := &checker{body: body, most: o.most(), counts: make(map[Code]int), spelling: newSpelling()}
	c.wholeFile()
	c.lines(o.limit())
	c.groups.check(c)
	c.dialects(o.limit())
	return c.report()
}

// lines checks the lines within the first limit octets.
func (c *checker) lines(limit int) {
	const over = "%s: heed reads %d octets, RFC 9309 has crawlers read %d; make the file shorter, with patterns that say more"
	last := first
	for line := range policy.Lines(c.body) {
		if line.Raw.End > limit {
			c.add(OverLimit, line, line.Raw, 0, over, "this line and all that follow are not read", limit, policy.DefaultLimit)
			return
		}
		c.line(line)
		last = line
	}
	if len(c.body) > limit {
		// A line end alone is left, after which a file that was fetched may go on.
		end := policy.Part{Start: last.Raw.End, End: last.Raw.End}
		c.add(OverLimit, last, end, 0, over, "what follows this line is not read", limit, policy.DefaultLimit)
	}
}

// checker collects what is found.
type checker struct {
	body     []byte
	most     int
	counts   map[Code]int
	found    []Diagnostic
	groups   groups
	spelling *spelling
	html     bool // most of it is noise then
	unprobed int
}

// add adds a diagnostic for a part of a line.
func (c *checker) add(code Code, l policy.Line, at policy.Part, related int, format string, args ...any) {
	c.counts[code]++
	if c.counts[code] > c.most {
		return
	}
	start := l.Raw.Start
	if l.Number == 1 {
		start = 0
	}
	c.found = append(c.found, Diagnostic{
		Line: l.Number, Column: at.Start - start + 1, EndColumn: at.End - start + 1,
		Code: code, Severity: code.Severity(),
		Message: fmt.Sprintf(format, args...), Related: related,
	})
}

func (c *checker) report() *Report {
	slices.SortStableFunc(c.found, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	r := &Report{Diagnostics: c.found, Unprobed: c.unprobed}
	for _, code := range Codes() {
		if more := c.counts[code] - c.most; more > 0 {
			r.Omitted = append(r.Omitted, Omission{code, more})
		}
	}
	return r
}

// quote quotes text of the file for a sentence, the start of it if it is long.
func quote[T string | []byte](text T) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}
