package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"heed/policy"
)

// answer is what heed check found for one URL.
type answer struct {
	URL      string
	snapshot *policy.Snapshot // nil if there is a fault
	decision policy.Decision
	fault    error // why there is no decision
}

// unknown reports whether it could not be told: there is no decision, or only
// the one that an unreachable robots.txt forces.
func (a answer) unknown() bool {
	return a.fault != nil || a.decision.Reason == policy.ReasonUnreachable
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
	fmt.Fprintf(&b, "  reason  %s\n", d)
	if d.GroupLine > 0 {
		fmt.Fprintf(&b, "  group   %s (line %d)\n", visible(d.Group), d.GroupLine)
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, "  rule    %s (line %d)\n", visible(d.Rule), d.Line)
	}
	if d.Form != "" {
		fmt.Fprintf(&b, "  form    %s (what a server may take the URL for)\n", visible(d.Form))
	}
	fmt.Fprintf(&b, "  robots  %s\n", strings.Join(a.source(), ", "))
	return b.String()
}

// source describes the robots.txt that was asked.
func (a answer) source() []string {
	s := a.snapshot
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

// answerData is an answer as JSON. Of verdict, allowed is the part that a proxy
// acts by: unknown is not allowed.
type answerData struct {
	URL       string     `json:"url"`
	Verdict   string     `json:"verdict"` // allowed, disallowed or unknown
	Allowed   bool       `json:"allowed"`
	Reason    string     `json:"reason,omitempty"`
	Agent     string     `json:"agent,omitempty"`
	Group     string     `json:"group,omitempty"`
	GroupLine int        `json:"group_line,omitempty"`
	Rule      string     `json:"rule,omitempty"`
	Line      int        `json:"line"`
	Form      string     `json:"form,omitempty"`
	Robots    string     `json:"robots,omitempty"`
	Hops      []string   `json:"hops,omitempty"`
	Status    int        `json:"status,omitempty"`
	Fetched   *time.Time `json:"fetched,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	Explained string     `json:"explained,omitempty"`
	Error     string     `json:"error,omitempty"`
}

func (a answer) data() answerData {
	data := answerData{URL: a.URL, Verdict: a.verdict()}
	if a.fault != nil {
		data.Error = a.fault.Error()
		return data
	}
	d, s := a.decision, a.snapshot
	data.Allowed, data.Reason, data.Explained = d.Allowed, d.Reason.String(), d.String()
	data.Agent, data.Group, data.GroupLine = d.Token, d.Group, d.GroupLine
	data.Rule, data.Line, data.Form = d.Rule, d.Line, d.Form
	data.Robots, data.Hops, data.Status, data.Truncated, data.Error = s.URL, s.Hops, s.Status, s.Truncated, s.Err
	if !s.Fetched.IsZero() {
		fetched := s.Fetched.UTC()
		data.Fetched = &fetched
	}
	return data
}

// visible returns a text that others wrote; quoted as in Go where it has what a
// terminal would obey.
func visible(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) || !utf8.ValidString(text) {
		return strconv.Quote(text)
	}
	return text
}
