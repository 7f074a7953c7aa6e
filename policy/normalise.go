package policy

import (
	"strings"
	"unsafe"
)

// class says how an octet is treated by RFC 3986 §2.2 and §2.3.
type class uint8

const (
	unreserved class = 1 << iota
	reserved
)

var classes = func() (t [256]class) {
	for c := range 256 {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			t[c] = unreserved
		}
	}
	for _, c := range []byte("-._~") {
		t[c] = unreserved
	}
	for _, c := range []byte(":/?#[]@!$&'()*+,;=") {
		t[c] = reserved
	}
	return t
}()

// side says which of the two sides of a comparison a text is on. They differ in
// '*' and '$' alone: in a pattern these are special (RFC 9309 §2.2.3), in a
// target they are octets like others, and are written "%2A" and "%24" as a
// pattern has to write them.
type side bool

const (
	ofPattern side = true
	ofTarget  side = false
)

// keeps tells whether the octet c, last saying whether it is the last one,
// stands for itself on this side.
func (s side) keeps(c byte, last bool) bool {
	switch c {
	case '*':
		return s == ofPattern
	case '$':
		return s == ofPattern && last
	}
	return classes[c] != 0
}

// plain is 1 for the octets that stand for themselves wherever they are in a
// target.
var plain = func() (t [256]uint8) {
	for c := range 256 {
		if c != '%' && ofTarget.keeps(byte(c), false) {
			t[c] = 1
		}
	}
	return t
}()

// plainLen returns how many octets at the start of text are plain.
func plainLen[T string | []byte](text T) int {
	rest := text
	for len(rest) >= 4 && areFourPlain(rest) {
		rest = rest[4:]
	}
	for len(rest) > 0 && plain[rest[0]] != 0 {
		rest = rest[1:]
	}
	return len(text) - len(rest)
}

func areFourPlain[T string | []byte](text T) bool {
	return plain[text[0]]&plain[text[1]]&plain[text[2]]&plain[text[3]] != 0
}

// isPlain tells whether text is of plain octets alone, as targets mostly are.
func isPlain[T string | []byte](text T) bool {
	if len(text) < 4 {
		return plainLen(text) == len(text)
	}
	for rest := text; len(rest) > 4; rest = rest[4:] {
		if !areFourPlain(rest) {
			return false
		}
	}
	// The last four, of which some were looked at: to find out how many are left
	// takes longer.
	return areFourPlain(text[len(text)-4:])
}

// normaliseTarget returns the target as it is compared (RFC 9309 §2.2.2):
// target itself if it is that already, else a text that is good only as long as
// nothing else is done with buffer.
func normaliseTarget(target string, buffer *pathBuffer) string {
	if isNormal(target) {
		return target
	}
	path := appendNormal(buffer[:0], target, ofTarget)
	return unsafe.String(unsafe.SliceData(path), len(path))
}

// normalTarget is normaliseTarget for a text that is kept.
func normalTarget(target string) string {
	if isNormal(target) {
		return target
	}
	return string(appendNormal(nil, target, ofTarget))
}

// appendNormal appends the normal form of text to dst: escapes of unreserved
// octets decoded, the digits of all others in upper case, every octet that is
// neither unreserved nor reserved escaped. A '%' without two hexadecimal digits
// is kept. It is one pass: what decoding brings forth is not decoded again.
func appendNormal[T string | []byte](dst []byte, text T, s side) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			octet, ok := unescape(text, i)
			switch {
			case !ok:
				dst = append(dst, '%')
				continue
			case classes[octet] == unreserved:
				dst = append(dst, octet)
			default:
				dst = appendEscape(dst, octet)
			}
			i += 2
			continue
		}
		if s.keeps(c, i == len(text)-1) {
			dst = append(dst, c)
		} else {
			dst = appendEscape(dst, c)
		}
	}
	return dst
}

// isNormal tells whether appendNormal would change nothing of a target.
func isNormal(text string) bool {
	for i := plainLen(text); i < len(text); i++ {
		c := text[i]
		if c == '%' {
			octet, ok := unescape(text, i)
			if !ok {
				continue
			}
			if classes[octet] == unreserved || isLower(text[i+1]) || isLower(text[i+2]) {
				return false
			}
			i += 2
			continue
		}
		if plain[c] == 0 {
			return false
		}
	}
	return true
}

// decodeQuery decodes the escapes of reserved octets in the query of a
// normalised pattern or target: after the first '?'. Origins decode a query
// before they use it, so "?to=https%3A%2F%2Fa.example" and
// "?to=https://a.example" ask for the same. The escapes "%2A" and "%24" stay:
// decoded they would be special in a pattern, and both sides are normalised to
// have them escaped. It returns text itself if there is nothing to decode.
func decodeQuery(text string) string {
	query := strings.IndexByte(text, '?') + 1
	if query == 0 || !hasReservedEscape(text[query:]) {
		return text
	}
	var buffer [256]byte // as most texts fit in
	out := append(buffer[:0], text[:query]...)
	for i := query; i < len(text); i++ {
		if octet, ok := unescape(text, i); ok && decodable(octet) {
			out = append(out, octet)
			i += 2
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

// hasReservedEscape tells whether decodeQuery would decode something in query.
func hasReservedEscape[T string | []byte](query T) bool {
	for i := 0; i < len(query); i++ {
		if octet, ok := unescape(query, i); ok {
			if decodable(octet) {
				return true
			}
			i += 2
		}
	}
	return false
}

func decodable(octet byte) bool {
	return classes[octet] == reserved && octet != '*' && octet != '$'
}

// unescape returns the octet that the escape at text[i:] stands for, or false
// if there is none: no '%', or no two hexadecimal digits after it.
func unescape[T string | []byte](text T, i int) (byte, bool) {
	if text[i] != '%' || i+2 >= len(text) {
		return 0, false
	}
	high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
	if high < 0 || low < 0 {
		return 0, false
	}
	return byte(high<<4 | low), true
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func appendEscape(dst []byte, octet byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[octet>>4], digits[octet&15])
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
