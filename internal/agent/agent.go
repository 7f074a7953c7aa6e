// Package agent tells who is asking: the product tokens (RFC 9309 §2.2.1) of
// the User-Agent fields of a request (RFC 9110 §10.1.5).
//
//	User-Agent                                                     Main              Also
//	python-requests/2.32.3                                         python-requests
//	Python/3.13 aiohttp/3.11.16                                    Python            aiohttp
//	Mozilla/5.0 (compatible; ExampleBot/0.1; +https://a.example)   ExampleBot
//	evil (goodbot)                                                 evil              goodbot
//	a Firefox, a Chrome, a Safari
//
// Candidates are, in the order they are written, every product and, in a
// comment, every name with a version and every name that stands alone between
// separators. Each is cut to the octets of a product token, and dropped when
// it is one of the generic names of generic.go. The first that is left is the
// one the client goes by; the others can only restrict it (policy.Tokens).
// So a client binds itself further by a name and never frees itself by one.
package agent

import (
	"slices"
	"strings"

	"heed/policy"
)

const (
	maxOctets = 64 << 10 // looked at, in all fields together
	maxNames  = 32       // taken from one request
	maxName   = 128      // octets of one name; robots.txt files have no longer ones
	longField = 4 << 10  // from here on a name is copied, so that it does not keep its field in memory
)

// everyone stands in policy.Tokens.Main for a field without a name of its own
// that came beside one with a name.
const everyone = "*"

// Tokens returns the product tokens of the User-Agent fields of one request,
// spelled as the client spells them; their case has no meaning.
//
// Main holds the first name of each field, each name once. It is empty, which
// means "*", when no field has a name left: no field at all, a browser's, "*"
// itself. When only some fields have none, Main ends with "*": what is asked
// must then be allowed for everyone too. Also holds all other names, Fields
// the fields themselves.
//
// What is too much counts as one more field without a name, so that it can
// only restrict: what comes after 64 KiB or after 32 names, and a name of more
// than 128 octets.
//
// Takes time linear in the octets looked at; a single field of usual length that
// came lately is remembered, and the result, which must not be changed, shared.
// Safe for concurrent use.
func Tokens(userAgents []string) policy.Tokens {
	if len(userAgents) == 1 && len(userAgents[0]) <= longRemembered {
		return lately.tokens(userAgents[0])
	}
	return read(userAgents)
}

// IsToken reports whether a text is a product token by which a client can go: not
// a generic name.
func IsToken(text string) bool {
	return text != "" && len(text) <= maxName && cut(text) == text && !generic(text)
}

// read is Tokens without the memory.
func read(userAgents []string) policy.Tokens {
	var c collector
	room := maxOctets
	for _, field := range userAgents {
		if len(field) <= room {
			room -= len(field)
			c.read(field)
			continue
		}
		// Cut at white space, so that no name is cut in two.
		c.read(field[:max(0, strings.LastIndexAny(field[:room], " \t"))])
		c.nameless = true
		break
	}
	t := c.tokens()
	t.Fields = userAgents
	return t
}

// collector gathers the names of one request.
type collector struct {
	main, also []string
	nameless   bool // a field, or what was too much, has no name
}

// read takes the names of one User-Agent field.
func (c *collector) read(text string) {
	f := field{collector: c, long: len(text) > longField}
	s := scanner{text: text}
	for p, ok := s.next(); ok; p, ok = s.next() {
		if len(c.main)+len(c.also) >= maxNames {
			c.nameless = true
			return
		}
		if p.comment {
			f.comment(p)
		} else {
			f.product(p.text)
		}
	}
	f.end()
}

func (c *collector) tokens() policy.Tokens {
	// One field's further name may be the first name of the next.
	also := slices.DeleteFunc(c.also, func(t string) bool { return contains(c.main, t) })
	if c.nameless && len(c.main) > 0 {
		c.main = append(c.main, everyone)
	}
	return policy.Tokens{Main: c.main, Also: also}
}

func contains(tokens []string, token string) bool {
	for _, t := range tokens {
		if strings.EqualFold(t, token) {
			return true
		}
	}
	return false
}
