package policy_test

import (
	"testing"
	"time"

	"heed/policy"
)

// RFC 9309 §2.3.1, access results.

func TestRFC9309AccessResults(t *testing.T) {
	rules := policy.Compile([]byte(everyone+"Disallow: /x\n"), policy.Options{})
	for _, c := range []struct {
		why      string
		snapshot *policy.Snapshot
		target   string
		allowed  bool
		reason   policy.Reason
	}{
		{"§2.3.1.1 successful: rules are followed", &policy.Snapshot{Access: policy.Successful, Rules: rules}, "/x", disallowed, policy.ReasonRule},
		{"§2.3.1.1 successful: no rule matches", &policy.Snapshot{Access: policy.Successful, Rules: rules}, "/y", allowed, policy.ReasonNoMatch},
		{"§2.3.1.3 unavailable: anything", &policy.Snapshot{Access: policy.Unavailable, Status: 404}, "/x", allowed, policy.ReasonUnavailable},
		{"§2.3.1.4 unreachable: nothing", &policy.Snapshot{Access: policy.Unreachable, Status: 503}, "/y", disallowed, policy.ReasonUnreachable},
		{"§2.3.1.4 unreachable, a copy is used on", &policy.Snapshot{Access: policy.Unreachable, Rules: rules, StaleSince: time.Unix(1, 0)}, "/x", disallowed, policy.ReasonRule},
		{"§2.3.1.4 unreachable, a copy is used on: no rule matches", &policy.Snapshot{Access: policy.Unreachable, Rules: rules, StaleSince: time.Unix(1, 0)}, "/y", allowed, policy.ReasonNoMatch},
		{"§2.2.2 /robots.txt, rules", &policy.Snapshot{Access: policy.Successful, Rules: rules}, "/robots.txt", allowed, policy.ReasonRobotsTxt},
		{"§2.2.2 /robots.txt, unavailable", &policy.Snapshot{Access: policy.Unavailable}, "/robots.txt", allowed, policy.ReasonRobotsTxt},
		{"§2.2.2 /robots.txt, unreachable", &policy.Snapshot{Access: policy.Unreachable}, "/robots.txt", allowed, policy.ReasonRobotsTxt},
		{"not /robots.txt", &policy.Snapshot{Access: policy.Unreachable}, "/robots.txt?x", disallowed, policy.ReasonUnreachable},
		{"in doubt: rules are claimed, there are none", &policy.Snapshot{Access: policy.Successful}, "/y", disallowed, policy.ReasonUnreachable},
		{"in doubt: the zero Snapshot", &policy.Snapshot{}, "/", disallowed, policy.ReasonUnreachable},
		{"in doubt: an access result that is none", &policy.Snapshot{Access: 9}, "/", disallowed, policy.ReasonUnreachable},
		{"in doubt: no Snapshot", nil, "/y", disallowed, policy.ReasonUnreachable},
		{"in doubt: no Snapshot, for /robots.txt", nil, "/robots.txt", disallowed, policy.ReasonUnreachable},
	} {
		got := c.snapshot.Decide(only("ExampleBot"), c.target)
		if got.Allowed != c.allowed || got.Reason != c.reason {
			t.Errorf("%s: %s: got %v (%v), want allowed=%t (%v)",
				c.why, c.target, got, got.Reason, c.allowed, c.reason)
		}
	}
}

func TestAccessString(t *testing.T) {
	for access, want := range map[policy.Access]string{
		policy.Successful:  "successful",
		policy.Unavailable: "unavailable",
		policy.Unreachable: "unreachable",
		9:                  "Access(9)",
	} {
		if got := access.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
