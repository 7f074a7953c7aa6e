package policy

import "strings"

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
// This is the reading of robots.txt by itself. A proxy asks [Snapshot.Decide].
func (p *Policy) Decide(tokens []string, target string) Decision {
	path := normaliseTarget(withSlash(target))
	if path == robotsTxt {
		return Decision{Allowed: true, Reason: ReasonRobotsTxt}
	}
	return p.decide(tokens, path, comparePlain)
}

// Names tells whether a group names the token, "*" included.
func (p *Policy) Names(token string) bool {
	m := p.mentionsOf(token)
	return m.from < m.to
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

// decide judges a normalised path by the groups of the tokens.
func (p *Policy) decide(tokens []string, path string, c comparison) Decision {
	s := search{policy: p, path: path, comparison: c}
	for _, token := range tokens {
		if token != global {
			s.groupsOf(token)
		}
	}
	if s.mention == nil {
		s.groupsOf(global)
	}
	if s.mention == nil && len(tokens) > 0 {
		s.token = tokens[0]
	}
	return s.decision()
}

// mentionsOf finds the user-agent lines that name token, without allocating
// unless the token is very long.
func (p *Policy) mentionsOf(token string) span {
	if token == global {
		return p.global
	}
	var buffer [64]byte
	key := append(buffer[:0], token...)
	for i, c := range key {
		key[i] = lower(c)
	}
	return p.names[string(key)]
}

// search collects the rule that decides from several groups.
type search struct {
	policy     *Policy
	path       string
	comparison comparison

	token   string   // whose group decided, or the last asked for
	mention *mention // how that group names it; nil if there is none
	rule    *rule    // nil if none matched so far
}

// groupsOf looks for a rule in the groups that name token.
func (s *search) groupsOf(token string) {
	p := s.policy
	at := p.mentionsOf(token)
	mentions := p.mentions[at.from:at.to]
	if s.mention == nil {
		s.token = token
	}
	for i := range mentions {
		m := &mentions[i]
		rules := p.groups[m.group].rules
		if s.comparison == compareQueryDecoded {
			rules = p.groups[m.group].decoded
		}
		found := p.firstMatch(p.rules[rules.from:rules.to], s.path, s.rule)
		if s.mention == nil || found != s.rule {
			s.token, s.mention, s.rule = token, m, found
		}
	}
}

func (s *search) decision() Decision {
	d := Decision{Allowed: true, Reason: ReasonNoGroup, Token: s.token}
	if s.mention == nil {
		return d
	}
	p := s.policy
	d.Reason = ReasonNoMatch
	d.Group = p.text[s.mention.text : s.mention.text+uint32(s.mention.textLen)]
	d.GroupLine = int(s.mention.line)
	if s.rule == nil {
		return d
	}
	d.Reason = ReasonRule
	d.Allowed = s.rule.allow
	d.Rule = p.textOf(s.rule)
	d.Line = int(s.rule.line)
	d.Pattern = p.patternOf(s.rule)
	d.Path = s.path
	return d
}
