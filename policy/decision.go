package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Reason says on what a Decision rests. The zero Reason is none.
type Reason uint8

// The reasons there are.
const (
	ReasonRule        Reason = iota + 1 // a rule matched
	ReasonNoMatch                       // a group applies, none of its rules matched
	ReasonNoGroup                       // no group names the token, and there is none for "*"
	ReasonRobotsTxt                     // the target is /robots.txt, which is always allowed
	ReasonUnavailable                   // robots.txt is unavailable: anything may be requested
	ReasonUnreachable                   // robots.txt is unreachable: nothing may be requested
	ReasonRestricted                    // robots.txt itself is refused (401, 403), and a dialect takes that for a complete restriction
	ReasonOverride                      // the operator decided, whatever the rules say
	ReasonCostly                        // the forms of the target would take too long to compare with the rules
)

var reasonNames = [...]string{
	ReasonRule:        "rule",
	ReasonNoMatch:     "no-match",
	ReasonNoGroup:     "no-group",
	ReasonRobotsTxt:   "robots-txt",
	ReasonUnavailable: "unavailable",
	ReasonUnreachable: "unreachable",
	ReasonRestricted:  "restricted",
	ReasonOverride:    "override",
	ReasonCostly:      "costly",
}

// String returns the reason in one lower-case word, such as "no-match".
func (r Reason) String() string {
	if int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// Decision is a verdict and what it rests on. The zero Decision disallows.
//
// Its texts come from a file that others wrote and from a client: they may hold
// any octet but, for those of the file, NUL, LF, CR and '#'; and Group and Value
// may be as long as a line that counts (16,663 octets).
type Decision struct {
	// Allowed is the verdict.
	Allowed bool

	// Reason is what it rests on.
	Reason Reason

	// Token is the product token asked with whose group decided, "*" for the
	// global group. Where no group decided it is the first token asked with,
	// "*" if there was none, and it is empty where no group was looked for.
	Token string

	// Group is the value, as written, of the user-agent line that names Token
	// for the group that decided, and GroupLine its line. Where no rule
	// matched, it is the first of the groups that count. Empty and 0 if there
	// is none.
	Group     string
	GroupLine int

	// Value is the value, as written, of the rule that matched, and Line its
	// line; see also Rule. Empty and 0 if no rule matched.
	Value string
	Line  int

	// Pattern is the pattern of the rule as it is compared. Empty if no rule
	// matched.
	Pattern string

	// Form is empty if it was the target as received that met the rule, else
	// the form of it that did: what an origin may take it for.
	Form string

	// Dialect is the name of the dialect whose reading it is; empty for the
	// default.
	Dialect string

	// Override is the word of the operator that the decision rests on; nil if
	// there is none. Where its Action is UseOperatorsRules, group, rule and
	// lines are those of the operator's file.
	Override *Override

	// group is the place in source of the group that counts, if Group is one.
	group uint32
	// allowKey tells that the key of the rule is Allow.
	allowKey bool
	// target is what met the rule, as received; empty if no rule matched.
	target string
	// source is the rules asked; nil if there were none, or by Clone.
	source *Policy
}

// Rule is the rule that matched: its key as Allow or Disallow, its value as
// written, such as "Disallow: /private/". It is empty if no rule matched. It
// stays what it is, whatever is made of Allowed.
func (d Decision) Rule() string {
	switch {
	case d.Reason != ReasonRule:
		return ""
	case d.allowKey:
		return "Allow: " + d.Value
	}
	return "Disallow: " + d.Value
}

// Path is the path and query, as they are compared, that met the rule. It is
// empty if no rule matched.
func (d Decision) Path() string {
	switch {
	case d.Form != "":
		return d.Form
	case d.source == nil:
		return d.target // made comparable by Clone
	}
	var buffer pathBuffer
	return strings.Clone(d.source.dialect.comparable(d.target, &buffer))
}

// Names returns the values, as written, of all user-agent lines of the group
// that counts; nil if there is none. After Clone it is Group alone.
func (d Decision) Names() []string {
	switch {
	case d.Reason != ReasonRule && d.Reason != ReasonNoMatch:
		return nil
	case d.source == nil:
		return []string{d.Group}
	}
	return d.source.namesOf(d.group)
}

// Clone returns a copy that keeps nothing of the rules alive, for those who
// store decisions. Of each text the first most octets are kept; Rule has its key
// besides.
func (d Decision) Clone(most int) Decision {
	var k Kept
	k.Keep(&d, most)
	return k.Decision()
}

// String returns the decision in one sentence, without a full stop. Texts that
// others wrote are quoted as in Go.
func (d Decision) String() string {
	s := d.sentence()
	if d.Override == nil {
		return s
	}
	if d.Override.Action == UseOperatorsRules {
		s += fmt.Sprintf(", by the operator's file %q in place of robots.txt", d.Override.File)
	}
	return s + " (" + d.Override.String() + ")"
}

// sentence is String but for the override.
func (d Decision) sentence() string {
	verdict := "disallowed"
	if d.Allowed {
		verdict = "allowed"
	}
	switch d.Reason {
	case ReasonRule:
		return d.byRule(verdict)
	case ReasonNoMatch:
		return fmt.Sprintf("%s: no rule in %s matches", verdict, d.appendGroup(nil)) + d.by()
	case ReasonNoGroup:
		if d.Token == global {
			return fmt.Sprintf("%s: there is no group for %q", verdict, global) + d.by()
		}
		return fmt.Sprintf("%s: no group names %q, and there is none for %q", verdict, d.Token, global) + d.by()
	case ReasonRobotsTxt:
		return verdict + ": " + robotsTxt + " may always be requested" + d.by()
	case ReasonUnavailable:
		if d.Override != nil {
			return verdict + ": the operator has robots.txt count as unavailable"
		}
		return verdict + ": robots.txt is unavailable"
	case ReasonUnreachable:
		return verdict + ": robots.txt is unreachable"
	case ReasonRestricted:
		return verdict + ": robots.txt itself is refused" + d.by()
	case ReasonOverride:
		return verdict + " by the operator, whatever robots.txt says"
	case ReasonCostly:
		return verdict + ": an origin may take the target for so many others that comparing each with the wildcards of robots.txt would take too long" + d.by()
	}
	return verdict + ": no reason is known"
}

// byRule is the sentence of nearly all denials.
func (d *Decision) byRule(verdict string) string {
	var buffer [256]byte
	s := append(append(buffer[:0], verdict...), " by "...)
	s = appendQuote(s, d.Rule())
	s = strconv.AppendInt(append(s, " (line "...), int64(d.Line), 10)
	s = append(d.appendGroup(append(s, ") in "...)), d.by()...)
	if d.Form != "" {
		s = appendQuote(append(s, ", which the target meets as "...), d.Form)
	}
	return string(s)
}

// appendGroup names the group that counts. A dialect may put rules before any group
// into one that no line names.
func (d *Decision) appendGroup(s []byte) []byte {
	if d.GroupLine == 0 {
		return append(s, "the group for everyone, of rules before any group"...)
	}
	s = append(appendQuote(append(s, "the group of "...), d.Group), " (line "...)
	return append(strconv.AppendInt(s, int64(d.GroupLine), 10), ')')
}

// appendQuote is strconv.AppendQuote, which takes several times as long where
// there is nothing to escape.
func appendQuote(s []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return strconv.AppendQuote(s, text)
		}
	}
	return append(append(append(s, '"'), text...), '"')
}

// by names the dialect, if it is not the default.
func (d Decision) by() string {
	if d.Dialect == "" {
		return ""
	}
	return " as " + d.Dialect + " reads it"
}
