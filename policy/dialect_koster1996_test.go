package policy_test

import (
	"testing"

	"heed/policy"
)

// The Internet-Draft of 1996, "A Method for Web Robots Control", a sentence a
// row.

func TestKoster1996Lines(t *testing.T) {
	checkReadings(t, policy.Koster1996, []verdict{
		{"field, colon, value", everyone + "Disallow: /x", "Bot", "/x", 2, disallowed},
		{"a comment anywhere", "# mine\nUser-agent: * # all\nDisallow: /x # why\n# end", "Bot", "/xy", 3, disallowed},
		{"after no white space too", everyone + "Disallow: /x#why", "Bot", "/xy", 2, disallowed},
		{"other fields may occur", everyone + "Extension: value\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"useragent is one of them", "Useragent: *\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"ends of lines: LF", "User-agent: *\nDisallow: /x\n", "Bot", "/x", 2, disallowed},
		{"CR", "User-agent: *\rDisallow: /x\r", "Bot", "/x", 2, disallowed},
		{"CR LF", "User-agent: *\r\nDisallow: /x\r\n", "Bot", "/x", 2, disallowed},
		{"a page that asks what is looked for", "<html>What are you looking for?</html>", "Bot", "/x", 0, allowed},
	})
}

func TestKoster1996Records(t *testing.T) {
	const robots = "User-agent: webcrawler\nUser-agent: infoseek\nAllow:    /tmp/ok.html\nDisallow: /tmp\nDisallow: /user/foo\n"
	checkReadings(t, policy.Koster1996, []verdict{
		{"one or more agents, then rules: the first", robots, "webcrawler", "/tmp/x", 4, disallowed},
		{"the second", robots, "infoseek", "/user/foo", 5, disallowed},
		{"Allow before Disallow", robots, "infoseek", "/tmp/ok.html", 3, allowed},
		{"blank lines divide records", everyone + "\nDisallow: /x", "Bot", "/x", 0, allowed},
		{"blank as well: white space", everyone + " \t \nDisallow: /x", "Bot", "/x", 0, allowed},
		{"a comment line is none", everyone + "# x\n  # y\nDisallow: /x", "Bot", "/x", 4, disallowed},
		{"an agent after rules starts a record, blank line or not", "User-agent: one\nDisallow: /x\nUser-agent: two\nDisallow: /y", "one", "/y", 0, allowed},
		{"rules before a record are of none", "Disallow: /x\n\n" + everyone + "Disallow: /y", "Bot", "/x", 0, allowed},
	})
}

func TestKoster1996Agents(t *testing.T) {
	const robots = "User-agent: figtree\nDisallow: /f\n\nUser-agent: TheFigTreeBot\nDisallow: /t\n\n" + everyone + "Disallow: /1\n\n" + everyone + "Disallow: /2\n"
	checkReadings(t, policy.Koster1996, []verdict{
		{"a value with the robot's name in it, any case", robots, "FigTree", "/f", 2, disallowed},
		{"the first such record alone", robots, "FigTree", "/t", 0, allowed},
		{"the name may stand within", robots, "TreeB", "/t", 5, disallowed},
		{"the value within the name does not count", robots, "FigTree/0.1", "/f", 0, allowed},
		{"then the first for all", robots, "Crawler", "/1", 8, disallowed},
		{"no other for all", robots, "Crawler", "/2", 0, allowed},
		{"a name is found before all, wherever it stands", everyone + "Disallow: /\n\nUser-agent: Bot\nDisallow: /x", "Bot", "/y", 0, allowed},
		{"neither: unlimited", "User-agent: other\nDisallow: /", "Bot", "/x", 0, allowed},
		{"no records: unlimited", "", "Bot", "/x", 0, allowed},
	})
}

