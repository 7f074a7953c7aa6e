package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"heed/policy"
)

// cautious returns a Snapshot whose rules are read as every dialect reads them.
func cautious(robots string) *policy.Snapshot {
	return &policy.Snapshot{
		Access: policy.Successful,
		Rules:  policy.Compile([]byte(robots), policy.Options{Cautious: true}),
	}
}

// Every dialect is given a file that it alone reads as a denial, all dialects
// before it in the list of Dialects not.
func TestCautiousDeniesWhatAnyDialectDenies(t *testing.T) {
	for _, c := range []struct {
		why    string
		robots string
		agent  string
		target string
		who    policy.Dialect
		line   int
	}{
		{"the default", everyone + "Disallow: /x\n", "Bot", "/x", policy.RFC9309, 2},
		{"a token of letters alone", "User-agent: Bot2\nDisallow: /x\n", "Bot", "/x", policy.Google, 2},
		{"a rule before any group", "Disallow: /x\n", "Bot", "/x", policy.Robotstxt, 1},
		{"the first rule that matches", everyone + "Disallow: /x\nAllow: /x/y\n", "Bot", "/x/y", policy.Robotstxt, 2},
		{"the first of two as long", "User-agent: Bot\nDisallow: /x\nAllow: /x\n", "Bot", "/x", policy.Robotstxt, 2},
		{"a name that starts with the agent's", everyone + "Allow: /\n\nUser-agent: BotNews\nDisallow: /x\n", "Bot", "/x", policy.ApeTest, 5},
		{"an empty Allow", "User-agent: Bot\nAllow:\n", "Bot", "/x", policy.RERP, 2},
		{"a name that has the agent's within", everyone + "Disallow:\n\nUser-agent: NewBotx\nDisallow: /x\n", "Bot", "/x", policy.Koster1996, 5},
	} {
		d := cautious(c.robots).Decide(only(c.agent), c.target)
		want := strings.TrimPrefix(c.who.Name(), policy.RFC9309.Name())
		if d.Allowed || d.Dialect != want || d.Line != c.line || d.Reason != policy.ReasonRule || d.Form != "" {
			t.Errorf("%s: %v; want it disallowed by line %d as %s reads it", c.why, d, c.line, c.who)
		}
		if end := " as " + want + " reads it"; want != "" && !strings.HasSuffix(d.String(), end) {
			t.Errorf("%s: %q does not end with %q", c.why, d, end)
		}
		if d := snapshotOf(c.robots).Decide(only(c.agent), c.target); want != "" && !d.Allowed {
			t.Errorf("%s: without caution: %v", c.why, d)
		}
	}
}

func TestCautiousDeniesFormsToo(t *testing.T) {
	const robots = "Disallow: /private\n" // a rule for Robotstxt alone
	if d := cautious(robots).Decide(only("Bot"), "/private/../x"); d.Allowed {
		t.Errorf("the target as received meets the rule: %v", d)
	}
	if d := cautious(robots).Decide(only("Bot"), "/pub%2f../x"); !d.Allowed || d.Dialect != "" {
		t.Errorf("no form meets the rule: %v", d)
	}
	for target, form := range map[string]string{
		"/private":         "",
		"/priv%61te":       "",
		"//private":        "/private",
		"/pub/../private":  "/private",
		`/pub\..\private`:  "/private",
		"/%2e/private?a=b": "/private?a=b",
	} {
		d := cautious(robots).Decide(only("Bot"), target)
		if d.Allowed || d.Dialect != "robotstxt" || d.Form != form {
			t.Errorf("%s: %v, form %q, want the form %q", target, d, d.Form, form)
		}
		end := " as robotstxt reads it"
		if form != "" {
			end += `, which the target meets as "` + form + `"`
		}
		if !strings.HasSuffix(d.String(), end) {
			t.Errorf("%s: %q does not end with %q", target, d, end)
		}
	}
}

