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

// nameHint is one of 64 bits that a name, of any case, has in common with few.
func nameHint(name string) uint64 {
	if name == "" {
		return 1
	}
	return 1 << ((uint(lower(name[0])) + 7*uint(len(name))) & 63)
}

// fewPatterns is how many ordered rules are as quickly tried as hinted at.
const fewPatterns = 4

// hint tells that a pattern cannot match a target: 64 bits, one for each pair of
// octets side by side. A target that matches has every pair that the pattern
// has between its wildcards.
type hint uint64

func hintOf[T string | []byte](text T) hint {
	var h hint
	for i := 1; i < len(text); i++ {
		a, b := text[i-1], text[i]
		if a != '*' && b != '*' && b != '$' {
			h |= pairHint(a, b)
		}
	}
	return h
}

func pairHint(a, b byte) hint {
	return 1 << ((uint32(a)*31 + uint32(b)*7) & 63)
}

// hintOfTarget is the hint of a target: '*' and '$' in it are octets as others.
func hintOfTarget(target string) hint {
	var h hint
	if target == "" {
		return 0
	}
	a := target[0]
	for i := 1; i < len(target); i++ {
		b := target[i]
		h |= pairHint(a, b)
		a = b
	}
	return h
}

// longest returns the sorted rule that decides on path, nil if none matches.
func (p *Policy) longest(sorted span, path string) *rule {
	from, to := sorted.from, sorted.to
	for from < to {
		middle := (from + to) / 2
		if p.headOf(&p.rules[middle]) <= path {
			from = middle + 1
		} else {
			to = middle
		}
	}
	if from == sorted.from {
		return nil
	}
	r := &p.rules[from-1]
	common := commonPrefix(p.headOf(r), path)
	for {
		if int(r.headLen) <= common && (r.shape == prefix || int(r.headLen) == len(path)) {
			return r
		}
		if r.parent == 0 {
			return nil
		}
		r = &p.rules[r.parent-1]
	}
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	if strings.HasPrefix(b, a) {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
