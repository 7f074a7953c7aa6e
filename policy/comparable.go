package policy

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// appendPattern appends the pattern as it is compared. It returns false if the
// dialect has no use for a rule with such a pattern.
func (d *Dialect) appendPattern(dst, pattern []byte) ([]byte, bool) {
	switch d.escapes {
	case normalised:
		return appendNormal(dst, pattern, ofPattern), true
	case upperCased:
		return appendUpperCased(dst, pattern), true
	case decodedText:
		if hasBadEscape(pattern) {
			return dst, false
		}
	case decodedButSet:
		dst = d.appendDecoded(dst, pattern)
		if bytes.HasSuffix(dst, []byte("$")) && !bytes.HasSuffix(pattern, []byte("$")) {
			dst = append(dst, '*') // an escaped "$" is not the end
		}
		return dst, true
	}
	return d.appendDecoded(dst, pattern), true
}

// appendDecoded decodes for the dialects that compare what is decoded.
func (d *Dialect) appendDecoded(dst, text []byte) []byte {
	if d.escapes != decodedButSet {
		return appendDecoded(dst, text, "/")
	}
	decoded := appendDecoded(nil, text, "/?=&")
	return append(dst, bytes.ToValidUTF8(decoded, nil)...)
}

// pathBuffer is where a path is made comparable, on the stack of the caller, so
// that what nobody keeps is not allocated. A longer path is.
type pathBuffer [1024]byte

// comparable returns target as it is compared: target itself if it is that
// already, else a text that is good only as long as nothing else is done with
// buffer.
func (d *Dialect) comparable(target string, buffer *pathBuffer) string {
	if d.escapes == normalised {
		return normaliseTarget(target, buffer)
	}
	if d.pathOnly {
		target, _, _ = strings.Cut(target, "?")
	}
	if d.escapes == upperCased || strings.IndexByte(target, '%') < 0 && d.escapes != decodedButSet {
		return target
	}
	return string(d.appendDecoded(nil, []byte(target)))
}

// appendUpperCased appends pattern with the digits of its escapes in upper case
// and the octets above ASCII escaped. Nothing is decoded.
func appendUpperCased(dst, pattern []byte) []byte {
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if octet, ok := unescape(pattern, i); ok {
			dst = appendEscape(dst, octet)
			i += 2
			continue
		}
		if c >= utf8.RuneSelf {
			dst = appendEscape(dst, c)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// appendDecoded appends text with all escapes decoded but those of the octets
// in keep, which get upper-case digits.
func appendDecoded(dst, text []byte, keep string) []byte {
	for i := 0; i < len(text); i++ {
		octet, ok := unescape(text, i)
		switch {
		case !ok:
			dst = append(dst, text[i])
			continue
		case strings.IndexByte(keep, octet) >= 0:
			dst = appendEscape(dst, octet)
		default:
			dst = append(dst, octet)
		}
		i += 2
	}
	return dst
}

// hasBadEscape tells whether a '%' of text is no escape, or escapes side by side
// are no UTF-8.
func hasBadEscape(text []byte) bool {
	var octets []byte // of the escapes side by side
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			if !utf8.Valid(octets) {
				return true
			}
			octets = octets[:0]
			continue
		}
		octet, ok := unescape(text, i)
		if !ok {
			return true
		}
		octets = append(octets, octet)
		i += 2
	}
	return !utf8.Valid(octets)
}

// decodeBody returns body in the octets that the dialect compares. declared
// tells that the charset was declared, and body is UTF-8.
func (d *Dialect) decodeBody(body []byte, declared bool) []byte {
	switch d.charset {
	case latin1:
		body = withoutMarks(body)
		if !declared {
			return latin1ToUTF8(body)
		}
	case scrubbed:
		return bytes.ReplaceAll(bytes.ToValidUTF8(body, nil), []byte{0}, nil)
	}
	return body
}

// withoutMarks returns body without the byte order marks that its lines begin
// with: that of a file which was appended to another stands in the middle.
func withoutMarks(body []byte) []byte {
	body = body[byteOrderMark(body):]
	for _, end := range []string{"\n", "\r"} {
		body = bytes.ReplaceAll(body, []byte(end+mark), []byte(end))
	}
	return body
}

// latin1ToUTF8 returns the text of body.
func latin1ToUTF8(body []byte) []byte {
	text := make([]byte, 0, len(body))
	for _, c := range body {
		text = utf8.AppendRune(text, rune(c))
	}
	return text
}
