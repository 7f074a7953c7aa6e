package policy_test

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"heed/policy"
)

func TestDecisionString(t *testing.T) {
	const robots = "User-agent: ExampleBot/2.1\nDisallow: /caf\xc3\xa9/\nAllow: /x\n"
	for _, c := range []struct {
		decision policy.Decision
		want     string
	}{
		{
			snapshotOf(robots).Decide(only("examplebot"), "/caf%c3%a9/x"),
			`disallowed by "Disallow: /café/" (line 2) in the group of "ExampleBot/2.1" (line 1)`,
		},
		{
			snapshotOf(robots).Decide(only("examplebot"), "//café/x"),
			`disallowed by "Disallow: /café/" (line 2) in the group of "ExampleBot/2.1" (line 1), which the target meets as "/caf%C3%A9/x"`,
		},
		{
			snapshotOf(robots).Decide(only("examplebot"), "/x"),
			`allowed by "Allow: /x" (line 3) in the group of "ExampleBot/2.1" (line 1)`,
		},
		{
			snapshotOf(robots).Decide(only("examplebot"), "/y"),
			`allowed: no rule in the group of "ExampleBot/2.1" (line 1) matches`,
		},
		{
			snapshotOf(robots).Decide(only("OtherBot"), "/y"),
			`allowed: no group names "OtherBot", and there is none for "*"`,
		},
		{
			snapshotOf(robots).Decide(policy.Tokens{}, "/y"),
			`allowed: there is no group for "*"`,
		},
		{
			snapshotOf(robots).Decide(only("OtherBot"), "/robots.txt"),
			`allowed: /robots.txt may always be requested`,
		},
		{
			(&policy.Snapshot{Access: policy.Unavailable}).Decide(only("OtherBot"), "/y"),
			`allowed: robots.txt is unavailable`,
		},
		{
			(&policy.Snapshot{Access: policy.Unreachable}).Decide(only("OtherBot"), "/y"),
			`disallowed: robots.txt is unreachable`,
		},
		{
			policy.Compile([]byte("Disallow: /x\n"), policy.Options{Dialect: policy.Robotstxt}).Decide(nil, "/x"),
			`disallowed by "Disallow: /x" (line 1) in the group for everyone, of rules before any group as robotstxt reads it`,
		},
		{
			policy.Compile(nil, policy.Options{Dialect: policy.RERP}).Decide([]string{"OtherBot"}, "/x"),
			`allowed: no group names "OtherBot", and there is none for "*" as rerp reads it`,
		},
		{
			policy.Compile([]byte("User-agent: *\nDisallow:\n"), policy.Options{Dialect: policy.RERP}).Decide(nil, "/x"),
			`allowed by "Disallow: " (line 2) in the group of "*" (line 1) as rerp reads it`,
		},
		{
			policy.Compile([]byte("User-agent: *\nAllow:\n"), policy.Options{Dialect: policy.RERP}).Decide(nil, "/x"),
			`disallowed by "Allow: " (line 2) in the group of "*" (line 1) as rerp reads it`,
		},
		{
			policy.Decision{Reason: policy.ReasonCostly},
			`disallowed: an origin may take the target for so many others that comparing each with the wildcards of robots.txt would take too long`,
		},
		{policy.Decision{Reason: policy.ReasonOverride}, `disallowed by the operator, whatever robots.txt says`},
		{policy.Decision{}, `disallowed: no reason is known`},
	} {
		if got := c.decision.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestDecisionShowsWhatMet(t *testing.T) {
	const robots = "User-agent: *\nUser-agent: ExampleBot/2.1 # ours\nDissallow: /%63afé*.html # why\n"
	got := snapshotOf(robots).Decide(only("EXAMPLEBOT"), "/x/../caf%c3%a9/menu.html")
	want := policy.Decision{
		Reason:    policy.ReasonRule,
		Token:     "EXAMPLEBOT",
		Group:     "ExampleBot/2.1",
		GroupLine: 2,
		Value:     "/%63afé*.html",
		Line:      3,
		Pattern:   "/caf%C3%A9*.html",
		Form:      "/caf%C3%A9/menu.html",
	}
	if got.Clone(100) != want {
		t.Errorf("got  %+v\nwant %+v", got.Clone(100), want)
	}
	if names := got.Names(); !slices.Equal(names, []string{"*", "ExampleBot/2.1"}) {
		t.Errorf("the group has the names %q", names)
	}
	for _, d := range []policy.Decision{got, got.Clone(100)} {
		if d.Path() != "/caf%C3%A9/menu.html" {
			t.Errorf("the path is %q", d.Path())
		}
	}
}

func TestAClonedDecisionKeepsItsTextsAndNotTheRules(t *testing.T) {
	s := snapshotOf("User-agent: a\nUser-agent: b\nDisallow: /caf%c3%a9\n")
	watched := weak.Make(s.Rules)
	d := s.Decide(only("b"), "/caf%c3%a9")
	clone := d.Clone(100)
	if clone.String() != d.String() || clone.Path() != "/caf%C3%A9" || !slices.Equal(clone.Names(), []string{"b"}) {
		t.Errorf("the clone says %v, %q, %q", clone, clone.Path(), clone.Names())
	}
	s, d = nil, policy.Decision{}
	runtime.GC()
	if watched.Value() != nil {
		t.Error("the clone holds the rules")
	}
	runtime.KeepAlive(clone)
}

func TestReasonString(t *testing.T) {
	for reason, want := range map[policy.Reason]string{
		policy.ReasonRule:        "rule",
		policy.ReasonNoMatch:     "no-match",
		policy.ReasonNoGroup:     "no-group",
		policy.ReasonRobotsTxt:   "robots-txt",
		policy.ReasonUnavailable: "unavailable",
		policy.ReasonUnreachable: "unreachable",
		policy.ReasonRestricted:  "restricted",
		policy.ReasonOverride:    "override",
		policy.ReasonCostly:      "costly",
		0:                        "Reason(0)",
		99:                       "Reason(99)",
	} {
		if got := reason.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