func TestKoster1996Rules(t *testing.T) {
	checkReadings(t, policy.Koster1996, []verdict{
		{"in their order the first that matches", everyone + "Disallow: /a\nAllow: /a/b", "Bot", "/a/b", 2, disallowed},
		{"Allow as well", everyone + "Allow: /a\nDisallow: /a/b", "Bot", "/a/b", 2, allowed},
		{"none: allowed", everyone + "Disallow: /a", "Bot", "/b", 0, allowed},
		{"/robots.txt is always allowed", everyone + "Disallow: /", "Bot", "/robots.txt", 0, allowed},
		{"even if it appears in a rule", everyone + "Disallow: /robots.txt", "Bot", "/robots.txt", 0, allowed},
		{"every octet counts", everyone + "Disallow: /A", "Bot", "/a", 0, allowed},
		{"no wildcard", everyone + "Disallow: /*", "Bot", "/x", 0, allowed},
		{"but an octet as others", everyone + "Disallow: /*", "Bot", "/*x", 2, disallowed},
		{"no sign for the end", everyone + "Disallow: /x$", "Bot", "/x", 0, allowed},
		{"the path portion of the URL is compared", everyone + "Disallow: /a?b", "Bot", "/a?b", 0, allowed},
		{"whatever the query", everyone + "Disallow: /a", "Bot", "/a?b", 2, disallowed},
		{"an empty Disallow: nothing is disallowed", everyone + "Disallow:\nDisallow: /x", "Bot", "/x", 2, allowed},
		{"an empty Allow is not in the syntax", everyone + "Allow:\nDisallow: /x", "Bot", "/x", 3, disallowed},
	})
}

// The table of §3.2.2: path of a record, path of a URL, whether they match.
func TestKoster1996TableOfPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		matches       bool
	}{
		{"/tmp", "/tmp", true},
		{"/tmp", "/tmp.html", true},
		{"/tmp", "/tmp/a.html", true},
		{"/tmp/", "/tmp", false},
		{"/tmp/", "/tmp/", true},
		{"/tmp/", "/tmp/a.html", true},
		{"/a%3cd.html", "/a%3cd.html", true},
		{"/a%3Cd.html", "/a%3cd.html", true},
		{"/a%3cd.html", "/a%3Cd.html", true},
		{"/a%3Cd.html", "/a%3Cd.html", true},
		{"/a%2fb.html", "/a%2fb.html", true},
		{"/a%2fb.html", "/a/b.html", false},
		{"/a/b.html", "/a%2fb.html", false},
		{"/a/b.html", "/a/b.html", true},
		{"/%7ejoe/index.html", "/~joe/index.html", true},
		{"/~joe/index.html", "/%7Ejoe/index.html", true},
	} {
		line := 0
		if c.matches {
			line = 2
		}
		for _, d := range []policy.Dialect{policy.Koster1996, policy.RERP, policy.ApeTest} {
			checkReadings(t, d, []verdict{
				{"§3.2.2", everyone + "Disallow: " + c.pattern, "Bot", c.path, line, !c.matches},
			})
		}
	}
}

// example1996 is the file of §4.
const example1996 = `# /robots.txt for http://www.fict.example/
# comments to webmaster@fict.example

User-agent: unhipbot
Disallow: /

User-agent: webcrawler
User-agent: excite
Disallow:

User-agent: *
Disallow: /org/plans.html
Allow: /org/
Allow: /serv
# a line that ends no record
Allow: /~mak
Disallow: /
`

// checkExample1996 asks for all pages of §4. robotsTxt tells whether robots.txt
// itself is always allowed.
func checkExample1996(t *testing.T, d policy.Dialect, robotsTxt bool) {
	t.Helper()
	for _, page := range []struct {
		target string
		others bool // whether robots that are not named may have it
	}{
		{"/", false},
		{"/index.html", false},
		{"/robots.txt", robotsTxt},
		{"/server.html", true},
		{"/services/fast.html", true},
		{"/services/slow.html", true},
		{"/orgo.gif", false},
		{"/org/about.html", true},
		{"/org/plans.html", false},
		{"/%7Ejim/jim.html", false},
		{"/%7Emak/mak.html", true},
	} {
		p := policy.Compile([]byte(example1996), policy.Options{Dialect: d})
		for agent, want := range map[string]bool{
			"unhipbot":   page.target == "/robots.txt" && robotsTxt,
			"webcrawler": true,
			"excite":     true,
			"OtherBot":   page.others,
		} {
			if got := p.Decide([]string{agent}, page.target); got.Allowed != want {
				t.Errorf("%s: %s for %s: %v", d, page.target, agent, got)
			}
		}
	}
}

func TestKoster1996Example(t *testing.T) {
	checkExample1996(t, policy.Koster1996, true)
}
