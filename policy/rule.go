package policy

import (
	"bytes"
	"cmp"
)

// rule is an Allow or a Disallow line. Its texts are in Policy.text.
type rule struct {
	value      uint32 // offset of the value as written
	pattern    uint32 // offset of the pattern as it is compared
	line       uint32
	parent     uint32 // see set; 1 more than the place of the rule, 0 for none
	valueLen   uint16
	patternLen uint16
	headLen    uint16 // octets of the pattern before its first wildcard
	shape      shape
	verdict    verdict
}

// shape says what of a target a pattern has to meet.
type shape uint8

const (
	prefix   shape = iota // it starts with the head
	exact                 // it is the head
	patterns              // it starts with the head, and the rest of it matches
)

// verdict is what a rule says, in bits. The zero verdict is that of a Disallow
// line. The two differ for some empty rules.
type verdict uint8

const (
	allowing verdict = 1 << iota // what it matches is allowed
	allowKey                     // its key is Allow
)

// measure sets what depends on the pattern, whose first '*' is at star, -1 if
// there is none. A "$" at its end is special, one elsewhere is not: in a
// normalised pattern it has become "%24".
func (d *Dialect) measure(r *rule, pattern []byte, star int) {
	r.patternLen = uint16(len(pattern))
	r.headLen = r.patternLen
	if d.wildcards == noWildcards {
		return
	}
	end := len(pattern) > 0 && pattern[len(pattern)-1] == '$'
	switch {
	case star < 0 && end:
		r.headLen, r.shape = r.patternLen-1, exact
	case star < 0:
	case len(bytes.TrimRight(bytes.TrimSuffix(pattern[star:], []byte("$")), "*")) == 0:
		r.headLen = uint16(star) // any rest will do, "$" or not
	default:
		r.headLen, r.shape = uint16(star), patterns
	}
	if r.shape == exact && d.wildcards == starAndQuery {
		r.shape = patterns
	}
}

// keyPart is what of the head its key is made of: all but the slash that it, if
// it is not empty, begins with, see canMatch, as every path does.
func (r *rule) keyPart() Part {
	at := int(r.pattern)
	return Part{at + min(int(r.headLen), 1), at + int(r.headLen)}
}

func (p *Policy) headOf(r *rule) string {
	return p.text[r.pattern : r.pattern+uint32(r.headLen)]
}

func (p *Policy) patternOf(r *rule) string {
	return p.text[r.pattern : r.pattern+uint32(r.patternLen)]
}

func (p *Policy) valueOf(r *rule) string {
	return p.text[r.value : r.value+uint32(r.valueLen)]
}

// lineBits is how many bits of what rules are ordered by are their line.
const lineBits = 32

// keyOf returns what rules are ordered by: of two that match, the one with the
// smaller key decides.
func (o precedence) keyOf(r *rule) key {
	k := key(r.line)
	if o == longestAllow && r.verdict&allowing == 0 {
		k |= 1 << lineBits
	}
	if o != firstInFile {
		k |= key(^r.patternLen) << (lineBits + 1)
	}
	return k
}

// compare orders rules by who decides where both match: negative if a does.
func (o precedence) compare(a, b *rule) int { return cmp.Compare(o.keyOf(a), o.keyOf(b)) }
