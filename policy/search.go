package policy

import "strings"

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
	from, to := 0, len(keys)
	for from < to {
		middle := int(uint(from+to) / 2)
		if keys[middle] < k || keys[middle] == k && p.headOf(&rules[middle]) <= path {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from - 1
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
