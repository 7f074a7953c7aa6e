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
		for i := range rules {
			if rules[i].shape == patterns {
				p.wildcards++
			}
		}
	} else {
		c.sort(rules)
		c.addSorted(rules)
		s.sorted.to = uint32(len(p.rules))
		s.ordered.from = s.sorted.to
		c.addOrdered(rules)
	}
	s.ordered.to = uint32(len(p.rules))
	p.sets = append(p.sets, s)
	return uint32(len(p.sets) - 1)
}

// addOrdered adds the rules that are not sorted by their head to the policy, in
// the order in which they decide, with their hints if they are many. Of two that
// are equal but for their line the one that comes first in rules decides.
func (c *compiler) addOrdered(rules []rule) {
	p := c.policy
	precedence := p.dialect.precedence
	order := c.order[:0]
	for i := range rules {
		if r := &rules[i]; r.shape == patterns {
			order = append(order, uint64(precedence.keyOf(r)>>lineBits<<lineBits)|uint64(i))
		}
	}
	slices.Sort(order)
	p.wildcards += uint32(len(order))
	for _, x := range order {
		p.rules = append(p.rules, rules[x&(1<<lineBits-1)])
	}
	if len(order) >= fewPatterns {
		for _, x := range order {
			p.hints = append(p.hints, hintOf(c.patternOf(&rules[x&(1<<lineBits-1)])))
		}
	}
	c.order = order
}

// sort sets c.order to the places of the rules that are sorted by their head,
// where one before "$" comes after those that do not end with it, and equal ones
// are in the order in which they decide.
func (c *compiler) sort(rules []rule) {
	order, texts := c.order[:0], c.texts[:0]
	for i := range rules {
		r := &rules[i]
		texts = append(texts, r.keyPart())
		if r.shape != patterns {
			order = append(order, uint64(i))
		}
	}
	c.order, c.texts = order, texts
	if len(order) < 2 {
		return
	}
	byHead := c.textOrder(func(i, j uint64) int {
		a, b := &rules[i], &rules[j]
		if a.shape != b.shape {
			return cmp.Compare(a.shape, b.shape)
		}
		return c.policy.dialect.precedence.compare(a, b)
	})
	byHead.sort(c.order, 0)
}

// textOrder is an order of places by the text that stands for each.
//
// A place and as much of a text as there is room for beside it are one number:
// numbers are sorted several times as fast as texts are compared. Places that it
// leaves alike are then sorted by what comes next in their texts.
type textOrder struct {
	text   []byte
	parts  []Part                // of text: the one of each place
	places int                   // how many bits a place takes
	equal  func(a, b uint64) int // orders places of equal texts
}

// textOrder returns the order by c.texts.
func (c *compiler) textOrder(equal func(a, b uint64) int) textOrder {
	return textOrder{text: c.textForKeys(), parts: c.texts, places: bits.Len(uint(len(c.texts))), equal: equal}
}

// textForKeys returns c.text as keyWithin wants it. It is good until c.text grows.
func (c *compiler) textForKeys() []byte {
	c.text = slices.Grow(c.text, keyLen)
	return c.text[:len(c.text)+keyLen]
}

// sort sorts the places, whose texts start alike for skip octets.
func (o *textOrder) sort(places []uint64, skip int) {
	if len(places) < 2 {
		return
	}
	place := uint64(1)<<o.places - 1
	for i, at := range places {
		part := o.parts[at]
		places[i] = uint64(keyWithin(o.text, Part{part.Start + skip, part.End}))&^place | at
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
	if len(places) == 2 { // as most are
		if o.compare(places[0], places[1]) > 0 {
			places[0], places[1] = places[1], places[0]
		}
		return
	}
	for _, at := range places {
		if o.parts[at].Len() < skip {
			slices.SortFunc(places, o.compare)
			return
		}
	}
	o.sort(places, skip)
}

func (o *textOrder) compare(a, b uint64) int {
	if n := bytes.Compare(o.parts[a].Of(o.text), o.parts[b].Of(o.text)); n != 0 {
		return n
	}
	return o.equal(a, b)
}

// ancestor is a rule whose head others begin with.
type ancestor struct {
	place uint32 // in Policy.rules
	part  Part   // see rule.keyPart
	key   key
}

// isPrefix tells whether the texts of the ancestor and of part, which has the
// given key, are such that the one begins with the other.
func (a *ancestor) isPrefix(text []byte, part Part, key key) bool {
	n := a.part.Len()
	switch {
	case n > part.Len():
		return false
	case n <= keyLen:
		return (a.key^key)>>(64-8*n) == 0
	}
	return a.key == key && bytes.HasPrefix(part.Of(text), a.part.Of(text))
}

// addSorted adds the rules at the places c.order to the policy, as far as they
// can ever decide, each with its key and its parent.
func (c *compiler) addSorted(rules []rule) {
	p := c.policy
	precedence := p.dialect.precedence
	text := c.textForKeys()
	added, keys := p.rules, p.keys
	ancestors := c.ancestors[:0] // of the rule to come
	var before *rule             // that was sorted right before
	for _, at := range c.order {
		r := &rules[at]
		repeats := r.shape == exact && before != nil && before.shape == exact && bytes.Equal(c.headOf(r), c.headOf(before))
		before = r
		if repeats {
			continue // the one before matches the same, and decides
		}
		part := r.keyPart()
		key := keyWithin(text, part)
		for len(ancestors) > 0 && !ancestors[len(ancestors)-1].isPrefix(text, part, key) {
			ancestors = ancestors[:len(ancestors)-1]
		}
		parent := uint32(0)
		if len(ancestors) > 0 {
			last := ancestors[len(ancestors)-1].place
			if precedence.compare(&added[last], r) < 0 {
				continue // whatever it matches, its ancestor decides
			}
			parent = last + 1
		}
		if r.shape == prefix {
			ancestors = append(ancestors, ancestor{uint32(len(added)), part, key})
		}
		added = append(added, *r)
		added[len(added)-1].parent = parent
		keys = append(keys, key)
	}
	p.rules, p.keys, c.ancestors = added, keys, ancestors
}
