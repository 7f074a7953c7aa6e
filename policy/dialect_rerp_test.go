package policy_test

import (
	"testing"

	"heed/policy"
)

// robotexclusionrulesparser for Python, a sentence of its documentation a row.

func TestRERPLines(t *testing.T) {
	checkReadings(t, policy.RERP, []verdict{
		{"ends of lines: LF", "User-agent: *\nDisallow: /x\n", "Bot", "/x", 2, disallowed},
		{"CR", "User-agent: *\rDisallow: /x\r", "Bot", "/x", 2, disallowed},
		{"CR LF", "User-agent: *\r\nDisallow: /x\r\n", "Bot", "/x", 2, disallowed},
		{"Allow is known", everyone + "Allow: /x/y\nDisallow: /x", "Bot", "/x/y", 2, allowed},
		{"user-agent", "User-agent: Bot\nDisallow: /x", "Bot", "/x", 2, disallowed},
		{"or useragent, in any case", "USERAGENT: Bot\nDisallow: /x", "Bot", "/x", 2, disallowed},
		{"no other spelling", "User agent: Bot\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"Crawl-delay is not supported, and harms nothing", everyone + "Crawl-delay: 5\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"a byte order mark is ignored", "\xEF\xBB\xBFUser-agent: *\nDisallow: /", "Bot", "/x", 2, disallowed},
		{"also that of a file in the middle", everyone + "Disallow: /x\n\n\xEF\xBB\xBFUser-agent: Bot\nDisallow: /y", "Bot", "/y", 5, disallowed},
		{"a comment-only line ends no record", everyone + "# x\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"an empty line does", everyone + "\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"a comment ends the value", everyone + "Disallow: /tmp/ # soon gone", "Bot", "/tmp/x", 2, disallowed},
		{"rules before a record are ignored", "Disallow: /x\n" + everyone + "Disallow: /y", "Bot", "/x", 0, allowed},
	})
}

func TestRERPAgents(t *testing.T) {
	const robots = "User-agent: foobot\nDisallow: /f\n\nUser-agent: Foo\nDisallow: /o\n\n" + everyone + "Disallow: /all\n"
	checkReadings(t, policy.RERP, []verdict{
		{"a name within the User-Agent, any case", robots, "Mozilla/5.0 (compatible; Foobot/2.1)", "/f", 2, disallowed},
		{"the first alone", robots, "Foobot", "/o", 0, allowed},
		{"the User-Agent within a name does not count", robots, "foob", "/f", 0, allowed},
		{"that is the second group's", robots, "foob", "/o", 5, disallowed},
		{"then the one for all", robots, "Bar/1.0", "/all", 8, disallowed},
		{"which is the last resort, wherever it stands", everyone + "Disallow: /\n\nUser-agent: Bot\nDisallow: /x", "Bot", "/y", 0, allowed},
		{"neither: allowed", "User-agent: Other\nDisallow: /", "Bot", "/x", 0, allowed},
		{"an empty name is nobody's", "User-agent:\nDisallow: /", "Bot", "/x", 0, allowed},
		{"a group without rules is none", "User-agent: Bot\n\n" + everyone + "Disallow: /x", "Bot", "/x", 4, disallowed},
		{"one with rules that cannot match is one", "User-agent: Bot\nDisallow: x\n\n" + everyone + "Disallow: /x", "Bot", "/x", 0, allowed},
	})
}