// What another dialect allows counts for nothing.
func TestCautiousNeverFrees(t *testing.T) {
	for _, c := range []struct {
		why, robots, target string
	}{
		{"an empty Disallow that comes first", everyone + "Disallow:\nDisallow: /x\n", "/x"},
		{"an Allow that comes first", everyone + "Allow: /x\nDisallow: /x/y\n", "/x/y"},
		{"wildcards", everyone + "Disallow: /*x\n", "/ax"},
		{"a record cut by an empty line", everyone + "\nDisallow: /x\n", "/x"},
		{"a form", everyone + "Disallow:\nDisallow: /x\n", "/a/../x"},
	} {
		d := cautious(c.robots).Decide(only("Bot"), c.target)
		if d.Allowed || d.Dialect != "" {
			t.Errorf("%s: %v; want it disallowed by the default", c.why, d)
		}
	}
	d := cautious(everyone+"Allow: /x\n").Decide(only("Bot"), "/x")
	if !d.Allowed || d.Dialect != "" || d.Line != 2 {
		t.Errorf("where all allow, the decision is the default's: got %v of %q", d, d.Dialect)
	}
}

func TestCautiousAllowsRobotsTxt(t *testing.T) {
	if d := cautious("Disallow: /\n").Decide(only("Bot"), "/robots.txt"); !d.Allowed || d.Reason != policy.ReasonRobotsTxt {
		t.Errorf("got %v", d)
	}
}

// Whoever is refused robots.txt itself is refused everything, as RERP and the
// draft of 1996 have it.
func TestCautiousTakesARefusalForARestriction(t *testing.T) {
	for _, c := range []struct {
		status   int
		cautious bool
		allowed  bool
	}{
		{401, true, false},
		{403, true, false},
		{404, true, true},
		{410, true, true},
		{429, true, true},
		{401, false, true},
		{403, false, true},
	} {
		s := &policy.Snapshot{Access: policy.Unavailable, Status: c.status, Cautious: c.cautious}
		d := s.Decide(only("Bot"), "/x")
		if d.Allowed != c.allowed {
			t.Errorf("status %d, cautious %t: %v", c.status, c.cautious, d)
		}
		if d.Allowed {
			continue
		}
		const sentence = "disallowed: robots.txt itself is refused as rerp reads it"
		if d.Reason != policy.ReasonRestricted || d.Dialect != "rerp" || d.String() != sentence {
			t.Errorf("status %d: %v of %q, want %q", c.status, d, d.Dialect, sentence)
		}
		if d := s.Decide(only("Bot"), "/robots.txt"); !d.Allowed {
			t.Errorf("status %d: %v", c.status, d)
		}
	}
}

// RERP looks for names in whole User-Agent fields; the others in product tokens.
func TestCautiousLooksForNamesInFields(t *testing.T) {
	const robots = "User-agent: Mozilla\nAllow:\n" // for RERP: nothing is allowed
	who := policy.Tokens{Main: []string{"Bot"}, Fields: []string{"Mozilla/5.0 (compatible; Bot/1.0)"}}
	if d := cautious(robots).Decide(who, "/x"); d.Allowed || d.Dialect != "rerp" || d.Token != who.Fields[0] {
		t.Errorf("got %v for %q", d, d.Token)
	}
	who.Fields = nil
	if d := cautious(robots).Decide(who, "/x"); !d.Allowed {
		t.Errorf("without fields: %v", d)
	}
	const other = "User-agent: zilla\nDisallow: /\n" // Robotstxt would find it in the field
	who.Fields = []string{"Zilla/5.0"}
	if d := cautious(other).Decide(who, "/x"); d.Allowed || d.Dialect != "rerp" {
		t.Errorf("got %v of %q, want it of RERP alone", d, d.Dialect)
	}
}

// Each of several fields must be allowed, and each of several tokens.
func TestCautiousAsksForEach(t *testing.T) {
	const robots = "User-agent: one\nDisallow: /x\nAllow: /x\n\nUser-agent: two\nDisallow: /y\nAllow: /y\n"
	who := policy.Tokens{Main: []string{"one", "two"}, Fields: []string{"one/1", "two/2"}}
	for target, line := range map[string]int{"/x": 2, "/y": 6, "/z": 0} {
		d := cautious(robots).Decide(who, target)
		if d.Allowed != (line == 0) || d.Line != line {
			t.Errorf("%s: %v, want line %d", target, d, line)
		}
	}
	if d := cautious("Disallow: /x\n").Decide(policy.Tokens{}, "/x"); d.Allowed || d.Dialect != "robotstxt" {
		t.Errorf("a client without a name: %v", d)
	}
}

