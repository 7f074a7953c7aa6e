package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
)

// A summary names at most this many origins and rules; the rest is counted
// together, so that a crawl of a million origins ends with a page.
const summaryRows = 20

// Summary adds exchanges up for the closing words of `heed run`: requests,
// how many were forwarded, how many denied by which origin and rule. Safe for
// concurrent use.
type Summary struct {
	mu        sync.Mutex
	requests  int
	forwarded int
	failed    int // of forwarded: the origin did not answer, or the client did not stay for it
	reported  int // of forwarded: only because the mode is report
	denied    map[cause]int
	lost      int // denials of causes beyond maxCauses
	tooSoon   int // of denied: that came before their turn
	waits     waits
}

// cause is what a denial is counted under, or what would have been one.
type cause struct {
	origin, why string
	report      bool
}

const maxCauses = 20_000

// NewSummary returns an empty Summary.
func NewSummary() *Summary {
	return &Summary{denied: map[cause]int{}, waits: waits{of: map[cause]waited{}}}
}

// Record adds one exchange. CONNECTs that were answered for interception are
// not requests: the exchanges inside are.
func (s *Summary) Record(e *Entry) {
	if e.Verdict == Answered {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.waits.add(e)
	if e.Verdict == Forwarded {
		s.forwarded++
		if e.Err != "" {
			s.failed++
		}
		if !e.Report {
			return
		}
		s.reported++
	}
	if e.wasTooSoon() {
		s.tooSoon++
	}
	s.because(cause{e.Origin, why(e), e.Report})
}

// because counts a cause.
func (s *Summary) because(c cause) {
	if _, known := s.denied[c]; !known {
		if len(s.denied) >= maxCauses {
			s.lost++
			return
		}
		c.origin = strings.Clone(c.origin) // it may be part of a whole request
	}
	s.denied[c]++
}

// why names the rule that decided, or the problem where no rule did.
func why(e *Entry) string {
	if e.Decision.Allowed { // something else denied it
		return reason(e)
	}
	if rule := e.Decision.Rule(); rule != "" {
		why := fmt.Sprintf("%s (line %d)", printable(rule), e.Decision.Line)
		if e.Decision.Dialect != "" {
			why += " as " + e.Decision.Dialect + " reads it"
		}
		if o := e.Decision.Override; o != nil {
			why += " of the operator's " + printable(o.File)
		}
		return why
	}
	if o := e.Decision.Override; o != nil {
		return "by the operator: " + printable(o.Reason)
	}
	return reason(e)
}

func reason(e *Entry) string {
	reason := e.Reason
	if e.Report {
		reason = e.Denial.Reason
	}
	if !e.Pace.Until.IsZero() {
		reason += ": " + e.Pace.words()
	}
	return reason
}

// wasTooSoon tells whether it was denied since it came before its turn.
func (e *Entry) wasTooSoon() bool { return !e.Pace.Until.IsZero() && e.Verdict == Denied }

// ruleOctets is how much of a rule is shown.
const ruleOctets = 120

// printable makes a text that others wrote fit for a terminal: short, and
// without what would move the cursor.
func printable(s string) string {
	if len(s) > ruleOctets {
		s = s[:ruleOctets] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// WriteTo writes the summary as a few lines of text.
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &counter{w: w}
	only := ""
	if s.reported > 0 {
		only = fmt.Sprintf(" (%d of them only because of report mode)", s.reported)
	}
	fmt.Fprintf(out, "heed: %s, %d forwarded%s, %d denied\n", plural(s.requests, "request"), s.forwarded, only, s.requests-s.forwarded)
	if s.failed > 0 {
		fmt.Fprintf(out, "heed: %d of the forwarded had no whole answer\n", s.failed)
	}
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	rows := s.rows()
	shown := rows[:min(len(rows), summaryRows)]
	for _, r := range shown {
		fmt.Fprintf(tw, "  %d\t%s\t%s\n", r.n, origin(r.cause), r.words())
	}
	if err := tw.Flush(); err != nil {
		return out.n, err
	}
	rest := s.lost
	for _, r := range rows[len(shown):] {
		rest += r.n
	}
	if rest > 0 {
		fmt.Fprintf(out, "  … and %d denials of other origins and rules\n", rest)
	}
	if s.tooSoon > 0 {
		fmt.Fprintf(out, "heed: too soon, and answered 429: %s; --hold has requests wait for longer\n", plural(s.tooSoon, "request"))
	}
	s.waits.write(out)
	return out.n, out.err
}

func origin(c cause) string {
	if c.origin == "" {
		return "(no origin)"
	}
	return c.origin
}

// words say why, and whether it was forwarded all the same.
func (c cause) words() string {
	if c.report {
		return c.why + ", forwarded in report mode"
	}
	return c.why
}

// row is a cause and how often it denied.
type row struct {
	cause
	n int
}

// rows lists the causes, most frequent first.
func (s *Summary) rows() []row {
	rows := make([]row, 0, len(s.denied))
	for c, n := range s.denied {
		rows = append(rows, row{c, n})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.origin, b.origin), cmp.Compare(a.words(), b.words()))
	})
	return rows
}

// counter counts octets and keeps the first error, so that the callers above
// need not check each line.
type counter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
