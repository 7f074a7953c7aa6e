package lint_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heed/policy"
	"heed/policy/lint"
)

// seeds are where fuzzing begins.
var seeds = []string{
	"",
	"User-agent: *\nDisallow: /private/\n",
	"\xEF\xBB\xBFuser-agent : ExampleBot/1.0\r\n  Disalow /a%2fb#c\r\rAllow:\nDisallow: /*.php$\n\nCrawl-delay: 10\n",
	"Disallow: /early\nUser-agent: *\nUser-agent: a\nAllow: /x*\nDisallow: /x\nDisallow: /x\n\nDisallow: y\nUser-agent: A\n",
	"User-agent: MJ12bot\nDisallow: /caf\xC3\xA9\nDisallow: /%C3%A9%ff%4\nDisallow: /%%34%31\x00z\nSitemap: /s.xml\n",
	"<!DOCTYPE html>\n<html><body>Not Found</body></html>\n",
	"User-agent: *\nDisallow: /**a\nDisallow: /b$c\nDisallow: http://a.example/\nVisit-time: 0600-0845\nRequest-rate: 1/5\n",
}

// g is the start of a group, of which line 2 is the next.
const g = "User-agent: *\n"

// TestCheckFinds has a row and more for every code: a file, and the place and
// part of the sentence of the first diagnostic of that code.
func TestCheckFinds(t *testing.T) {
	covered := make(map[lint.Code]bool)
	for _, c := range []struct {
		code         lint.Code
		reason, body string
		line, column int
		end          int
		message      string
		related      int
	}{
		{lint.ByteOrderMark, "apetest leaves it to the caller, others lose the line", "\xEF\xBB\xBF" + g, 1, 1, 4, "without it", 0},
		{lint.ByteOrderMark, "one cut short is skipped as well", "\xEF\xBB" + g, 1, 1, 3, "without it", 0},
		{lint.HTML, "a page for every missing file", "<!DOCTYPE html>\n<p>gone</p>\n", 1, 1, 1, "status 404", 0},
		{lint.HTML, "white space and a byte order mark may stand before", "\xEF\xBB\xBF\n <HTML>\n", 1, 1, 1, "a page", 0},
		{lint.LoneCR, "the first of them is enough", g + "Disallow: /a\rDisallow: /b\r", 2, 13, 14, "LF", 0},
		{lint.NUL, "Google ends the line there", g + "Disallow: /a\x00b\n", 2, 13, 14, "UTF-16", 0},
		{lint.NotUTF8, "Latin-1", g + "# caf\xE9\n", 2, 6, 7, "octet E9", 0},
		{lint.LongLine, "16,663 octets are read", g + "Disallow: /" + strings.Repeat("a", 16_653) + "\n", 2, 16_664, 16_665, "16663", 0},
		{lint.OverLimit, "500 KiB are read", g + strings.Repeat("# 8 oct\n", 64_000), 64_000, 1, 8, "heed reads 512000 octets, RFC 9309 has crawlers read 512000", 0},
		{lint.OverLimit, "of what was fetched a line end is left, and nobody knows what follows", g + strings.Repeat("#", policy.DefaultLimit-len(g)) + "\n", 2, 511_987, 511_987, "what follows this line is not read", 0},
		{lint.NoGroup, "an empty file", "", 1, 1, 1, "everything is allowed", 0},
		{lint.NoGroup, "sitemaps alone", "Sitemap: https://a.example/s.xml\n", 1, 1, 1, "everything is allowed", 0},

		{lint.SpaceBeforeField, "apetest says so too", g + "  Disallow: /\n", 2, 1, 3, "begin the line with the key", 0},
		{lint.SpaceBeforeColon, "strict readers have it in the key", g + "Disallow : /\n", 2, 9, 10, "right behind", 0},
		{lint.MissingColon, "two words are forgiven by some", g + "Disallow /\n", 2, 1, 10, "heed and Google", 0},
		{lint.MissingColon, "three are not", g + "Disallow /a b\n", 2, 1, 14, "Disallow: and the value", 0},
		{lint.MissingColon, "nor a key alone", g + "Disallow\n", 2, 1, 9, "Disallow: and the value", 0},
		{lint.MissingColon, "tabs divide words too", g + "Allow\t/a\tb\n", 2, 1, 11, "Allow: and the value", 0},
		{lint.MissingColon, "that of a URL is taken for it", "Sitemap https://a.example/s.xml\n", 1, 1, 8, "read the value \"//a.example/s.xml\", while other", 0},
		{lint.MissingColon, "for a key that is compared whole as well", g + "Host https://a.example\n", 2, 1, 5, "know no key \"Host https\"", 0},
		{lint.UnreadableLine, "one word", g + "hello\n", 2, 1, 6, "put a #", 0},
		{lint.UnreadableLine, "two, neither a key", g + "hello there\n", 2, 1, 12, "put a #", 0},
		{lint.UnreadableLine, "a colon without a key", g + ": /x # note\n", 2, 1, 5, "put a #", 0},
		{lint.ForgivenMisspelling, "Google's list", g + "Disalow: /\n", 2, 1, 8, "write Disallow", 0},
		{lint.ForgivenMisspelling, "a longer key that begins with one", g + "Disallow-all: /\n", 2, 1, 13, "write Disallow", 0},
		{lint.ForgivenMisspelling, "no hyphen", "useragent: *\nDisallow: /\n", 1, 1, 10, "while not all other crawlers do, and some pass over it; write User-agent", 0},
		{lint.MisspeltField, "a letter too many", g + "Disalllow: /\n", 2, 1, 10, "write Disallow", 0},
		{lint.MisspeltField, "letters swapped", g + "Dislalow: /\n", 2, 1, 9, "write Disallow", 0},
		{lint.MisspeltField, "another hyphen", "user_agent: *\n", 1, 1, 11, "write User-agent", 0},
		{lint.MisspeltField, "a zero-width space that no editor shows", g + "\u200bDisallow: /\n", 2, 1, 12, "write Disallow", 0},
		{lint.UnknownField, "never a standard", g + "Noindex: /x\nNOINDEX: /y\n", 2, 1, 8, "Noindex", 0},

		{lint.RuleBeforeGroup, "it is of no group", "Allow: /\n" + g, 1, 1, 6, "User-agent: *", 0},
		{lint.UserAgentAfterRules, "apetest assumes a new record", g + "Disallow: /a\nUser-agent: b\n", 3, 1, 11, "empty line", 0},
		{lint.BlankLineInGroup, "between agent and rule", g + "\nDisallow: /\n", 3, 1, 9, "line 2", 2},
		{lint.BlankLineInGroup, "between rules", g + "Disallow: /a\n\nDisallow: /b\n", 4, 1, 9, "line 3", 3},
		{lint.BlankLineInGroup, "between agents", g + "\nUser-agent: b\nDisallow: /b\n", 3, 1, 11, "line 2", 2},
		{lint.BlankLineInGroup, "a Crawl-delay is no rule and ends no run of agents", "User-agent: a\nCrawl-delay: 9\n\n" + g + "Disallow: /\n", 4, 1, 11, "for the agents above it too; for most older crawlers these have no rules", 3},
		{lint.GroupWithoutRules, "the end came first", "User-agent: a\n", 1, 13, 14, "allows everything", 0},
		{lint.DuplicateGroup, "the same agents in another order", "User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: B\nUser-agent: A\nDisallow: /y\n", 5, 13, 14, "count together", 1},
		{lint.DuplicateGroup, "the same rules too", g + "Disallow: /x\n\n" + g + "Disallow: /x\n", 4, 13, 14, "take it out", 1},
		{lint.DuplicateGroup, "the same rules, but another record as well", g + "Disallow: /x\n\n" + g + "Disallow: /x\nCrawl-delay: 5\n", 4, 13, 14, "count together", 1},
		{lint.DuplicateAgent, "in another group", "User-agent: a\nDisallow: /x\n\nUser-agent: b\nUser-agent: A\nDisallow: /y\n", 5, 13, 14, "line 1", 1},
		{lint.DuplicateAgent, "in the same group", "User-agent: a\nUser-agent: a\nDisallow: /\n", 2, 13, 14, "in this group already", 1},
		{lint.AgentWithoutName, "nothing at all", "User-agent:\nDisallow: /\n", 1, 12, 12, "for nobody", 0},
		{lint.AgentWithoutName, "a pattern is no name", "User-agent: *bot\nDisallow: /\n", 1, 13, 17, "for nobody", 0},
		{lint.AgentWithoutName, "the group has another agent, and is for that", "User-agent: a\nUser-agent: (b)\nDisallow: /\n", 2, 13, 16, "by this line the group is for nobody", 0},
		{lint.AgentVersion, "RFC 9309 §2.2.1 has none", "User-agent: a/1.0\nDisallow: /\n", 1, 14, 18, "every \"a\"; some older crawlers", 0},
		{lint.AgentOctets, "two names in one line", "User-agent: a, b\nDisallow: /\n", 1, 14, 17, "for \"a\"; some older crawlers", 0},
		{lint.AgentOctets, "words after the asterisk", "User-agent: * (all)\nDisallow: /\n", 1, 14, 20, "for \"*\"", 0},
		{lint.AgentDigits, "Google cuts at them", "User-agent: MJ12bot\nDisallow: /\n", 1, 15, 20, "compares \"MJ\" alone", 0},
		{lint.AgentDigits, "nothing is left of it", "User-agent: 008\nDisallow: /\n", 1, 13, 16, "finds no name", 0},

		{lint.PatternWithoutSlash, "a relative path", g + "Disallow: x\n", 2, 11, 12, "write \"/x\"", 0},
		{lint.PatternWithoutSlash, "an escaped slash is none", g + "Disallow: %2Fx\n", 2, 11, 15, "never matches", 0},
		{lint.PatternWithoutSlash, "a no-break space that no editor shows", g + "Disallow:\u00a0/x\n", 2, 10, 14, "\"\\u00a0\" stands before", 0},
		{lint.PatternWithoutSlash, "quotes", g + "Disallow: \"/x\"\n", 2, 11, 15, "stands before its slash; take", 0},
		{lint.PatternIsURL, "the path of it was meant", g + "Disallow: https://a.example/x\n", 2, 11, 30, "write \"/x\"", 0},
		{lint.PatternIsURL, "a query alone is not all paths", g + "Disallow: http://a.example?x=1/\n", 2, 11, 32, "write \"/?x=1/\"", 0},
		{lint.PatternIsURL, "no path is every path", g + "Disallow: http://a.example\n", 2, 11, 27, "write \"/\",", 0},
		{lint.EmptyAllow, "readers differ widely", g + "Allow:\nDisallow: /x\n", 2, 1, 6, "leave it out, or write \"Allow: /\" if", 0},
		{lint.EmptyAllow, "without it the group would be one with the next", "User-agent: a\nAllow:\n\n" + g + "Disallow: /\n", 2, 1, 6, "write \"Disallow:\" if", 0},
		{lint.EmptyAmongRules, "first-match readers stop there", g + "Disallow:\nDisallow: /x\n", 2, 1, 9, "leave it out", 0},
		{lint.DollarInside, "it anchors at the end alone", g + "Disallow: /a$b\n", 2, 13, 14, "Google does not find %24", 0},
		{lint.StarAtEnd, "28 % of real files have one", g + "Disallow: /a*\n", 2, 13, 14, "leave it out", 0},
		{lint.StarAtEnd, "before a $ too", g + "Disallow: /a*$\n", 2, 13, 15, "leave it out", 0},
		{lint.DoubleStar, "a glob of another tool", g + "Disallow: /**/a\n", 2, 12, 14, "write one", 0},
		{lint.CommentInValue, "a fragment is never sent", g + "Disallow: /a#b\n", 2, 13, 14, "%23", 0},
		{lint.RepeatedRule, "word for word", g + "Disallow: /a\nDisallow: /a\n", 3, 11, 13, "line 2", 2},
		{lint.RepeatedRule, "in other octets", g + "Disallow: /a\nDisallow: /%61\n", 3, 11, 15, "line 2", 2},
		{lint.RepeatedRule, "in a group for the same agents, which would lose its only rule", g + "Disallow: /a\n\n" + g + "Disallow: /a\n", 5, 11, 13, "or the whole group if it has no other rule", 2},
		{lint.HiddenRule, "Allow wins the tie", g + "Disallow: /a\nAllow: /a\n", 2, 11, 13, "Allow goes before Disallow", 3},
		{lint.HiddenRule, "the asterisk makes it longer", g + "Disallow: /a\nAllow: /a*\n", 2, 11, 13, "is longer", 3},
		{lint.HiddenRule, "by a pattern that has its URLs and others", g + "Disallow: /ab\nAllow: /*b\n", 2, 11, 14, "line 3", 3},
		{lint.HiddenRule, "all paths begin with a slash", g + "Disallow: /\nAllow: *\n", 2, 11, 12, "line 3", 3},
		{lint.RobotsTxtRule, "it may always be fetched", g + "Disallow: /robots.txt\n", 2, 11, 22, "§2.2.2), so the rule decides about longer URLs alone", 0},
		{lint.RobotsTxtRule, "and this matches nothing else", g + "Disallow: /robots.txt$\n", 2, 11, 23, "leave it out", 0},

		{lint.BadEscape, "incomplete", g + "Disallow: /a%4\n", 2, 13, 15, "is cut short", 0},
		{lint.BadEscape, "not hexadecimal", g + "Disallow: /a%zz\n", 2, 13, 16, "has no two hexadecimal digits", 0},
		{lint.BadEscape, "a sign is no digit", g + "Disallow: /a%-1\n", 2, 13, 16, "has no two hexadecimal digits", 0},
		{lint.EscapeNotUTF8, "a middle without a start", g + "Disallow: /%A9\n", 2, 12, 15, "without its start", 0},
		{lint.EscapeNotUTF8, "an octet that UTF-8 never has", g + "Disallow: /%FF\n", 2, 12, 15, "no octet of UTF-8", 0},
		{lint.EscapeNotUTF8, "a start without its middle", g + "Disallow: /%C3%41\n", 2, 12, 15, "goes on with %41", 0},
		{lint.EscapeNotUTF8, "the end came first", g + "Disallow: /%E2%82\n", 2, 12, 18, "needs 1 more escapes", 0},
		{lint.EscapeNotUTF8, "overlong", g + "Disallow: /%C0%AF\n", 2, 12, 18, "no character", 0},
		{lint.EscapedUnreserved, "Google compares it literally", g + "Disallow: /%74ea\n", 2, 12, 15, "write \"t\"", 0},
		{lint.EscapedSlash, "another path", g + "Disallow: /a%2Fb\n", 2, 13, 16, "not a slash", 0},
		{lint.LowerCaseEscape, "URLs have it as they like", g + "Disallow: /%c3%a9\n", 2, 12, 15, "write %C3", 0},
		{lint.RawOctet, "UTF-8, not escaped", g + "Disallow: /caf\u00e9\n", 2, 15, 17, "write %C3%A9", 0},
		{lint.RawOctet, "Latin-1, not escaped", g + "Disallow: /caf\xE9t\n", 2, 15, 16, "write %E9", 0},
		{lint.RawASCII, "a blank", g + "Disallow: /a b\n", 2, 13, 14, "Google looks for it unescaped", 0},

		{lint.RelativeSitemap, "a path", "Sitemap: /sitemap.xml\n", 1, 10, 22, "whole URL", 0},
		{lint.RelativeSitemap, "nothing", "Sitemap:\n", 1, 9, 9, "whole URL", 0},
		{lint.RelativeSitemap, "no host", "Sitemap: https:///s.xml\n", 1, 10, 24, "whole URL", 0},
		{lint.RelativeSitemap, "another scheme", "Sitemap: ftp://a.example/s.xml\n", 1, 10, 31, "whole URL", 0},
		{lint.BadCrawlDelay, "a unit", g + "Crawl-delay: 10s\n", 2, 14, 17, "number of seconds", 0},
		{lint.BadCrawlDelay, "time does not run back", g + "Crawl-delay: -1\n", 2, 14, 16, "crawlers pass over this record: \"-1\" is no number", 0},
		{lint.BadCrawlDelay, "an exponent", g + "Crawl-delay: 1e9\n", 2, 14, 17, "crawlers pass over this record: \"1e9\" is no number", 0},
		{lint.BadCrawlDelay, "the same in digits", g + "Crawl-delay: 1000000000\n", 2, 14, 24, "heed takes it for a day", 0},
		{lint.BadCrawlDelay, "a word", g + "Crawl-delay: abc\n", 2, 14, 17, "crawlers pass over this record", 0},
		{lint.BadCrawlDelay, "nothing", g + "Crawl-delay:\n", 2, 13, 13, "crawlers pass over this record", 0},
		{lint.CrawlDelayFraction, "hardly a pause", g + "Crawl-delay: 0.0001\n", 2, 14, 20, "while heed waits 100µs", 0},
		{lint.CrawlDelayFraction, "whole seconds, but not for all", g + "Crawl-delay: 10.0\n", 2, 14, 18, "write whole seconds", 0},
		{lint.SeveralCrawlDelays, "two in one group", g + "Crawl-delay: 5\nCrawl-delay: 9\n", 3, 14, 15, "line 2: heed obeys the longer", 2},
		{lint.SeveralCrawlDelays, "of three the longest is referred to", g + "Crawl-delay: 9\nCrawl-delay: 9\nDisallow:\nCrawl-delay: 5\n", 5, 14, 15, "line 2: heed", 2},
		{lint.SeveralCrawlDelays, "no rule parts them", "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 9\n", 4, 14, 15, "part the groups by a rule", 2},
		{lint.BadRequestRate, "no time", g + "Request-rate: 5\n", 2, 15, 16, "no rate", 0},
		{lint.BadRequestRate, "nothing in nothing", g + "Request-rate: 0/0\n", 2, 15, 18, "crawlers pass over this record", 0},
		{lint.BadRequestRate, "more than a day", g + "Request-rate: 1/25h\n", 2, 15, 20, "heed takes it for a day", 0},
		{lint.BadVisitTime, "no such hours", g + "Visit-time: 2500-9999\n", 2, 13, 22, "crawlers pass over this record", 0},
		{lint.BadVisitTime, "colons", g + "Visit-time: 06:00-08:00\n", 2, 13, 24, "four digits", 0},
		{lint.RecordBeforeGroup, "whose delay?", "Crawl-delay: 1\n" + g, 1, 1, 12, "below the user-agent line", 0},

		{lint.DialectsDisagree, "older crawlers know no wildcards", g + "Disallow: /*.php\n", 2, 11, 17, "disallowed by rfc9309 but allowed by apetest", 0},
		{lint.DialectsDisagree, "some stop at the first match", g + "Disallow: /\nAllow: /a\n", 3, 8, 10, "\"/a\" is allowed by rfc9309 but disallowed by robotstxt", 0},
		{lint.DialectsDisagree, "Google cuts the name", "User-agent: MJ12bot\nDisallow: /\n", 2, 11, 12, "for MJ12bot, \"/\" is disallowed by rfc9309 but allowed by google", 0},
	} {
		covered[c.code] = true
		r := lint.Check([]byte(c.body), lint.Options{})
		i := slices.IndexFunc(r.Diagnostics, func(d lint.Diagnostic) bool { return d.Code == c.code })
		if i < 0 {
			t.Errorf("%s (%s): %.80q: not found in %v", c.code, c.reason, c.body, r.Diagnostics)
			continue
		}
		d := r.Diagnostics[i]
		if d.Line != c.line || d.Column != c.column || d.EndColumn != c.end || d.Related != c.related || !strings.Contains(d.Message, c.message) {
			t.Errorf("%s (%s): %.80q:\ngot  %d:%d-%d related %d: %s\nwant %d:%d-%d related %d: …%s…",
				c.code, c.reason, c.body, d.Line, d.Column, d.EndColumn, d.Related, d.Message, c.line, c.column, c.end, c.related, c.message)
		}
		if d.Severity != c.code.Severity() {
			t.Errorf("%s: severity %s, want %s", c.code, d.Severity, c.code.Severity())
		}
	}
	for _, code := range lint.Codes() {
		if !covered[code] {
			t.Errorf("no row triggers %s", code)
		}
	}
}

