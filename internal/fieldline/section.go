package fieldline

import (
	"bytes"
	"iter"
)

// Scanner looks for the end of a header section in what has come of it. No octet
// is looked at twice. The zero value is at the beginning.
type Scanner struct {
	line int // where the line begins that is not whole yet
	seen int // how far there is no end of it
}

// End returns where the section ends, 0 if it does not yet: behind an empty
// line, where a line ends with LF, as it does for net/http. b is all that has
// come, more than at the last call.
func (s *Scanner) End(b []byte) int {
	for {
		n := bytes.IndexByte(b[s.seen:], '\n')
		if n < 0 {
			s.seen = len(b)
			return 0
		}
		line := b[s.line : s.seen+n]
		s.seen += n + 1
		s.line = s.seen
		if len(bytes.TrimSuffix(line, cr)) == 0 {
			return s.seen
		}
	}
}

// Begun reports whether the first line was whole at the last call of End.
func (s *Scanner) Begun() bool { return s.line > 0 }

var (
	cr      = []byte("\r")
	newline = []byte("\n")
)

// Lines yields the field lines of a header section as they came, without their
// ends, behind its first line and up to its end or the last line that is whole.
func Lines(section []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		_, rest, _ := bytes.Cut(section, newline)
		for {
			line, after, whole := bytes.Cut(rest, newline)
			line = bytes.TrimSuffix(line, cr)
			if !whole || len(line) == 0 || !yield(line) {
				return
			}
			rest = after
		}
	}
}

// Names yields the names of those lines as they are spelled.
func Names(section []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range Lines(section) {
			if colon := bytes.IndexByte(line, ':'); colon > 0 && !yield(line[:colon]) {
				return
			}
		}
	}
}