// A copy of a decision keeps the name of the dialect, and Path what met the rule.
func TestCautiousDecisionIsCloned(t *testing.T) {
	d := cautious("Disallow: /a%2Ab\n").Decide(only("Bot"), "/%61xb").Clone(1000)
	if d.Dialect != "robotstxt" || d.Path() != "/axb" || d.Pattern != "/a*b" || d.Rule() != "Disallow: /a%2Ab" {
		t.Errorf("got %+v, path %q", d, d.Path())
	}
}

// With caution a target is disallowed if any dialect by itself disallows it, and
// never allowed where the default disallows.
func FuzzCautious(f *testing.F) {
	for _, robots := range []string{
		"", example1996, "Disallow: /x\n" + everyone + "Allow: /\n", "\xEF\xBB\xBFUser-agent: a*b\rDisallow: /*%24\r\n\nAllow:",
		everyone + "Disallow: /a%2Fb$\nDisallow: %FF\nAllow: /caf\xe9 # x\n\n# y\nUseragent:\nDisallow:\x00\n",
	} {
		for _, target := range []string{"/", "/x", "/a%2fb?c", "/robots.txt", "/a/../x", "/caf%E9"} {
			f.Add([]byte(robots), "aXb", target)
		}
	}
	f.Fuzz(func(t *testing.T, robots []byte, agent, target string) {
		rules := policy.Compile(robots, policy.Options{Cautious: true})
		d := (&policy.Snapshot{Rules: rules}).Decide(only(agent), target)
		if d.Reason == policy.ReasonRobotsTxt {
			return
		}
		plain := (&policy.Snapshot{Rules: policy.Compile(robots, policy.Options{})}).Decide(only(agent), target)
		if d.Allowed && !plain.Allowed {
			t.Errorf("freed: %v, without caution %v", d, plain)
		}
		for _, dialect := range policy.Dialects() {
			alone := policy.Compile(robots, policy.Options{Dialect: dialect}).Decide([]string{agent}, target)
			if d.Allowed && !alone.Allowed {
				t.Errorf("%v, though %v", d, alone)
			}
		}
	})
}

// TestCautionComparesManyFormsWithManyRulesWithoutWildcards: each costs next to
// nothing, in whatever order a dialect tries them.
func TestCautionComparesManyFormsWithManyRulesWithoutWildcards(t *testing.T) {
	var robots strings.Builder
	robots.WriteString("User-agent: *\n")
	for i := range 25_000 {
		fmt.Fprintf(&robots, "Disallow: /p%05d\n", i)
	}
	s := &policy.Snapshot{Rules: policy.Compile([]byte(robots.String()), policy.Options{Cautious: true})}
	who := policy.Tokens{Main: []string{"a"}, Also: []string{"b", "c"}}
	if d := s.Decide(who, "/x//y?a=%2F"+strings.Repeat("q", 4000)); !d.Allowed {
		t.Errorf("got %s", d)
	}
}

// What a body disallows, it disallows as Options.Other, too: with all the forms
// of a target that its own rules want looked at.
func TestTheBodyInOtherOctetsDisallowsWhatItDoesAlone(t *testing.T) {
	other := []byte("User-agent: *\nDisallow: /x?a%3Db\nDisallow: /a/b\nDisallow: /*?q=%2F*z\n")
	alone := policy.Snapshot{Rules: policy.Compile(other, policy.Options{})}
	beside := policy.Snapshot{Rules: policy.Compile([]byte("User-agent: *\nDisallow: /own\n"), policy.Options{Other: other})}
	for _, target := range []string{
		"/", "/x?a=b", "/x?a%3Db", "/z/../x?a=b", "/a/./b", "/a%2Fb", "/a//b", "/a?b", "/y?q=/z", "/y?q=%2fz", "/x?a",
	} {
		want, got := alone.Decide(policy.Tokens{}, target), beside.Decide(policy.Tokens{}, target)
		if got.Allowed != want.Allowed || got.Form != want.Form {
			t.Errorf("%s: %v, alone %v", target, got, want)
		}
	}
}