// TestALateColonIsOneFault: what is wrong with half a value is not the point.
func TestALateColonIsOneFault(t *testing.T) {
	r := lint.Check([]byte(g+"Disallow: /x\nSitemap https://a.example/s.xml\n"), lint.Options{})
	if len(r.Diagnostics) != 1 || r.Diagnostics[0].Code != lint.MissingColon {
		t.Errorf("found %v, want missing-colon alone", r.Diagnostics)
	}
}

// TestCheckIsSilent has what looks like a fault and is none.
func TestCheckIsSilent(t *testing.T) {
	for _, c := range []struct{ reason, body string }{
		{"the plainest file", g + "Disallow: /private/\n"},
		{"a group that disallows nothing", g + "Disallow:\n"},
		{"groups with an empty line between", "User-agent: a\nDisallow: /a\n\nUser-agent: b\nUser-agent: c\nDisallow: /b\n"},
		{"comments anywhere, with white space before", "# robots\n  # of a.example\n" + g + "# no\nDisallow: /a # b\n"},
		{"keys in any case", "USER-AGENT: *\ndisallow: /x\n"},
		{"other records", g + "Disallow: /x\nCrawl-delay: 2\n\nSitemap: https://a.example/s.xml\nHost: a.example\n"},
		{"escapes as URLs have them", g + "Disallow: /caf%C3%A9/\n"},
		{"records of pace, each at its best", g + "Disallow: /x\nCrawl-delay: 0\nRequest-rate: 1/5\nRequest-rate: 1/10m 1300-1659\nVisit-time: 0000-0000\nVisit-time: 2200-0559\n"},
		{"the same Crawl-delay again, and another for others", g + "Crawl-delay: 2\nCrawl-delay: 2\nDisallow:\n\nUser-agent: b\nCrawl-delay: 3\nDisallow:\n"},
		{"a record between rules", g + "Disallow: /x\nSitemap: https://a.example/s.xml\nDisallow: /y\n"},
		{"a whole URL of a sitemap, though not an exemplary one", g + "Disallow: /x\nSitemap: HTTPS://a.example/100%.xml\nSitemap: http://a.example:x?y\n"},
		{"CR LF", "User-agent: *\r\nDisallow: /x\r\n"},
		{"a shorter rule that a longer one narrows", g + "Allow: /a/b\nDisallow: /a\n"},
		{"the same pattern for other agents", "User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow: /x\n"},
	} {
		if r := lint.Check([]byte(c.body), lint.Options{}); len(r.Diagnostics) > 0 {
			t.Errorf("%s: %q: %v", c.reason, c.body, r.Diagnostics)
		}
	}
}

