package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"heed/policy"
	"heed/policy/lint"
)

// lintText returns a report for people: for each diagnostic a line with its
// place, then the line of the file and carets below what is meant.
func lintText(l lintee, report *lint.Report) string {
	var b strings.Builder
	raw := rawLines(l.body, report)
	path := visible(l.path)
	for _, d := range report.Diagnostics {
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s [%s]\n", path, d.Line, d.Column, d.Severity, d.Message, d.Code)
		if line := raw[d.Line]; len(line) > 0 {
			source, carets := excerpt(line, d.Column-1, d.EndColumn-1)
			fmt.Fprintf(&b, "  %s\n  %s\n", source, carets)
		}
	}
	for _, o := range report.Omitted {
		fmt.Fprintf(&b, "%s: %d more of %s [%s]\n", path, o.More, o.Code.Severity(), o.Code)
	}
	if report.Unprobed > 0 {
		fmt.Fprintf(&b, "%s: dialects were not compared for %d rules: there are too many\n", path, report.Unprobed)
	}
	fmt.Fprintf(&b, "%s: %s\n", path, lintSummary(report))
	return b.String()
}

// lintSummary counts by severity.
func lintSummary(report *lint.Report) string {
	var counts [3]int
	for _, d := range report.Diagnostics {
		counts[d.Severity]++
	}
	for _, o := range report.Omitted {
		counts[o.Code.Severity()] += o.More
	}
	if report.Total() == 0 {
		return "nothing found"
	}
	parts := make([]string, 0, len(counts))
	for _, s := range []lint.Severity{lint.Error, lint.Warning, lint.Note} {
		if n := counts[s]; n == 1 {
			parts = append(parts, "1 "+s.String())
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// rawLines returns the lines that diagnostics are about, by their numbers, a
// byte order mark included.
func rawLines(body []byte, report *lint.Report) map[int][]byte {
	wanted := make(map[int][]byte)
	for _, d := range report.Diagnostics {
		wanted[d.Line] = nil
	}
	for line := range policy.Lines(body) {
		if _, ok := wanted[line.Number]; ok {
			start := line.Raw.Start
			if line.Number == 1 {
				start = 0
			}
			wanted[line.Number] = body[start:line.Raw.End]
		}
	}
	return wanted
}

// excerpt returns a line, what cannot be printed written as Go escapes, and
// carets below the octets from up to, not including, to; a caret where that is
// nothing. Of a long line it returns the part about from.
func excerpt(line []byte, from, to int) (source, carets string) {
	const before, behind = 40, 60 // octets that are shown
	from = min(from, len(line))
	to = min(max(to, from), len(line))
	start, end := max(0, from-before), min(len(line), from+behind)
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start--
	}
	var text, marks strings.Builder
	if start > 0 {
		text.WriteString("…")
		marks.WriteByte(' ')
	}
	for i := start; i < end; {
		shown, size := shownRune(line[i:])
		mark := " "
		if i+size > from && i < to || i == from && from == to {
			mark = "^"
		}
		text.WriteString(shown)
		marks.WriteString(strings.Repeat(mark, columns(shown)))
		i += size
	}
	if end < len(line) {
		text.WriteString("…")
	}
	if from >= end {
		marks.WriteByte('^')
	}
	return text.String(), strings.TrimRight(marks.String(), " ")
}

// shownRune returns the first character of text as it is shown, and its octets.
func shownRune(text []byte) (string, int) {
	r, size := utf8.DecodeRune(text)
	shown := visible(string(text[:size]))
	switch {
	case r == '\t':
		return " ", size
	case unicode.In(r, unicode.Mn, unicode.Me):
		shown = strconv.QuoteToASCII(shown) // it would change the character before
	}
	if len(shown) > 2 && shown[0] == '"' && r != '"' {
		shown = shown[1 : len(shown)-1] // the escape, without quotes
	}
	return shown, size
}

// columns is how many columns of a terminal a text takes in which nothing is
// without width.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n++
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}
