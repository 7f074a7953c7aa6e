package policy_test

import (
	"testing"

	"heed/policy"
)

// verdict is a row of a case table: what a robots.txt says to one question.
type verdict struct {
	why    string // the reason that the row is there
	robots string
	token  string
	target string
	line   int // of the rule that decides, 0 for none
	want   bool
}

const (
	allowed    = true
	disallowed = false
)

// checkVerdicts asks Policy.Decide.
func checkVerdicts(t *testing.T, rows []verdict) {
	t.Helper()
	for _, row := range rows {
		got := policy.Compile([]byte(row.robots), policy.Options{}).
			Decide([]string{row.token}, row.target)
		if got.Allowed != row.want || got.Line != row.line {
			t.Errorf("%s:\n%s\n%s for %s: %v; want allowed=%t by line %d",
				row.why, row.robots, row.target, row.token, got, row.want, row.line)
		}
	}
}

// snapshotOf returns a Snapshot with the rules of robots.
func snapshotOf(robots string) *policy.Snapshot {
	return &policy.Snapshot{
		Access: policy.Successful,
		Rules:  policy.Compile([]byte(robots), policy.Options{}),
	}
}

// only is a client with one product token.
func only(token string) policy.Tokens { return policy.Tokens{Main: []string{token}} }
