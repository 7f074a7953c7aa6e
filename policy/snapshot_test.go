package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"heed/policy"
)

// private is the file that most ways round a rule are tried on.
const private = everyone + "Disallow: /private\n"

// A rule must not be stepped round by writing the target in another way that
// the origin takes for the same.
func TestSnapshotDeniesEveryFormOfATarget(t *testing.T) {
	for _, c := range []struct {
		why    string
		robots string
		target string
		form   string // "" if the target meets the rule as it is
	}{
		{"dot segment", private, "/./private/x", "/private/x"},
		{"two-dot segment", private, "/pub/../private", "/private"},
		{"two-dot segment after parameters", private, "/pub;/../private", "/private"},
		{"two-dot segments beyond the root", private, "/../../private", "/private"},
		{"a dot segment at the end", everyone + "Disallow: /private/$\n", "/private/.", "/private/"},
		{"a two-dot segment at the end", everyone + "Disallow: /private/$\n", "/private/x/..", "/private/"},
		{"two slashes", private, "//private", "/private"},
		{"three slashes", private, "///private", "/private"},
		{"slashes within", everyone + "Disallow: /a/b\n", "/a//b?c=//", "/a/b?c=//"},
		{"slashes merged before dot segments are removed, as nginx does", private, "/pub//../private", "/private"},
		{"slashes kept while dot segments are removed, as RFC 3986 does", everyone + "Disallow: /pub/private\n", "/pub//../private", "/pub/private"},
		{"slashes merged afterwards", everyone + "Disallow: /a/b/c\n", "/a//../b//c", "/a/b/c"},
		{"escaped dot segment", private, "/%2e/private", "/private"},
		{"escaped two-dot segment", private, "/pub/%2e%2E/private", "/private"},
		{"half escaped", private, "/pub/.%2e/private", "/private"},
		{"escaped slashes around dots", private, "/pub%2f..%2fprivate", "/private"},
		{"an escaped slash beside a slash", private, "/%2fprivate", "/private"},
		{"an escaped slash within", everyone + "Disallow: /a/b\n", "/a%2Fb", "/a/b"},
		{"escaped unreserved octets", private, "/%70rivate", ""},
		{"escaped tilde", everyone + "Disallow: /~joe\n", "/%7ejoe", ""},
		{"lower-case digits", everyone + "Disallow: /a%2Fb\n", "/a%2fb", ""},
		{"lower-case digits of UTF-8", everyone + "Disallow: /café\n", "/caf%c3%a9", ""},
		{"raw UTF-8", everyone + "Disallow: /caf%C3%A9\n", "/café", ""},
		{"in the query", everyone + "Disallow: /q?secret\n", "/q?%73ecret", ""},
		{"backslash", private, `/\private`, "/private"},
		{"backslash before dots", private, `/pub\..\private`, "/private"},
		{"backslash and escaped slash", private, `/pub\..%2fprivate`, "/private"},
		{"backslash, and an escaped slash that stays", everyone + "Disallow: /a%2Fb/c\n", `/a%2fb\c`, "/a%2Fb/c"},
		{"escaped slash, and a backslash that stays", everyone + "Disallow: /a%5Cb/c\n", `/a\b%2fc`, "/a%5Cb/c"},
		{"/robots.txt with a query", everyone + "Disallow: /\n", "/robots.txt?x", ""},
		{"/Robots.txt", everyone + "Disallow: /\n", "/Robots.txt", ""},
		{"a form of /robots.txt is not /robots.txt", everyone + "Disallow: /robots.txt\n", "/x/../robots.txt", "/robots.txt"},
		{
			"reserved octets of the query, encoded in the target", everyone + "Disallow: /go?to=https://x.example\n",
			"/go?to=https%3A%2F%2Fx.example", "/go?to=https://x.example",
		},
		{
			"reserved octets of the query, encoded in the rule", everyone + "Disallow: /go?to=https%3A%2F%2Fx.example\n",
			"/go?to=https://x.example", "/go?to=https://x.example",
		},
		{
			"reserved octets of the query, some of them on both sides", everyone + "Disallow: /go?to=https:%2F%2Fx.example\n",
			"/go?to=https%3A//x.example", "/go?to=https://x.example",
		},
		{"the query of a rule that has a wildcard before it", everyone + "Disallow: /*?to=%2Fx\n", "/go?to=/x", "/go?to=/x"},
		{"path and query together", everyone + "Disallow: /go?to=/x\n", "//go?to=%2Fx", "/go?to=/x"},
		{"a star in the query stays literal", everyone + "Disallow: /go?a=%2A&to=/x\n", "/go?a=*&to=%2Fx", "/go?a=%2A&to=/x"},
		{"a dollar sign in the query stays literal", everyone + "Disallow: /go?to=/%24\n", "/go?to=%2F$", "/go?to=/%24"},
		{"no leading slash", private, "private", ""},
	} {
		d := snapshotOf(c.robots).Decide(only("ExampleBot"), c.target)
		if d.Allowed || d.Form != c.form || d.Line != 2 {
			t.Errorf("%s: %q by %q: %v (form %q, line %d); want a denial in the form %q by line 2",
				c.why, c.target, c.robots, d, d.Form, d.Line, c.form)
		}
		if d.Form != "" && d.Form != d.Path() {
			t.Errorf("%s: the rule met %q, not the form %q", c.why, d.Path(), d.Form)
		}
	}
}