// TestHiddenRulesAreProved has patterns near the edge of what is hidden. That
// nothing more is claimed than is true is for TestFixKeepsVerdicts, and FuzzFix, as well.
func TestHiddenRulesAreProved(t *testing.T) {
	for _, c := range []struct {
		body   string
		hidden bool // line 2
	}{
		{g + "Disallow: /ab\nAllow: /*\n", false}, // shorter, though it matches all
		{g + "Disallow: /a$\nAllow: /a*\n", true},
		{g + "Disallow: /a/*/c\nAllow: /a/**/c\n", true},
		{g + "Disallow: /a/*/c\nAllow: /a/*/c$\n", false}, // /a/b/cd
		{g + "Disallow: /ab*\nAllow: /a*b\n", true},       // as long
		{g + "Disallow: /abc\nAllow: /a*c\n", true},
		{g + "Disallow: /abc\nAllow: /a*d*\n", false},
		{g + "Disallow: /x*ab\nAllow: /*a*b\n", true},
		{g + "Disallow: /a*b\nAllow: /ab**\n", false}, // the asterisk may be something
		{g + "Disallow: /a*$\nAllow: /a**\n", true},
		{g + "Disallow: /a%2fb\nAllow: /a%2F*\n", true},
		{g + "Disallow: /a%2fbc\nAllow: /a%2F*\n", false}, // shorter
	} {
		r := lint.Check([]byte(c.body), lint.Options{})
		hidden := slices.ContainsFunc(r.Diagnostics, func(d lint.Diagnostic) bool {
			return d.Line == 2 && (d.Code == lint.HiddenRule || d.Code == lint.RepeatedRule)
		})
		if hidden != c.hidden {
			t.Errorf("%q: hidden %t, want %t", c.body, hidden, c.hidden)
		}
	}
}

