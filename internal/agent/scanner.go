package agent

import "strings"

// part is a piece of a User-Agent field: one word outside comments, or what
// stands between two separators in a comment. Never empty; white space around
// it is gone.
type part struct {
	text    string
	comment bool
	first   bool // of its comment
}

// scanner cuts a User-Agent field (RFC 9110 §10.1.5) into parts. Whatever is
// no such field it reads as far as it goes: a comment without an end ends with
// the field, an end without a start is nothing.
//
// Comments nest, and an inner one's parts are parts of the outer (§5.6.5). An
// octet after a backslash in a comment is a plain one (quoted-pair, §5.6.4).
// "," and ";" separate outside comments too, where some clients put them.
type scanner struct {
	text   string
	at     int
	depth  int
	opened bool // a comment was opened since the last part
}

// next returns the next part, or false at the end.
func (s *scanner) next() (part, bool) {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '(':
			s.depth++
			s.opened = true
		case ')':
			s.depth = max(0, s.depth-1)
		case ';', ',', ' ', '\t':
		default:
			return s.part(), true
		}
	}
	return part{}, false
}

// part returns the part that starts here.
func (s *scanner) part() part {
	p := part{comment: s.depth > 0, first: s.opened}
	s.opened = false
	start := s.at
	for s.at < len(s.text) && !s.ends(s.text[s.at]) {
		if p.comment && s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at, len(s.text))
	p.text = strings.TrimRight(s.text[start:s.at], " \t")
	return p
}

// ends reports whether an octet ends the part that it follows.
func (s *scanner) ends(c byte) bool {
	switch c {
	case '(', ')', ';', ',':
		return true
	case ' ', '\t':
		return s.depth == 0
	}
	return false
}
