package policy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"heed/policy"
)

// The robotstxt library for Ruby, a sentence of its documentation a row.

func TestRobotstxtLines(t *testing.T) {
	checkReadings(t, policy.Robotstxt, []verdict{
		{"useragent", "Useragent: Bot\nDisallow: /x", "Bot", "/x", 2, disallowed},
		{"user-agent, in any case", "USER-agent: Bot\ndisALLOW: /x", "Bot", "/x", 2, disallowed},
		{"allow", everyone + "Allow: /x/y\nDisallow: /x", "Bot", "/x/y", 2, allowed},
		{"white space around key and value", " User-agent \t:\tBot \n Disallow : /x \n", "Bot", "/x", 2, disallowed},
		{"other keys are ignored", everyone + "Crawl-delay: 5\nDisallow: /x", "Bot", "/x", 3, disallowed},
		{"no misspelling is forgiven", everyone + "Dissallow: /x", "Bot", "/x", 0, allowed},
		{"no longer key", everyone + "Disallowed: /x", "Bot", "/x", 0, allowed},
		{"nor another spelling", "User agent: Bot\nDisallow: /y\n" + everyone + "Disallow: /x", "Bot", "/x", 0, allowed},
		{"a line without colon is badly formed", everyone + "Disallow /x", "Bot", "/x", 0, allowed},
		{"only the first colon divides", everyone + "Disallow: /a:b", "Bot", "/a:b", 2, disallowed},
		{"LF, CR, and any run of them", "User-agent: *\r\r\n\rDisallow: /x\n", "Bot", "/x", 4, disallowed},
		{"an empty line ends nothing", everyone + "\nDisallow: /x", "Bot", "/x", 3, disallowed},
	})
}

func TestRobotstxtComments(t *testing.T) {
	checkReadings(t, policy.Robotstxt, []verdict{
		{"a line of its own", everyone + "# Disallow: /x\nDisallow: /y", "Bot", "/x", 0, allowed},
		{"with white space before", everyone + " \t# Disallow: /x", "Bot", "/x", 0, allowed},
		{"after white space", everyone + "Disallow: /x\t\t# why", "Bot", "/xy", 2, disallowed},
		{"after a name", "User-agent: Bot # mine\nDisallow: /x", "Bot", "/x", 2, disallowed},
		{"glued to the value it is part of it", everyone + "Disallow: /a#b", "Bot", "/a", 0, allowed},
		{"and compared", everyone + "Disallow: /a#b", "Bot", "/a%23b", 2, disallowed},
		{"the first that has white space before it", everyone + "Disallow: /a#b #c #d", "Bot", "/a%23b", 2, disallowed},
		{"in place of a value it is one", everyone + "Disallow: # none\nDisallow: /", "Bot", "/x", 3, disallowed},
	})
}

func TestRobotstxtOctets(t *testing.T) {
	checkReadings(t, policy.Robotstxt, []verdict{
		{"NUL is taken out of a line", everyone + "Dis\x00allow: /\x00x\x00y", "Bot", "/xy", 2, disallowed},
		{"what is no UTF-8 is taken out of the body", everyone + "Disallow: /a\xff\xfeb", "Bot", "/ab", 2, disallowed},
		{"and out of a key", everyone + "Disallow\xe9: /x", "Bot", "/x", 2, disallowed},
		{"of a pattern once it is decoded", everyone + "Disallow: /a%FF%FEb", "Bot", "/ab", 2, disallowed},
		{"of a path", everyone + "Disallow: /ab", "Bot", "/a%E9b", 2, disallowed},
		{"of a path that is not escaped", everyone + "Disallow: /ab", "Bot", "/a\xe9b", 2, disallowed},
		{"a pattern of nothing else meets every path", everyone + "Disallow: %FF", "Bot", "/x", 2, disallowed},
		{"a query that is no UTF-8 harms nothing", everyone + "Disallow: /?id=%C3%CB%D1", "Bot", "/index", 0, allowed},
		{"UTF-8 stays", everyone + "Disallow: /café", "Bot", "/caf%C3%A9", 2, disallowed},
	})
}

