package policy

import (
	"bytes"
	"iter"
)

// maxLine is how many octets of a line count; the rest of it is dropped. It is
// what Google's parser keeps: eight times the longest URL that old browsers
// took, less one.
const maxLine = 2083*8 - 1

// Line is one line of a robots.txt, understood as far as it can be by itself.
// All places are offsets into the body that it was read from.
type Line struct {
	Kind   Kind
	Number int  // counted from 1, every line included
	Raw    Part // the whole line, without its end; without a byte order mark
	Key    Part // white space trimmed; empty where Kind is Blank or Junk
	Value  Part // white space trimmed; empty where Kind is Blank or Junk

	// Separator is the place of the colon, or of the white space that stands
	// for one that is missing; -1 if there is neither.
	Separator int

	// Comment begins with '#' and goes on to the end of the line. It is empty,
	// and begins at the end of the line, if there is none.
	Comment Part
}

// Part is the octets of a body from Start up to, not including, End.
type Part struct{ Start, End int }

// Of returns the octets of body that the Part stands for; they are body's own.
func (p Part) Of(body []byte) []byte { return body[p.Start:p.End] }

// Len is the number of octets.
func (p Part) Len() int { return p.End - p.Start }

// Lines reads body line by line as the default dialect does, see Compile for
// how. Each line is yielded once, in order; nothing is copied. What Compile
// makes rules of, what lint complains about and what a printer prints are these
// lines.
func Lines(body []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		lines := tokenize(body, lenientLine, lenientKeys)
		for {
			var line Line
			if !lines.next(&line) || !yield(line) {
				return
			}
		}
	}
}

// tokenizer splits a body into lines.
type tokenizer struct {
	body    []byte
	reading lineReading
	keys    keySet
	at      int // where the next line starts
	line    int // the number of the line before

	// where the next of these octets are, len(body) if there is none
	lf, cr, nul, number int
}

func tokenize(body []byte, reading lineReading, keys keySet) tokenizer {
	return tokenizer{body: body, reading: reading, keys: keys, at: byteOrderMark(body), lf: -1, cr: -1, nul: -1, number: -1}
}

// mark is the byte order mark, in UTF-8.
const mark = "\xEF\xBB\xBF"

// byteOrderMark returns how many octets at the start of body are a byte order
// mark, or the first octets of one that was cut short.
func byteOrderMark(body []byte) int {
	n := 0
	for n < len(mark) && n < len(body) && body[n] == mark[n] {
		n++
	}
	return n
}

// next reads the next line into l, or returns false at the end of the body.
func (t *tokenizer) next(l *Line) bool {
	if t.at >= len(t.body) {
		return false
	}
	t.line++
	start, end := t.at, t.lineEnd()
	// One by one: a whole Line would be put together elsewhere and copied.
	l.Kind = Blank
	l.Number = t.line
	l.Raw = Part{start, end}
	l.Key, l.Value = Part{}, Part{}
	l.Separator = -1
	l.Comment = Part{end, end}
	t.parse(l)
	t.at = end + 1
	if t.at < len(t.body) && t.body[end] == '\r' && t.body[t.at] == '\n' {
		t.at++ // one line end, not two
	}
	return true
}

// lineEnd returns where the line at t.at ends.
func (t *tokenizer) lineEnd() int {
	return min(t.find(&t.lf, '\n'), t.find(&t.cr, '\r'))
}

// find returns where the first c at or after t.at is. It remembers it: in a body
// with few of them the search must not start anew with every line.
func (t *tokenizer) find(remembered *int, c byte) int {
	if *remembered < t.at {
		*remembered = indexFrom(t.body, t.at, c)
	}
	return *remembered
}

// indexFrom returns the offset of the first c at or after from, len(body) if
// there is none.
func indexFrom(body []byte, from int, c byte) int {
	if i := bytes.IndexByte(body[from:], c); i >= 0 {
		return from + i
	}
	return len(body)
}

// lineReading says how a line is divided into key, value and comment.
type lineReading uint8

