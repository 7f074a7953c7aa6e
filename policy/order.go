package policy

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// addSet makes a set of rules, which are in file order, and returns its place.
func (c *compiler) addSet(rules []rule) uint32 {
	p := c.policy
	if len(p.sets) == 0 {
		p.sets = append(p.sets, set{}) // so that no place is 0, which stands for none
	}
	s := set{keys: uint32(len(p.keys)), hints: uint32(len(p.hints))}
	s.sorted.from = uint32(len(p.rules))
	s.sorted.to, s.ordered.from = s.sorted.from, s.sorted.from
	if p.dialect.precedence == firstInFile {
		p.rules = append(p.rules, rules...)
	} else {
		if c.sort(rules); len(c.order) > 0 {
			s.head, s.common = rules[c.order[0]].pattern, c.common
			c.addSorted(rules)
		}
		s.sorted.to = uint32(len(p.rules))
		s.ordered.from = s.sorted.to
		c.addOrdered(rules)
	}
	s.ordered.to = uint32(len(p.rules))
	p.sets = append(p.sets, s)
	return uint32(len(p.sets) - 1)
}

// addOrdered adds the rules that are not sorted by their head to the policy, in
// the order in which they decide, with their hints if they are many.
func (c *compiler) addOrdered(rules []rule) {
	p := c.policy
	c.order = c.order[:0]
	for i := range rules {
		if r := &rules[i]; r.shape == patterns {
			c.order = append(c.order, uint64(p.dialect.precedence.keyOf(r)>>lineBits<<lineBits)|uint64(i))
		}
	}
	slices.Sort(c.order)
	many := len(c.order) >= fewPatterns
	for _, x := range c.order {
		r := &rules[x&(1<<lineBits-1)]
		p.rules = append(p.rules, *r)
		if many {
			p.hints = append(p.hints, hintOf(c.patternOf(r)))
		}
	}
}

// sort sets c.order to the places of the rules that are sorted by their head,
// where one before "$" comes after those that do not end with it, and equal ones
// are in the order in which they decide. It sets c.common to how many octets all
// heads start with alike.
//
// A place and as much of a head's key as there is room for beside it are one
// number: numbers are sorted several times as fast as rules are compared, and
// what they leave undecided are short runs.
func (c *compiler) sort(rules []rule) {
	c.order = c.order[:0]
	var first []byte
	for i := range rules {
		r := &rules[i]
		if r.shape == patterns {
			continue
		}
		if head := c.headOf(r); len(c.order) == 0 {
			first = head
		} else {
			first = first[:commonPrefix(first, head)]
		}
		c.order = append(c.order, uint64(i))
	}
	c.common = uint32(len(first))
	if len(c.order) < 2 {
		return
	}
	room := bits.Len(uint(len(rules)))
	place := uint64(1)<<room - 1
	for i, x := range c.order {
		c.order[i] = uint64(keyOf(c.headOf(&rules[x])[len(first):]))&^place | x
	}
	slices.Sort(c.order)
	from := 0
	for i := range c.order {
		if i+1 < len(c.order) && (c.order[i]^c.order[i+1])&^place == 0 {
			continue
		}
		if from < i {
			c.sortRun(rules, c.order[from:i+1], place)
		}
		from = i + 1
	}
	for i := range c.order {
		c.order[i] &= place
	}
}

// sortRun sorts by the whole of the heads, as sort does, rules whose keys begin
// alike. Their places are the octets of place.
func (c *compiler) sortRun(rules []rule, run []uint64, place uint64) {
	precedence := c.policy.dialect.precedence
	slices.SortFunc(run, func(x, y uint64) int {
		a, b := &rules[x&place], &rules[y&place]
		if n := bytes.Compare(c.headOf(a), c.headOf(b)); n != 0 {
			return n
		}
		if a.shape != b.shape {
			return cmp.Compare(a.shape, b.shape)
		}
		return precedence.compare(a, b)
	})
}

// addSorted adds the rules at the places c.order to the policy, as far as they
// can ever decide, each with its key and its parent.
func (c *compiler) addSorted(rules []rule) {
	p := c.policy
	c.ancestors = c.ancestors[:0] // of the rule to come, as places in p.rules
	var before *rule              // that was sorted right before
	for _, at := range c.order {
		r := &rules[at]
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
		p.keys = append(p.keys, keyOf(head[c.common:]))
	}
}
