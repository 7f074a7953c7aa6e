package policy_test

import "testing"

// RFC 9309 §2.2.2, the allow and disallow lines. In these files every row's
// robots.txt is a group for everyone, so that line 2 is its first rule.

const everyone = "User-agent: *\n"

func TestRFC9309MatchingIsCaseSensitive(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"the same case", everyone + "Disallow: /Private", "Bot", "/Private", 2, disallowed},
		{"another case", everyone + "Disallow: /Private", "Bot", "/private", 0, allowed},
	})
}

func TestRFC9309MatchingStartsWithTheFirstOctet(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"a start of the path", everyone + "Disallow: /tea", "Bot", "/teapot", 2, disallowed},
		{"not within it", everyone + "Disallow: /tea", "Bot", "/green/tea", 0, allowed},
		{"a pattern that starts as no path does", everyone + "Disallow: tea", "Bot", "/tea", 0, allowed},
		{"the query belongs to it", everyone + "Disallow: /tea?cup=", "Bot", "/tea?cup=1", 2, disallowed},
	})
}

func TestRFC9309MostOctetsWin(t *testing.T) {
	const robots = everyone + "Disallow: /shop\nAllow: /shop/cart\nDisallow: /*.gif$\nAllow: /$\n"
	checkVerdicts(t, []verdict{
		{"the shorter alone", robots, "Bot", "/shop/x", 2, disallowed},
		{"the longer, though later", robots, "Bot", "/shop/cart", 3, allowed},
		{"special octets count one each", robots, "Bot", "/shop.gif", 4, disallowed},
		{"the octets of the pattern count, not of what it matched", robots, "Bot", "/shop/cart/a.gif", 3, allowed},
		{"the end of the path", robots, "Bot", "/", 5, allowed},
	})
}

func TestRFC9309AllowWinsATie(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"Disallow first", everyone + "Disallow: /x\nAllow: /x", "Bot", "/x", 3, allowed},
		{"Allow first", everyone + "Allow: /x\nDisallow: /x", "Bot", "/x", 2, allowed},
		{"equally long, not equal", everyone + "Disallow: /ab\nAllow: /*b", "Bot", "/ab", 3, allowed},
		{"of two that say the same the first is named", everyone + "Disallow: /ab\nDisallow: /a*", "Bot", "/ab", 2, disallowed},
	})
}

func TestRFC9309NoMatchIsAllowed(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"no rule matches", everyone + "Disallow: /x", "Bot", "/y", 0, allowed},
		{"no rule at all", everyone, "Bot", "/y", 0, allowed},
		{"an empty Disallow is no rule", everyone + "Disallow:", "Bot", "/y", 0, allowed},
		{"an empty Allow permits nothing", everyone + "Allow:\nDisallow: /", "Bot", "/y", 3, disallowed},
	})
}

func TestRFC9309RobotsTxtIsImplicitlyAllowed(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"whatever the rules say", everyone + "Disallow: /", "Bot", "/robots.txt", 0, allowed},
		{"even of itself", everyone + "Disallow: /robots.txt", "Bot", "/robots.txt", 0, allowed},
		{"the same URI, escaped", everyone + "Disallow: /", "Bot", "/rob%6Fts.txt", 0, allowed},
		{"another URI: a query", everyone + "Disallow: /", "Bot", "/robots.txt?x", 2, disallowed},
		{"another URI: the case", everyone + "Disallow: /", "Bot", "/Robots.txt", 2, disallowed},
		{"another URI: longer", everyone + "Disallow: /", "Bot", "/robots.txt/", 2, disallowed},
	})
}

func TestRFC9309OctetsOutsideASCIIAreEncoded(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"raw rule, encoded path", everyone + "Disallow: /ツ", "Bot", "/%E3%83%84", 2, disallowed},
		{"raw rule, raw path", everyone + "Disallow: /ツ", "Bot", "/ツ", 2, disallowed},
		{"encoded rule, raw path", everyone + "Disallow: /%E3%83%84", "Bot", "/ツ", 2, disallowed},
		{"the case of the digits does not matter", everyone + "Disallow: /%e3%83%84", "Bot", "/%E3%83%84", 2, disallowed},
		{"octets that are no UTF-8", everyone + "Disallow: /\xe9", "Bot", "/%e9", 2, disallowed},
		{"a blank is no octet of a URI", everyone + "Disallow: /a b", "Bot", "/a%20b", 2, disallowed},
	})
}

// Figure 4 of the RFC, but for its second row: there the query holds reserved
// octets, raw in the file and encoded in the request. These are different URIs
// to a reader of robots.txt, and the same to most origins, so Snapshot.Decide
// compares them both ways and Policy.Decide does not.
func TestRFC9309EncodedOctetsAreDecodedUnlessReserved(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"figure 4, row 1", everyone + "Disallow: /foo/bar?baz=quz", "Bot", "/foo/bar?baz=quz", 2, disallowed},
		{"figure 4, row 2, equal as written", everyone + "Disallow: /foo/bar?baz=https://foo.bar", "Bot", "/foo/bar?baz=https://foo.bar", 2, disallowed},
		{"figure 4, row 3", everyone + "Disallow: /foo/bar/ツ", "Bot", "/foo/bar/%E3%83%84", 2, disallowed},
		{"figure 4, row 4", everyone + "Disallow: /foo/bar/%E3%83%84", "Bot", "/foo/bar/%E3%83%84", 2, disallowed},
		{"figure 4, row 5", everyone + "Disallow: /foo/bar/%62%61%7A", "Bot", "/foo/bar/baz", 2, disallowed},
		{"the path's escapes too", everyone + "Disallow: /~joe", "Bot", "/%7ejoe", 2, disallowed},
		{"a reserved octet stays encoded", everyone + "Disallow: /a/b", "Bot", "/a%2Fb", 0, allowed},
		{"in the rule as well", everyone + "Disallow: /a%2Fb", "Bot", "/a/b", 0, allowed},
		{"equal encodings meet", everyone + "Disallow: /a%2fb", "Bot", "/a%2Fb", 2, disallowed},
		{"a percent sign stays encoded", everyone + "Disallow: /100%25", "Bot", "/100%25", 2, disallowed},
		{"decoding is done once", everyone + "Disallow: /tea", "Bot", "/%2574ea", 0, allowed},
		{"no escape: no hexadecimal digits", everyone + "Disallow: /a%zz", "Bot", "/a%zz", 2, disallowed},
	})
}

func TestRFC9309RulesBeforeAnyGroupAreIgnored(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"before the first user-agent line", "Disallow: /x\n" + everyone + "Disallow: /y", "Bot", "/x", 0, allowed},
		{"the group after them stands", "Disallow: /x\n" + everyone + "Disallow: /y", "Bot", "/y", 3, disallowed},
	})
}
