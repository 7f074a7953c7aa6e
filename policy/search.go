package policy

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// key is the octets of a head, or of a path, that come after its slash: the
// first is the most significant, and zero stands for none. So keys are in the
// order of the texts, or equal.
type key uint64

const keyLen = 8

func keyOf(text string) key {
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

// keyWithin is keyOf of a part of text, which goes on for keyLen octets at least
// from wherever a part ends. It is quicker, there being nothing to tell apart.
func keyWithin(text []byte, part Part) key {
	octets := key(binary.BigEndian.Uint64(text[part.Start : part.Start+keyLen]))
	return octets &^ (^key(0) >> (8 * min(part.Len(), keyLen)))
}

// longest returns the sorted rule of a set that decides on path, nil if none
// matches.
func (p *Policy) longest(s *set, path string) *rule {
	if s.sorted.from == s.sorted.to {
		return nil
	}
	rules := p.rules[s.sorted.from:s.sorted.to]
	last, same := p.lastBefore(s, rules, path)
	if last < 0 {
		return nil
	}
	r := &rules[last]
	if int(r.headLen) <= same && (r.shape == prefix || int(r.headLen) == len(path)) {
		return r
	}
	for r.parent > 0 {
		r = &p.rules[r.parent-1]
		if int(r.headLen) <= same {
			return r // only a rule without "$" is a parent
		}
	}
	return nil
}

// lastBefore returns the last of the sorted rules whose head does not come after
// path, -1 if there is none, and how many octets the two start with alike. Path
// begins with a slash.
func (p *Policy) lastBefore(s *set, rules []rule, path string) (last, same int) {
	keys := p.keys[s.keys:]
	keys = keys[:len(rules)]
	k := keyOf(path[1:])
	at := countBelow(keys, k)
	if at < len(keys) && keys[at] == k {
		// Only their texts tell.
		run := rules[at:]
		if at+1 == len(keys) || keys[at+1] != k {
			run = run[:1]
		} else {
			run = run[:sort.Search(len(run), func(i int) bool { return keys[at+i] != k })]
		}
		if n, same := p.lastOfRun(run, path); n >= 0 {
			return at + n, same
		}
	}
	if at == 0 {
		return -1, 0
	}
	// The keys differ, so they tell.
	return at - 1, 1 + bits.LeadingZeros64(uint64(keys[at-1]^k))/8
}

// lastOfRun is lastBefore among rules whose heads have the key of path.
func (p *Policy) lastOfRun(run []rule, path string) (last, same int) {
	n := len(run) - 1
	if n > 0 {
		n = sort.Search(n+1, func(i int) bool { return p.headOf(&run[i]) > path }) - 1
		if n < 0 {
			return -1, 0
		}
	}
	head := p.headOf(&run[n])
	same = commonPrefix(head, path)
	if same < len(head) && (same == len(path) || head[same] > path[same]) {
		return -1, 0
	}
	return n, same
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

// commonPrefix returns how many octets a and b start with alike.
func commonPrefix(a, b string) int {
	n := 0
	for ; len(a)-n >= keyLen && len(b)-n >= keyLen; n += keyLen {
		if x := keyOf(a[n:]) ^ keyOf(b[n:]); x != 0 {
			return n + bits.LeadingZeros64(uint64(x))/8
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
