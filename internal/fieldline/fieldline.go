// Package fieldline looks at header sections as they come (Scanner, Lines), and
// writes the fields of a message in the order and the spelling of one (Append).
//
// net/http reads fields into a map, under names in one spelling, and writes them
// sorted. To most receivers both are one (RFC 9110 §5.1, §5.3); some tell
// clients apart by them. So the header section that a message had when it came
// is kept, and what goes on of it is put in its order again. Which fields go on,
// and with what values, that section does not say.
package fieldline

import (
	"cmp"
	"slices"
	"strings"
)

// Line is a field line.
type Line struct {
	Name, Value string
	done        bool
}

// most is how many lines are put in order: to find each takes a look at all.
const most = 128

// mostNames is how many names of a section are looked for: it may have tens of
// thousands, of which nothing goes on.
const mostNames = 4 * most

// Append appends lines to b, as HTTP/1.1 has them, each with CR LF: in the order
// and with the spelling of the names of a header section, one after the other
// for lines of one name, and those that it does not name behind them, sorted by
// name, a Host before all. The section begins with its first line, which is no
// field, and may be cut anywhere; nil means that all are sorted, and so are
// more than 128, and those behind 512 others. Append keeps nothing, and changes
// the order of lines.
func Append(b []byte, lines []Line, section []byte) []byte {
	if left := len(lines); 0 < left && left <= most {
		names := 0
		for name := range Names(section) {
			if names++; names > mostNames {
				break
			}
			if l := next(lines, name); l != nil {
				b = appendLine(b, name, l.Value)
				l.done = true
				if left--; left == 0 {
					return b
				}
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(l Line) bool { return l.done })
	if len(lines) > 1 {
		slices.SortStableFunc(lines, byName)
	}
	for _, l := range lines {
		b = appendLine(b, l.Name, l.Value)
	}
	return b
}

// next returns the first line of a name that was not appended yet.
func next(lines []Line, name []byte) *Line {
	for i := range lines {
		l := &lines[i]
		if !l.done && len(l.Name) == len(name) && strings.EqualFold(l.Name, string(name)) {
			return l
		}
	}
	return nil
}

func byName(a, b Line) int {
	switch {
	case a.Name == b.Name:
		return 0
	case a.Name == "Host":
		return -1
	case b.Name == "Host":
		return 1
	}
	return cmp.Compare(a.Name, b.Name)
}

func appendLine[N string | []byte](b []byte, name N, value string) []byte {
	return append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
}
