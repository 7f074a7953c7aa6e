package policy_test

import (
	"testing"
	"time"

	"heed/policy"
)

// of is an override with all its texts.
func of(a policy.Action) *policy.Override {
	o := &policy.Override{
		For: "https://a.example", Action: a, Reason: "written consent", Reference: "ticket 4711", Owner: "lab admin",
		Expires: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC),
	}
	if a == policy.UseOperatorsRules {
		o.File = "a-robots.txt"
	}
	return o
}

const by = ` (override for https://a.example by lab admin until 2027-03-31: "written consent")`

func TestOverridesDecideInPlaceOfRobotsTxt(t *testing.T) {
	rules := policy.Compile([]byte("User-agent: *\nDisallow: /private/\n"), policy.Options{})
	for _, tt := range []struct {
		why     string
		action  policy.Action
		rules   *policy.Policy
		target  string
		allowed bool
		reason  policy.Reason
		said    string
	}{
		{"anything may be requested", policy.AllowOrigin, nil, "/x", true, policy.ReasonOverride, `allowed by the operator, whatever robots.txt says` + by},
		{"nothing may be", policy.DisallowOrigin, nil, "/x", false, policy.ReasonOverride, `disallowed by the operator, whatever robots.txt says` + by},
		{"nor by rules that come along", policy.DisallowOrigin, rules, "/x", false, policy.ReasonOverride, `disallowed by the operator, whatever robots.txt says` + by},
		{"as where there is none", policy.HoldUnavailable, nil, "/x", true, policy.ReasonUnavailable, `allowed: the operator has robots.txt count as unavailable` + by},
		{"a rule of the file", policy.UseOperatorsRules, rules, "/private/x", false, policy.ReasonRule, `disallowed by "Disallow: /private/" (line 2) in the group of "*" (line 1), by the operator's file "a-robots.txt" in place of robots.txt` + by},
		{"a form of the target meets it", policy.UseOperatorsRules, rules, "/%2e/private/x", false, policy.ReasonRule, `disallowed by "Disallow: /private/" (line 2) in the group of "*" (line 1), which the target meets as "/private/x", by the operator's file "a-robots.txt" in place of robots.txt` + by},
		{"no rule of the file", policy.UseOperatorsRules, rules, "/x", true, policy.ReasonNoMatch, `allowed: no rule in the group of "*" (line 1) matches, by the operator's file "a-robots.txt" in place of robots.txt` + by},
		{"a file that was lost allows nothing", policy.UseOperatorsRules, nil, "/x", false, policy.ReasonUnreachable, `disallowed: robots.txt is unreachable, by the operator's file "a-robots.txt" in place of robots.txt` + by},
		{"an action that is not known allows nothing", 99, rules, "/x", false, policy.ReasonOverride, `disallowed by the operator, whatever robots.txt says` + by},
	} {
		o := of(tt.action)
		d := o.Decide(tt.rules, only("ExampleBot"), tt.target)
		if d.Allowed != tt.allowed || d.Reason != tt.reason || d.Override != o || d.String() != tt.said {
			t.Errorf("%s: %v, %v by %v:\n%s\nwant %v, %v:\n%s", tt.why, d.Allowed, d.Reason, d.Override, d, tt.allowed, tt.reason, tt.said)
		}
		if c := d.Clone(100); c.Override != o || c.String() != d.String() {
			t.Errorf("%s: a copy says %s", tt.why, c)
		}
	}
}

func TestOverridesLeaveRobotsTxtItselfAlone(t *testing.T) {
	all := policy.Compile([]byte("User-agent: *\nDisallow: /\n"), policy.Options{})
	for _, a := range []policy.Action{policy.AllowOrigin, policy.DisallowOrigin, policy.HoldUnavailable, policy.UseOperatorsRules} {
		for target, want := range map[string]bool{"/robots.txt": true, "/%72obots.txt": true, "/robots.txt?x": false} {
			d := of(a).Decide(all, only("ExampleBot"), target)
			if left := d.Reason == policy.ReasonRobotsTxt; left != want || left && (!d.Allowed || d.Override != nil) {
				t.Errorf("%v: %s is %v", a, target, d)
			}
		}
	}
}

func TestUntilIsTheLastDayOrTheMoment(t *testing.T) {
	for want, at := range map[string]time.Time{
		"":                     {},
		"2027-03-31":           time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC),
		"2028-02-29":           time.Date(2028, 3, 1, 2, 0, 0, 0, time.FixedZone("", 7200)),
		"2027-04-01T00:00:01Z": time.Date(2027, 4, 1, 0, 0, 1, 0, time.UTC),
		"2027-03-31T22:00:00Z": time.Date(2027, 4, 1, 0, 0, 0, 0, time.FixedZone("", 7200)),
	} {
		if got := (&policy.Override{Expires: at}).Until(); got != want {
			t.Errorf("%v is told as %q, want %q", at, got, want)
		}
	}
}

func TestActionsHaveTheirWords(t *testing.T) {
	for i, word := range policy.Actions() {
		if got := policy.Action(i).String(); got != word || word == "" {
			t.Errorf("action %d is %q and %q", i, got, word)
		}
	}
	if got := policy.Action(99).String(); got != "Action(99)" {
		t.Error(got)
	}
	if policy.Action(0) != policy.DisallowOrigin {
		t.Error("the zero action does not disallow")
	}
}