func TestCheckReportsEachEscapeFaultOfARuleOnce(t *testing.T) {
	r := lint.Check([]byte(g+"Disallow: /%zz%zz%2f%2f%ff%ff\n"), lint.Options{})
	count := make(map[lint.Code]int)
	for _, d := range r.Diagnostics {
		count[d.Code]++
	}
	for _, code := range []lint.Code{lint.BadEscape, lint.EscapedSlash, lint.LowerCaseEscape, lint.EscapeNotUTF8} {
		if count[code] != 1 {
			t.Errorf("%s: %d times, want once", code, count[code])
		}
	}
}

func TestCheckKeepsAtMostMostOfACode(t *testing.T) {
	r := lint.Check([]byte(strings.Repeat("Disallow: /\n", 30)), lint.Options{Most: 10})
	want := []lint.Omission{{Code: lint.RuleBeforeGroup, More: 20}}
	if !slices.Equal(r.Omitted, want) || r.Total() != 31 || len(r.Diagnostics) != 11 {
		t.Errorf("omitted %v of %d, %d kept; want %v of 31, 11 kept", r.Omitted, r.Total(), len(r.Diagnostics), want)
	}
}

func TestWorstIsTheHighestSeverity(t *testing.T) {
	for _, c := range []struct {
		body  string
		want  lint.Severity
		found bool
	}{
		{g + "Disallow: /x\n", lint.Note, false},
		{g + "Disallow: /x*\n", lint.Note, true},
		{g + "Allow:\n", lint.Warning, true},
		{g + "Allow:\nDisallow: x\n", lint.Error, true},
	} {
		if worst, found := lint.Check([]byte(c.body), lint.Options{}).Worst(); worst != c.want || found != c.found {
			t.Errorf("%q: %s %t, want %s %t", c.body, worst, found, c.want, c.found)
		}
	}
}

