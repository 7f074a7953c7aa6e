package fetch

import (
	"testing"
	"time"

	"heed/policy"
)

// TestARecordIsReadAsItWasWhenItsOriginWasLastAsked, whatever its age.
func TestARecordIsReadAsItWasWhenItsOriginWasLastAsked(t *testing.T) {
	then := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := Record{Access: policy.Successful, Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n"), Fetched: then, Checked: then, FreshUntil: then.Add(time.Hour)}
	failed := func(r Record, after time.Duration) Record {
		r.Attempts, r.Checked = 1, then.Add(after)
		return r
	}
	none := Record{Access: policy.Unavailable, Status: 404, Fetched: then, Checked: then, FreshUntil: then.Add(time.Hour)}
	latin := rules
	latin.Body, latin.Charset = []byte("User-agent: *\nDisallow: /caf\xe9\n"), "iso-8859-1"
	refused := none
	refused.Status = 403
	for _, tt := range []struct {
		why     string
		reading Reading
		record  Record
		target  string
		allowed bool
		reason  policy.Reason
	}{
		{"rules, long out of date", Reading{}, rules, "/x", false, policy.ReasonRule},
		{"and what they allow", Reading{}, rules, "/y", true, policy.ReasonNoMatch},
		{"used on while the origin fails", Reading{}, failed(rules, 2*time.Hour), "/y", true, policy.ReasonNoMatch},
		{"no body is an empty one", Reading{}, Record{Access: policy.Successful, Status: 200}, "/x", true, policy.ReasonNoGroup},
		{"there was none", Reading{}, none, "/x", true, policy.ReasonUnavailable},
		{"it failed while that was fresh", Reading{}, failed(none, time.Minute), "/x", true, policy.ReasonUnavailable},
		{"it failed later, and there is no copy", Reading{}, failed(none, 2*time.Hour), "/x", false, policy.ReasonUnreachable},
		{"it never answered", Reading{}, Record{Access: policy.Unreachable, Attempts: 3}, "/x", false, policy.ReasonUnreachable},
		{"refused", Reading{}, refused, "/x", true, policy.ReasonUnavailable},
		{"refused, which counts", Reading{Refusals: true}, refused, "/x", false, policy.ReasonRestricted},
		{"refused, with caution", Reading{Cautious: true}, refused, "/x", false, policy.ReasonRestricted},
		{"in another charset", Reading{}, latin, "/caf%c3%a9", false, policy.ReasonRule},
		{"and in its own octets", Reading{}, latin, "/caf%e9", false, policy.ReasonRule},
		{"as a dialect", Reading{Dialect: policy.Google}, rules, "/x", false, policy.ReasonRule},
	} {
		s := tt.reading.Snapshot("https://a.example/robots.txt", tt.record)
		if d := s.Decide(policy.Tokens{}, tt.target); d.Allowed != tt.allowed || d.Reason != tt.reason {
			t.Errorf("%s: %v", tt.why, d)
		}
		if s.Rules != nil && s.Rules.Dialect() != tt.reading.Dialect {
			t.Errorf("%s: read as %s", tt.why, s.Rules.Dialect())
		}
	}
}
