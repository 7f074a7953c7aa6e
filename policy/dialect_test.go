package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"heed/policy"
)

// checkReadings asks Policy.Decide of a dialect, and that it says whose reading
// it is.
func checkReadings(t *testing.T, d policy.Dialect, rows []verdict) {
	t.Helper()
	for _, row := range rows {
		got := policy.Compile([]byte(row.robots), policy.Options{Dialect: d}).
			Decide([]string{row.token}, row.target)
		if got.Allowed != row.want || got.Line != row.line {
			t.Errorf("%s: %s:\n%q\n%s for %q: %v; want allowed=%t by line %d",
				d, row.why, row.robots, row.target, row.token, got, row.want, row.line)
		}
		if want := strings.TrimPrefix(d.Name(), policy.RFC9309.Name()); got.Dialect != want {
			t.Errorf("%s: %s: the decision names the dialect %q", d, row.why, got.Dialect)
		}
	}
}

// recordsOf returns the values of the records of one kind, in file order.
func recordsOf(d policy.Dialect, robots string, kind policy.Kind) []string {
	var values []string
	for r := range policy.Compile([]byte(robots), policy.Options{Dialect: d}).Records() {
		if r.Kind == kind {
			values = append(values, r.Value)
		}
	}
	return values
}

func TestDialectsHaveDistinctNames(t *testing.T) {
	var names []string
	for _, d := range policy.Dialects() {
		names = append(names, d.String())
		found, err := policy.DialectNamed(strings.ToUpper(d.Name()))
		if err != nil || found != d {
			t.Errorf("by the name of %s there is %s, %v", d, found, err)
		}
	}
	want := []string{"rfc9309", "google", "robotstxt", "apetest", "rerp", "koster-1996"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if policy.Dialects()[0] != (policy.Dialect{}) {
		t.Error("the first is not the zero Dialect")
	}
	const message = `dialect "bing" is none of rfc9309, google, robotstxt, apetest, rerp, koster-1996`
	if _, err := policy.DialectNamed("bing"); err == nil || err.Error() != message {
		t.Errorf("got %v, want %s", err, message)
	}
}

// One file, one question, and all that they differ in at once.
func TestDialectsAnswerDifferently(t *testing.T) {
	const robots = "User-agent: ExampleBot-News\nDisallow: /a\n\nUser-agent: *\nAllow: /p\nDisallow: /private\n"
	for _, c := range []struct {
		why    string
		d      policy.Dialect
		target string
		want   bool
		line   int
	}{
		{"no group has just this name; the longest rule", policy.RFC9309, "/private", disallowed, 6},
		{"the same", policy.Google, "/private", disallowed, 6},
		{"the first group's name has the agent's inside", policy.Robotstxt, "/private", allowed, 0},
		{"and its rules count", policy.Robotstxt, "/a", disallowed, 2},
		{"the first group's name starts with the agent's", policy.ApeTest, "/a", disallowed, 2},
		{"no name is within the agent's; the first rule", policy.RERP, "/private", allowed, 5},
		{"the first group's name has the agent's inside", policy.Koster1996, "/a", disallowed, 2},
	} {
		d := policy.Compile([]byte(robots), policy.Options{Dialect: c.d}).Decide([]string{"examplebot"}, c.target)
		if d.Allowed != c.want || d.Line != c.line {
			t.Errorf("%s: %s: %s: %v", c.d, c.why, c.target, d)
		}
	}
}

// Several agents must each be allowed where one group alone is obeyed.
func TestDialectsAskForEachAgent(t *testing.T) {
	const robots = "User-agent: one\nDisallow: /x\n\nUser-agent: two\nDisallow: /y\n"
	for _, d := range []policy.Dialect{policy.Robotstxt, policy.ApeTest, policy.RERP, policy.Koster1996} {
		p := policy.Compile([]byte(robots), policy.Options{Dialect: d})
		for target, line := range map[string]int{"/x": 2, "/y": 5, "/z": 0} {
			if got := p.Decide([]string{"one", "two"}, target); got.Line != line || got.Allowed != (line == 0) {
				t.Errorf("%s: %s: %v, want line %d", d, target, got, line)
			}
		}
	}
}

// The token of a decision is "*" where the group for everyone decided.
func TestDialectsNameTheTokenThatDecided(t *testing.T) {
	const robots = "User-agent: one\nDisallow: /x\n\nUser-agent: *\nDisallow: /y\n"
	for _, d := range policy.Dialects() {
		p := policy.Compile([]byte(robots), policy.Options{Dialect: d})
		if got := p.Decide([]string{"one"}, "/x"); got.Token != "one" {
			t.Errorf("%s: the token of %v is %q", d, got, got.Token)
		}
		for _, tokens := range [][]string{nil, {"three"}} {
			if got := p.Decide(tokens, "/y"); got.Token != "*" || got.Line != 5 {
				t.Errorf("%s: the token of %v is %q", d, got, got.Token)
			}
		}
	}
}

// A decision knows all agents that share the rules, as written.
func TestDialectsKnowWhoSharesTheRules(t *testing.T) {
	const robots = "User-agent: One\nUser-agent: TWO\nDisallow: /x\n\nUser-agent: *\nDisallow: /y\n"
	for _, d := range policy.Dialects() {
		got := policy.Compile([]byte(robots), policy.Options{Dialect: d}).Decide([]string{"two"}, "/x")
		if want := []string{"One", "TWO"}; !slices.Equal(got.Names(), want) || got.Group != "TWO" || got.GroupLine != 2 {
			t.Errorf("%s: %v, of the group of %q, want %q", d, got, got.Names(), want)
		}
	}
}

// The other records of a group are found as its rules are.
func TestDialectsFindTheRecordsOfAGroup(t *testing.T) {
	const robots = "User-agent: one\nCrawl-delay: 1\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 2\nDisallow: /y\n"
	for _, d := range policy.Dialects() {
		p := policy.Compile([]byte(robots), policy.Options{Dialect: d})
		for agent, want := range map[string]string{"one": "1", "three": "2", "": "2"} {
			var tokens []string
			if agent != "" {
				tokens = []string{agent}
			}
			var got []string
			for r := range p.RecordsFor(tokens) {
				got = append(got, r.Value)
			}
			if !slices.Equal(got, []string{want}) {
				t.Errorf("%s: the records for %q are %q, want %q", d, agent, got, want)
			}
		}
	}
}

func TestDialectOutcome(t *testing.T) {
	const (
		follow, all, none = policy.FollowRules, policy.AllowAll, policy.DisallowAll
		later, open       = policy.Defer, policy.LeaveOpen
	)
	statuses := []int{0, 200, 204, 299, 301, 400, 401, 403, 404, 410, 429, 500, 503, 599, 600}
	for _, c := range []struct {
		why  string
		d    policy.Dialect
		want []policy.Outcome // of statuses
	}{
		{
			"RFC 9309 §2.3.1: 4xx is unavailable, all that is neither is unreachable", policy.RFC9309,
			[]policy.Outcome{later, follow, follow, follow, later, all, all, all, all, all, all, later, later, later, later},
		},
		{
			"draft-koster-rep-00 §2.3.1: the same, undefined statuses among the unreachable", policy.Google,
			[]policy.Outcome{later, follow, follow, follow, later, all, all, all, all, all, all, later, later, later, later},
		},
		{
			"the document has no word on fetching", policy.Robotstxt,
			[]policy.Outcome{open, follow, follow, follow, open, open, open, open, open, open, open, open, open, open, open},
		},
		{
			"the caller has the lines already", policy.ApeTest,
			[]policy.Outcome{open, follow, follow, follow, open, open, open, open, open, open, open, open, open, open, open},
		},
		{
			"401, 403 and 404 are known, all else, 410 and endless redirects too, is the caller's", policy.RERP,
			[]policy.Outcome{open, follow, follow, follow, open, open, none, none, all, open, open, open, open, open, open},
		},
		{
			"§3.1: the same, and a failure of the moment defers", policy.Koster1996,
			[]policy.Outcome{later, follow, follow, follow, open, open, none, none, all, open, open, later, later, later, later},
		},
	} {
		for i, status := range statuses {
			if got := c.d.Outcome(status); got != c.want[i] {
				t.Errorf("%s: %s: status %d: %s, want %s", c.d, c.why, status, got, c.want[i])
			}
		}
	}
}

func TestOutcomeWords(t *testing.T) {
	for o, want := range map[policy.Outcome]string{
		policy.FollowRules: "follow-rules", policy.AllowAll: "allow-all", policy.DisallowAll: "disallow-all",
		policy.Defer: "defer", policy.LeaveOpen: "leave-open",
	} {
		if o.String() != want {
			t.Errorf("%d: %q, want %q", o, o, want)
		}
	}
}

func TestDialectLifetime(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		why     string
		d       policy.Dialect
		want    time.Duration
		expires bool
	}{
		{"RFC 9309 §2.4: 24 hours", policy.RFC9309, day, false},
		{"draft-koster-rep-00 §2.4: 24 hours", policy.Google, day, false},
		{"no word of its own: the default", policy.Robotstxt, day, false},
		{"no word of its own: the default", policy.ApeTest, day, false},
		{"Expires, else seven days", policy.RERP, 7 * day, true},
		{"§3.4: Expires, else seven days", policy.Koster1996, 7 * day, true},
	} {
		if got, expires := c.d.Lifetime(); got != c.want || expires != c.expires {
			t.Errorf("%s: %s: %s, Expires first %t", c.d, c.why, got, expires)
		}
	}
}
