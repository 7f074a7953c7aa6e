package lint

import (
	"bytes"
	"unicode/utf8"

	"heed/policy"
)

// maxLine is how many octets of a line count, see policy.Compile.
const maxLine = 2083*8 - 1

const byteOrderMark = "\xEF\xBB\xBF"

// first is a place at the start of the file.
var first = policy.Line{Number: 1}

// wholeFile checks what is not about a line.
func (c *checker) wholeFile() {
	if mark := markLen(c.body); mark > 0 {
		c.add(ByteOrderMark, first, policy.Part{Start: 0, End: mark}, 0,
			"the first octets are a byte order mark: crawlers that do not skip it read a key that they do not know, and lose the first line; save the file as UTF-8 without it")
	}
	if looksLikeHTML(c.body) {
		c.html = true
		c.add(HTML, first, policy.Part{}, 0,
			"this is a page, not a robots.txt: crawlers look for rules in it, mostly find none, and then everything is allowed; serve text/plain, or status 404 if there are no rules")
	}
}

// markLen is how many octets at the start are a byte order mark, or the first
// ones of it.
func markLen(body []byte) int {
	n := 0
	for n < len(byteOrderMark) && n < len(body) && body[n] == byteOrderMark[n] {
		n++
	}
	return n
}

var htmlStarts = []string{"<!doctype", "<html", "<head", "<body", "<title", "<meta", "<script", "<?xml", "<!--", "<div", "<br", "<pre", "<p>", "<h1"}

// looksLikeHTML tells whether the file begins as a page does.
func looksLikeHTML(body []byte) bool {
	const enough = 512
	start := bytes.TrimLeft(body[markLen(body):], " \t\r\n\v\f\x00")
	start = bytes.ToLower(start[:min(len(start), enough)])
	for _, tag := range htmlStarts {
		if bytes.HasPrefix(start, []byte(tag)) {
			return true
		}
	}
	return false
}

// octets checks the octets of a line, whatever they say.
func (c *checker) octets(l policy.Line) {
	raw := l.Raw.Of(c.body)
	if i := bytes.IndexByte(raw, 0); i >= 0 {
		at := l.Raw.Start + i
		c.add(NUL, l, policy.Part{Start: at, End: at + 1}, 0,
			"crawlers end the line at a NUL, or take it out, or give up; remove it (is the file UTF-16? save it as UTF-8)")
	}
	if at, size := invalidUTF8(raw); at >= 0 {
		at += l.Raw.Start
		c.add(NotUTF8, l, policy.Part{Start: at, End: at + size}, 0,
			"octet %02X is not UTF-8: some crawlers compare the octet, others read Latin-1, drop it or drop the file; save the file as UTF-8, and escape the octets of paths",
			c.body[at])
	}
	if cut := l.Raw.Start + maxLine; l.Raw.End > cut && l.Comment.Start >= cut {
		c.add(LongLine, l, policy.Part{Start: cut, End: l.Raw.End}, 0,
			"the line has %d octets, and crawlers drop what is behind the first %d: a rule that lost its end is another rule; make it shorter",
			l.Raw.Len(), maxLine)
	}
	end := l.Raw.End
	if end < len(c.body) && c.body[end] == '\r' && !bytes.HasPrefix(c.body[end:], []byte("\r\n")) && c.counts[LoneCR] == 0 {
		c.add(LoneCR, l, policy.Part{Start: end, End: end + 1}, 0,
			"the line ends with CR alone: RFC 9309 has it end the line, but many tools read on, and take the lines that follow for one; end lines with LF")
	}
}

// invalidUTF8 returns where text stops being UTF-8, and for how many octets; -1
// if it does not.
func invalidUTF8(text []byte) (at, size int) {
	if utf8.Valid(text) {
		return -1, 0
	}
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at, 1
}
