package audit

import (
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"
)

// members is a log line under way: members of a JSON object (RFC 8259). It has the
// octets that zerolog would write, without a call, a conversion to float or an
// allocation for each member.
type members []byte

// name appends a comma, a name and a colon, as they stand.
func (l members) name(member string) members { return append(l, member...) }

// unlessEmpty appends a member with a text if there is one.
func (l members) unlessEmpty(member, s string) members {
	if s == "" {
		return l
	}
	return l.name(member).text(s)
}

// word appends one of heed's own words, which are plain.
func (l members) word(s string) members { return append(append(append(l, '"'), s...), '"') }

// text appends a string, whatever octets it has: what is no UTF-8 becomes
// U+FFFD.
func (l members) text(s string) members {
	l = append(l, '"')
	if isPlain(s) {
		l = append(l, s...)
	} else {
		l = l.escaped(s)
	}
	return append(l, '"')
}

// client appends an address and a port.
func (l members) client(a netip.AddrPort) members {
	if !a.IsValid() || a.Addr().Zone() != "" { // a zone may have any octets
		return l.text(a.String())
	}
	return append(a.AppendTo(append(l, '"')), '"')
}

// millis appends a duration in milliseconds, with as many decimals as it has.
func (l members) millis(d time.Duration) members {
	const unit, exact = time.Millisecond, 1e15 // from there on a float64 has other digits
	if d < 0 || d >= exact {
		return strconv.AppendFloat(l, float64(d)/float64(unit), 'f', -1, 64)
	}
	l = strconv.AppendInt(l, int64(d/unit), 10)
	rest := d % unit
	if rest == 0 {
		return l
	}
	l = append(l, '.')
	for place := unit / 10; rest > 0; place /= 10 {
		l = append(l, '0'+byte(rest/place))
		rest %= place
	}
	return l
}

// isPlain tells whether a string stands for itself between quotes: printable
// ASCII but the quote and the backslash.
func isPlain(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if !plain[s[i]] {
				return false
			}
		}
		return true
	}
	for rest := s; len(rest) > 8; rest = rest[8:] {
		if hasOdd(eight(rest)) {
			return false
		}
	}
	return !hasOdd(eight(s[len(s)-8:])) // of which some were looked at: to find out how many are left takes longer
}

// eight returns the first eight octets, in no order that matters.
func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// hasOdd tells whether one of eight octets is not plain. An octet that is zero
// borrows from its high bit when one is taken from it, one that is below n when
// n is.
func hasOdd(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash, del := x^each*'"', x^each*'\\', x^each*0x7f
	return (x|(x-each*' ')|(quote-each)|(backslash-each)|(del-each))&high != 0
}

// plain tells of each octet whether it is plain.
var plain = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escaped appends a text with escapes for what cannot stand for itself.
func (l members) escaped(s string) members {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				l = append(l, `\ufffd`...)
			} else {
				l = append(l, s[i:i+n]...)
			}
			i += n
			continue
		}
		l = l.octet(c)
		i++
	}
	return l
}

func (l members) octet(c byte) members {
	const digits = "0123456789abcdef"
	switch {
	case plain[c]:
		return append(l, c)
	case c == '"' || c == '\\':
		return append(l, '\\', c)
	case c >= '\b' && c <= '\r' && c != '\v':
		return append(l, '\\', "btn_fr"[c-'\b'])
	}
	return append(l, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}
