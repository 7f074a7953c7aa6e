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
func (c *compiler) sort(rules []rule) {
	c.order = c.order[:0]
	var common []byte
	for i := range rules {
		r := &rules[i]
		if r.shape == patterns {
			continue
		}
		if head := c.headOf(r); len(c.order) == 0 {
			common = head
		} else {
			common = common[:commonPrefix(common, head)]
		}
		c.order = append(c.order, uint64(i))
	}
	c.common = uint32(len(common))
	byHead := textOrder{
		places: bits.Len(uint(len(rules))),
		text:   func(i uint64) []byte { return c.headOf(&rules[i]) },
		equal: func(i, j uint64) int {
			a, b := &rules[i], &rules[j]
			if a.shape != b.shape {
				return cmp.Compare(a.shape, b.shape)
			}
			return c.policy.dialect.precedence.compare(a, b)
		},
	}
	byHead.sort(c.order, len(common))
}

// textOrder is an order of places by the text that stands for each.
//
// A place and as much of a text as there is room for beside it are one number:
// numbers are sorted several times as fast as texts are compared. Places that it
// leaves alike are then sorted by what comes next in their texts.
type textOrder struct {
	places int // how many bits a place takes
	text   func(place uint64) []byte
	equal  func(a, b uint64) int // orders places of equal texts
}

// sort sorts the places, whose texts start alike for skip octets.
func (o *textOrder) sort(places []uint64, skip int) {
	if len(places) < 2 {
		return
	}
	place := uint64(1)<<o.places - 1
	for i, at := range places {
		places[i] = uint64(keyOf(o.text(at)[skip:]))&^place | at
	}
	slices.Sort(places)
	from := 0
	for i, x := range places {
		places[i] &= place
		if i+1 < len(places) && (x^places[i+1])&^place == 0 {
			continue
		}
		if from < i {
			o.sortOn(places[from:i+1], skip+(64-o.places)/8)
		}
		from = i + 1
	}
}

// sortOn sorts places whose texts start alike for skip octets, those that end
// before taken to go on with zeros.
func (o *textOrder) sortOn(places []uint64, skip int) {
	for _, at := range places {
		if len(o.text(at)) < skip {
			slices.SortFunc(places, func(a, b uint64) int {
				if n := bytes.Compare(o.text(a), o.text(b)); n != 0 {
					return n
				}
				return o.equal(a, b)
			})
			return
		}
	}
	o.sort(places, skip)
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
