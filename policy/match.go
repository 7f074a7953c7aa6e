package policy

import "strings"

// deciding returns the rule of a set that decides on path. A rule found
// elsewhere, other, stays unless one comes before it; nil stands for none.
func (p *Policy) deciding(at uint32, path string, other *rule) *rule {
	s := &p.sets[at]
	if r := p.longest(s, path); r != nil && (other == nil || p.dialect.precedence.compare(r, other) < 0) {
		other = r
	}
	ordered := p.rules[s.ordered.from:s.ordered.to]
	if len(ordered) == 0 {
		return other
	}
	var has hint
	var needs []hint
	if len(ordered) >= fewPatterns && p.dialect.precedence != firstInFile {
		needs = p.hints[s.hints:]
		needs = needs[:len(ordered)]
	}
	for i := range ordered {
		r := &ordered[i]
		if other != nil && p.dialect.precedence.compare(r, other) >= 0 {
			break
		}
		if needs != nil {
			if has == 0 {
				has = hintOfTarget(path)
			}
			if needs[i]&^has != 0 {
				continue
			}
		}
		if p.matches(r, path) {
			return r
		}
	}
	return other
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