// hostile are files that would make a careless linter slow.
var hostile = map[string]string{
	"rules":           g + strings.Repeat("Allow: /a\n", 51_000),
	"other rules":     g + numbered("Allow: /%d\n", 37_000),
	"names and rules": numbered("User-agent: "+strings.Repeat("*a", 8_000)+"%d\n", 15) + "User-agent: " + strings.Repeat("a", 16_000) + "\n" + numbered("Disallow: /%d\n", 12_000),
	"groups":          numbered("User-agent: a%d\nAllow: /\n", 18_000),
	"agents":          numbered("User-agent: a%d\n", 28_000),
	"wildcards":       g + numbered("Allow: /*%d*a\n", 32_000),
	"one long rule":   g + "Allow: /" + strings.Repeat("*a", 8_000) + "\n",
	"long wildcards":  g + strings.Repeat("Allow: /"+strings.Repeat("*a", 8_000)+"b\n", 31),
	"empty lines":     strings.Repeat("\n", policy.DefaultLimit),
	"unknown keys":    numbered("k%d:\n", 64_000),
	"delays":          g + numbered("Crawl-delay: %d\n", 25_000),
	"misspellings":    strings.Repeat("disallo:\n", 56_000),
	"escapes":         g + strings.Repeat("Allow: /"+strings.Repeat("%e9", 5_000)+"\n", 34),
	"percent signs":   g + strings.Repeat("Allow: /"+strings.Repeat("%", 16_000)+"\n", 31),
	"asterisks":       g + strings.Repeat("Allow: /"+strings.Repeat("*", 16_000)+"\n", 31),
	"one line":        strings.Repeat("a", policy.DefaultLimit),
	"invalid UTF-8":   strings.Repeat("\xFF\n", policy.DefaultLimit/2),
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestHostileFilesAreCheckedAndFixedInTime(t *testing.T) {
	const most = 15 * time.Second // many times what it takes; the square of n takes minutes
	for name, body := range hostile {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			r := lint.Check([]byte(body), lint.Options{})
			checked := time.Since(start)
			lint.Fix([]byte(body))
			if took := time.Since(start); took > most {
				t.Errorf("%d octets took %v, %v of it to check", len(body), took, checked)
			}
			if n := len(r.Diagnostics); n > 100*len(lint.Codes()) {
				t.Errorf("%d diagnostics", n)
			}
			t.Logf("checked in %v, fixed in %v", checked, time.Since(start)-checked)
		})
	}
}