func TestRobotstxtSections(t *testing.T) {
	const shared = "User-agent: one\nUser-agent: two\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n"
	checkReadings(t, policy.Robotstxt, []verdict{
		{"several agents share the rules: the first", shared, "one", "/x", 3, disallowed},
		{"the second", shared, "two", "/x", 3, disallowed},
		{"a section is all that counts", shared, "one", "/y", 0, allowed},
		{"other lines do not part the agents", "User-agent: one\nSitemap: /s\nUser-agent: two\nDisallow: /x", "one", "/x", 4, disallowed},
		{"an agent after rules starts a section", "User-agent: one\nDisallow: /x\nUser-agent: two\nDisallow: /y", "one", "/y", 0, allowed},
		{"the first section of a name, no other", "User-agent: Bot\nDisallow: /x\nUser-agent: Bot\nDisallow: /y", "Bot", "/y", 0, allowed},
		{"in the order of the file: one for all hides what follows", everyone + "Disallow: /x\nUser-agent: Bot\nDisallow: /y", "Bot", "/y", 0, allowed},
		{"and binds", everyone + "Disallow: /x\nUser-agent: Bot\nDisallow:", "Bot", "/x", 2, disallowed},
		{"an empty line does not part the agents", "User-agent: Bot\n\nUser-agent: Other\nDisallow: /", "Bot", "/x", 4, disallowed},
		{"a section without rules allows", "User-agent: Other\nDisallow: /\nUser-agent: Bot", "Bot", "/x", 0, allowed},
		{"without a section all is allowed", "User-agent: Other\nDisallow: /", "Bot", "/x", 0, allowed},
		{"rules before any section are a section for all", "Disallow: /index\n", "Bot", "/index/x", 1, disallowed},
		{"which comes first", "Disallow: /x\nUser-agent: Bot\nDisallow: /y", "Bot", "/y", 0, allowed},
		{"and stands for all", "Allow: /x/y\nDisallow: /x", "Bot", "/x/y", 1, allowed},
	})
}

// The section of rules before any user-agent line has no line itself.
func TestRobotstxtSectionWithoutLine(t *testing.T) {
	d := policy.Compile([]byte("Disallow: /x\n"), policy.Options{Dialect: policy.Robotstxt}).Decide([]string{"Bot"}, "/x")
	if d.Group != "*" || d.GroupLine != 0 || d.Token != "*" || d.Line != 1 {
		t.Errorf("got %v, group %q in line %d, token %q", d, d.Group, d.GroupLine, d.Token)
	}
}

func TestRobotstxtAgents(t *testing.T) {
	const rule = "\nDisallow: /x"
	checkReadings(t, policy.Robotstxt, []verdict{
		{"the value has the agent inside", "User-agent: TheExampleBot/2.1" + rule, "examplebot", "/x", 2, disallowed},
		{"the agent has the value inside", "User-agent: example" + rule, "My ExampleBot 2.1", "/x", 2, disallowed},
		{"neither", "User-agent: example" + rule, "Bot", "/x", 0, allowed},
		{"a star is any run, at the end", "User-agent: Exam*" + rule, "TheExampleBot", "/x", 2, disallowed},
		{"within", "User-agent: ex*bot" + rule, "ExampleBot", "/x", 2, disallowed},
		{"its parts come in order", "User-agent: bot*ex" + rule, "ExampleBot", "/x", 0, allowed},
		{"and do not overlap", "User-agent: botx*xbot" + rule, "botxbot", "/x", 0, allowed},
		{"a star alone is all", "User-agent: *" + rule, "Bot", "/x", 2, disallowed},
		{"a star is met by a literal one", "User-agent: B*t" + rule, "*", "/x", 2, disallowed},
		{"an empty value is in every agent", "User-agent:" + rule, "Bot", "/x", 2, disallowed},
		{"what else a value holds is literal", "User-agent: B.t" + rule, "Bot", "/x", 0, allowed},
		{"the value is taken whole", "User-agent: Bot/2.1" + rule, "Bot/2.2", "/x", 0, allowed},
	})
}

