package policy

import "time"

// Outcome is what a dialect makes of the answer to a request for robots.txt.
type Outcome uint8

// The outcomes there are.
const (
	FollowRules Outcome = iota // there are rules, to be followed
	AllowAll                   // nothing is disallowed
	DisallowAll                // nothing is allowed
	Defer                      // nothing is allowed until there is another answer
	LeaveOpen                  // the dialect does not say; its user has to
)

var outcomeNames = [...]string{
	FollowRules: "follow-rules", AllowAll: "allow-all", DisallowAll: "disallow-all", Defer: "defer", LeaveOpen: "leave-open",
}

// String returns the outcome in lower-case words, such as "allow-all".
func (o Outcome) String() string { return outcomeNames[o] }

// accessRule says which statuses a dialect knows.
type accessRule uint8

const (
	accessResults         accessRule = iota // RFC 9309 §2.3.1
	leftOpen                                // no word on fetching
	restrictedAndMissing                    // 401 and 403 disallow, 404 allows
	restrictedAndDeferred                   // the same, and a failure of the moment defers
)

// lifetimeRule says how long a dialect uses a copy.
type lifetimeRule uint8

const (
	oneDay        lifetimeRule = iota // RFC 9309 §2.4
	expiresOrWeek                     // until Expires, or seven days
)

// Outcome is what the dialect makes of an HTTP status, redirects followed; 0
// stands for no answer at all. It tells how others behave: what heed does is
// told by Access.
func (d Dialect) Outcome(status int) Outcome {
	if status >= 200 && status <= 299 {
		return FollowRules
	}
	switch d.access {
	case accessResults:
		if status >= 400 && status <= 499 {
			return AllowAll
		}
		return Defer
	case restrictedAndMissing, restrictedAndDeferred:
		switch {
		case status == 401, status == 403:
			return DisallowAll
		case status == 404:
			return AllowAll
		case d.access == restrictedAndDeferred && (status == 0 || status >= 500):
			return Defer
		}
	}
	return LeaveOpen
}

// Lifetime is how long the dialect uses a copy of robots.txt, and whether an
// Expires field of the answer comes before that.
func (d Dialect) Lifetime() (lifetime time.Duration, expires bool) {
	const day = 24 * time.Hour
	if d.lifetime == expiresOrWeek {
		return 7 * day, true
	}
	return day, false
}
