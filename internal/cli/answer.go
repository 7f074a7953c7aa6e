package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"heed/policy"
)

// answer is what heed check found for one URL, as one dialect.
type answer struct {
	URL     string
	dialect policy.Dialect
	who     policy.Tokens
	now     time.Time
	granted time.Duration // between two requests at most, see pace
	asked   []string      // the agents asked for; none: any
	decider string        // the one whose group decided; empty if no group was looked for

	snapshot *policy.Snapshot // nil if there is none to be had
	fetched  bool             // it was not given as a file
	rules    *policy.Policy   // as the dialect reads them; nil if there are none
	outcome  policy.Outcome
	decision policy.Decision
	fault    error // why there is no decision
}

// unknown reports whether it could not be told: there is no decision, or only
// the one that an unreachable robots.txt forces.
func (a answer) unknown() bool {
	return a.fault != nil || a.left() || a.decision.Reason == policy.ReasonUnreachable
}

// left reports whether the dialect leaves the answer to its user.
func (a answer) left() bool {
	return a.fault == nil && a.outcome == policy.LeaveOpen && a.decision.Reason == 0
}

// reason returns one word.
func (a answer) reason() string {
	switch {
	case a.fault != nil:
		return "fault"
	case a.left():
		return a.outcome.String()
	}
	return a.decision.Reason.String()
}

// explained returns one sentence.
func (a answer) explained() string {
	switch {
	case !a.left():
		return a.decision.String()
	case a.snapshot.Status == 0:
		return fmt.Sprintf("left to its user: %s has no word on no answer", a.dialect)
	}
	return fmt.Sprintf("left to its user: %s has no word on status %d", a.dialect, a.snapshot.Status)
}

func (a answer) status() int {
	switch {
	case a.unknown():
		return checkUnknown
	case !a.decision.Allowed:
		return checkDisallowed
	}
	return 0
}

func (a answer) verdict() string {
	switch {
	case a.unknown():
		return "unknown"
	case a.decision.Allowed:
		return "allowed"
	}
	return "disallowed"
}

// String returns the answer for people, a few lines.
func (a answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", a.verdict(), visible(a.URL))
	if a.fault != nil {
		fmt.Fprintf(&b, "  cause   %s\n", visible(a.fault.Error()))
		return b.String()
	}
	d := a.decision
	fmt.Fprintf(&b, "  reason  %s\n", a.explained())
	if d.GroupLine > 0 {
		fmt.Fprintf(&b, "  group   %s (line %d)\n", visible(d.Group), d.GroupLine)
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, "  rule    %s (line %d)\n", visible(d.Rule()), d.Line)
	}
	if d.Form != "" {
		fmt.Fprintf(&b, "  form    %s (what a server may take the URL for)\n", visible(d.Form))
	}
	if a.fetched && a.dialect != policy.RFC9309 {
		fmt.Fprintf(&b, "  outcome %s\n", a.outcome)
	}
	if o := d.Override; o != nil && o.Reference != "" {
		fmt.Fprintf(&b, "  record  %s\n", visible(o.Reference))
	}
	b.WriteString(paceOf(a.rules, a.who, a.now, a.granted).lines())
	fmt.Fprintf(&b, "  robots  %s\n", strings.Join(a.source(), ", "))
	return b.String()
}

// source describes the robots.txt that was asked.
func (a answer) source() []string {
	s := a.snapshot
	if s == nil {
		return []string{"not asked, since there is an override; --no-overrides asks it"}
	}
	parts := []string{s.URL}
	for _, hop := range s.Hops {
		parts = append(parts, "redirected to "+visible(hop))
	}
	if s.Status != 0 {
		parts = append(parts, fmt.Sprintf("status %d", s.Status))
	}
	if !s.Fetched.IsZero() {
		parts = append(parts, "fetched "+s.Fetched.UTC().Format(time.RFC3339))
	}
	if s.Truncated {
		parts = append(parts, "cut at the limit")
	}
	if s.Err != "" {
		parts = append(parts, visible(s.Err))
	}
	return parts
}

// visible returns a text that others wrote; quoted as in Go where it has what a
// terminal would obey.
func visible(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) || !utf8.ValidString(text) {
		return strconv.Quote(text)
	}
	return text
}
