package policy

import "strings"

// deciding returns the rule of a set that decides on path. A rule found
// elsewhere, other, stays unless one comes before it; nil stands for none.
func (p *Policy) deciding(at uint32, path string, other *rule) *rule {
	s := &p.sets[at]
	if r := p.longest(s, path); r != nil && (other == nil || p.dialect.precedence.compare(r, other) < 0) {
		other = r
	}
	if s.ordered.from == s.ordered.to {
		return other
	}
	if r := p.firstOrdered(s, path, other); r != nil {
		return r
	}
	return other
}

// firstOrdered returns the first of the ordered rules of a set that matches path
// and comes before other; nil if there is none.
func (p *Policy) firstOrdered(s *set, path string, other *rule) *rule {
	precedence := p.dialect.precedence
	before := ^key(0)
	if other != nil {
		before = precedence.keyOf(other)
	}
	ordered := p.rules[s.ordered.from:s.ordered.to]
	if precedence.keyOf(&ordered[0]) >= before {
		return nil
	}
	if len(ordered) < fewPatterns || precedence == firstInFile {
		for i := range ordered {
			if r := &ordered[i]; precedence.keyOf(r) >= before {
				return nil
			} else if p.matches(r, path) {
				return r
			}
		}
		return nil
	}
	has := hintOfTarget(path)
	for i, needs := range p.hints[s.hints:][:len(ordered)] {
		if needs&^has != 0 {
			continue
		}
		if r := &ordered[i]; precedence.keyOf(r) >= before {
			return nil
		} else if p.matches(r, path) {
			return r
		}
	}
	return nil
}

// matches tells whether path matches the rule's pattern.
func (p *Policy) matches(r *rule, path string) bool {
	rest, ok := strings.CutPrefix(path, p.headOf(r))
	if !ok {
		return false
	}
	switch r.shape {
	case prefix:
		return true
	case exact:
		return rest == ""
	}
	return matchTail(p.patternOf(r)[r.headLen:], rest, p.dialect.wildcards == starAndQuery)
}

// matchTail tells whether path matches the pattern tail, which is "$" or begins
// with '*' (RFC 9309 §2.2.3). If query is set the start of a query is an end.
//
// Each literal between two '*' takes the earliest place after the one before:
// any later place would leave less of path to the literals that follow. So
// nothing is tried twice, and the time is that of searching path once, however
// many '*' there are.
func matchTail(tail, path string, query bool) bool {
	if tail == "$" {
		return path == "" || query && path[0] == '?'
	}
	tail = tail[1:]
	for {
		star := strings.IndexByte(tail, '*')
		if star < 0 {
			break
		}
		at := strings.Index(path, tail[:star])
		if at < 0 {
			return false
		}
		path = path[at+star:]
		tail = tail[star+1:]
	}
	end, anchored := strings.CutSuffix(tail, "$")
	switch {
	case !anchored:
		return strings.Contains(path, tail)
	case strings.HasSuffix(path, end):
		return true
	}
	return query && strings.Contains(path, end+"?")
}
