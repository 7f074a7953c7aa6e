package policy

import (
	"bytes"
	"strings"
)

// rule is an Allow or a Disallow line. Its texts are in Policy.text.
type rule struct {
	text       uint32 // offset of the rule as written, with its key spelt out
	pattern    uint32 // offset of the normalised pattern
	line       uint32
	textLen    uint16
	patternLen uint16
	headLen    uint16 // octets of the pattern before its first '*' or its '$'
	allow      bool
}

// key is how a rule starts when it is shown.
func (r *rule) key() string {
	if r.allow {
		return "Allow: "
	}
	return "Disallow: "
}

// measure sets what depends on the normalised pattern. In it a '$' can only be
// the last octet: any other has become "%24".
func (r *rule) measure(pattern []byte) {
	r.patternLen = uint16(len(pattern))
	head := bytes.TrimSuffix(pattern, []byte("$"))
	if star := bytes.IndexByte(head, '*'); star >= 0 {
		head = head[:star]
	}
	r.headLen = uint16(len(head))
}

// firstMatch returns the rule that decides on path: the first that matches, as
// rules are in the order of byPrecedence. A rule found elsewhere, other, stays
// unless one comes before it; nil stands for none.
func (p *Policy) firstMatch(rules []rule, path string, other *rule) *rule {
	for i := range rules {
		r := &rules[i]
		if other != nil && byPrecedence(*r, *other) >= 0 {
			break
		}
		head := p.text[r.pattern : r.pattern+uint32(r.headLen)]
		if !strings.HasPrefix(path, head) {
			continue
		}
		if r.headLen == r.patternLen || matchTail(p.patternOf(r)[r.headLen:], path[r.headLen:]) {
			return r
		}
	}
	return other
}

func (p *Policy) patternOf(r *rule) string {
	return p.text[r.pattern : r.pattern+uint32(r.patternLen)]
}

func (p *Policy) textOf(r *rule) string {
	return p.text[r.text : r.text+uint32(r.textLen)]
}

// matchTail tells whether path matches the pattern tail, which is "$" or begins
// with '*' (RFC 9309 §2.2.3).
//
// Each literal between two '*' takes the earliest place after the one before:
// any later place would leave less of path to the literals that follow. So
// nothing is tried twice, and the time is that of searching path once, however
// many '*' there are.
func matchTail(tail, path string) bool {
	if tail == "$" {
		return path == ""
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
	if end, anchored := strings.CutSuffix(tail, "$"); anchored {
		return strings.HasSuffix(path, end)
	}
	return strings.Contains(path, tail)
}
