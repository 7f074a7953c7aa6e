package policy

import (
	"encoding/binary"
	"strconv"
)

// Kind says what a line of robots.txt is.
type Kind uint8

// The kinds there are. Those after Disallow are other records (RFC 9309
// §2.2.4): they decide nothing, and neither open, close nor split a group.
const (
	Blank     Kind = iota // nothing but white space and comment
	Junk                  // no separator, or nothing before it
	UserAgent             // RFC 9309 §2.2.1
	Allow                 // RFC 9309 §2.2.2
	Disallow
	Sitemap       // sitemaps.org: the URL of a sitemap, of no group
	CrawlDelay    // seconds between requests
	RequestRate   // requests a time, such as "1/5"
	VisitTime     // hours of a day in UTC, such as "0600-0845"
	Host          // Yandex: the main one of several names of a site
	CleanParam    // Yandex: parameters of a query that do not matter
	ContentUsage  // IETF AIPREF: what the content may be used for
	ContentSignal // contentsignals.org: the same in other words
	License       // RSL: where the license is
	Unknown       // any other key
)

var kindNames = [...]string{
	Blank: "blank", Junk: "junk", UserAgent: "user-agent", Allow: "allow", Disallow: "disallow",
	Sitemap: "sitemap", CrawlDelay: "crawl-delay", RequestRate: "request-rate", VisitTime: "visit-time",
	Host: "host", CleanParam: "clean-param", ContentUsage: "content-usage", ContentSignal: "content-signal",
	License: "license", Unknown: "unknown",
}

// String returns the key of such a line in lower case, such as "user-agent", or
// "blank", "junk" or "unknown".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// IsRecord tells whether the line is a record other than a rule or a user-agent
// line.
func (k Kind) IsRecord() bool { return k >= Sitemap }

// keySet says which keys stand for user-agent lines, rules and sitemaps. The
// keys of other records are the same for all: they decide nothing.
type keySet uint8

const (
	lenientKeys   keySet = iota // misspellings count, and longer keys that start with one
	userAgentKeys               // exact
	useragentKeys               // exact, and the hyphen may be left out of "user-agent"
)

// lenient lists the keys of the lines that matter, misspellings that are common
// in the wild included. A longer key that starts with one of them counts too
// ("Disallowed"), and the first that fits decides.
var lenient = []struct {
	prefix string
	kind   Kind
}{
	{"user-agent", UserAgent},
	{"useragent", UserAgent},
	{"user agent", UserAgent},
	{"allow", Allow},
	{"disallow", Disallow},
	{"dissallow", Disallow},
	{"dissalow", Disallow},
	{"disalow", Disallow},
	{"diasllow", Disallow},
	{"disallaw", Disallow},
	{"sitemap", Sitemap},
	{"site-map", Sitemap},
}

func (s keySet) kindOf(key []byte) Kind {
	if s == lenientKeys {
		switch lower(key[0]) {
		case 'a', 'd', 's', 'u':
		default:
			return kindNamed(key, CrawlDelay) // none of them starts otherwise
		}
		for i := range lenient {
			if hasPrefixFold(key, lenient[i].prefix) {
				return lenient[i].kind
			}
		}
		return kindNamed(key, CrawlDelay)
	}
	if s == useragentKeys && len(key) == len("useragent") && hasPrefixFold(key, "useragent") {
		return UserAgent
	}
	return kindNamed(key, UserAgent)
}

// usualKey returns the kind and the length of the key that text begins with, if
// it is one of those that nearly all lines have, known to every keySet, with the
// colon right after it. It looks at eight octets at a time; else it returns 0.
func usualKey(text []byte) (kind Kind, length int) {
	const caseless = 0x2020202020202020 // an ASCII letter in lower case, and no other octet, becomes that letter
	if len(text) < 8 {
		return 0, 0
	}
	switch word := binary.BigEndian.Uint64(text) | caseless; {
	case word == 'd'<<56|'i'<<48|'s'<<40|'a'<<32|'l'<<24|'l'<<16|'o'<<8|'w':
		kind, length = Disallow, len("disallow")
	case word>>24 == 'a'<<32|'l'<<24|'l'<<16|'o'<<8|'w':
		kind, length = Allow, len("allow")
	case word>>8 == 's'<<48|'i'<<40|'t'<<32|'e'<<24|'m'<<16|'a'<<8|'p':
		kind, length = Sitemap, len("sitemap")
	case word == 'u'<<56|'s'<<48|'e'<<40|'r'<<32|'-'<<24|'a'<<16|'g'<<8|'e' &&
		hasPrefixFold(text[8:], "nt") && text[4] == '-':
		kind, length = UserAgent, len("user-agent")
	default:
		return 0, 0
	}
	if len(text) == length || text[length] != ':' {
		return 0, 0
	}
	return kind, length
}

// kindNamed returns the Kind from first on whose name is key.
func kindNamed(key []byte, first Kind) Kind {
	for kind := first; kind < Unknown; kind++ {
		if len(key) == len(kindNames[kind]) && hasPrefixFold(key, kindNames[kind]) {
			return kind
		}
	}
	return Unknown
}

// hasPrefixFold tells whether text starts with prefix, which is lower-case, the
// case of ASCII letters aside.
func hasPrefixFold(text []byte, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(text[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
