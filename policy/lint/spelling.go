package lint

import (
	"bytes"
	"strings"

	"heed/policy"
)

// canonical are the keys as they are best written.
var canonical = map[policy.Kind]string{
	policy.UserAgent:     "User-agent",
	policy.Allow:         "Allow",
	policy.Disallow:      "Disallow",
	policy.Sitemap:       "Sitemap",
	policy.CrawlDelay:    "Crawl-delay",
	policy.RequestRate:   "Request-rate",
	policy.VisitTime:     "Visit-time",
	policy.Host:          "Host",
	policy.CleanParam:    "Clean-param",
	policy.ContentUsage:  "Content-Usage",
	policy.ContentSignal: "Content-Signal",
	policy.License:       "License",
}

// spelling knows the keys that there are, and the unknown ones seen so far.
type spelling struct {
	lower map[string]string // the keys, as canonical has them, by their lower-case form
	seen  map[string]bool   // unknown keys
}

func newSpelling() *spelling {
	s := &spelling{lower: make(map[string]string, len(canonical)), seen: make(map[string]bool)}
	for _, name := range canonical {
		s.lower[strings.ToLower(name)] = name
	}
	return s
}

func (s *spelling) canonical(k policy.Kind) string { return canonical[k] }

// known returns the canonical form of a key that is spelt right, "" for any
// other.
func (s *spelling) known(key []byte) string { return s.lower[strings.ToLower(string(key))] }

// lateColon returns, of a key that goes on after a word that is one by itself,
// that word and its canonical form: its colon was left out, and one in the value
// was taken for it. The form is "" if that is not so.
func (s *spelling) lateColon(key []byte) (word []byte, name string) {
	end := bytes.IndexAny(key, " \t")
	if end < 0 {
		return nil, ""
	}
	return key[:end], s.known(key[:end])
}

// check checks the spelling of a key.
func (s *spelling) check(c *checker, l policy.Line, key []byte) {
	if l.Kind != policy.Unknown {
		if s.known(key) == "" {
			others := "other crawlers pass"
			if bytes.EqualFold(key, []byte("useragent")) {
				others = "not all other crawlers do, and some pass" // robotstxt and rerp know it
			}
			c.add(ForgivenMisspelling, l, l.Key, 0,
				"heed and Google read %s as %s, while %s over it; write %[2]s", quote(key), canonical[l.Kind], others)
		}
		return
	}
	folded := strings.ToLower(string(key))
	if name := s.nearest(folded); name != "" {
		c.add(MisspeltField, l, l.Key, 0,
			"no crawler knows %s, and the line counts for nothing; write %s if that is meant", quote(key), name)
		return
	}
	if s.seen[folded] {
		return
	}
	s.seen[folded] = true
	c.add(UnknownField, l, l.Key, 0,
		"crawlers pass over %s, which is in no standard and no extension that heed knows; leave it out unless a crawler asks for it", quote(key))
}

// nearest returns the key that an unknown one is most likely meant to be, "" if
// it is like none. Octets that do not show in an editor, or show as another, are
// above ASCII and do not count.
func (s *spelling) nearest(folded string) string {
	const longest = 40 // a sentence with a colon in it is no key
	if len(folded) > longest {
		return ""
	}
	visible := strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7F {
			return -1
		}
		return r
	}, folded)
	best, least := "", 3
	for lower, name := range s.lower {
		most := min(2, len(lower)/3)
		if d := distance(visible, lower, most); d <= most && (d < least || d == least && name < best) {
			best, least = name, d
		}
	}
	return best
}

// distance is the least number of octets to put in, take out, change or swap
// with the next that makes b of a (the optimal string alignment distance). If it
// is more than most, any number above most.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