// What no origin takes for the hidden target, or what the rules allow, must go
// through.
func TestSnapshotAllowsWhatRulesAllow(t *testing.T) {
	for _, c := range []struct {
		why    string
		robots string
		target string
	}{
		{"/robots.txt of a closed origin", everyone + "Disallow: /\n", "/robots.txt"},
		{"an empty file", "", "/x"},
		{"HTML in place of a file", "<!DOCTYPE html>\n<p>Disallow: /</p>\n", "/x"},
		{"Allow on a tie", everyone + "Disallow: /x\nAllow: /x\n", "/x"},
		{"the longest match", everyone + "Disallow: /x\nAllow: /x/y\n", "/x/y"},
		{"a star as written", everyone + "Disallow: /a%2Ab\n", "/axb"},
		{"a dollar sign as written", everyone + "Disallow: /a$\n", "/a$"},
		{"an escaped slash in the rule", everyone + "Disallow: /a%2Fb\n", "/a/b"},
		{"an escaped slash in the rule's path, with a query", everyone + "Disallow: /a%2Fb?c\n", "/a/b?c"},
		{"octets that are no URI's in the query", private, "/x?a={|}"},
		{"octets that are no URI's in the path", private, "/{|}"},
		{"a permissive star", everyone + "Allow: /\n", "/x"},
		{"the case of letters", private, "/PRIVATE"},
		{"doubly escaped", private, "/%2570rivate"},
		{"escaped backslash", private, "/%5Cprivate"},
		{"parameters", private, "/;x/private"},
		{"overlong UTF-8", private, "/%c0%afprivate"},
		{"a backslash where nothing is hidden", private, `/a\b`},
		{"a name that begins with a dot", private, "/.private"},
		{"a name of three dots", everyone + "Disallow: /private\n", "/pub/.../private"},
		{"slashes in the query", private, "/x?//private/../private"},
		{"a slash that the rule has twice", everyone + "Disallow: /a//b\n", "/a/b"},
		{"a form that would be disallowed but for a longer rule", everyone + "Disallow: /a\nAllow: /a/b\n", "//a/b"},
		{"the shorter encoded rule does not beat the longer raw one", everyone + "Disallow: /go?a=%3A\nAllow: /go?a=:b\n", "/go?a=:b"},
		{"a wildcard is not made of an escape in the query", everyone + "Disallow: /go?a=%2A&%3A\n", "/go?a=x&:"},
	} {
		d := snapshotOf(c.robots).Decide(only("ExampleBot"), c.target)
		if !d.Allowed || d.Form != "" {
			t.Errorf("%s: %q by %q: %v, want it allowed", c.why, c.target, c.robots, d)
		}
	}
}

func TestFormsNeverPermit(t *testing.T) {
	const robots = everyone + "Disallow: /\nAllow: /public\n"
	for _, target := range []string{"//public", "/x/../public", "/%2fpublic", `/\public`, "/./public"} {
		if d := snapshotOf(robots).Decide(only("ExampleBot"), target); d.Allowed || d.Form != "" {
			t.Errorf("%s: %v, want it disallowed as it is", target, d)
		}
	}
}

