package policy_test

import (
	"encoding/json"
	"testing"

	"heed/policy"
)

// Google's open-source parser, a sentence of draft-koster-rep-00 a row, and what
// the parser does where the draft is silent or says otherwise. The data decide:
// "allowed" is what the parser answered.

func TestConformanceGoogleMadeCases(t *testing.T) {
	judgeMadeCases(t, policy.Google, func(c *madeCase, d policy.Decision) bool { return d.Allowed == c.Google })
}

func TestConformanceGoogleRealFiles(t *testing.T) {
	needReal(t)
	t.Parallel()
	count, wrong := 0, 0
	eachLine(t, realData, func(line []byte) error {
		var file struct {
			ID      string  `json:"id"`
			Robots  []byte  `json:"robots_b64"`
			Queries [][]any `json:"q"` // of each the first three: agent, URL, 1 if Google allows
		}
		if err := json.Unmarshal(line, &file); err != nil {
			return err
		}
		p := compileAsGoogle(file.Robots)
		for _, q := range file.Queries {
			count++
			agent, url, want := q[0].(string), q[1].(string), q[2].(float64) == 1
			got := p.Decide([]string{agent}, policy.TargetOf(url))
			if got.Allowed == want {
				continue
			}
			if wrong++; wrong <= mismatches {
				t.Errorf("%s, agent %q, url %q: %v; want allowed=%t", file.ID, agent, url, got, want)
			}
		}
		return nil
	})
	if want := 145_956; wrong > 0 || count != want {
		t.Errorf("%d of %d queries disagree, want none of %d", wrong, count, want)
	}
}

func compileAsGoogle(body []byte) *policy.Policy {
	return policy.Compile(body, policy.Options{Dialect: policy.Google, Limit: len(body)})
}