func TestRERPRules(t *testing.T) {
	checkReadings(t, policy.RERP, []verdict{
		{"the first that matches", everyone + "Disallow: /a\nAllow: /a/b", "Bot", "/a/b", 2, disallowed},
		{"none: allowed", everyone + "Disallow: /a", "Bot", "/b", 0, allowed},
		{"a blank Disallow: nothing is disallowed", everyone + "Disallow:\nDisallow: /", "Bot", "/x", 2, allowed},
		{"a blank Allow: nothing is allowed", everyone + "Allow:", "Bot", "/x", 2, disallowed},
		{"just as Disallow: /", everyone + "Disallow: /", "Bot", "/x", 2, disallowed},
		{"no wildcard", everyone + "Disallow: /private/*", "Bot", "/private/x", 0, allowed},
		{"a star alone meets no path", everyone + "Disallow: *", "Bot", "/x", 0, allowed},
		{"no sign for the end", everyone + "Disallow: /x$", "Bot", "/x", 0, allowed},
		{"escapes are decoded", everyone + "Disallow: /%7ejoe", "Bot", "/~joe", 2, disallowed},
		{"but that of a slash, in the path", everyone + "Disallow: /a/b", "Bot", "/a%2Fb", 0, allowed},
		{"in the pattern", everyone + "Disallow: /a%2fb", "Bot", "/a/b", 0, allowed},
		{"the case of its digits aside", everyone + "Disallow: /a%2fb", "Bot", "/a%2Fb", 2, disallowed},
		{"the query is compared", everyone + "Disallow: /a?b", "Bot", "/a?b=c", 2, disallowed},
		{"/robots.txt is as any", everyone + "Disallow: /", "Bot", "/robots.txt", 2, disallowed},
	})
}

// Scheme and authority are discarded from a URL.
func TestRERPTakesThePathOfAURL(t *testing.T) {
	for _, url := range []string{
		"/foo/bar.html", "http://www.example.com/foo/bar.html", "https://www.example.org/foo/bar.html", "ftp://example.net/foo/bar.html",
	} {
		checkReadings(t, policy.RERP, []verdict{
			{url, everyone + "Disallow: /foo/bar.html", "Bot", policy.TargetOf(url), 2, disallowed},
		})
	}
}

// Octets above ASCII are ISO 8859-1, unless the Content-Type named another
// charset, of which whoever fetches makes UTF-8.
func TestRERPCharset(t *testing.T) {
	for _, c := range []struct {
		why     string
		robots  string
		decoded bool
		agent   string
		target  string
		line    int
	}{
		{"a path in ISO 8859-1", everyone + "Disallow: /caf\xe9", false, "Bot", "/café", 2},
		{"and escaped as UTF-8", everyone + "Disallow: /caf\xe9", false, "Bot", "/caf%C3%A9", 2},
		{"UTF-8 that is not declared is other letters", everyone + "Disallow: /café", false, "Bot", "/café", 0},
		{"namely these", everyone + "Disallow: /café", false, "Bot", "/cafÃ©", 2},
		{"UTF-8 that is declared", everyone + "Disallow: /café", true, "Bot", "/café", 2},
		{"a name in ISO 8859-1, any case", "User-agent: J\xe4vla-Foobot\nDisallow: /", false, "jÄvla-foobot/1.0", "/", 2},
		{"not another name", "User-agent: J\xe4vla-Foobot\nDisallow: /", false, "foobot", "/", 0},
		{"a name in UTF-8", "User-agent: Львів-bot\nDisallow: /", true, "Mozilla/5.0 (compatible; львів-Bot/1.1)", "/", 2},
		{"a mark before it", "\xEF\xBB\xBFUser-agent: *\nDisallow: /é", true, "Bot", "/%C3%A9", 2},
	} {
		p := policy.Compile([]byte(c.robots), policy.Options{Dialect: policy.RERP, Decoded: c.decoded})
		if got := p.Decide([]string{c.agent}, c.target); got.Line != c.line || got.Allowed != (c.line == 0) {
			t.Errorf("%s: %v; want line %d", c.why, got, c.line)
		}
	}
}

// What is declared matters to no other dialect.
func TestOnlyRERPLooksAtTheCharset(t *testing.T) {
	for _, d := range policy.Dialects() {
		for _, decoded := range []bool{false, true} {
			p := policy.Compile([]byte(everyone+"Disallow: /café"), policy.Options{Dialect: d, Decoded: decoded})
			want := d == policy.RERP && !decoded
			target := "/café"
			if d == policy.Google {
				target = "/caf%C3%A9" // a raw octet of a URL is none that Google meets
			}
			if got := p.Decide([]string{"Bot"}, target); got.Allowed != want {
				t.Errorf("%s, declared %t: %v", d, decoded, got)
			}
		}
	}
}

func TestRERPExample(t *testing.T) {
	checkExample1996(t, policy.RERP, false)
}
