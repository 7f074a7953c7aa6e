package fetch

import (
	"bytes"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"heed/policy"
)

// maxCharset bounds the name of a charset. The longest that is known has 19
// octets.
const maxCharset = 40

// charsetOf returns the charset that the Content-Type declares (RFC 9110
// §8.3.2) in lower case, "" if it declares none.
func charsetOf(h http.Header) string {
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	name := strings.ToLower(strings.TrimSpace(params["charset"]))
	return strings.Clone(name[:min(len(name), maxCharset)])
}

// isUTF8 reports whether a charset is UTF-8, as robots.txt is meant to be in
// (RFC 9309 §2.3).
func isUTF8(charset string) bool { return charset == "utf-8" || charset == "utf8" }

// text is a robots.txt made readable.
type text struct {
	octets []byte // in UTF-8, as far as can be told
	other  []byte // the same as it is read otherwise; nil if there is no doubt
	note   string // what was made of a charset that is not UTF-8; "" for nothing
}

// decodeCharset makes a body readable that is declared to be in some charset.
//
// A byte order mark goes before what is declared. Servers declare a charset for
// all their files, though, whatever they hold: a body that is UTF-8 is read as
// UTF-8, and as declared besides. And an origin in another charset is asked for
// paths in the octets of that charset as well as in those of UTF-8: so the body
// is read as its octets stand besides being decoded. As UTF-16 anything can be
// read, so that without a mark the same is done there.
func decodeCharset(octets []byte, declared string) text {
	if name := utf16ByMark(octets); name != "" {
		return text{octets: decode(unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM), octets), note: "decoded from " + name + " by its byte order mark"}
	}
	if declared == "" || isUTF8(declared) || bytes.HasPrefix(octets, []byte("\xef\xbb\xbf")) {
		return text{octets: octets}
	}
	known, err := htmlindex.Get(declared)
	if err != nil || known == encoding.Replacement {
		return text{octets: octets, note: "declared as " + strconv.Quote(declared) + ", which is not known: read as UTF-8"}
	}
	decoded := decode(known, octets)
	switch {
	case strings.HasPrefix(declared, "utf-16"):
		return text{octets: decoded, other: octets, note: "decoded from " + declared}
	case bytes.Equal(decoded, octets):
		return text{octets: octets}
	case isValidButForItsEnd(octets):
		return text{octets: octets, other: decoded, note: "declared as " + declared + " and read so, and as UTF-8, which it is"}
	}
	return text{octets: decoded, other: octets, note: "decoded from " + declared}
}

// decode never fails: what cannot be decoded is replaced by U+FFFD.
func decode(from encoding.Encoding, octets []byte) []byte {
	decoded, err := from.NewDecoder().Bytes(octets)
	if err != nil {
		return octets // not known to happen; then it is read as it stands
	}
	return decoded
}

func utf16ByMark(octets []byte) string {
	switch {
	case bytes.HasPrefix(octets, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(octets, []byte("\xfe\xff")):
		return "utf-16be"
	}
	return ""
}

// isValidButForItsEnd is utf8.Valid for what may have been cut within a
// character.
func isValidButForItsEnd(octets []byte) bool {
	for range utf8.UTFMax {
		if r, size := utf8.DecodeLastRune(octets); r != utf8.RuneError || size != 1 {
			break
		}
		octets = octets[:len(octets)-1]
	}
	return utf8.Valid(octets)
}

// compile compiles a body as read: up to limit octets count, which may become
// more when they are decoded.
func (b *bodies) compile(octets []byte, key bodyKey) (rules *policy.Policy, note string) {
	t := decodeCharset(octets, key.charset)
	o := policy.Options{Limit: b.limit, Cautious: b.cautious, Strict: b.strict, Decoded: key.decoded}
	if t.note == "" {
		return policy.Compile(t.octets, o), ""
	}
	if len(octets) > b.limit { // what the limit cut is no line
		t.octets, t.other = wholeLines(t.octets), wholeLines(t.other)
	}
	o.Limit = max(o.Limit, len(t.octets), len(t.other))
	o.Other = t.other
	return policy.Compile(t.octets, o), t.note
}

func wholeLines(octets []byte) []byte {
	return octets[:bytes.LastIndexAny(octets, "\r\n")+1]
}
