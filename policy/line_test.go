package policy

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown is an event in words.
type shown struct {
	line       int
	kind       Kind
	key, value string
	raw        string
}

func eventsOf(body string) []shown {
	var all []shown
	lines := tokenize([]byte(body), lenientLine, lenientKeys)
	for e := new(Line); lines.next(e); {
		of := func(p Part) string { return body[p.Start:p.End] }
		all = append(all, shown{e.Number, e.Kind, of(e.Key), of(e.Value), of(e.Raw)})
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
		{"the mark is no part of the line", "\xef\xbb\xbfa:b", []shown{{1, Unknown, "a", "b", "a:b"}}},
		{"a second mark is", "\xef\xbb\xbf\xef\xbb\xbfa:b", []shown{{1, Unknown, "\xef\xbb\xbfa", "b", "\xef\xbb\xbfa:b"}}},
		{"the last line needs no end", "a:1\nb:2", []shown{{1, Unknown, "a", "1", "a:1"}, {2, Unknown, "b", "2", "b:2"}}},
		{"and an end starts no further line", "a:1\n", []shown{{1, Unknown, "a", "1", "a:1"}}},
		{"CR LF ends one line, LF CR two", "a:1\r\nb:2\n\rc:3", []shown{
			{1, Unknown, "a", "1", "a:1"}, {2, Unknown, "b", "2", "b:2"}, {3, Blank, "", "", ""}, {4, Unknown, "c", "3", "c:3"},
		}},
		{"CR CR LF is two ends", "\r\r\nx", []shown{{1, Blank, "", "", ""}, {2, Blank, "", "", ""}, {3, Junk, "", "", "x"}}},
		{"a CR at the very end", "a:1\r", []shown{{1, Unknown, "a", "1", "a:1"}}},
		{"Unknown controls and U+2028 end nothing", "a:1\v2\f3\u20284\u00855", []shown{
			{1, Unknown, "a", "1\v2\f3\u20284\u00855", "a:1\v2\f3\u20284\u00855"},
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
		kind       Kind
		key, value string
	}{
		{"plain", "Disallow: /x", Disallow, "Disallow", "/x"},
		{"white space around all", " \t Disallow \v:\f /x \t", Disallow, "Disallow", "/x"},
		{"a comment", "Allow: /x # why", Allow, "Allow", "/x"},
		{"a NUL before a comment", "Allow: /x\x00y # why", Allow, "Allow", "/x"},
		{"a comment before a NUL", "Allow: /x # why\x00", Allow, "Allow", "/x"},
		{"nothing but a comment", "  # Allow: /x", Blank, "", ""},
		{"the first colon separates", "Sitemap: https://a.example/", Sitemap, "Sitemap", "https://a.example/"},
		{"an empty value", "Disallow:", Disallow, "Disallow", ""},
		{"an empty key", ": /x", Junk, "", ""},
		{"two words without a colon", "Disallow  \t /x", Disallow, "Disallow", "/x"},
		{"three words without a colon", "Disallow /x /y", Junk, "", ""},
		{"one word", "Disallow", Junk, "", ""},
		{"two words, the gap no blank", "Disallow\v/x", Junk, "", ""},
		{"a key of two words", "User agent: Bot", UserAgent, "User agent", "Bot"},
		{"a key of two words needs its colon", "User agent Bot", Junk, "", ""},
		{"a longer key", "User-agents: Bot", UserAgent, "User-agents", "Bot"},
		{"a key before a longer one", "Allow-list: /x", Allow, "Allow-list", "/x"},
		{"a misspelt key", "DISALLAW: /x", Disallow, "DISALLAW", "/x"},
		{"another record", "crawl-DELAY: 5", CrawlDelay, "crawl-DELAY", "5"},
		{"a longer key of another record", "Crawl-delays: 5", Unknown, "Crawl-delays", "5"},
		{"another word", "Noindex: 5", Unknown, "Noindex", "5"},
		{"a key with a gap", "Dis allow: /x", Unknown, "Dis allow", "/x"},
		{"site-map", "Site-Map: x", Sitemap, "Site-Map", "x"},
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
		{1, Disallow, "Disallow", long[len("Disallow: "):maxLine], long},
		{2, Allow, "Allow", "/", "Allow: /"},
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
			lines := tokenize(body, lenientLine, lenientKeys)
			for lines.next(new(Line)) {
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

// FuzzLines: every octet of a body is in one line, in a line's end or in the
// byte order mark; parts are inside their line and in its order; and reading
// takes time in proportion to the body, since each line is read once.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"\xef\xbb\xbfUser-agent: a # b\r\nDisallow /x\n\r:\x00#\n",
		"a b c\rAllow:\x00/\n#\n\n", "#:#\n \t:x\n", "\xef\xbb", "a:b\r\r\nc",
		"Disallow: /" + strings.Repeat("x", maxLine) + "#\nAllow: /",
	} {
		f.Add([]byte(seed), uint8(lenientLine))
		f.Add([]byte(seed), uint8(strictLine))
		f.Add([]byte(seed), uint8(scrubbedLine))
	}
	f.Fuzz(func(t *testing.T, body []byte, reading uint8) {
		lines := tokenize(body, lineReading(reading%3), lenientKeys)
		at, number := byteOrderMark(body), 0
		for l := new(Line); lines.next(l); {
			number++
			if l.Number != number || l.Raw.Start != at || l.Raw.End > len(body) {
				t.Fatalf("line %d is %+v, and %d comes next", number, *l, at)
			}
			if bytes.ContainsAny(l.Raw.Of(body), "\r\n") {
				t.Fatalf("%+v has a line end inside", *l)
			}
			at = l.Raw.End
			if at < len(body) {
				at++
				if body[at-1] == '\r' && at < len(body) && body[at] == '\n' {
					at++
				}
			}
			checkParts(t, *l)
		}
		if at != len(body) {
			t.Fatalf("%d of %d octets were read", at, len(body))
		}
	})
}

func checkParts(t *testing.T, l Line) {
	t.Helper()
	if l.Comment.Start < l.Raw.Start || l.Comment.End != l.Raw.End {
		t.Fatalf("%+v: the comment is elsewhere", l)
	}
	if l.Kind == Blank || l.Kind == Junk {
		if l.Key.Len() != 0 || l.Value.Len() != 0 {
			t.Fatalf("%+v has a key or a value", l)
		}
		return
	}
	if l.Key.Start < l.Raw.Start || l.Key.Len() == 0 || l.Key.End > l.Separator ||
		l.Value.Start <= l.Separator || l.Value.End < l.Value.Start || l.Value.End > l.Comment.Start {
		t.Fatalf("%+v: its parts are not in order", l)
	}
}
