package policy_test

import (
	"testing"

	"heed/policy"
)

// The robots module of apetest, for Python, a sentence or a branch a row.

func TestApeTestLines(t *testing.T) {
	checkReadings(t, policy.ApeTest, []verdict{
		{"the original proposal", everyone + "Disallow: /x", "Bot", "/x", 2, disallowed},
		{"and the extension allow", everyone + "Disallow: /x\nAllow: /x/y", "Bot", "/x/y", 3, allowed},
		{"fields in any case", "USER-AGENT: Bot\nDisAllow: /x", "Bot", "/x", 2, disallowed},
		{"white space before a field is read over", " User-agent: Bot\n\tDisallow: /x", "Bot", "/x", 2, disallowed},
		{"white space before the colon is part of the field", everyone + "Disallow : /x", "Bot", "/x", 0, allowed},
		{"of user-agent too", "User-agent : Bot\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"the value is trimmed", everyone + "Disallow: \t/x \t", "Bot", "/xy", 2, disallowed},
		{"useragent is an unknown field", "Useragent: Bot\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"unknown fields are read over", everyone + "Noindex: /x\nSitemap: /s\nCrawl-delay: 1\nDisallow: /x", "Bot", "/x", 5, disallowed},
		{"a line without a colon is ignored", everyone + "Disallow /y\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"and ends no record", everyone + "Foo\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"a colon in a comment is none", everyone + "Disallow # : /x", "Bot", "/x", 0, allowed},
		{"a comment ends the value, glued or not", everyone + "Disallow: /x#y", "Bot", "/x", 2, disallowed},
	})
}

func TestApeTestRecords(t *testing.T) {
	checkReadings(t, policy.ApeTest, []verdict{
		{"an empty line ends a record", everyone + "\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"one of white space too", everyone + " \t\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"a comment-only line does not", everyone + "# why\n \t# so\nDisallow: /x", "Bot", "/x", 4, disallowed},
		{"several empty lines are as one", "\n\n" + everyone + "Disallow: /x\n\n\nUser-agent: Bot\nDisallow: /y", "Bot", "/y", 8, disallowed},
		{"a record may have several agents: the first", "User-agent: one\nUser-agent: two\nDisallow: /x", "one", "/x", 3, disallowed},
		{"the second", "User-agent: one\nUser-agent: two\nDisallow: /x", "two", "/x", 3, disallowed},
		{"an agent after rules starts a record", "User-agent: one\nDisallow: /x\nUser-agent: two\nDisallow: /y", "one", "/y", 0, allowed},
		{"which has its own rules", "User-agent: one\nDisallow: /x\nUser-agent: two\nDisallow: /y", "two", "/y", 4, disallowed},
		{"after a rule that is ignored it does not", "User-agent: one\nDisallow:\nUser-agent: two\nDisallow: /x", "one", "/x", 4, disallowed},
		{"nor after one with a bad escape", "User-agent: one\nDisallow: /%\nUser-agent: two\nDisallow: /x", "one", "/x", 4, disallowed},
		{"rules without an agent are ignored", "Disallow: /x\n" + everyone + "Disallow: /y", "Bot", "/x", 0, allowed},
		{"what follows them is not", "Disallow: /x\n" + everyone + "Disallow: /y", "Bot", "/y", 3, disallowed},
		{"an agent seen before: the new record is ignored", "User-agent: Bot\nDisallow: /x\n\nUser-agent: bot\nDisallow: /y", "Bot", "/y", 0, allowed},
		{"the earlier stands", "User-agent: Bot\nDisallow: /x\n\nUser-agent: bot\nDisallow: /y", "Bot", "/x", 2, disallowed},
		{"for its other agents it counts", "User-agent: Bot\nDisallow: /x\n\nUser-agent: bot\nUser-agent: Other\nDisallow: /y", "Other", "/y", 6, disallowed},
		{"a record without rules allows", "User-agent: Bot\n\n" + everyone + "Disallow: /", "Bot", "/x", 0, allowed},
	})
}

func TestApeTestLookup(t *testing.T) {
	const robots = "User-agent: webcrawler\nDisallow: /w\n\nUser-agent: web\nDisallow: /v\n\n" + everyone + "Disallow: /all\n"
	checkReadings(t, policy.ApeTest, []verdict{
		{"a name that the agent is", robots, "webcrawler", "/w", 2, disallowed},
		{"in any case", robots, "WebCrawler", "/w", 2, disallowed},
		{"one that it starts, the first in the file", robots, "web", "/w", 2, disallowed},
		{"though a later one is equal", robots, "web", "/v", 0, allowed},
		{"not one that starts the agent", robots, "webcrawler2", "/w", 0, allowed},
		{"then the one for all", robots, "webcrawler2", "/all", 8, disallowed},
		{"not one that it is within", robots, "crawler", "/w", 0, allowed},
		{"the first for all", everyone + "Disallow: /x\n\n" + everyone + "Disallow: /y", "Bot", "/y", 0, allowed},
		{"none for all: allowed", "User-agent: Other\nDisallow: /", "Bot", "/x", 0, allowed},
		{"a star in a name is literal", "User-agent: B*\nDisallow: /", "Bot", "/x", 0, allowed},
	})
}

func TestApeTestRules(t *testing.T) {
	checkReadings(t, policy.ApeTest, []verdict{
		{"the longest match decides", everyone + "Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c", "Bot", "/a/b/d", 3, allowed},
		{"wherever it stands", everyone + "Allow: /a/b\nDisallow: /a", "Bot", "/a/b", 2, allowed},
		{"the first of two as long: Disallow", everyone + "Disallow: /a\nAllow: /a", "Bot", "/a", 2, disallowed},
		{"or Allow", everyone + "Allow: /a\nDisallow: /a", "Bot", "/a", 2, allowed},
		{"no match is allowed", everyone + "Disallow: /a", "Bot", "/b", 0, allowed},
		{"an empty Disallow is ignored", everyone + "Disallow:\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"an empty Allow is ignored", everyone + "Allow:\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"a star is no wildcard", everyone + "Disallow: /*x", "Bot", "/ax", 0, allowed},
		{"but an octet", everyone + "Disallow: /*x", "Bot", "/*x", 2, disallowed},
		{"a $ is no end", everyone + "Disallow: /x$", "Bot", "/x", 0, allowed},
		{"but an octet", everyone + "Disallow: /x$", "Bot", "/x$y", 2, disallowed},
		{"the path alone is compared", everyone + "Disallow: /a?b", "Bot", "/a?b", 0, allowed},
		{"whatever the query", everyone + "Disallow: /a", "Bot", "/a?b", 2, disallowed},
		{"a question mark that is escaped belongs to it", everyone + "Disallow: /a%3fb", "Bot", "/a%3Fb", 2, disallowed},
		{"a pattern that starts as no path does", everyone + "Disallow: x", "Bot", "/x", 0, allowed},
		{"/robots.txt is as any", everyone + "Disallow: /", "Bot", "/robots.txt", 2, disallowed},
	})
}

func TestApeTestEscapes(t *testing.T) {
	checkReadings(t, policy.ApeTest, []verdict{
		{"ASCII", everyone + "Disallow: /%7Ejoe/", "Bot", "/~joe/", 2, disallowed},
		{"in the path", everyone + "Disallow: /a<d.html", "Bot", "/a%3cd.html", 2, disallowed},
		{"one beside another", everyone + "Disallow: /%61%62%63", "Bot", "/abc", 2, disallowed},
		{"UTF-8 of two octets", everyone + "Disallow: /%C2%A2", "Bot", "/¢", 2, disallowed},
		{"of three", everyone + "Disallow: /%e2%82%ac", "Bot", "/€", 2, disallowed},
		{"of four", everyone + "Disallow: /%F0%90%8d%88", "Bot", "/\U00010348", 2, disallowed},
		{"in the path too", everyone + "Disallow: /¢", "Bot", "/%C2%A2", 2, disallowed},
		{"a slash stays escaped", everyone + "Disallow: /a%2fb", "Bot", "/a/b", 0, allowed},
		{"in the path too", everyone + "Disallow: /a/b", "Bot", "/a%2Fb", 0, allowed},
		{"and meets itself", everyone + "Disallow: /a%2fb", "Bot", "/a%2Fb", 2, disallowed},
	})
}

// A rule with a bad escape is ignored, and the one after it is not.
func TestApeTestBadEscapes(t *testing.T) {
	for _, c := range []struct{ why, pattern string }{
		{"nothing after the percent sign", "/%"},
		{"one digit", "/%1"},
		{"a digit that is none", "/%1x"},
		{"a sign", "/%-3"},
		{"a plus sign", "/%+3"},
		{"no first octet of UTF-8", "/%80"},
		{"one that UTF-8 does not have", "/%F8%88%80%80%80"},
		{"a first octet after a first octet", "/%e2%e3"},
		{"an octet is missing", "/%e2%82"},
		{"the last escape is cut", "/%e2%82%a"},
		{"the last octet is not escaped", "/%e2%82ac"},
		{"the last octet is raw", "/%C3\xA9"},
		{"overlong", "/%C0%AF"},
		{"a surrogate", "/%ED%A0%80"},
		{"beyond the last character", "/%F4%90%80%80"},
	} {
		robots := everyone + "Disallow: " + c.pattern + "\nAllow: /good\nDisallow: /\n"
		checkReadings(t, policy.ApeTest, []verdict{
			{c.why, robots, "Bot", c.pattern, 4, disallowed},
			{c.why + ", the next rule", robots, "Bot", "/good", 3, allowed},
		})
		checkReadings(t, policy.ApeTest, []verdict{
			{c.why + ", alone", everyone + "Disallow: " + c.pattern, "Bot", c.pattern, 0, allowed},
		})
	}
	checkReadings(t, policy.ApeTest, []verdict{
		{"octets that are no escape are the caller's to decode", everyone + "Disallow: /\xe9", "Bot", "/\xe9", 2, disallowed},
	})
}

// The example of the Internet-Draft of 1996, with a comment inside a record.
func TestApeTestExample(t *testing.T) {
	checkExample1996(t, policy.ApeTest, false)
}
