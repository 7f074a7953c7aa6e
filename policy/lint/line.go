package lint

import (
	"bytes"

	"heed/policy"
)

// line checks one line, and hands it on to the groups.
func (c *checker) line(l policy.Line) {
	c.octets(l)
	switch l.Kind {
	case policy.Blank:
		c.groups.blank(l)
		return
	case policy.Junk:
		c.junk(l)
		return
	}
	whole := c.field(l)
	switch {
	case l.Kind == policy.UserAgent:
		c.groups.userAgent(c, l)
	case isRule(l):
		c.groups.rule(c, l)
	case whole:
		c.record(l)
	}
}

func isRule(l policy.Line) bool { return l.Kind == policy.Allow || l.Kind == policy.Disallow }

// junk checks a line that has no key.
func (c *checker) junk(l policy.Line) {
	if c.html {
		return
	}
	content := contentOf(c.body, l)
	word := content.Of(c.body)
	if end := bytes.IndexAny(word, " \t"); end >= 0 {
		word = word[:end]
	}
	if name := c.spelling.known(word); name != "" && l.Separator < 0 {
		c.add(MissingColon, l, content, 0,
			"crawlers pass over this line, which has no colon; write %s: and the value", name)
		return
	}
	c.add(UnreadableLine, l, content, 0,
		"crawlers pass over this line: a line has a key, a colon and a value; put a # before it if it is a comment")
}

// field checks how the key of a line is written. It returns false if the value
// is not what it was meant to be.
func (c *checker) field(l policy.Line) (whole bool) {
	if c.html && l.Kind == policy.Unknown {
		return true
	}
	if l.Key.Start > l.Raw.Start {
		c.add(SpaceBeforeField, l, policy.Part{Start: l.Raw.Start, End: l.Key.Start}, 0,
			"white space before a field is skipped by most crawlers, while others do not know the key then; begin the line with the key")
	}
	key := l.Key.Of(c.body)
	if c.body[l.Separator] != ':' {
		if l.Kind == policy.Unknown {
			c.add(UnreadableLine, l, contentOf(c.body, l), 0,
				"crawlers pass over this line, which has no colon and no key that is known; put a # before it if it is a comment")
			return true
		}
		c.add(MissingColon, l, policy.Part{Start: l.Key.Start, End: l.Separator + 1}, 0,
			"heed and Google take the white space for the missing colon, while other crawlers pass over the line; write %s: and the value", c.spelling.canonical(l.Kind))
	} else if l.Key.End < l.Separator {
		c.add(SpaceBeforeColon, l, policy.Part{Start: l.Key.End, End: l.Separator}, 0,
			"white space before the colon is dropped by most crawlers, while others do not know the key then; put the colon right behind the key")
	}
	word, name := c.spelling.lateColon(key)
	if name != "" {
		c.lateColon(l, word, name)
	} else {
		c.spelling.check(c, l, key)
	}
	if isCut(c.body, l) {
		c.add(CommentInValue, l, policy.Part{Start: l.Comment.Start, End: l.Comment.Start + 1}, 0,
			"the value ends before the #, as a comment begins there for most crawlers; write %%23 if the path has one (a fragment is never sent), else put a blank before the #")
	}
	return name == ""
}

// lateColon reports that word, which is the key called name, has no colon, and
// one in the value was taken for it.
func (c *checker) lateColon(l policy.Line, word []byte, name string) {
	reads := "heed and Google read the value " + quote(l.Value.Of(c.body)) + ", while other crawlers pass over the line"
	if l.Kind == policy.Unknown {
		reads = "crawlers know no key " + quote(l.Key.Of(c.body)) + ", and pass over the line"
	}
	c.add(MissingColon, l, policy.Part{Start: l.Key.Start, End: l.Key.Start + len(word)}, 0,
		"%s has no colon behind it, and the next one in the line is taken for it: %s; write %s: and the value", quote(word), reads, name)
}

// isCut tells whether a comment begins within a word of the value.
func isCut(body []byte, l policy.Line) bool {
	return l.Value.Len() > 0 && l.Comment.Len() > 0 && l.Value.End == l.Comment.Start && body[l.Comment.Start] == '#'
}

// contentOf is the line without comment and without white space about it; a
// line that ends at a NUL ends there.
func contentOf(body []byte, l policy.Line) policy.Part {
	at := policy.Part{Start: l.Raw.Start, End: min(l.Raw.End, l.Raw.Start+maxLine, l.Comment.Start)}
	if i := bytes.IndexByte(at.Of(body), 0); i >= 0 {
		at.End = at.Start + i
	}
	for at.Start < at.End && isSpace(body[at.Start]) {
		at.Start++
	}
	for at.End > at.Start && isSpace(body[at.End-1]) {
		at.End--
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
