package policy

import (
	"strconv"
	"time"
)

// Access is the result of asking for a robots.txt (RFC 9309 §2.3.1).
type Access uint8

// The results there are.
const (
	Successful  Access = iota // there are rules, to be followed (§2.3.1.1)
	Unavailable               // there is no robots.txt: anything may be requested (§2.3.1.3)
	Unreachable               // it cannot be told whether there is one: nothing may be (§2.3.1.4)
)

// String returns the word of RFC 9309, such as "unreachable".
func (a Access) String() string {
	switch a {
	case Successful:
		return "successful"
	case Unavailable:
		return "unavailable"
	case Unreachable:
		return "unreachable"
	}
	return "Access(" + strconv.Itoa(int(a)) + ")"
}

// Snapshot is the robots.txt of one origin as last obtained. It must not be
// changed once it is shared; then it is safe for concurrent use. The times are
// carried for those who look after it: no decision depends on them.
type Snapshot struct {
	URL        string        // of the robots.txt asked for, such as "https://a.example/robots.txt"
	Access     Access        // the last result; the zero value is Successful
	Rules      *Policy       // the rules in use; nil if there are none
	Status     int           // the HTTP status last obtained, 0 if none was
	Hops       []string      // the URLs redirected to, in order
	Fetched    time.Time     // when the rules in use were obtained; zero: never
	Checked    time.Time     // when robots.txt was last asked for
	FreshUntil time.Time     // when to ask again at the latest
	StaleSince time.Time     // since when the rules are used on only because the origin is unreachable; zero: they are not
	RetryAfter time.Duration // the pause before the next attempt; 0 unless unreachable
	Attempts   int           // failed attempts in a row
	Err        string        // the cause of the last failure in one line, "" if there is none
	Cause      error         // the same as a value, for errors.As; nil also where it was not kept
	Size       int           // octets of the body received
	Truncated  bool          // the body went on beyond the limit
	Charset    string        // what was made of a charset other than UTF-8, such as "decoded from iso-8859-1"; "" for nothing
	Body       []byte        // as read, whatever its charset; nil unless it was asked to be kept
	UTF8       bool          // the robots.txt was declared to be in UTF-8; false where there is none
	Cautious   bool          // a dialect that takes 401 and 403 for a complete restriction is heeded
	Refusals   bool          // 401 and 403 are taken for a complete restriction, as the draft of 1996 recommends
}

// Tokens is who asks: the product tokens of a client.
type Tokens struct {
	// Main are the tokens that a request stands for, one for each User-Agent
	// field. Each must be allowed, by its own group or, where no group names
	// it, by the group for "*". Empty means "*".
	Main []string

	// Also are further names that the client gives itself. They can only
	// restrict: each must be allowed where a group names it, and does not
	// count where none does. So a client gains nothing by a favoured name.
	Also []string

	// Fields are the User-Agent fields as received. Only a dialect that looks
	// for names in them takes notice, see Options.Cautious.
	Fields []string
}

// everyone is what an empty Tokens.Main means.
var everyone = []string{global}

// Decide says whether the client may request target, the path and query of a
// URI as on the wire.
//
// Target must be allowed as received and in every form in which an origin may
// understand it: with escaped slashes decoded, backslashes taken for slashes,
// dot segments removed, slashes merged, and with the reserved octets of the
// query decoded, in the rules as well. A form can only disallow; what it
// permits counts for nothing. The decision names the form that met the rule. If
// there are so many wildcards, and forms of so long a target, that to compare
// them would take much longer than a second, the target is disallowed.
//
// Rules that were compiled with Options.Cautious must allow it, received and in
// its forms, as every other dialect reads them too.
//
// Rules that were compiled with Options.Strict must allow it as rather few origins
// take it, too.
//
// "/robots.txt" itself is always allowed, though not a target of which it is
// merely a form. Everything else is allowed if
// robots.txt is unavailable, and disallowed if it is unreachable and there are
// no rules to use on. Nothing is allowed without a Snapshot, that is by nil,
// nor by one that claims to have rules and has none.
func (s *Snapshot) Decide(t Tokens, target string) (d Decision) {
	if s == nil {
		return Decision{Reason: ReasonUnreachable}
	}
	target = withSlash(target)
	if isPlain(target) {
		s.decidePath(&d, t, target, target)
	} else {
		s.decideEscaped(&d, t, target)
	}
	return d
}