func TestDialectsAreAskedAboutAsManyRulesAsThereIsTimeFor(t *testing.T) {
	for _, c := range []struct {
		reason, body string
		least, most  int
	}{
		{"of a usual file about all", g + numbered("Disallow: /%d\n", 500), 0, 0},
		{"of many rules about some", hostile["other rules"], 30_000, 36_990},
		{"of few, where each time long names are compared", hostile["names and rules"], 11_900, 11_990},
		{"rules for nobody are not counted", "User-agent: (a)\n" + numbered("Disallow: /%d\n", 500), 0, 0},
	} {
		r := lint.Check([]byte(c.body), lint.Options{})
		if r.Unprobed < c.least || r.Unprobed > c.most {
			t.Errorf("%s: %d were not, want %d to %d", c.reason, r.Unprobed, c.least, c.most)
		}
	}
}

// TestDocumentationHasEveryCode compares docs/lint.md with the codes: a row for
// each, in their order, with its severity, and an example that triggers it.
func TestDocumentationHasEveryCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []lint.Code
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 7 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		code := lint.Code(strings.Trim(cells[1], " `"))
		rows = append(rows, code)
		if severity := strings.TrimSpace(cells[2]); severity != code.Severity().String() {
			t.Errorf("docs/lint.md: %s is %s, want %s", code, severity, code.Severity())
		}
		example := strings.ReplaceAll(strings.Trim(cells[5], " `\n"), "\x00", "|")
		example = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\0`, "\x00", `\xE9`, "\xE9", `\xEF\xBB\xBF`, "\xEF\xBB\xBF", `⋯`, strings.Repeat("a", 20_000), `…`, strings.Repeat("#", policy.DefaultLimit)).Replace(example)
		r := lint.Check([]byte(example), lint.Options{})
		if !slices.ContainsFunc(r.Diagnostics, func(d lint.Diagnostic) bool { return d.Code == code }) {
			t.Errorf("docs/lint.md: the example of %s, %.100q, has only %v", code, example, r.Diagnostics)
		}
	}
	if want := lint.Codes(); !slices.Equal(rows, want) {
		t.Errorf("docs/lint.md has %v, want %v", rows, want)
	}
}

func TestEveryCodeHasASummary(t *testing.T) {
	for _, code := range lint.Codes() {
		if code.Summary() == "" {
			t.Errorf("%s has none", code)
		}
	}
	if got := lint.Code("none").Summary(); got != "" {
		t.Errorf("a code that is none has %q", got)
	}
}

// FuzzCheck looks for a panic, and for a diagnostic outside the file.
func FuzzCheck(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		const most = 20_000
		if len(body) > most {
			return
		}
		lines := lengths(body)
		start := time.Now()
		r := lint.Check(body, lint.Options{})
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%d octets took %v", len(body), took)
		}
		for i, d := range r.Diagnostics {
			length := 0 // of the line of an empty file
			if d.Line <= len(lines) && d.Line > 0 {
				length = lines[d.Line-1]
			} else if d.Line != 1 {
				t.Fatalf("%v is beyond the %d lines of %q", d, len(lines), body)
			}
			if d.Column < 1 || d.EndColumn < d.Column || d.EndColumn > length+2 { // the octet of a line end
				t.Fatalf("%v (to %d) is outside line %d of %d octets in %q", d, d.EndColumn, d.Line, length, body)
			}
			if d.Related < 0 || d.Related > len(lines) || d.Message == "" || d.Code.Summary() == "" {
				t.Fatalf("%v: related line %d", d, d.Related)
			}
			if i > 0 && d.Line < r.Diagnostics[i-1].Line {
				t.Fatalf("%v stands behind %v", d, r.Diagnostics[i-1])
			}
		}
	})
}

// lengths returns the octets of each line, a byte order mark included.
func lengths(body []byte) []int {
	var all []int
	for l := range policy.Lines(body) {
		length := l.Raw.Len()
		if l.Number == 1 {
			length = l.Raw.End
		}
		all = append(all, length)
	}
	if all == nil {
		all = []int{len(bytes.TrimRight(body, "\r\n"))}
	}
	return all
}