// §2.1, §2.2.
func TestGoogleGroups(t *testing.T) {
	const example = "User-Agent : foobot\nDisallow : /example/page.html\nDisallow : /example/disallowed.gif\n\n" +
		"User-Agent : barbot\nUser-Agent : bazbot\nAllow : /example/page.html\nDisallow : /example/disallowed.gif\n\n" +
		"User-Agent: quxbot\n\n"
	checkReadings(t, policy.Google, []verdict{
		{"§3.1: a single agent, then rules", example, "foobot", "/example/page.html", 2, disallowed},
		{"§3.1: more than one agent: the first", example, "barbot", "/example/disallowed.gif", 8, disallowed},
		{"§3.1: the second", example, "bazbot", "/example/disallowed.gif", 8, disallowed},
		{"§3.1: Allow", example, "bazbot", "/example/page.html", 7, allowed},
		{"§2.1: the last group without rules allows all", example, "quxbot", "/example/page.html", 0, allowed},
		{"§2.1: an agent line after rules ends the group", example, "foobot", "/example/disallowed.gif", 3, disallowed},
		{"§2.2: an empty line ends nothing", "User-agent: Bot\n\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"§2.2: white space around the colon", "\tuser-agent \t: \tBot\ndisallow\t:\t/x", "Bot", "/x", 2, disallowed},
		{"§2.2: a comment at the end of a line", "User-agent: Bot # a\nDisallow: /x # b", "Bot", "/x", 2, disallowed},
		{"§2.2: ends of lines", "User-agent: Bot\rDisallow: /x\r\nDisallow: /y\n", "Bot", "/y", 3, disallowed},
		{"§2.2: an empty pattern", "User-agent: Bot\nDisallow:", "Bot", "/x", 0, allowed},
		{"§2.2: lenient with what does not conform", "User agent Bot\nUseragent Bot\nDissallow /x", "Bot", "/x", 3, disallowed},
		{"§2.2.2: rules before a group are ignored", "Disallow: /x\nUser-agent: Bot\nDisallow: /y", "Bot", "/x", 0, allowed},
		{"§2.2.4: other records do not matter", "User-agent: Bot\nSitemap: /s\nCrawl-delay: 1\nUser-agent: Other\nDisallow: /x", "Bot", "/x", 5, disallowed},
		{"§2.3.1.5: every line is tried", "<html>\n\x00\xff\nUser-agent: Bot\n???\nDisallow: /x", "Bot", "/x", 5, disallowed},
	})
}

// §2.2.1.
func TestGoogleTokens(t *testing.T) {
	const rule = "\nDisallow: /x"
	checkReadings(t, policy.Google, []verdict{
		{"any case", "User-agent: eXAMPLEbOT" + rule, "ExampleBot", "/x", 2, disallowed},
		{"exactly, as the draft has it", "User-agent: Example" + rule, "ExampleBot", "/x", 0, allowed},
		{"neither a part of it", "User-agent: ExampleBot-News" + rule, "ExampleBot", "/x", 0, allowed},
		{"the parser: what follows the token does not count", "User-agent: ExampleBot/2.1 (test)" + rule, "ExampleBot", "/x", 2, disallowed},
		{"letters, '_' and '-' only: a digit ends it", "User-agent: MJ12bot" + rule, "MJ", "/x", 2, disallowed},
		{"so it names no bot with a digit", "User-agent: MJ12bot" + rule, "MJ12bot", "/x", 0, allowed},
		{"several groups of one are combined", "User-agent: Bot" + rule + "\nUser-agent: Other\nDisallow: /\nUser-agent: bot\nDisallow: /y", "Bot", "/y", 6, disallowed},
		{"no group of its own: that for all", everyone + "Disallow: /x", "Bot", "/x", 2, disallowed},
		{"the draft: the first for all", everyone + "Disallow: /x\nUser-agent: Other\nDisallow: /\n" + everyone + "Disallow: /y", "Bot", "/x", 2, disallowed},
		{"the parser: every one for all", everyone + "Disallow: /x\nUser-agent: Other\nDisallow: /\n" + everyone + "Disallow: /y", "Bot", "/y", 6, disallowed},
		{"a group of its own hides that for all", everyone + "Disallow: /\nUser-agent: Bot", "Bot", "/x", 0, allowed},
		{"neither: no rules apply", "User-agent: Other\nDisallow: /", "Bot", "/x", 0, allowed},
		{"the parser: a star and more after white space is for all", "User-agent: * (all)" + rule, "Bot", "/x", 2, disallowed},
		{"glued to it is not", "User-agent: *bot" + rule, "bot", "/x", 0, allowed},
	})
}

// §2.2.2.
func TestGoogleRules(t *testing.T) {
	checkReadings(t, policy.Google, []verdict{
		{"case-sensitive", everyone + "Disallow: /X", "Bot", "/x", 0, allowed},
		{"the most octets decide", everyone + "Allow: /example/page/\nDisallow: /example/page/disallowed.gif", "Bot", "/example/page/disallowed.gif", 3, disallowed},
		{"Allow where both are equivalent", everyone + "Disallow: /x\nAllow: /x", "Bot", "/x", 3, allowed},
		{"no match is allowed", everyone + "Disallow: /x", "Bot", "/y", 0, allowed},
		{"a start of the path", everyone + "Disallow: /fish", "Bot", "/fish.html?a", 2, disallowed},
		{"the parser: /robots.txt is as any", everyone + "Disallow: /", "Bot", "/robots.txt", 2, disallowed},
		{"octets above ASCII are encoded in the rule", everyone + "Disallow: /foo/bar/ツ", "Bot", "/foo/bar/%E3%83%84", 2, disallowed},
		{"equal encodings meet", everyone + "Disallow: /foo/bar/%E3%83%84", "Bot", "/foo/bar/%E3%83%84", 2, disallowed},
		{"the case of digits in the rule does not matter", everyone + "Disallow: /foo/bar/%e3%83%84", "Bot", "/foo/bar/%E3%83%84", 2, disallowed},
		{"the parser: in the URL it does", everyone + "Disallow: /a%2Fb", "Bot", "/a%2fb", 0, allowed},
		{"the parser: the URL is not encoded", everyone + "Disallow: /café", "Bot", "/café", 0, allowed},
		{"the parser: nothing is decoded in the URL", everyone + "Disallow: /foo/bar/baz", "Bot", "/foo/bar/%62%61%7A", 0, allowed},
		{"the parser: nor in the rule", everyone + "Disallow: /foo/bar/%62%61%7A", "Bot", "/foo/bar/baz", 0, allowed},
		{"the parser: reserved octets are not encoded", everyone + "Disallow: /foo/bar?baz=http://foo.bar", "Bot", "/foo/bar?baz=http://foo.bar", 2, disallowed},
		{"the parser: so they do not meet encoded ones", everyone + "Disallow: /foo/bar?baz=http://foo.bar", "Bot", "/foo/bar?baz=http%3A%2F%2Ffoo.bar", 0, allowed},
		{"the parser: an index page allows its directory", everyone + "Allow: /d/index.html\nDisallow: /d", "Bot", "/d/", 2, allowed},
		{"and nothing else in it", everyone + "Allow: /d/index.html\nDisallow: /d", "Bot", "/d/x", 3, disallowed},
	})
}

// §2.2.3.
func TestGoogleSpecialCharacters(t *testing.T) {
	checkReadings(t, policy.Google, []verdict{
		{"a number sign ends the line", everyone + "Disallow: /x# comment", "Bot", "/x", 2, disallowed},
		{"a line of its own", everyone + "# Disallow: /x", "Bot", "/x", 0, allowed},
		{"$ is the end", everyone + "Disallow: /this/path/exactly$", "Bot", "/this/path/exactly", 2, disallowed},
		{"and not before it", everyone + "Disallow: /this/path/exactly$", "Bot", "/this/path/exactly?x", 0, allowed},
		{"a star is any run of characters", everyone + "Disallow: /this/*/exactly", "Bot", "/this/a/b/exactly", 2, disallowed},
		{"also none", everyone + "Disallow: /a*b", "Bot", "/ab", 2, disallowed},
		{"encoded they meet encoded ones", everyone + "Disallow: /with-a-%2A.html", "Bot", "/with-a-%2A.html", 2, disallowed},
		{"the parser: not verbatim ones", everyone + "Disallow: /with-a-%2A.html", "Bot", "/with-a-*.html", 0, allowed},
		{"the parser: nor $", everyone + "Disallow: /foo-%24", "Bot", "/foo-$", 0, allowed},
	})
}

// §2.5; and heed reads no more in any other dialect.
func TestLimitHoldsForAllDialects(t *testing.T) {
	for _, d := range policy.Dialects() {
		body := append([]byte(everyone+"Disallow: /x\n# "), make([]byte, policy.DefaultLimit)...)
		body = append(body, "\nDisallow: /y\n"...)
		p := policy.Compile(body, policy.Options{Dialect: d})
		if !p.Truncated() || p.Decide(nil, "/x").Allowed || !p.Decide(nil, "/y").Allowed {
			t.Errorf("%s: truncated %t, %v, %v", d, p.Truncated(), p.Decide(nil, "/x"), p.Decide(nil, "/y"))
		}
	}
}
