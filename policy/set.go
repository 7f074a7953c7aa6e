package policy

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// set is the rules that count together for a token, put so that the one that
// decides is found without trying all.
//
// Rules whose pattern is a prefix of what it matches, or the whole of it, are
// sorted by their head, and each knows its parent: the one with the longest
// head that its own begins with. All that match a path are then found from the
// last one that does not come after the path: it, and its ancestors. A rule
// that an ancestor beats can never decide, and is left out, so that the first
// that matches on the way up decides.
//
// All others are in the order in which they decide.
type set struct {
	sorted  span // of Policy.rules
	ordered span
	// keys is where the keys of the sorted rules are in Policy.keys.
	keys uint32
	// hints is where the needs of the ordered rules are in Policy.hints, one
	// for each; see hint.
	hints uint32
}

// pair is the places of two sets in Policy.sets: as the rules are, and with the
// query of their patterns decoded. They are the same where that changes none.
type pair struct{ plain, decoded uint32 }

// finish makes what is looked things up in.
func (c *compiler) finish() {
	p := c.policy
	c.mergable = len(c.rules)
	if p.dialect.choice == everyEqual {
		c.indexTokens()
	} else {
		for g := range p.groups {
			p.groups[g].rules = c.setOf(c.rulesOf(uint32(g)))
		}
	}
}

// indexTokens makes the groups of each token findable by it.
func (c *compiler) indexTokens() {
	p := c.policy
	c.byName, c.texts = c.byName[:0], c.texts[:0]
	for i := range c.tokens {
		c.byName = append(c.byName, uint64(i))
		c.texts = append(c.texts, c.tokens[i].token)
	}
	byName := c.textOrder(cmp.Compare[uint64])
	byName.sort(c.byName, 0)
	for rest := c.byName; len(rest) > 0; {
		at := c.tokens[rest[0]].token
		name := at.Of(c.text)
		from := len(p.named)
		groups := c.groups[:0]
		for ; len(rest) > 0 && bytes.Equal(c.tokens[rest[0]].token.Of(c.text), name); rest = rest[1:] {
			m := c.tokens[rest[0]].mention
			if g := p.mentions[m].group; len(groups) == 0 || groups[len(groups)-1] != g {
				// Of the lines that name it for one group, the first.
				p.named = append(p.named, m)
				groups = append(groups, g)
			}
		}
		c.groups = groups
		t := token{mentions: span{uint32(from), uint32(len(p.named))}, groups: c.lookIn(groups)}
		if string(name) == global {
			p.global = t
			continue
		}
		t.name, t.nameLen = uint32(at.Start), uint16(at.Len())
		p.tokens = append(p.tokens, t)
		p.nameHints |= nameHint(name)
	}
}

// lookIn returns the set to look in for a token of these groups, or none if
// each group has to be looked in: where merging them would take memory out of
// proportion to the body, since many tokens share the same groups in many ways.
func (c *compiler) lookIn(groups []uint32) pair {
	if len(groups) == 1 {
		return c.ownSet(groups[0])
	}
	key := make([]byte, 0, 4*len(groups))
	rules := 0
	for _, g := range groups {
		key = binary.NativeEndian.AppendUint32(key, g)
		rules += int(c.ofGroup[g].to - c.ofGroup[g].from)
	}
	if at, ok := c.merged[string(key)]; ok {
		return at
	}
	if rules > c.mergable {
		for _, g := range groups {
			c.ownSet(g)
		}
		return pair{}
	}
	c.mergable -= rules
	end := len(c.rules) // of those of the file
	for _, g := range groups {
		c.rules = append(c.rules, c.rulesOf(g)...)
	}
	at := c.setOf(c.rules[end:])
	c.rules = c.rules[:end]
	if c.merged == nil {
		c.merged = make(map[string]pair)
	}
	c.merged[string(key)] = at
	return at
}

// ownSet returns the set of one group, made when first asked for.
func (c *compiler) ownSet(g uint32) pair {
	own := &c.policy.groups[g].rules
	if *own == (pair{}) {
		*own = c.setOf(c.rulesOf(g))
	}
	return *own
}

// rulesOf returns the rules of a group, in file order.
func (c *compiler) rulesOf(g uint32) []rule { return c.rules[c.ofGroup[g].from:c.ofGroup[g].to] }

// setOf makes the sets of rules.
func (c *compiler) setOf(rules []rule) pair {
	at := c.addSet(rules)
	decoded := c.decodeQueries(rules)
	if decoded == nil {
		return pair{at, at}
	}
	c.policy.queries = true
	return pair{at, c.addSet(decoded)}
}

// decodeQueries returns rules with the query of their patterns decoded, nil if
// that changes none or is not done.
func (c *compiler) decodeQueries(rules []rule) []rule {
	differs := func(r rule) bool { return hasEscapedQuery(c.patternOf(&r)) }
	if !c.queries || !slices.ContainsFunc(rules, differs) {
		return nil
	}
	decoded := slices.Clone(rules)
	for i := range decoded {
		r := &decoded[i]
		if differs(*r) {
			pattern := decodeQuery(string(c.patternOf(r)))
			r.pattern = uint32(len(c.text))
			c.text = append(c.text, pattern...)
			c.policy.dialect.measure(r, c.text[r.pattern:], strings.IndexByte(pattern, '*'))
		}
	}
	return decoded
}

// hasEscapedQuery tells whether decodeQuery would change a pattern.
func hasEscapedQuery(pattern []byte) bool {
	_, query, found := bytes.Cut(pattern, []byte("?"))
	return found && hasReservedEscape(query)
}

func (c *compiler) patternOf(r *rule) []byte {
	return c.text[r.pattern : r.pattern+uint32(r.patternLen)]
}

func (c *compiler) headOf(r *rule) []byte {
	return c.text[r.pattern : r.pattern+uint32(r.headLen)]
}
