package policy

import (
	"fmt"
	"strconv"
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
)

var reasonNames = [...]string{
	ReasonRule:        "rule",
	ReasonNoMatch:     "no-match",
	ReasonNoGroup:     "no-group",
	ReasonRobotsTxt:   "robots-txt",
	ReasonUnavailable: "unavailable",
	ReasonUnreachable: "unreachable",
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
// any octet but, for those of the file, NUL, LF, CR and '#'; and Group and Rule
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

	// Rule is the rule that matched: its key as Allow or Disallow, its value as
	// written, such as "Disallow: /private/". Line is its line. Empty and 0 if
	// no rule matched.
	Rule string
	Line int

	// Pattern and Path are the normalised pattern and the normalised path and
	// query that met. Both are empty if no rule matched.
	Pattern, Path string

	// Form is empty if it was the target as received that met the rule, else
	// the form of it that did: what an origin may take it for.
	Form string
}

// String returns the decision in one sentence, without a full stop. Texts that
// others wrote are quoted as in Go.
func (d Decision) String() string {
	verdict := "disallowed"
	if d.Allowed {
		verdict = "allowed"
	}
	switch d.Reason {
	case ReasonRule:
		s := fmt.Sprintf("%s by %q (line %d) in the group of %q (line %d)",
			verdict, d.Rule, d.Line, d.Group, d.GroupLine)
		if d.Form != "" {
			s += fmt.Sprintf(", which the target meets as %q", d.Form)
		}
		return s
	case ReasonNoMatch:
		return fmt.Sprintf("%s: no rule in the group of %q (line %d) matches",
			verdict, d.Group, d.GroupLine)
	case ReasonNoGroup:
		if d.Token == global {
			return fmt.Sprintf("%s: there is no group for %q", verdict, global)
		}
		return fmt.Sprintf("%s: no group names %q, and there is none for %q",
			verdict, d.Token, global)
	case ReasonRobotsTxt:
		return verdict + ": " + robotsTxt + " may always be requested"
	case ReasonUnavailable:
		return verdict + ": robots.txt is unavailable"
	case ReasonUnreachable:
		return verdict + ": robots.txt is unreachable"
	}
	return verdict + ": no reason is known"
}
