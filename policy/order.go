package policy

import (
	"bytes"
	"cmp"
	"slices"
)

// addSet makes a set of rules and returns its place.
func (c *compiler) addSet(rules []rule) uint32 {
	p := c.policy
	if len(p.sets) == 0 {
		p.sets = append(p.sets, set{}) // so that no place is 0, which stands for none
	}
	var s set
	s.keys = uint32(len(p.keys))
	s.hints = uint32(len(p.hints))
	s.sorted.from = uint32(len(p.rules))
	ordered := rules
	if p.dialect.precedence != firstInFile {
		ordered = c.split(rules)
		s.common = c.sort(rules)
		if len(c.items) > 0 {
			s.head = rules[c.items[0].rule].pattern
		}
		c.addSorted(rules)
	}
	s.sorted.to = uint32(len(p.rules))
	s.ordered.from = s.sorted.to
	p.rules = append(p.rules, ordered...)
	s.ordered.to = uint32(len(p.rules))
	if len(ordered) >= fewPatterns && p.dialect.precedence != firstInFile {
		for i := range ordered {
			p.hints = append(p.hints, hintOf(c.patternOf(&ordered[i])))
		}
	}
	p.sets = append(p.sets, s)
	return uint32(len(p.sets) - 1)
}

// item is a rule that is to be sorted.
type item struct {
	key  key
	rule uint32 // its place among those that are sorted
}

// split makes items of the rules that are sorted by their head, and returns the
// others in the order in which they decide.
func (c *compiler) split(rules []rule) []rule {
	c.items, c.ordered = c.items[:0], c.ordered[:0]
	for i := range rules {
		if r := &rules[i]; r.shape == patterns {
			c.items = append(c.items, item{c.policy.dialect.precedence.keyOf(r), uint32(i)})
		}
	}
	slices.SortFunc(c.items, func(a, b item) int { return cmp.Compare(a.key, b.key) })
	for _, it := range c.items {
		c.ordered = append(c.ordered, rules[it.rule])
	}
	c.items = c.items[:0]
	for i := range rules {
		if rules[i].shape != patterns {
			c.items = append(c.items, item{rule: uint32(i)})
		}
	}
	return c.ordered
}

// sort puts the items in the order of their heads, where one before "$" comes
// after those that do not end with it, and equal ones in the order in which they
// decide. It returns how many octets all heads start with alike.
func (c *compiler) sort(rules []rule) (common uint32) {
	if len(c.items) == 0 {
		return 0
	}
	first := c.headOf(&rules[c.items[0].rule])
	for _, it := range c.items[1:] {
		first = first[:commonPrefix(first, c.headOf(&rules[it.rule]))]
	}
	for i := range c.items {
		it := &c.items[i]
		it.key = keyOf(c.headOf(&rules[it.rule])[len(first):])
	}
	precedence := c.policy.dialect.precedence
	slices.SortFunc(c.items, func(x, y item) int {
		switch {
		case x.key < y.key:
			return -1
		case x.key > y.key:
			return 1
		}
		a, b := &rules[x.rule], &rules[y.rule]
		if n := bytes.Compare(c.headOf(a)[len(first):], c.headOf(b)[len(first):]); n != 0 {
			return n
		}
		if a.shape != b.shape {
			return cmp.Compare(a.shape, b.shape)
		}
		return precedence.compare(a, b)
	})
	return uint32(len(first))
}

// addSorted adds the items that can ever decide to the policy, each with its key
// and its parent.
func (c *compiler) addSorted(rules []rule) {
	p := c.policy
	c.ancestors = c.ancestors[:0] // of the rule to come, as places in p.rules
	var before *rule              // that was sorted right before
	for _, it := range c.items {
		r := &rules[it.rule]
		head := c.headOf(r)
		repeats := before != nil && before.shape == exact && r.shape == exact && bytes.Equal(head, c.headOf(before))
		before = r
		if repeats {
			continue // the one before matches the same, and decides
		}
		for len(c.ancestors) > 0 && !bytes.HasPrefix(head, c.headOf(&p.rules[c.ancestors[len(c.ancestors)-1]])) {
			c.ancestors = c.ancestors[:len(c.ancestors)-1]
		}
		parent := uint32(0)
		if len(c.ancestors) > 0 {
			last := c.ancestors[len(c.ancestors)-1]
			if p.dialect.precedence.compare(&p.rules[last], r) < 0 {
				continue // whatever it matches, its ancestor decides
			}
			parent = last + 1
		}
		if r.shape == prefix {
			c.ancestors = append(c.ancestors, uint32(len(p.rules)))
		}
		p.rules = append(p.rules, *r)
		p.rules[len(p.rules)-1].parent = parent
		p.keys = append(p.keys, it.key)
	}
}
