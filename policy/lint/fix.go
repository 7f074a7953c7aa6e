package lint

import (
	"bytes"
	"strings"

	"heed/policy"
)

// Fix returns a mended robots.txt: keys spelt right, colons put in, octets of
// patterns escaped as RFC 9309 §2.2.2 compares them, agents cut to what is
// compared, with the words that were more than a version in a comment, NUL, CR
// and byte order mark gone, and lines that count for nothing turned into
// comments. Comments and empty lines stay.
//
// Each line becomes one line, and the default dialect answers of the result what
// it answers of body, for every agent and target, by the rule in the same line,
// both being read whole (policy.Options.Limit). To fix what Fix returned changes
// nothing.
//
// What would change a verdict stays as it is, misspellings that nobody forgives
// and lines in which a colon of the value is taken for the missing one included:
// what was meant is for people to say. A body that would outgrow
// policy.DefaultLimit by it is returned unchanged.
func Fix(body []byte) []byte {
	f := fixer{body: body, html: looksLikeHTML(body), void: make(map[int]bool), spelling: newSpelling()}
	f.findVoid()
	for line := range policy.Lines(body) {
		f.line(line)
		f.out = append(f.out, '\n')
	}
	if len(body) <= policy.DefaultLimit && len(f.out) > policy.DefaultLimit {
		return bytes.Clone(body)
	}
	return f.out
}

type fixer struct {
	body     []byte
	out      []byte
	html     bool
	void     map[int]bool // lines that count for nothing
	spelling *spelling
}

// findVoid finds the user-agent lines and rules that count for nothing.
func (f *fixer) findVoid() {
	var g groups
	for l := range policy.Lines(f.body) {
		switch {
		case l.Kind == policy.UserAgent:
			g.addAgent(f.body, l)
		case isRule(l):
			if _, ok := g.addRule(f.body, l); !ok {
				f.void[l.Number] = true
			}
		}
	}
	for _, group := range g.all {
		f.voidAgents(group)
		f.voidRules(group)
	}
}

// voidAgents finds names that the group has already.
func (f *fixer) voidAgents(g group) {
	seen := make(map[string]bool, len(g.agents))
	for _, a := range g.agents {
		if seen[a.name] {
			f.void[a.line.Number] = true
		}
		seen[a.name] = true
	}
}

// voidRules finds rules that match nothing and rules that another one hides. One
// rule of the group stays in any case: it ends the user-agent lines.
func (f *fixer) voidRules(g group) {
	winners := winners(g.rules)
	stays := len(winners) > 0
	for _, r := range g.rules {
		switch {
		case r.canMatch():
			f.void[r.line.Number] = winners[language(r.pattern)].line.Number != r.line.Number
		case stays:
			f.void[r.line.Number] = true
		default:
			stays = true
		}
	}
}

// line prints one line.
func (f *fixer) line(l policy.Line) {
	content, rest := f.divide(l)
	if content.Len() == 0 {
		f.blank(l, rest)
		return
	}
	fixed, ok := f.field(l)
	switch {
	case !ok:
		f.out = append(f.out, "# "...)
		f.out = append(f.out, content.Of(f.body)...)
	case len(fixed) > maxLine:
		// Longer than what is read of a line. It was not, as it is.
		f.out = append(f.out, content.Of(f.body)...)
	default:
		f.out = append(f.out, fixed...)
	}
	if text := printable(rest.Of(f.body)); len(text) > 0 {
		f.out = append(f.out, f.gap(content, rest)...)
		f.out = append(f.out, text...)
	}
}

// divide divides a line into what is read and the rest: a comment, or what is
// behind a NUL or behind the octets that are read of a line.
func (f *fixer) divide(l policy.Line) (content, rest policy.Part) {
	content = contentOf(f.body, l)
	return content, policy.Part{Start: content.End, End: l.Raw.End}
}

// blank prints a line in which nothing is read.
func (f *fixer) blank(l policy.Line, rest policy.Part) {
	text := printable(rest.Of(f.body))
	if len(text) == 0 {
		return
	}
	if l.Comment.Len() > 0 {
		indent := f.body[l.Raw.Start:l.Comment.Start]
		if len(bytes.Trim(indent, " \t")) == 0 {
			f.out = append(f.out, indent...)
		}
	}
	f.out = append(f.out, text...)
}

// gap returns the white space between a line and its comment, at least some.
func (f *fixer) gap(content, rest policy.Part) []byte {
	comment := bytes.IndexByte(rest.Of(f.body), '#')
	if comment > 0 {
		if gap := f.body[content.End : rest.Start+comment]; len(bytes.Trim(gap, " \t")) == 0 {
			return gap
		}
	}
	return []byte(" ")
}

// printable returns the rest of a line as a comment, without NUL; empty if there
// is nothing in it.
func printable(rest []byte) []byte {
	text := bytes.ReplaceAll(rest, []byte{0}, nil)
	text = bytes.TrimFunc(text, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
	if len(text) == 0 || text[0] == '#' {
		return text
	}
	return append([]byte("# "), text...)
}

// field returns the line as it is best written, false if it counts for nothing.
func (f *fixer) field(l policy.Line) ([]byte, bool) {
	if l.Kind == policy.Junk || f.void[l.Number] || f.html && l.Kind == policy.Unknown {
		return nil, false
	}
	if _, name := f.spelling.lateColon(l.Key.Of(f.body)); name != "" {
		// Written right it would be another line, written as it is read it
		// would lose what stands before the colon.
		return contentOf(f.body, l).Of(f.body), true
	}
	value := l.Value.Of(f.body)
	key := canonical[l.Kind]
	switch {
	case l.Kind == policy.UserAgent:
		value = policy.RFC9309.Token(value)
	case isRule(l):
		value = escapePattern(value)
	case l.Kind == policy.Unknown:
		if f.body[l.Separator] != ':' || l.Key.Of(f.body)[0] >= 0x80 {
			return nil, false // no line of a file that is text
		}
		key = string(l.Key.Of(f.body))
	}
	fixed := append([]byte(key), ':')
	if len(value) > 0 {
		fixed = append(append(fixed, ' '), value...)
	}
	if l.Kind == policy.UserAgent && isMore(l.Value.Of(f.body)[len(value):]) {
		fixed = append(append(fixed, " # "...), l.Value.Of(f.body)...)
	}
	return fixed, true
}

// isMore tells whether what is cut off an agent is more than a version: words
// that tell who was meant, for a comment.
func isMore(rest []byte) bool { return len(rest) > 0 && rest[0] != '/' }

// escapePattern returns a pattern with its octets escaped as they are compared,
// but for a '$' that is not last: other crawlers take that for what it is. It
// returns the pattern as it is if it would be another then, which a '%' without
// digits can bring about.
func escapePattern(value []byte) []byte {
	parts := strings.SplitAfter(string(value), "$")
	var escaped []byte
	for _, part := range parts {
		escaped = append(escaped, policy.NormalPattern([]byte(part))...)
	}
	if !bytes.Equal(policy.NormalPattern(escaped), policy.NormalPattern(value)) {
		return value
	}
	return escaped
}
