package policy_test

import (
	"strings"
	"testing"

	"heed/policy"
)

// RFC 9309 §2.5, limits.

// padded returns a file in which the rule "Disallow: /late" ends after octets
// octets, its line end not counted.
func padded(octets int) string {
	const rule = "Disallow: /late"
	start := everyone + "Disallow: /early\n#"
	return start + strings.Repeat("x", octets-len(start)-len("\n")-len(rule)) + "\n" + rule
}

func TestRFC9309LimitIsAtLeast500KiB(t *testing.T) {
	const kib500 = 500 * 1024
	for _, c := range []struct {
		why       string
		body      string
		limit     int
		late      bool // whether the last rule counts
		truncated bool
	}{
		{"exactly the limit", padded(kib500), 0, true, false},
		{"the line end is the first octet beyond", padded(kib500) + "\n", 0, true, true},
		{"the rule is cut", padded(kib500 + 1), 0, false, true},
		{"the rule is cut to one that would say more", padded(kib500) + "r", 0, false, true},
		{"the rule is beyond", padded(kib500 + 1000), 0, false, true},
		{"a smaller limit is raised", padded(kib500), 1000, true, false},
		{"a larger limit is kept", padded(kib500 + 1000), kib500 + 1000, true, false},
		{"a larger limit is a limit", padded(kib500 + 1001), kib500 + 1000, false, true},
	} {
		p := policy.Compile([]byte(c.body), policy.Options{Limit: c.limit})
		if got := p.Truncated(); got != c.truncated {
			t.Errorf("%s: truncated %t, want %t", c.why, got, c.truncated)
		}
		if d := p.Decide(nil, "/early"); d.Allowed {
			t.Errorf("%s: the rule before is lost: %v", c.why, d)
		}
		if d := p.Decide(nil, "/late"); d.Allowed == c.late {
			t.Errorf("%s: the last rule counts: %t, want %t", c.why, !d.Allowed, c.late)
		}
	}
}

func TestLongLineKeepsItsFirstOctets(t *testing.T) {
	const kept = 16_663
	const key = "Disallow: "
	exact := "/" + strings.Repeat("x", kept-len(key)-1)
	checkVerdicts(t, []verdict{
		{"a line of the length that counts", everyone + key + exact + "\n", "Bot", exact, 2, disallowed},
		{"what is beyond is dropped", everyone + key + exact + "yz\n", "Bot", exact, 2, disallowed},
		{"and only that: all that counts must match", everyone + key + exact + "yz\n", "Bot", exact[:len(exact)-1], 0, allowed},
		{"the next line is unharmed", everyone + key + exact + "yz\nDisallow: /next", "Bot", "/next", 3, disallowed},
		{
			"a long pattern that triples when encoded", everyone + key + "/" + strings.Repeat("\xff", kept-len(key)-1),
			"Bot", "/" + strings.Repeat("%ff", kept-len(key)-1), 2, disallowed,
		},
	})
}
