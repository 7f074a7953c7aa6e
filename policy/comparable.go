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
		start := len(dst)
		if hasBadEscape(pattern) {
			return dst, false
		}
		dst = appendDecoded(dst, pattern, "/")
		return dst, utf8.Valid(dst[start:])
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

// comparable returns target as it is compared, without allocating if it is that
// already.
func (d *Dialect) comparable(target string) string {
	if d.escapes == normalised {
		return normaliseTarget(target)
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

// hasBadEscape tells whether a '%' of text is no escape.
func hasBadEscape(text []byte) bool {
	for i := range text {
		if text[i] == '%' {
			if _, ok := unescape(text, i); !ok {
				return true
			}
		}
	}
	return false
}

// decodeBody returns body in the octets that the dialect compares. declared
// tells that the charset was declared, and body is UTF-8.
func (d *Dialect) decodeBody(body []byte, declared bool) []byte {
	switch d.charset {
	case latin1:
		if !declared {
			return latin1ToUTF8(body)
		}
	case scrubbed:
		return bytes.ReplaceAll(bytes.ToValidUTF8(body, nil), []byte{0}, nil)
	}
	return body
}

// latin1ToUTF8 returns the text of body, but for a byte order mark, which stays.
func latin1ToUTF8(body []byte) []byte {
	mark := byteOrderMark(body)
	text := append(make([]byte, 0, len(body)), body[:mark]...)
	for _, c := range body[mark:] {
		text = utf8.AppendRune(text, rune(c))
	}
	return text
}
