package policy

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
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
	// common is how many octets all sorted heads start with alike. After them
	// comes what the keys are made of: Policy.keys has one for each sorted rule
	// from keys on.
	common uint32
	keys   uint32
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
			p.groups[g].rules = c.setOf([]uint32{uint32(g)})
		}
	}
	p.text = string(c.text)
	p.rules = slices.Clip(p.rules)
	p.sets = slices.Clip(p.sets)
	p.keys = slices.Clip(p.keys)
	p.hints = slices.Clip(p.hints)
	p.groups = slices.Clip(p.groups)
	p.mentions = slices.Clip(p.mentions)
	p.records = slices.Clip(p.records)
}

// indexTokens makes the groups of each token findable by it.
func (c *compiler) indexTokens() {
	p := c.policy
	nameOf := func(n named) []byte { return n.token.Of(c.text) }
	slices.SortStableFunc(c.tokens, func(a, b named) int { return bytes.Compare(nameOf(a), nameOf(b)) })
	p.named = make([]uint32, 0, len(c.tokens))
	var groups []uint32
	for i := 0; i < len(c.tokens); {
		name := nameOf(c.tokens[i])
		from := len(p.named)
		groups = groups[:0]
		for ; i < len(c.tokens) && bytes.Equal(nameOf(c.tokens[i]), name); i++ {
			m := c.tokens[i].mention
			if g := p.mentions[m].group; len(groups) == 0 || groups[len(groups)-1] != g {
				// Of the lines that name it for one group, the first.
				p.named = append(p.named, m)
				groups = append(groups, g)
			}
		}
		t := token{mentions: span{uint32(from), uint32(len(p.named))}, groups: c.lookIn(groups)}
		if string(name) == global {
			p.global = t
			continue
		}
		if p.tokens == nil {
			p.tokens = make(map[string]token)
		}
		p.tokens[string(name)] = t
		p.nameHints |= nameHint(string(name))
	}
	p.named = slices.Clip(p.named)
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
	at := c.setOf(groups)
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
		*own = c.setOf([]uint32{g})
	}
	return *own
}

// setOf makes the sets of the rules of groups.
func (c *compiler) setOf(groups []uint32) pair {
	var rules []rule
	for _, g := range groups {
		rules = append(rules, c.rules[c.ofGroup[g].from:c.ofGroup[g].to]...)
	}
	decoded := c.decodeQueries(rules)
	at := c.addSet(rules)
	if decoded == nil {
		return pair{at, at}
	}
	c.policy.queries = true
	return pair{at, c.addSet(decoded)}
}

// decodeQueries returns rules with the query of their patterns decoded, nil if
// that changes none or is not done.
func (c *compiler) decodeQueries(rules []rule) []rule {
	if c.policy.dialect.escapes != normalised || !slices.ContainsFunc(rules, c.hasEscapedQuery) {
		return nil
	}
	decoded := slices.Clone(rules)
	for i := range decoded {
		r := &decoded[i]
		if c.hasEscapedQuery(*r) {
			pattern := decodeQuery(string(c.patternOf(r)))
			r.pattern = uint32(len(c.text))
			c.text = append(c.text, pattern...)
			c.policy.dialect.measure(r, c.text[r.pattern:])
		}
	}
	return decoded
}

// hasEscapedQuery tells whether decodeQuery would change the rule's pattern.
func (c *compiler) hasEscapedQuery(r rule) bool {
	_, query, found := bytes.Cut(c.patternOf(&r), []byte("?"))
	return found && hasReservedEscape(query)
}

func (c *compiler) patternOf(r *rule) []byte {
	return c.text[r.pattern : r.pattern+uint32(r.patternLen)]
}

func (c *compiler) headOf(r *rule) []byte {
	return c.text[r.pattern : r.pattern+uint32(r.headLen)]
}

// addSet makes a set and returns its place. It changes the order of rules.
func (c *compiler) addSet(rules []rule) uint32 {
	p := c.policy
	if len(p.sets) == 0 {
		p.sets = append(p.sets, set{}) // so that no place is 0, which stands for none
	}
	ordered := rules
	var s set
	if p.dialect.precedence != firstInFile {
		slices.SortFunc(rules, c.byShape)
		n, _ := slices.BinarySearchFunc(rules, patterns, func(r rule, s shape) int {
			return cmp.Compare(min(r.shape, exact+1), s)
		})
		s.sorted = c.addSorted(rules[:n])
		s.common, s.keys = c.addKeys(s.sorted)
		ordered = rules[n:]
	}
	s.ordered.from = uint32(len(p.rules))
	p.rules = append(p.rules, ordered...)
	s.ordered.to = uint32(len(p.rules))
	s.hints = uint32(len(p.hints))
	if len(ordered) >= fewPatterns && p.dialect.precedence != firstInFile {
		for i := range ordered {
			p.hints = append(p.hints, hintOf(c.patternOf(&ordered[i])))
		}
	}
	p.sets = append(p.sets, s)
	return uint32(len(p.sets) - 1)
}

// byShape puts the rules that are sorted by their head first, and for the same
// head those before "$" that do not end with it; then the others as they
// decide.
func (c *compiler) byShape(a, b rule) int {
	if (a.shape == patterns) != (b.shape == patterns) {
		return cmp.Compare(a.shape, b.shape)
	}
	if a.shape == patterns {
		return c.policy.dialect.precedence.compare(&a, &b)
	}
	if n := bytes.Compare(c.headOf(&a), c.headOf(&b)); n != 0 {
		return n
	}
	if a.shape != b.shape {
		return cmp.Compare(a.shape, b.shape)
	}
	return c.policy.dialect.precedence.compare(&a, &b)
}

// addSorted adds the rules that can ever decide to the policy, each with its
// parent.
func (c *compiler) addSorted(rules []rule) span {
	p := c.policy
	from := uint32(len(p.rules))
	var ancestors []uint32 // of the rule to come, as places in p.rules
	for i := range rules {
		r := &rules[i]
		for len(ancestors) > 0 && !bytes.HasPrefix(c.headOf(r), c.headOf(&p.rules[ancestors[len(ancestors)-1]])) {
			ancestors = ancestors[:len(ancestors)-1]
		}
		if i > 0 && r.shape == exact && rules[i-1].shape == exact && bytes.Equal(c.headOf(r), c.headOf(&rules[i-1])) {
			continue // the one before matches the same, and decides
		}
		r.parent = 0
		if len(ancestors) > 0 {
			last := ancestors[len(ancestors)-1]
			if p.dialect.precedence.compare(&p.rules[last], r) < 0 {
				continue // whatever it matches, its ancestor decides
			}
			r.parent = last + 1
		}
		if r.shape == prefix {
			ancestors = append(ancestors, uint32(len(p.rules)))
		}
		p.rules = append(p.rules, *r)
	}
	return span{from, uint32(len(p.rules))}
}
