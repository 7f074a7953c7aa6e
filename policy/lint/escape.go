package lint

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"heed/policy"
)

// escapes checks the octets of a pattern, and reports the first of each kind.
func (c *checker) escapes(r rule, value []byte) {
	e := escapes{checker: c, line: r.line, value: value}
	for i := 0; i < len(value); {
		if value[i] == '%' {
			i += e.escape(i)
			continue
		}
		i += e.raw(i)
	}
}

type escapes struct {
	*checker
	line  policy.Line
	value []byte
	said  [8]Code // of this rule
	n     int
}

// say reports a code once for the rule.
func (e *escapes) say(code Code, from, to int, format string, args ...any) {
	for _, said := range e.said[:e.n] {
		if said == code {
			return
		}
	}
	e.said[e.n] = code
	e.n++
	at := policy.Part{Start: e.line.Value.Start + from, End: e.line.Value.Start + to}
	e.add(code, e.line, at, 0, format, args...)
}

// escape checks what begins with a '%', and returns how many octets it is.
func (e *escapes) escape(i int) int {
	rest := e.value[i:]
	octet, ok := unescape(rest)
	if !ok {
		end := min(len(rest), 3)
		fault := fmt.Sprintf("%s has no two hexadecimal digits", quote(rest[:end]))
		if end < 3 {
			fault = fmt.Sprintf("%s is cut short: two hexadecimal digits follow a %%", quote(rest[:end]))
		}
		e.say(BadEscape, i, i+end, "%s; heed compares the %% as it is, and others drop the rule; write %%25 for a %% of the path", fault)
		return 1
	}
	digits := rest[1:3]
	if lower := bytes.ContainsAny(digits, "abcdef"); lower {
		e.say(LowerCaseEscape, i, i+3,
			"Google writes the digits of %s in upper case in the rule but not in the URL, so a URL that has them in lower case is not matched there; write %%%02X, as URLs mostly are", rest[:3], octet)
	}
	switch {
	case octet >= utf8.RuneSelf:
		n, fault := utf8Escapes(rest)
		if fault != "" {
			e.say(EscapeNotUTF8, i, i+n, "%s: crawlers that decode paths as UTF-8 drop the rule; nothing is to mend if the URLs of the site are like that", fault)
		}
		return n
	case octet == '/':
		e.say(EscapedSlash, i, i+3, "an escaped slash is not a slash: this matches URLs that have %s, and not those with /; write / if that is meant", rest[:3])
	case len(policy.NormalPattern(rest[:3])) == 1:
		e.say(EscapedUnreserved, i, i+3,
			"%s and %q are the same by RFC 9309, but Google's parser compares them as they are, and the rule then misses the usual URL; write %[2]q", rest[:3], string(octet))
	}
	return 3
}

// raw checks a character that is not escaped, or an octet that is none, and
// returns how many octets it is.
func (e *escapes) raw(i int) int {
	switch octet := e.value[i]; {
	case octet >= utf8.RuneSelf:
		_, size := utf8.DecodeRune(e.value[i:])
		character := e.value[i : i+size]
		e.say(RawOctet, i, i+size,
			"%s is compared as %s by heed and Google, but crawlers that do not escape it, or read the file as Latin-1, miss the URL; write %[2]s", quote(character), policy.NormalPattern(character))
		return size
	case octet <= ' ' || octet == 0x7F || strings.IndexByte("\"<>\\^`{|}", octet) >= 0:
		e.say(RawASCII, i, i+1,
			"%q is in no URL as it is: heed compares it as %%%02X, while Google looks for it unescaped and never finds it; write %%%02[2]X", string(octet), octet)
	}
	return 1
}

// unescape returns the octet that an escape at the start of text stands for,
// false if there is none.
func unescape(text []byte) (byte, bool) {
	if len(text) < 3 || text[0] != '%' {
		return 0, false
	}
	var octet [1]byte
	_, err := hex.Decode(octet[:], text[1:3])
	return octet[0], err == nil
}

// utf8Escapes checks the escapes of one character above ASCII at the start of
// text. It returns how many octets of text they are, and what is wrong with
// them, "" for nothing.
func utf8Escapes(text []byte) (n int, fault string) {
	first, _ := unescape(text)
	more := 0
	switch {
	case first < 0xC0:
		return 3, fmt.Sprintf("%s is the middle of a UTF-8 character without its start", text[:3])
	case first < 0xE0:
		more = 1
	case first < 0xF0:
		more = 2
	case first < 0xF8:
		more = 3
	default:
		return 3, fmt.Sprintf("%s is no octet of UTF-8", text[:3])
	}
	character := []byte{first}
	for n = 3; len(character) <= more; n += 3 {
		octet, ok := unescape(text[n:])
		if !ok {
			return n, fmt.Sprintf("%s needs %d more escapes to be a UTF-8 character", text[:n], more+1-len(character))
		}
		if octet&0xC0 != 0x80 {
			return n, fmt.Sprintf("%s goes on with %s, which is not within a UTF-8 character", text[:n], text[n:n+3])
		}
		character = append(character, octet)
	}
	if !utf8.Valid(character) {
		return n, fmt.Sprintf("%s is no character that UTF-8 may have", text[:n])
	}
	return n, ""
}
