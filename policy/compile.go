package policy

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Compile reads the body of a robots.txt. It never fails: lines that cannot be
// understood are passed over. The Policy does not refer to body.
func Compile(body []byte, o Options) *Policy {
	body, truncated := cut(body, o.limit())
	c := compiler{body: body, policy: &Policy{truncated: truncated}}
	lines := tokenize(body)
	for {
		e, ok := lines.next()
		if !ok {
			return c.finish()
		}
		switch e.kind {
		case userAgent:
			c.userAgent(e)
		case allow, disallow:
			c.rule(e)
		}
	}
}

// cut returns the whole lines within the first limit octets of body, and
// whether body goes on beyond them. A rule that lost its end would be another
// rule.
func cut(body []byte, limit int) ([]byte, bool) {
	if len(body) <= limit {
		return body, false
	}
	if isLineEnd(body[limit]) {
		return body[:limit], true
	}
	return body[:bytes.LastIndexAny(body[:limit], "\r\n")+1], true
}

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }

// compiler turns events into a Policy.
type compiler struct {
	body   []byte
	policy *Policy
	text   []byte       // becomes policy.text
	named  []namedGroup // the mentions, each with its token
	state  compilerState
}

// namedGroup is a mention and the token that it is for, in lower case, or "*".
type namedGroup struct {
	mention
	token part // place in compiler.text
}

// compilerState says where in a group the last line that matters was.
type compilerState uint8

const (
	beforeGroups compilerState = iota
	inAgents                   // the next user-agent line belongs to the same group
	inRules                    // the next user-agent line starts a group
)

// userAgent reads a user-agent line. One without a usable name starts a group
// as well: it ends the one before, and can be asked for with an empty token.
func (c *compiler) userAgent(e event) {
	if c.state != inAgents {
		c.state = inAgents
		at := uint32(len(c.policy.rules))
		c.policy.groups = append(c.policy.groups, group{rules: span{at, at}})
	}
	value := e.value.of(c.body)
	name := nameOf(value)
	m := mention{
		group:   uint32(len(c.policy.groups) - 1),
		line:    uint32(e.line),
		text:    uint32(len(c.text)),
		textLen: uint16(len(value)),
	}
	c.text = append(c.text, value...)
	token := part{int(m.text), int(m.text) + len(name)}
	if hasUpper(name) {
		token.start = len(c.text)
		for _, octet := range name {
			c.text = append(c.text, lower(octet))
		}
		token.end = len(c.text)
	}
	c.named = append(c.named, namedGroup{m, token})
}

// nameOf returns the part of a user-agent line's value that names: "*" if the
// value is that alone or before white space, else its longest start that can
// be a product token. RFC 9309 §2.2.1 has letters, '_' and '-' only; digits are
// taken as well, or "MJ12bot" would name "MJ".
func nameOf(value []byte) []byte {
	if len(value) > 0 && value[0] == '*' {
		if len(value) == 1 || isSpace(value[1]) {
			return value[:1]
		}
		return nil
	}
	n := 0
	for n < len(value) && isTokenOctet(value[n]) {
		n++
	}
	return value[:n]
}

func isTokenOctet(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z'
}

func hasUpper(name []byte) bool {
	return slices.ContainsFunc(name, func(c byte) bool { return c != lower(c) })
}

// rule reads an Allow or a Disallow line. One that can never match, since its
// value is empty or does not start as a path does, still ends the run of
// user-agent lines before it.
func (c *compiler) rule(e event) {
	if c.state == beforeGroups {
		return // RFC 9309 §2.2.2: a rule before any group is ignored
	}
	c.state = inRules
	value := e.value.of(c.body)
	if len(value) == 0 || value[0] != '/' && value[0] != '*' {
		return
	}
	r := rule{line: uint32(e.line), allow: e.kind == allow, text: uint32(len(c.text))}
	c.text = append(c.text, r.key()...)
	r.pattern = uint32(len(c.text))
	c.text = append(c.text, value...)
	r.textLen = uint16(len(c.text) - int(r.text))
	if !isNormal(value, ofPattern) {
		r.pattern = uint32(len(c.text))
		c.text = appendNormal(c.text, value, ofPattern)
	}
	r.measure(c.text[r.pattern:])
	c.policy.rules = append(c.policy.rules, r)
	c.policy.groups[len(c.policy.groups)-1].rules.to++
}

// finish puts the rules and the names in order.
func (c *compiler) finish() *Policy {
	p := c.policy
	for i := range p.groups {
		g := &p.groups[i]
		slices.SortFunc(p.rules[g.rules.from:g.rules.to], byPrecedence)
		g.decoded = c.decodeQueries(g.rules)
	}
	p.text = string(c.text)
	p.rules = slices.Clip(p.rules)
	p.groups = slices.Clip(p.groups)
	c.index()
	return p
}

// decodeQueries returns where the rules stand with the query of their patterns
// decoded: where they stand already, if that changes none of them.
func (c *compiler) decodeQueries(rules span) span {
	p := c.policy
	plain := p.rules[rules.from:rules.to]
	if !slices.ContainsFunc(plain, c.hasEscapedQuery) {
		return rules
	}
	decoded := slices.Clone(plain)
	for i := range decoded {
		r := &decoded[i]
		if c.hasEscapedQuery(*r) {
			pattern := decodeQuery(string(c.patternOf(*r)))
			r.pattern = uint32(len(c.text))
			c.text = append(c.text, pattern...)
			r.measure(c.text[r.pattern:])
		}
	}
	slices.SortFunc(decoded, byPrecedence)
	p.queries = true
	from := len(p.rules)
	p.rules = append(p.rules, decoded...)
	return span{uint32(from), uint32(len(p.rules))}
}

// hasEscapedQuery tells whether decodeQuery would change the rule's pattern.
func (c *compiler) hasEscapedQuery(r rule) bool {
	_, query, found := bytes.Cut(c.patternOf(r), []byte("?"))
	return found && hasReservedEscape(query)
}

func (c *compiler) patternOf(r rule) []byte {
	return c.text[r.pattern : r.pattern+uint32(r.patternLen)]
}

// index makes the mentions of each token findable by it.
func (c *compiler) index() {
	p := c.policy
	token := func(n namedGroup) string { return p.text[n.token.start:n.token.end] }
	slices.SortStableFunc(c.named, func(a, b namedGroup) int {
		return strings.Compare(token(a), token(b))
	})
	p.mentions = make([]mention, 0, len(c.named))
	for i := 0; i < len(c.named); {
		name := token(c.named[i])
		from := len(p.mentions)
		for ; i < len(c.named) && token(c.named[i]) == name; i++ {
			m := c.named[i].mention
			if len(p.mentions) == from || p.mentions[len(p.mentions)-1].group != m.group {
				// The first line that names it for this group. The others would
				// have Decide try the same rules again.
				p.mentions = append(p.mentions, m)
			}
		}
		at := span{uint32(from), uint32(len(p.mentions))}
		if name == global {
			p.global = at
			continue
		}
		if p.names == nil {
			p.names = make(map[string]span)
		}
		p.names[name] = at
	}
}

// byPrecedence orders rules so that the first that matches decides (RFC 9309
// §2.2.2): the longest pattern, Allow before Disallow, the earlier line.
func byPrecedence(a, b rule) int {
	if a.patternLen != b.patternLen {
		return cmp.Compare(b.patternLen, a.patternLen)
	}
	if a.allow != b.allow {
		if a.allow {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.line, b.line)
}