// Names that a client gives itself can only restrict it.
func TestSnapshotDecidesForEveryName(t *testing.T) {
	const robots = `User-agent: *
Disallow: /star

User-agent: GoodBot
Allow: /
Disallow: /good

User-agent: ShyBot
Disallow: /shy
`
	for _, c := range []struct {
		why    string
		tokens policy.Tokens
		target string
		line   int
		want   bool
		token  string // that the decision names
	}{
		{"no token is everyone", policy.Tokens{}, "/star", 2, disallowed, "*"},
		{"a token that no group names", only("EvilBot"), "/star", 2, disallowed, "*"},
		{"a token of its own group", only("GoodBot"), "/star", 5, allowed, "GoodBot"},
		{"the case of letters", only("GOODBOT"), "/good", 6, disallowed, "GOODBOT"},
		{"a longer name is another", only("GoodBot-evil"), "/star", 2, disallowed, "*"},
		{"a name that ends alike is another", only("NotGoodBot"), "/star", 2, disallowed, "*"},

		{"a favoured further name gains nothing", policy.Tokens{Main: []string{"EvilBot"}, Also: []string{"GoodBot"}}, "/star", 2, disallowed, "*"},
		{"and adds its rules", policy.Tokens{Main: []string{"EvilBot"}, Also: []string{"GoodBot"}}, "/good", 6, disallowed, "GoodBot"},
		{"to those of a main one with its own group", policy.Tokens{Main: []string{"GoodBot"}, Also: []string{"ShyBot"}}, "/shy", 9, disallowed, "ShyBot"},
		{"a further name that no group names does not count", policy.Tokens{Main: []string{"GoodBot"}, Also: []string{"EvilBot"}}, "/star", 5, allowed, "GoodBot"},
		{"all agree", policy.Tokens{Main: []string{"GoodBot"}, Also: []string{"ShyBot"}}, "/x", 5, allowed, "GoodBot"},

		{"two fields: both must be allowed", policy.Tokens{Main: []string{"GoodBot", "ShyBot"}}, "/shy", 9, disallowed, "ShyBot"},
		{"two fields: one falls to the star", policy.Tokens{Main: []string{"GoodBot", "EvilBot"}}, "/star", 2, disallowed, "*"},
		{"two fields: allowed for both", policy.Tokens{Main: []string{"ShyBot", "GoodBot"}}, "/star", 0, allowed, "ShyBot"},

		{"a further name and a form", policy.Tokens{Main: []string{"EvilBot"}, Also: []string{"ShyBot"}}, "//shy", 9, disallowed, "ShyBot"},
		{"an empty further name", policy.Tokens{Main: []string{"GoodBot"}, Also: []string{""}}, "/star", 5, allowed, "GoodBot"},
	} {
		d := snapshotOf(robots).Decide(c.tokens, c.target)
		if d.Allowed != c.want || d.Line != c.line || d.Token != c.token {
			t.Errorf("%s: %s for %v: %v (token %q, line %d); want allowed=%t, token %q, line %d",
				c.why, c.target, c.tokens, d, d.Token, d.Line, c.want, c.token, c.line)
		}
	}
}

func TestDecideCombinesTheGroupsOfAllTokens(t *testing.T) {
	const robots = "User-agent: OneBot\nDisallow: /a\nUser-agent: TwoBot\nAllow: /a/b\nDisallow: /c\nUser-agent: *\nDisallow: /s\n"
	p := policy.Compile([]byte(robots), policy.Options{})
	for _, c := range []struct {
		why    string
		tokens []string
		target string
		line   int
		want   bool
		token  string
	}{
		{"a rule of the first", []string{"OneBot", "TwoBot"}, "/a", 2, disallowed, "OneBot"},
		{"a rule of the second", []string{"OneBot", "TwoBot"}, "/c", 5, disallowed, "TwoBot"},
		{"rules of both compete", []string{"OneBot", "TwoBot"}, "/a/b", 4, allowed, "TwoBot"},
		{"in either order", []string{"TwoBot", "OneBot"}, "/a/b", 4, allowed, "TwoBot"},
		{"one that no group names adds nothing", []string{"OneBot", "Other"}, "/s", 0, allowed, "OneBot"},
		{"none is named", []string{"Other", "Another"}, "/s", 7, disallowed, "*"},
		{"the star beside a name", []string{"*", "OneBot"}, "/s", 0, allowed, "OneBot"},
		{"the same twice", []string{"OneBot", "onebot"}, "/a", 2, disallowed, "OneBot"},
		{"no token", nil, "/s", 7, disallowed, "*"},
	} {
		d := p.Decide(c.tokens, c.target)
		if d.Allowed != c.want || d.Line != c.line || d.Token != c.token {
			t.Errorf("%s: %s for %q: %v (token %q, line %d); want allowed=%t, token %q, line %d",
				c.why, c.target, c.tokens, d, d.Token, d.Line, c.want, c.token, c.line)
		}
	}
}

// TestSnapshotDisallowsWhatTakesTooLongToCompare: a site that writes both its
// rules and the links to itself must not be able to keep the proxy busy.
func TestSnapshotDisallowsWhatTakesTooLongToCompare(t *testing.T) {
	var robots strings.Builder
	robots.WriteString("User-agent: *\n")
	for i := range 20_000 {
		fmt.Fprintf(&robots, "Allow: /*%012d\n", i*7919)
	}
	s := snapshotOf(robots.String())
	for _, c := range []struct {
		why, target string
		want        policy.Reason
	}{
		{"no forms", "/" + strings.Repeat("8", 8<<10), policy.ReasonNoMatch},
		{"forms, few octets", `//8\8%2f./8?8`, policy.ReasonNoMatch},
		{"many forms of many octets", `//8\8%2f./8/../8` + strings.Repeat("8", 8<<10), policy.ReasonCostly},
	} {
		d := s.Decide(only("ExampleBot"), c.target)
		if d.Reason != c.want || d.Allowed != (c.want == policy.ReasonNoMatch) {
			t.Errorf("%s: got %s", c.why, d)
		}
	}
}
