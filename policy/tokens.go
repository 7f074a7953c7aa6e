package policy

import "bytes"

// maxLine is how many octets of a line count; the rest of it is dropped. It is
// what Google's parser keeps: eight times the longest URL that old browsers
// took, less one.
const maxLine = 2083*8 - 1

// kind says what a line of robots.txt is.
type kind uint8

const (
	blank kind = iota // nothing but white space and comment
	junk              // no separator, or nothing before it
	other             // a record that is none of the following
	userAgent
	allow
	disallow
	sitemap
)

// event is one line of robots.txt, understood as far as it can be by itself.
// Places are offsets into the body.
type event struct {
	kind  kind
	line  int  // counted from 1
	raw   part // the whole line, without its end
	key   part // white space trimmed; empty for blank and junk
	value part // white space trimmed; empty for blank and junk
}

// part is the octets of a body from start up to, not including, end.
type part struct{ start, end int }

func (p part) of(body []byte) []byte { return body[p.start:p.end] }

func (p part) empty() bool { return p.start == p.end }

// tokenizer splits a body into events, one a line.
type tokenizer struct {
	body   []byte
	at     int // where the next line starts
	line   int // the number of the line before
	lf, cr int // where the next LF and CR are, len(body) if there is none
}

func tokenize(body []byte) *tokenizer {
	return &tokenizer{body: body, at: byteOrderMark(body), lf: -1, cr: -1}
}

// byteOrderMark returns how many octets at the start of body are a byte order
// mark, or the first octets of one that was cut short.
func byteOrderMark(body []byte) int {
	const mark = "\xEF\xBB\xBF"
	n := 0
	for n < len(mark) && n < len(body) && body[n] == mark[n] {
		n++
	}
	return n
}

// next returns the next line, or false at the end of the body.
func (t *tokenizer) next() (event, bool) {
	if t.at >= len(t.body) {
		return event{}, false
	}
	t.line++
	start, end := t.at, t.lineEnd()
	t.at = end + 1
	if bytes.HasPrefix(t.body[end:], []byte("\r\n")) {
		t.at++ // one line end, not two
	}
	return t.parse(part{start, end}), true
}

// lineEnd returns where the line at t.at ends. It remembers both searches: in a
// body with one kind of line end only, the search for the other must not start
// anew with every line.
func (t *tokenizer) lineEnd() int {
	if t.lf < t.at {
		t.lf = indexFrom(t.body, t.at, '\n')
	}
	if t.cr < t.at {
		t.cr = indexFrom(t.body, t.at, '\r')
	}
	return min(t.lf, t.cr)
}

// indexFrom returns the offset of the first c at or after from, len(body) if
// there is none.
func indexFrom(body []byte, from int, c byte) int {
	if i := bytes.IndexByte(body[from:], c); i >= 0 {
		return from + i
	}
	return len(body)
}

// parse reads one line: white space and comment off, then key, separator,
// value. NUL ends a line's content as '#' does.
func (t *tokenizer) parse(raw part) event {
	e := event{line: t.line, raw: raw}
	content := part{raw.start, min(raw.end, raw.start+maxLine)}
	for _, c := range []byte{0, '#'} {
		if i := bytes.IndexByte(content.of(t.body), c); i >= 0 {
			content.end = content.start + i
		}
	}
	content = trim(t.body, content)
	if content.empty() {
		return e
	}
	e.kind = junk
	separator := t.separator(content)
	if separator < 0 {
		return e
	}
	key := trim(t.body, part{content.start, separator})
	if key.empty() {
		return e
	}
	e.key = key
	e.value = trim(t.body, part{separator + 1, content.end})
	e.kind = kindOf(key.of(t.body))
	return e
}

// separator returns the offset of what divides key and value: the first colon,
// or, in a line of exactly two words without one, the white space between them.
// It returns -1 if there is neither.
func (t *tokenizer) separator(content part) int {
	text := content.of(t.body)
	if i := bytes.IndexByte(text, ':'); i >= 0 {
		return content.start + i
	}
	gap := bytes.IndexAny(text, " \t")
	if gap < 0 {
		return -1
	}
	if second := bytes.TrimLeft(text[gap:], " \t"); bytes.ContainsAny(second, " \t") {
		return -1
	}
	return content.start + gap
}

// trim takes the six white-space octets of ASCII off both ends.
func trim(body []byte, p part) part {
	for p.start < p.end && isSpace(body[p.start]) {
		p.start++
	}
	for p.end > p.start && isSpace(body[p.end-1]) {
		p.end--
	}
	return p
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// keys lists the keys of the records that matter, misspellings that are common
// in the wild included. A longer key that starts with one of them counts too
// ("Disallowed"), and the first that fits decides.
var keys = []struct {
	prefix string
	kind   kind
}{
	{"user-agent", userAgent},
	{"useragent", userAgent},
	{"user agent", userAgent},
	{"allow", allow},
	{"disallow", disallow},
	{"dissallow", disallow},
	{"dissalow", disallow},
	{"disalow", disallow},
	{"diasllow", disallow},
	{"disallaw", disallow},
	{"sitemap", sitemap},
	{"site-map", sitemap},
}

func kindOf(key []byte) kind {
	for i := range keys {
		if hasPrefixFold(key, keys[i].prefix) {
			return keys[i].kind
		}
	}
	return other
}

// hasPrefixFold tells whether text starts with prefix, which is lower-case, the
// case of ASCII letters aside.
func hasPrefixFold(text []byte, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(text[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