// decideEscaped makes target comparable first, see Policy.decideEscaped.
func (s *Snapshot) decideEscaped(d *Decision, t Tokens, target string) {
	var buffer pathBuffer
	s.decidePath(d, t, target, normaliseTarget(target, &buffer))
}

// decidePath judges path, which is target made comparable.
func (s *Snapshot) decidePath(d *Decision, t Tokens, target, path string) {
	switch {
	case path == robotsTxt:
		*d = Decision{Allowed: true, Reason: ReasonRobotsTxt}
		return
	case s.Restricted():
		*d = Decision{Reason: ReasonRestricted}
		if !s.Refusals {
			d.Dialect = RERP.Name()
		}
		return
	case s.Access == Unavailable:
		*d = Decision{Allowed: true, Reason: ReasonUnavailable}
		return
	case s.Rules == nil:
		*d = Decision{Reason: ReasonUnreachable}
		return
	}
	s.Rules.decideTokens(d, t, target, path, comparePlain)
	if d.Allowed {
		s.Rules.decideForms(d, t, target)
	}
	if d.Allowed {
		s.Rules.decideByOthers(d, t, target)
	}
	if d.Allowed {
		s.Rules.decideStrictly(d, t, target)
	}
}

// Restricted tells whether everything is disallowed since robots.txt itself is
// refused, which is so only if refusals count, or by a dialect that caution heeds.
func (s *Snapshot) Restricted() bool {
	return (s.Cautious || s.Refusals) && s.Access == Unavailable && RERP.Outcome(s.Status) == DisallowAll
}

// decideForms replaces d if a form of the target is disallowed.
func (p *Policy) decideForms(d *Decision, t Tokens, target string) {
	if !hasForms(target, p.queries) {
		return
	}
	var room [mostForms]form
	all := forms(room[:0], target, p.queries)
	octets := 0
	for _, f := range all {
		octets += len(f.target)
	}
	if p.isCostly(t, octets) {
		*d = Decision{Reason: ReasonCostly, Dialect: p.dialect.name}
		return
	}
	for _, f := range all {
		var next Decision
		if p.decideTokens(&next, t, f.target, f.target, f.comparison); !next.Allowed {
			next.Form = f.target
			*d = next
			return
		}
	}
}

// mostOctets is how many octets of targets are searched, once for each rule with
// a wildcard. Searching so many takes some tenths of a second at worst. Real
// files have some hundred such rules at most, but for one in a thousand, and real
// targets few forms of some hundred octets.
const mostOctets = 1 << 28

// isCostly tells whether to compare targets of so many octets with the rules
// would take longer than anyone can be given: the author of a file may also write
// the links to targets that take the longest.
func (p *Policy) isCostly(t Tokens, octets int) bool {
	return octets*p.asked(t) > mostOctets/max(int(p.wildcards), 1)
}

// asked is for how many names the rules are searched.
func (p *Policy) asked(t Tokens) int {
	if p.dialect.choice != everyEqual {
		return len(p.agentsOf(t))
	}
	n := max(len(t.Main), 1)
	for _, name := range t.Also {
		if p.tokenNamed(name).isNamed() {
			n++
		}
	}
	return n
}

// decideTokens fills the zero Decision d with the first decision that disallows,
// else with that for the first main token.
func (p *Policy) decideTokens(d *Decision, t Tokens, target, path string, c comparison) {
	main := t.Main
	if len(main) == 0 {
		main = everyone
	}
	p.decide(d, main[:1], target, path, c)
	for i := 1; i < len(main) && d.Allowed; i++ {
		p.restrict(d, main[i:i+1], target, path, c)
	}
	for i := 0; i < len(t.Also) && d.Allowed; i++ {
		if p.tokenNamed(t.Also[i]).isNamed() {
			p.restrict(d, t.Also[i:i+1], target, path, c)
		}
	}
}

// restrict replaces d if the tokens are disallowed.
func (p *Policy) restrict(d *Decision, tokens []string, target, path string, c comparison) {
	var next Decision
	if p.decide(&next, tokens, target, path, c); !next.Allowed {
		*d = next
	}
}