const (
	// lenientLine: a comment starts at '#', a line ends at a NUL; the colon may
	// be left out of a line of two words, and may have white space before it.
	lenientLine lineReading = iota

	// strictLine: a comment starts at '#'; there must be a colon, and white
	// space before it belongs to the key, which then is none that is known.
	strictLine

	// scrubbedLine: octets that are no UTF-8, and NUL, are taken out first (by
	// Compile); a comment is a line that begins with '#', or starts at a '#' in
	// the value with white space before.
	scrubbedLine
)

// parse reads the line l: white space and comment off, then key, separator,
// value.
func (t *tokenizer) parse(l *Line) {
	content := t.cutComment(l)
	if content.Len() == 0 {
		return
	}
	if kind, n := usualKey(content.Of(t.body)); n > 0 {
		l.Kind = kind
		l.Separator = content.Start + n
		l.Key = Part{content.Start, l.Separator}
	} else if !t.parseKey(l, content) {
		return
	}
	l.Value = trimStart(t.body, Part{l.Separator + 1, content.End})
	if t.reading == scrubbedLine {
		t.cutCommentOfValue(l)
	}
}

// parseKey reads what stands before the value. It returns false if the line is
// junk.
func (t *tokenizer) parseKey(l *Line, content Part) bool {
	l.Kind = Junk
	l.Separator = t.separator(content)
	if l.Separator < 0 {
		return false
	}
	key := Part{content.Start, l.Separator}
	if t.reading != strictLine {
		key = trim(t.body, key)
	}
	if key.Len() == 0 {
		return false
	}
	l.Key = key
	l.Kind = t.keys.kindOf(key.Of(t.body))
	return true
}

// cutComment returns what of the line is neither comment nor white space around
// it, nor beyond what counts.
func (t *tokenizer) cutComment(l *Line) Part {
	content := Part{l.Raw.Start, min(l.Raw.End, l.Raw.Start+maxLine)}
	if t.reading == lenientLine {
		content.End = min(content.End, t.find(&t.nul, 0))
	}
	if i := t.find(&t.number, '#'); i < content.End {
		if t.reading != scrubbedLine || trim(t.body, Part{content.Start, i}).Len() == 0 {
			content.End = i
			l.Comment.Start = i
		}
	}
	return trim(t.body, content)
}

// separator returns the offset of what divides key and value: the first colon,
// or, in a line of exactly two words without one, the white space between them.
// It returns -1 if there is neither.
func (t *tokenizer) separator(content Part) int {
	text := content.Of(t.body)
	if i := bytes.IndexByte(text, ':'); i >= 0 {
		return content.Start + i
	}
	if t.reading != lenientLine {
		return -1
	}
	gap := indexBlank(text, 0)
	second := gap
	for second < len(text) && isBlank(text[second]) {
		second++
	}
	if gap == len(text) || indexBlank(text, second) < len(text) {
		return -1
	}
	return content.Start + gap
}

// indexBlank returns the offset of the first space or tab at or after from,
// len(text) if there is none.
func indexBlank(text []byte, from int) int {
	for from < len(text) && !isBlank(text[from]) {
		from++
	}
	return from
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// cutCommentOfValue takes a comment off the value: from white space before a '#' on.
func (t *tokenizer) cutCommentOfValue(l *Line) {
	for i := l.Value.Start + 1; i < l.Value.End; i++ {
		if t.body[i] == '#' && isSpace(t.body[i-1]) {
			l.Comment.Start = i
			l.Value = trim(t.body, Part{l.Value.Start, i})
			return
		}
	}
}

// trimStart takes the six white-space octets of ASCII off the start.
func trimStart(body []byte, p Part) Part {
	for p.Start < p.End && isSpace(body[p.Start]) {
		p.Start++
	}
	return p
}

// trim takes white space off both ends.
func trim(body []byte, p Part) Part {
	p = trimStart(body, p)
	for p.End > p.Start && isSpace(body[p.End-1]) {
		p.End--
	}
	return p
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }
