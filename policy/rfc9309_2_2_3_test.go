package policy_test

import "testing"

// RFC 9309 §2.2.3, special characters.

func TestRFC9309NumberSignStartsAComment(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"a line of its own", everyone + "# Disallow: /x", "Bot", "/x", 0, allowed},
		{"after a rule", everyone + "Disallow: /x # why", "Bot", "/x", 2, disallowed},
		{"glued to it", everyone + "Disallow: /x#why", "Bot", "/xy", 2, disallowed},
		{"in place of the value", everyone + "Disallow: # /x", "Bot", "/x", 0, allowed},
		{"after a name", "User-agent: Bot # this one\nDisallow: /", "Bot", "/", 2, disallowed},
	})
}

func TestRFC9309DollarIsTheEndOfThePath(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"at the end", everyone + "Disallow: /this/path/exactly$", "Bot", "/this/path/exactly", 2, disallowed},
		{"longer", everyone + "Disallow: /this/path/exactly$", "Bot", "/this/path/exactly/", 0, allowed},
		{"a query makes it longer", everyone + "Disallow: /x$", "Bot", "/x?", 0, allowed},
		{"after a star", everyone + "Disallow: /*.gif$", "Bot", "/a.gif.gif", 2, disallowed},
		{"only as the last octet", everyone + "Disallow: /a$b", "Bot", "/a$b", 2, disallowed},
		{"elsewhere it is an octet as others", everyone + "Disallow: /a$b", "Bot", "/a", 0, allowed},
		{"the last of two", everyone + "Disallow: /a$$", "Bot", "/a$", 2, disallowed},
	})
}

func TestRFC9309StarIsAnyRunOfOctets(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"none", everyone + "Disallow: /a*b", "Bot", "/ab", 2, disallowed},
		{"some", everyone + "Disallow: /this/*/exactly", "Bot", "/this/path/exactly", 2, disallowed},
		{"slashes and a query", everyone + "Disallow: /*.gif", "Bot", "/a/b?c=.gif", 2, disallowed},
		{"the literal must be there", everyone + "Disallow: /a*b", "Bot", "/a", 0, allowed},
		{"literals come in order", everyone + "Disallow: /*b*a", "Bot", "/ab", 0, allowed},
		{"the earliest place of one leaves room for the next", everyone + "Disallow: /*ab*abc$", "Bot", "/ababc", 2, disallowed},
		{"literals do not overlap", everyone + "Disallow: /*aba*aba", "Bot", "/ababa", 0, allowed},
		{"nor do the last one and the end", everyone + "Disallow: /*ab*b$", "Bot", "/ab", 0, allowed},
		{"first in the pattern", everyone + "Disallow: *.gif", "Bot", "/x.gif", 2, disallowed},
		{"alone", everyone + "Disallow: *", "Bot", "/x", 2, disallowed},
		{"last, and the end", everyone + "Disallow: /a*$", "Bot", "/abc", 2, disallowed},
	})
}

// Figure 6: what is special is matched literally by its escape.
func TestRFC9309SpecialOctetsMatchedLiterallyAreEncoded(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"a star, raw in the path", everyone + "Disallow: /file-with-a-%2A.html", "Bot", "/file-with-a-*.html", 2, disallowed},
		{"a star, encoded in the path", everyone + "Disallow: /file-with-a-%2a.html", "Bot", "/file-with-a-%2A.html", 2, disallowed},
		{"it is no wildcard then", everyone + "Disallow: /file-with-a-%2A.html", "Bot", "/file-with-a-x.html", 0, allowed},
		{"a dollar sign", everyone + "Disallow: /foo-%24", "Bot", "/foo-$", 2, disallowed},
		{"it is no end then", everyone + "Disallow: /foo-%24", "Bot", "/foo-", 0, allowed},
	})
}