func TestRobotstxtRules(t *testing.T) {
	checkReadings(t, policy.Robotstxt, []verdict{
		{"the first that matches decides", everyone + "Disallow: /a\nAllow: /a/b", "Bot", "/a/b", 2, disallowed},
		{"Allow as well", everyone + "Allow: /a\nDisallow: /a/b", "Bot", "/a/b", 2, allowed},
		{"none matches: allowed", everyone + "Disallow: /a", "Bot", "/b", 0, allowed},
		{"a start of the path will do", everyone + "Disallow: /a", "Bot", "/abc", 2, disallowed},
		{"it is case-sensitive", everyone + "Disallow: /A", "Bot", "/a", 0, allowed},
		{"it starts at the first octet", everyone + "Disallow: a", "Bot", "/a", 0, allowed},
		{"the query belongs to the path", everyone + "Disallow: /?*", "Bot", "/?key=value", 2, disallowed},
		{"an empty Disallow allows all", everyone + "Disallow:\nDisallow: /x", "Bot", "/x", 2, allowed},
		{"from there on", everyone + "Disallow: /x\nDisallow:", "Bot", "/x", 2, disallowed},
		{"an empty Allow matches all", everyone + "Allow:\nDisallow: /x", "Bot", "/x", 2, allowed},
		{"/robots.txt is as any", everyone + "Disallow: /", "Bot", "/robots.txt", 2, disallowed},
	})
}

func TestRobotstxtWildcards(t *testing.T) {
	checkReadings(t, policy.Robotstxt, []verdict{
		{"a star is any run", everyone + "Disallow: /*/x", "Bot", "/a/b/x", 2, disallowed},
		{"also none", everyone + "Disallow: /a*b", "Bot", "/ab", 2, disallowed},
		{"at the end it adds nothing", everyone + "Disallow: /team*", "Bot", "/team-game", 2, disallowed},
		{"alone it is all", everyone + "Disallow: *", "Bot", "/x", 2, disallowed},
		{"an escaped one becomes one", everyone + "Disallow: /a%2Ab", "Bot", "/axb", 2, disallowed},
		{"one in the path is literal", everyone + "Disallow: /axb", "Bot", "/a*b", 0, allowed},
		{"$ is the end of the path", everyone + "Disallow: /*.pdf$", "Bot", "/a.pdf", 2, disallowed},
		{"not before it", everyone + "Disallow: /*.pdf$", "Bot", "/.pdfs/a.html", 0, allowed},
		{"or the start of a query", everyone + "Disallow: /*.pdf$", "Bot", "/a.pdf?action=view", 2, disallowed},
		{"or the end of one", everyone + "Disallow: /*.pdf$", "Bot", "/a.html?as=.pdf", 2, disallowed},
		{"without a star too", everyone + "Disallow: /a$", "Bot", "/a?b", 2, disallowed},
		{"and nothing else", everyone + "Disallow: /a$", "Bot", "/ab?b", 0, allowed},
		{"an escaped question mark is no start of a query", everyone + "Disallow: /a$", "Bot", "/a%3Fb", 0, allowed},
		{"within a pattern $ is literal", everyone + "Disallow: /a$b", "Bot", "/a$b", 2, disallowed},
		{"of two the last is the end", everyone + "Disallow: /a$$", "Bot", "/a$", 2, disallowed},
		{"an escaped one is literal", everyone + "Disallow: /a%24", "Bot", "/a", 0, allowed},
		{"and no end", everyone + "Disallow: /a%24", "Bot", "/a$b", 2, disallowed},
		{"before the end", everyone + "Disallow: /a%24$", "Bot", "/a$b", 0, allowed},
	})
}

