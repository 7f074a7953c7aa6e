package policy_test

import "testing"

// RFC 9309 §2.2.4, other records, and §2.3.1.5, parsing errors.

func TestRFC9309OtherRecordsDoNotInterfere(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"a Sitemap between rules", everyone + "Disallow: /x\nSitemap: https://a.example/s.xml\nDisallow: /y", "Bot", "/y", 4, disallowed},
		{"a Sitemap between user-agent lines", "User-agent: OneBot\nSitemap: https://a.example/s.xml\nUser-agent: Bot\nDisallow: /x", "OneBot", "/x", 4, disallowed},
		{"one that nobody knows", everyone + "Crawl-delay: 5\nFoo: bar\nDisallow: /y", "Bot", "/y", 4, disallowed},
		{"a blank line ends nothing", everyone + "\n\nDisallow: /y", "Bot", "/y", 4, disallowed},
	})
}

func TestRFC9309MisspellingsAreForgiven(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"a doubled letter", everyone + "Dissallow: /x", "Bot", "/x", 2, disallowed},
		{"swapped letters", everyone + "Diasllow: /x", "Bot", "/x", 2, disallowed},
		{"no hyphen", "Useragent: Bot\nDisallow: /x", "Bot", "/x", 2, disallowed},
		{"a longer key", everyone + "Disallowed: /x", "Bot", "/x", 2, disallowed},
		{"no colon, two words", everyone + "Disallow /x", "Bot", "/x", 2, disallowed},
		{"no colon, three words are prose", everyone + "Disallow /x /y", "Bot", "/x", 0, allowed},
		{"not any misspelling", everyone + "Disllow: /x", "Bot", "/x", 0, allowed},
	})
}

func TestRFC9309EveryLineIsTried(t *testing.T) {
	const html = "<!DOCTYPE html>\n<title>Not found</title>\n"
	checkVerdicts(t, []verdict{
		{"junk around a rule", "\x00\xff\n::\n" + everyone + "what is this\nDisallow: /x\n\xff\xfe", "Bot", "/x", 5, disallowed},
		{"HTML holds no rules", html, "Bot", "/x", 0, allowed},
		{"unless it does", html + everyone + "Disallow: /x", "Bot", "/x", 4, disallowed},
		{"a byte order mark", "\xef\xbb\xbf" + everyone + "Disallow: /x", "Bot", "/x", 2, disallowed},
		{"one that was cut short", "\xef\xbb" + everyone + "Disallow: /x", "Bot", "/x", 2, disallowed},
		{"CR alone ends a line", "User-agent: *\rDisallow: /x\r", "Bot", "/x", 2, disallowed},
		{"CR LF is one end", "User-agent: *\r\n\r\nDisallow: /x\r\n", "Bot", "/x", 3, disallowed},
		{"LF CR is two", "User-agent: *\n\rDisallow: /x", "Bot", "/x", 3, disallowed},
		{"a NUL ends what counts of a line", everyone + "Disallow: /x\x00y\nDisallow: /z", "Bot", "/x", 2, disallowed},
	})
}
