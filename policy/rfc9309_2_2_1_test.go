package policy_test

import (
	"testing"

	"heed/policy"
)

// RFC 9309 §2.2.1, the user-agent line.

func TestRFC9309TokenIsLettersUnderscoreHyphen(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"letters", "User-agent: ExampleBot\nDisallow: /", "ExampleBot", "/", 2, disallowed},
		{"underscore and hyphen", "User-agent: Example_Bot-x\nDisallow: /", "Example_Bot-x", "/", 2, disallowed},
		{"the name ends at the first other octet", "User-agent: ExampleBot/2.1\nDisallow: /", "ExampleBot", "/", 2, disallowed},
		{"a longer token is another", "User-agent: Example\nDisallow: /", "ExampleBot", "/", 0, allowed},
		{"a shorter token is another", "User-agent: ExampleBot-News\nDisallow: /", "ExampleBot", "/", 0, allowed},
		{"the token asked with is taken whole", "User-agent: ExampleBot\nDisallow: /", "ExampleBot/2.1", "/", 0, allowed},
	})
}

// Here heed differs from the RFC: 7.8 % of the files in the wild name a crawler
// with a digit, and they mean that crawler.
func TestRFC9309DeviationDigitsBelongToTheToken(t *testing.T) {
	const robots = "User-agent: MJ12bot\nDisallow: /"
	checkVerdicts(t, []verdict{
		{"the crawler that is meant", robots, "MJ12bot", "/", 2, disallowed},
		{"not the one that its letters name", robots, "MJ", "/", 0, allowed},
		{"a digit may come first", "User-agent: 360Spider\nDisallow: /", "360spider", "/", 2, disallowed},
	})
}

func TestRFC9309GroupIsFoundWithoutRegardToCase(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"lower-case token", "User-agent: ExampleBot\nDisallow: /", "examplebot", "/", 2, disallowed},
		{"lower-case line", "user-agent: examplebot\ndisallow: /", "EXAMPLEBOT", "/", 2, disallowed},
	})
}

func TestRFC9309GroupsOfOneTokenAreCombined(t *testing.T) {
	const robots = `User-agent: ExampleBot
Disallow: /foo
Disallow: /bar

User-agent: OtherBot
Disallow: /other

User-agent: ExampleBot
Disallow: /baz
Allow: /foo/public
`
	checkVerdicts(t, []verdict{
		{"a rule of the first group", robots, "ExampleBot", "/foo", 2, disallowed},
		{"a rule of the second", robots, "ExampleBot", "/baz", 9, disallowed},
		{"they compete as rules of one group", robots, "ExampleBot", "/foo/public", 10, allowed},
		{"the group between is another's", robots, "ExampleBot", "/other", 0, allowed},
	})
}

func TestRFC9309GroupsForEveryoneAreCombined(t *testing.T) {
	const robots = "User-agent: *\nDisallow: /a\nUser-agent: OtherBot\nDisallow: /o\nUser-agent: *\nDisallow: /b\n"
	checkVerdicts(t, []verdict{
		{"the first group", robots, "ExampleBot", "/a", 2, disallowed},
		{"the last group", robots, "ExampleBot", "/b", 6, disallowed},
	})
}

func TestRFC9309OneGroupMayNameSeveralTokens(t *testing.T) {
	const robots = "User-agent: OneBot\nUser-agent: TwoBot\nUser-agent: *\nDisallow: /x\nUser-agent: ThreeBot\nDisallow: /y\n"
	checkVerdicts(t, []verdict{
		{"the first name", robots, "OneBot", "/x", 4, disallowed},
		{"the second name", robots, "TwoBot", "/x", 4, disallowed},
		{"the star beside names", robots, "OtherBot", "/x", 4, disallowed},
		{"a user-agent line after a rule starts a group", robots, "ThreeBot", "/x", 0, allowed},
		{"which has its own rules", robots, "ThreeBot", "/y", 6, disallowed},
	})
}

func TestRFC9309WithoutMatchingGroupTheStarCounts(t *testing.T) {
	const robots = "User-agent: *\nDisallow: /foo\nUser-agent: FooBot\nDisallow: /bar\nUser-agent: EmptyBot\n"
	checkVerdicts(t, []verdict{
		{"no group names it", robots, "ExampleBot", "/foo", 2, disallowed},
		{"a group that names it hides the star", robots, "FooBot", "/foo", 0, allowed},
		{"even one without rules", robots, "EmptyBot", "/foo", 0, allowed},
		{"asked for by name", robots, "*", "/foo", 2, disallowed},
	})
}

func TestRFC9309WithoutGroupNoRulesApply(t *testing.T) {
	checkVerdicts(t, []verdict{
		{"neither its own group nor a star", "User-agent: FooBot\nDisallow: /", "ExampleBot", "/", 0, allowed},
		{"no group at all", "Sitemap: https://a.example/s.xml", "ExampleBot", "/", 0, allowed},
		{"an empty file", "", "ExampleBot", "/", 0, allowed},
	})
}

func TestDecideSaysWhyNoRuleApplies(t *testing.T) {
	p := policy.Compile([]byte("User-agent: FooBot\nDisallow: /x\n"), policy.Options{})
	for _, c := range []struct {
		token string
		want  policy.Decision
	}{
		{"foobot", policy.Decision{Allowed: true, Reason: policy.ReasonNoMatch, Token: "foobot", Group: "FooBot", GroupLine: 1}},
		{"ExampleBot", policy.Decision{Allowed: true, Reason: policy.ReasonNoGroup, Token: "ExampleBot"}},
	} {
		if got := p.Decide([]string{c.token}, "/y").Clone(100); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.token, got, c.want)
		}
	}
}