// Every short pattern meets the paths that the library's regular expression for
// it does: parts between stars taken literally, the end or a question mark for a
// trailing "$".
func TestRobotstxtMatchesAsItsExpressions(t *testing.T) {
	paths := wordsOf("a?$*", 4)
	for _, pattern := range wordsOf("a?$*", 4) {
		glob, end := strings.CutSuffix(pattern, "$")
		parts := strings.Split(glob, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		expression := "^/" + strings.Join(parts, ".*")
		if end {
			expression += `(?:\?|$)`
		}
		met := regexp.MustCompile(expression)
		p := policy.Compile([]byte(everyone+"Disallow: /"+pattern), policy.Options{Dialect: policy.Robotstxt})
		for _, path := range paths {
			if d := p.Decide([]string{"Bot"}, "/"+path); d.Allowed == met.MatchString("/"+path) {
				t.Fatalf("/%s for /%s: %v, by %s", path, pattern, d, expression)
			}
		}
	}
}

// wordsOf returns all words of up to most letters.
func wordsOf(letters string, most int) []string {
	words := []string{""}
	for from := 0; most > 0; most-- {
		to := len(words)
		for _, word := range words[from:to] {
			for _, letter := range letters {
				words = append(words, word+string(letter))
			}
		}
		from = to
	}
	return words
}

func TestRobotstxtEscapes(t *testing.T) {
	checkReadings(t, policy.Robotstxt, []verdict{
		{"decoded in the pattern", everyone + "Disallow: /%61lpha/", "Bot", "/alpha/", 2, disallowed},
		{"and in the path", everyone + "Disallow: /alpha/", "Bot", "/alph%61/", 2, disallowed},
		{"reserved ones too", everyone + "Disallow: /a:b", "Bot", "/a%3Ab", 2, disallowed},
		{"a slash is not", everyone + "Disallow: /test/", "Bot", "/test%2Fetc/", 0, allowed},
		{"in the pattern neither", everyone + "Disallow: /secret%2Fgarden/", "Bot", "/secret/garden/", 0, allowed},
		{"the case of its digits aside", everyone + "Disallow: /secret%2Fgarden/", "Bot", "/secret%2fgarden/", 2, disallowed},
		{"a question mark is not", everyone + "Disallow: /a?b", "Bot", "/a%3fb", 0, allowed},
		{"an ampersand is not", everyone + "Disallow: /?a&b", "Bot", "/?a%26b", 0, allowed},
		{"an equals sign is not", everyone + "Disallow: /?a=b", "Bot", "/?a%3db", 0, allowed},
		{"they meet themselves", everyone + "Disallow: /%3f%26%3d", "Bot", "/%3F%26%3D", 2, disallowed},
		{"one that stays is no slash to a star either", everyone + "Disallow: /*/x", "Bot", "/a%2Fx", 0, allowed},
		{"a line feed in a path starts nothing", everyone + "Disallow: /x", "Bot", "/a%0A/x", 0, allowed},
		{"a percent sign is decoded, once", everyone + "Disallow: /%2541", "Bot", "/A", 0, allowed},
		{"what is no escape stays", everyone + "Disallow: /100%", "Bot", "/100%", 2, disallowed},
	})
}

func TestRobotstxtSitemaps(t *testing.T) {
	const robots = "Sitemap: /first\nUser-agent: Bot\nsitemap: https://a.example/second # the big one\nSite-map: /third\nDisallow: /x\n"
	got := recordsOf(policy.Robotstxt, robots, policy.Sitemap)
	if want := []string{"/first", "https://a.example/second"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	checkReadings(t, policy.Robotstxt, []verdict{
		{"a sitemap parts nothing", robots, "Bot", "/x", 5, disallowed},
	})
}

// A comment with a colon is no record.
func TestRobotstxtCommentsAreNoRecords(t *testing.T) {
	for r := range policy.Compile([]byte("# see: https://a.example/\n #x: y\n"), policy.Options{Dialect: policy.Robotstxt}).Records() {
		t.Errorf("got the record %q: %q", r.Key, r.Value)
	}
}
