package policy

import (
	"bytes"
)

// Compile reads the body of a robots.txt. It never fails: lines that cannot be
// understood are passed over. The Policy does not refer to body.
func Compile(body []byte, o Options) *Policy {
	body, truncated := cut(body, o.limit())
	c := compilers.Get().(*compiler)
	c.policy.dialect = o.Dialect
	c.policy.truncated = truncated
	c.body = o.Dialect.decodeBody(body, o.Decoded)
	lines := tokenize(c.body, o.Dialect.reading, o.Dialect.keys)
	for line := new(Line); lines.next(line); {
		c.take(line)
	}
	c.finish()
	p := c.release()
	p.compileOthers(body, o)
	p.compileStrictly(body, o)
	return p
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

// compiler turns lines into a Policy.
type compiler struct {
	body     []byte
	policy   *Policy
	text     []byte  // becomes policy.text
	rules    []rule  // in file order
	ofGroup  []span  // the rules of each group
	tokens   []named // the names that are looked up, in file order
	state    compilerState
	queries  bool            // a pattern differs once its query is decoded
	merged   map[string]pair // the sets of groups that were merged
	mergable int             // how many more rules may be kept twice
	interval uint32          // 1 more than the place of the pace that the group of now has at all hours, 0 for none

	// what is written while tokens are looked for and sets are made
	byName    []uint64 // places of tokens
	groups    []uint32 // of one token
	texts     []Part   // what is sorted by, see textOrder
	order     []uint64 // places of rules, see sort
	ancestors []ancestor
}

// named is a token in lower case, or "*", and the mention that it comes from.
type named struct {
	token   Part // place in compiler.text
	mention uint32
}

// compilerState says where in a group the last line that matters was.
type compilerState uint8

const (
	outsideGroups compilerState = iota
	inAgents                    // the next user-agent line belongs to the same group
	inRules                     // the next user-agent line starts a group
)

func (c *compiler) take(l *Line) {
	switch {
	case l.Kind == UserAgent:
		c.userAgent(l)
	case l.Kind == Allow || l.Kind == Disallow:
		c.rule(l)
	case l.Kind.IsRecord():
		c.record(l)
	case l.Kind == Blank && l.Comment.Len() == 0 && c.policy.dialect.blankEnd:
		c.state = outsideGroups
	}
}

// userAgent reads a user-agent line. One without a usable name starts a group
// as well: it ends the one before, and can be asked for with an empty token.
func (c *compiler) userAgent(l *Line) {
	if c.state != inAgents {
		c.startGroup()
	}
	c.mention(l.Value.Of(c.body), l.Number)
}

// startGroup adds a group, which is the one of the lines that follow.
func (c *compiler) startGroup() {
	p := c.policy
	c.state = inAgents
	c.interval = 0
	at := uint32(len(c.rules))
	c.ofGroup = append(c.ofGroup, span{at, at})
	first := uint32(len(p.mentions))
	p.groups = append(p.groups, group{mentions: span{first, first}})
}

// mention adds a name to the group of now.
func (c *compiler) mention(value []byte, line int) {
	p := c.policy
	g := len(p.groups) - 1
	name := p.dialect.nameOf(value)
	m := mention{group: uint32(g), line: uint32(line), text: uint32(len(c.text)), textLen: uint16(len(value))}
	c.text = append(c.text, value...)
	token := Part{int(m.text), int(m.text) + len(name)}
	if hasUpper(name) && p.dialect.choice == everyEqual {
		token.Start = len(c.text)
		c.text = append(c.text, name...)
		token.End = len(c.text)
		lowered := c.text[token.Start:]
		for i, octet := range lowered {
			lowered[i] = lower(octet)
		}
	}
	c.tokens = append(c.tokens, named{token, uint32(len(p.mentions))})
	p.mentions = append(p.mentions, m)
	p.groups[g].mentions.to++
}

// nameOf returns the part of a user-agent line's value that names: "*" if the
// value is that alone or before white space, else its longest start that can
// be a product token. RFC 9309 §2.2.1 has letters, '_' and '-' only; digits are
// taken as well by default, or "MJ12bot" would name "MJ".
func (d *Dialect) nameOf(value []byte) []byte {
	if d.naming == wholeValue {
		return value
	}
	if len(value) > 0 && value[0] == '*' {
		if len(value) == 1 || isSpace(value[1]) {
			return value[:1]
		}
		return nil
	}
	for n, c := range value {
		if !tokenOctets[c] || isDigit(c) && d.naming != tokenWithDigits {
			return value[:n]
		}
	}
	return value
}

// tokenOctets holds the octets of product tokens, digits included.
var tokenOctets = func() (t [256]bool) {
	for c := range 256 {
		octet := byte(c)
		t[c] = octet == '-' || octet == '_' || isDigit(octet) || 'a' <= lower(octet) && lower(octet) <= 'z'
	}
	return t
}()

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func hasUpper(name []byte) bool {
	for _, c := range name {
		if c != lower(c) {
			return true
		}
	}
	return false
}

// rule reads an Allow or a Disallow line. One that can never match, since its
// value is empty or does not start as a path does, still ends the run of
// user-agent lines before it.
func (c *compiler) rule(l *Line) {
	d := &c.policy.dialect
	if c.state == outsideGroups {
		if !d.orphans || len(c.policy.groups) > 0 {
			return // RFC 9309 §2.2.2: a rule before any group is ignored
		}
		c.startGroup()
		c.mention([]byte(global), 0)
	}
	value := l.Value.Of(c.body)
	if d.voidRun && (len(value) == 0 || hasBadEscape(value)) {
		return
	}
	c.state = inRules
	allow := l.Kind == Allow
	if len(value) == 0 {
		if allow, ok := d.emptyRule(allow).verdict(); ok {
			c.addRule(l, value, allow)
		}
		return
	}
	c.addRule(l, value, allow)
	if d.indexPages && allow {
		c.indexPage(l, value)
	}
}

func (d *Dialect) emptyRule(allow bool) emptyRule {
	if allow {
		return d.emptyAllow
	}
	return d.emptyDeny
}

// verdict returns what an empty rule says, false if it says nothing.
func (e emptyRule) verdict() (allow, ok bool) { return e == allowsAll, e != decidesNothing }

// addRule adds a rule with the given pattern, unless nothing can match it.
func (c *compiler) addRule(l *Line, pattern []byte, allow bool) {
	n, at := len(c.rules), len(c.text)
	c.rules = append(c.rules, rule{})
	if c.fillRule(&c.rules[n], l, pattern, allow) {
		c.ofGroup[len(c.ofGroup)-1].to++
	} else {
		c.rules, c.text = c.rules[:n], c.text[:at]
	}
}

// fillRule makes the zero rule r that of a line. It returns false if nothing can
// match it.
func (c *compiler) fillRule(r *rule, l *Line, pattern []byte, allow bool) bool {
	d := &c.policy.dialect
	value := l.Value.Of(c.body)
	r.value, r.valueLen = uint32(len(c.text)), uint16(len(value))
	r.line = uint32(l.Number)
	if allow {
		r.verdict = allowing
	}
	if l.Kind == Allow {
		r.verdict |= allowKey
	}
	c.text = append(c.text, value...)
	r.pattern = r.value
	star, plain := plainPattern(pattern)
	if !plain || len(pattern) != len(value) {
		r.pattern = uint32(len(c.text))
		text, ok := d.appendPattern(c.text, pattern)
		if c.text = text; !ok {
			return false
		}
		compared := text[r.pattern:]
		star = bytes.IndexByte(compared, '*')
		c.queries = c.queries || d.escapes == normalised && hasEscapedQuery(compared)
	}
	compared := c.text[r.pattern:]
	if !d.canMatch(compared, len(pattern) == 0) {
		return false
	}
	d.measure(r, compared, star)
	return true
}

// plainPattern tells whether a pattern is, in every dialect, compared as it is
// written, and where its first '*' is, -1 if there is none.
func plainPattern(pattern []byte) (star int, ok bool) {
	star = -1
	if isPlain(pattern) {
		return star, true
	}
	for i := 0; ; i++ {
		i += plainLen(pattern[i:])
		if i == len(pattern) {
			return star, true
		}
		switch c := pattern[i]; {
		case c == '*':
			if star < 0 {
				star = i
			}
		case c != '$' || i < len(pattern)-1:
			return 0, false
		}
	}
}

// canMatch tells whether a pattern can match any target: whether it starts as a
// path does, or anyhow (RFC 9309 erratum 7995). Where the first rule in the
// file decides, rules are kept all the same: their group has them.
func (d *Dialect) canMatch(pattern []byte, empty bool) bool {
	switch {
	case d.precedence == firstInFile:
		return true
	case len(pattern) == 0:
		return empty
	}
	return pattern[0] == '/' || pattern[0] == '*' && d.wildcards != noWildcards
}

// indexPage adds what an Allow of an index page allows besides: the directory
// itself, as Google's parser has it.
func (c *compiler) indexPage(l *Line, pattern []byte) {
	slash := bytes.LastIndexByte(pattern, '/')
	if slash < 0 || !bytes.HasPrefix(pattern[slash:], []byte("/index.htm")) {
		return
	}
	directory := append(append([]byte(nil), pattern[:slash+1]...), '$')
	c.addRule(l, directory, true)
}
