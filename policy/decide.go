package policy

import (
	"slices"
	"strings"
)

// global is the value of a user-agent line that stands for every crawler not
// named elsewhere.
const global = "*"

// robotsTxt may be requested whatever the rules say (RFC 9309 §2.2.2).
const robotsTxt = "/robots.txt"

// Decide says whether target, the path and query of a URI as on the wire, may
// be requested by a crawler with the given product tokens.
//
// The rules of all groups that name one of the tokens count together. If none
// does, or there are no tokens, the groups for "*" count. Tokens are compared
// whole, but for the case of ASCII letters: "ExampleBot/2.1" is no token and
// equals none. A target without its leading slash is given one.
//
// A Dialect that obeys one group alone is asked for each token by itself, and
// the first decision that disallows is returned, else that for the first token.
// RERP looks for names in a whole User-Agent field, and so takes one for a
// token.
//
// This is the reading of robots.txt by itself. A proxy asks [Snapshot.Decide].
func (p *Policy) Decide(tokens []string, target string) (d Decision) {
	target = withSlash(target)
	if p.dialect.escapes == normalised && isPlain(target) {
		p.decidePath(&d, tokens, target, target)
	} else {
		p.decideEscaped(&d, tokens, target)
	}
	return d
}

// decideEscaped makes target comparable first. It has the buffer for that, which
// costs time to clear.
func (p *Policy) decideEscaped(d *Decision, tokens []string, target string) {
	var buffer pathBuffer
	p.decidePath(d, tokens, target, p.dialect.comparable(target, &buffer))
}

// decidePath judges path, which is target made comparable.
func (p *Policy) decidePath(d *Decision, tokens []string, target, path string) {
	switch {
	case path == robotsTxt && p.dialect.robotsTxt == robotsTxtAllowed:
		*d = Decision{Allowed: true, Reason: ReasonRobotsTxt, Dialect: p.dialect.name}
	case p.dialect.choice != everyEqual:
		p.decideByOneGroup(d, tokens, target, path)
	default:
		p.decide(d, tokens, target, path, comparePlain)
	}
}

// Names tells whether a group names the token, "*" included.
func (p *Policy) Names(token string) bool {
	if p.dialect.choice != everyEqual {
		return p.groupFor(token) != nil
	}
	return p.tokenNamed(token).isNamed()
}

// withSlash returns target with the slash that every path begins with.
func withSlash(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	return "/" + target
}

// comparison says which patterns a path is compared with.
type comparison uint8

const (
	comparePlain        comparison = iota
	compareQueryDecoded            // patterns with their query decoded, see decodeQuery
)

// in returns the place of the set of rules to compare with.
func (c comparison) in(groups pair) uint32 {
	if c == compareQueryDecoded {
		return groups.decoded
	}
	return groups.plain
}

// token is what is known of a product token that a group names.
type token struct {
	mentions span   // of Policy.named
	groups   pair   // none if each group has to be looked in, see compiler.lookIn
	name     uint32 // offset of it, in lower case, in Policy.text
	nameLen  uint16
}

func (t *token) isNamed() bool { return t.mentions.from < t.mentions.to }

// unnamed is a token that no group names.
var unnamed token

// tokenNamed finds what names a token, without allocating unless it is very
// long.
func (p *Policy) tokenNamed(name string) *token {
	if name == global {
		return &p.global
	}
	if p.nameHints&nameHint(name) == 0 {
		return &unnamed
	}
	var buffer [64]byte
	key := append(buffer[:0], name...)
	for i, c := range key {
		key[i] = lower(c)
	}
	from, to := 0, len(p.tokens)
	for from < to {
		middle := int(uint(from+to) / 2)
		if t := &p.tokens[middle]; p.text[t.name:t.name+uint32(t.nameLen)] < string(key) {
			from = middle + 1
		} else {
			to = middle
		}
	}
	if from < len(p.tokens) {
		if t := &p.tokens[from]; p.text[t.name:t.name+uint32(t.nameLen)] == string(key) {
			return t
		}
	}
	return &unnamed
}

// decide judges a path, which is target made comparable, by all groups of the
// tokens. A Decision is large: it is filled where it is to be, and not copied
// from one function to the next.
func (p *Policy) decide(d *Decision, tokens []string, target, path string, c comparison) {
	s := search{policy: p, comparison: c}
	for _, name := range tokens {
		if name != global {
			s.groupsOf(name, p.tokenNamed(name), path)
		}
	}
	if s.mention == nil {
		s.groupsOf(global, &p.global, path)
	}
	if s.mention == nil && len(tokens) > 0 {
		s.token = tokens[0]
	}
	s.explain(d, target)
}

// search collects the rule that decides from several groups. The path is not in
// it: the compiler would see it in the Decision as well, and put its buffer on
// the heap.
type search struct {
	policy     *Policy
	comparison comparison

	token   string   // whose group decided, or the last asked for
	mention *mention // how that group names it; nil if there is none
	rule    *rule    // nil if none matched so far
}

// groupsOf looks for a rule in the groups that name a token.
func (s *search) groupsOf(name string, t *token, path string) {
	if s.mention == nil {
		s.token = name
	}
	if !t.isNamed() {
		return
	}
	p := s.policy
	named := p.named[t.mentions.from:t.mentions.to]
	if t.groups == (pair{}) {
		for _, at := range named {
			m := &p.mentions[at]
			s.take(name, m, p.deciding(s.comparison.in(p.groups[m.group].rules), path, s.rule))
		}
		return
	}
	r := p.deciding(s.comparison.in(t.groups), path, s.rule)
	first := &p.mentions[named[0]]
	if r != s.rule && len(named) > 1 {
		first = p.mentionBefore(named, r)
	}
	s.take(name, first, r)
}

// take notes what a group said: r, which is the rule noted already if the group
// has none that comes before it.
func (s *search) take(name string, m *mention, r *rule) {
	if s.mention == nil || r != s.rule {
		s.token, s.mention, s.rule = name, m, r
	}
}

// mentionBefore returns which of the named mentions is that of the rule's
// group: the last before it, since each of the groups has one.
func (p *Policy) mentionBefore(named []uint32, r *rule) *mention {
	n, _ := slices.BinarySearchFunc(named, r.line, func(at, line uint32) int {
		return int(p.mentions[at].line) - int(line)
	})
	return &p.mentions[named[max(n-1, 0)]]
}

// explain fills the zero Decision d.
func (s *search) explain(d *Decision, target string) {
	p := s.policy
	d.Allowed = true
	d.Reason = ReasonNoGroup
	d.Token = s.token
	d.Dialect = p.dialect.name
	d.source = p
	if s.mention == nil {
		return
	}
	d.Reason = ReasonNoMatch
	d.Group = p.nameAt(s.mention)
	d.GroupLine = int(s.mention.line)
	d.group = s.mention.group
	if s.rule == nil {
		return
	}
	d.Reason = ReasonRule
	d.Allowed = s.rule.verdict&allowing != 0
	d.allowKey = s.rule.verdict&allowKey != 0
	d.Value = p.valueOf(s.rule)
	d.Line = int(s.rule.line)
	d.Pattern = p.patternOf(s.rule)
	d.target = target
}
