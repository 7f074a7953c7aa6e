package policy

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// shown is an event in words.
type shown struct {
	line       int
	kind       kind
	key, value string
	raw        string
}

func eventsOf(body string) []shown {
	var all []shown
	lines := tokenize([]byte(body))
	for e, ok := lines.next(); ok; e, ok = lines.next() {
		of := func(p part) string { return body[p.start:p.end] }
		all = append(all, shown{e.line, e.kind, of(e.key), of(e.value), of(e.raw)})
	}
	return all
}

func TestTokenizerLines(t *testing.T) {
	for _, c := range []struct {
		why  string
		body string
		want []shown
	}{
		{"an empty body has no lines", "", nil},
		{"a byte order mark alone has none", "\xef\xbb\xbf", nil},
		{"the mark is no part of the line", "\xef\xbb\xbfa:b", []shown{{1, other, "a", "b", "a:b"}}},
		{"a second mark is", "\xef\xbb\xbf\xef\xbb\xbfa:b", []shown{{1, other, "\xef\xbb\xbfa", "b", "\xef\xbb\xbfa:b"}}},
		{"the last line needs no end", "a:1\nb:2", []shown{{1, other, "a", "1", "a:1"}, {2, other, "b", "2", "b:2"}}},
		{"and an end starts no further line", "a:1\n", []shown{{1, other, "a", "1", "a:1"}}},
		{"CR LF ends one line, LF CR two", "a:1\r\nb:2\n\rc:3", []shown{
			{1, other, "a", "1", "a:1"}, {2, other, "b", "2", "b:2"}, {3, blank, "", "", ""}, {4, other, "c", "3", "c:3"},
		}},
		{"CR CR LF is two ends", "\r\r\nx", []shown{{1, blank, "", "", ""}, {2, blank, "", "", ""}, {3, junk, "", "", "x"}}},
		{"a CR at the very end", "a:1\r", []shown{{1, other, "a", "1", "a:1"}}},
		{"other controls and U+2028 end nothing", "a:1\v2\f3\u20284\u00855", []shown{
			{1, other, "a", "1\v2\f3\u20284\u00855", "a:1\v2\f3\u20284\u00855"},
		}},
	} {
		if got := eventsOf(c.body); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q:\ngot  %v\nwant %v", c.why, c.body, got, c.want)
		}
	}
}

func TestTokenizerKeyAndValue(t *testing.T) {
	for _, c := range []struct {
		why        string
		line       string
		kind       kind
		key, value string
	}{
		{"plain", "Disallow: /x", disallow, "Disallow", "/x"},
		{"white space around all", " \t Disallow \v:\f /x \t", disallow, "Disallow", "/x"},
		{"a comment", "Allow: /x # why", allow, "Allow", "/x"},
		{"a NUL before a comment", "Allow: /x\x00y # why", allow, "Allow", "/x"},
		{"a comment before a NUL", "Allow: /x # why\x00", allow, "Allow", "/x"},
		{"nothing but a comment", "  # Allow: /x", blank, "", ""},
		{"the first colon separates", "Sitemap: https://a.example/", sitemap, "Sitemap", "https://a.example/"},
		{"an empty value", "Disallow:", disallow, "Disallow", ""},
		{"an empty key", ": /x", junk, "", ""},
		{"two words without a colon", "Disallow  \t /x", disallow, "Disallow", "/x"},
		{"three words without a colon", "Disallow /x /y", junk, "", ""},
		{"one word", "Disallow", junk, "", ""},
		{"two words, the gap no blank", "Disallow\v/x", junk, "", ""},
		{"a key of two words", "User agent: Bot", userAgent, "User agent", "Bot"},
		{"a key of two words needs its colon", "User agent Bot", junk, "", ""},
		{"a longer key", "User-agents: Bot", userAgent, "User-agents", "Bot"},
		{"a key before a longer one", "Allow-list: /x", allow, "Allow-list", "/x"},
		{"a misspelt key", "DISALLAW: /x", disallow, "DISALLAW", "/x"},
		{"another word", "Crawl-delay: 5", other, "Crawl-delay", "5"},
		{"a key with a gap", "Dis allow: /x", other, "Dis allow", "/x"},
		{"site-map", "Site-Map: x", sitemap, "Site-Map", "x"},
	} {
		want := []shown{{1, c.kind, c.key, c.value, c.line}}
		if got := eventsOf(c.line); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", c.why, got, want)
		}
	}
}

func TestTokenizerDropsTheRestOfALongLine(t *testing.T) {
	long := "Disallow: /" + strings.Repeat("x", maxLine)
	got := eventsOf(long + "\nAllow: /")
	want := []shown{
		{1, disallow, "Disallow", long[len("Disallow: "):maxLine], long},
		{2, allow, "Allow", "/", "Allow: /"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d events, the first with a value of %d octets", len(got), len(got[0].value))
	}
}

// A search for the next LF and the next CR that starts anew with every line
// takes many seconds for a body that has only one of them.
func TestTokenizerTakesLinearTime(t *testing.T) {
	const enough = time.Second // it takes about 20 ms
	for _, end := range []string{"\n", "\r", "\r\n"} {
		body := []byte(strings.Repeat(end, DefaultLimit/len(end)))
		best := time.Hour
		for range 3 {
			start := time.Now()
			lines := tokenize(body)
			for _, ok := lines.next(); ok; _, ok = lines.next() {
			}
			best = min(best, time.Since(start))
			if want := len(body) / len(end); lines.line != want {
				t.Fatalf("%q: %d lines, want %d", end, lines.line, want)
			}
		}
		if best > enough {
			t.Errorf("%q: the best of 3 took %v, more than %v", end, best, enough)
		}
	}
}
