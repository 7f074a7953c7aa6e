package policy

import (
	"math/bits"
	"sort"
	"strings"
)

// key is the octets of a head, or of a path, that come after those that all
// heads of a set start with: the first is the most significant, and zero stands
// for none. So keys are in the order of the texts, or equal.
type key uint64

const keyLen = 8

func keyOf[T string | []byte](text T) key {
	if len(text) >= keyLen {
		_ = text[keyLen-1]
		return key(text[7]) | key(text[6])<<8 | key(text[5])<<16 | key(text[4])<<24 |
			key(text[3])<<32 | key(text[2])<<40 | key(text[1])<<48 | key(text[0])<<56
	}
	var k key
	for i := range len(text) {
		k |= key(text[i]) << (56 - 8*i)
	}
	return k
}

// longest returns the sorted rule of a set that decides on path, nil if none
// matches.
func (p *Policy) longest(s *set, path string) *rule {
	if s.sorted.from == s.sorted.to {
		return nil
	}
	common := p.text[s.head : s.head+s.common]
	if len(path) < len(common) || path[:len(common)] != common {
		return nil
	}
	rules := p.rules[s.sorted.from:s.sorted.to]
	last := p.lastBefore(s, rules, path)
	if last < 0 {
		return nil
	}
	r := &rules[last]
	head := p.headOf(r)
	if strings.HasPrefix(path, head) && (r.shape == prefix || len(head) == len(path)) {
		return r
	}
	if r.parent == 0 {
		return nil
	}
	same := commonPrefix(head, path)
	for r.parent > 0 {
		r = &p.rules[r.parent-1]
		if int(r.headLen) <= same {
			return r // only a rule without "$" is a parent
		}
	}
	return nil
}

// lastBefore returns the last of the sorted rules whose head does not come after
// path, -1 if there is none.
func (p *Policy) lastBefore(s *set, rules []rule, path string) int {
	keys := p.keys[s.keys:]
	keys = keys[:len(rules)]
	k := keyOf(path[s.common:])
	at := countBelow(keys, k)
	if at < len(keys) && keys[at] == k {
		// Their texts tell, and there may be many.
		at += sort.Search(len(keys)-at, func(i int) bool {
			return keys[at+i] != k || p.headOf(&rules[at+i]) > path
		})
	}
	return at - 1
}

// countBelow returns how many of the keys, which are sorted, are below k. It
// does not branch on what it compares: where a path falls among the rules cannot
// be foreseen, and to guess wrong costs more than the comparison.
func countBelow(keys []key, k key) int {
	at := 0
	for n := len(keys); n > 0; {
		half := (n + 1) / 2
		_, below := bits.Sub64(uint64(keys[at+half-1]), uint64(k), 0)
		at += half & -int(below)
		n -= half
	}
	return at
}

func commonPrefix[T string | []byte](a, b T) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
