package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Action is what an operator has done for an origin in place of heeding its
// robots.txt. The zero Action disallows.
type Action uint8

// The actions there are.
const (
	DisallowOrigin    Action = iota // nothing may be requested
	AllowOrigin                     // anything may be requested
	HoldUnavailable                 // robots.txt counts as unavailable (RFC 9309 §2.3.1.3)
	UseOperatorsRules               // the rules are those of a file of the operator's
)

var actionNames = [...]string{
	DisallowOrigin: "disallow", AllowOrigin: "allow", HoldUnavailable: "unavailable", UseOperatorsRules: "file",
}

// Actions are the words for all actions, each at the place of its value.
func Actions() []string { return append([]string(nil), actionNames[:]...) }

// String returns the action in one lower-case word: "disallow", "allow",
// "unavailable" or "file".
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "Action(" + strconv.Itoa(int(a)) + ")"
}

// Override is the word of an operator about some origins, which takes the place
// of their robots.txt: what is done, and on whose responsibility. It must not be
// changed once it is shared; then it is safe for concurrent use.
//
// Its texts are the operator's. Expires is carried for those who look after it:
// no decision depends on it.
type Override struct {
	For       string    // which origins: "https://a.example", or hosts, "a.example" or "*.a.example"
	Action    Action    // what is done
	File      string    // the name of the operator's file; empty unless UseOperatorsRules
	Reason    string    // why
	Reference string    // where that is on record; may be empty
	Owner     string    // who answers for it
	Expires   time.Time // from when on it has no effect; zero: never
}

// Decide says whether the client may request target, as [Snapshot.Decide] does,
// where the override is in force. The rules are those of the operator's file,
// nil for every other action: without them, and by an action that is not known,
// nothing is allowed.
//
// "/robots.txt" itself is allowed whatever the operator says, since no override
// is needed for it.
func (o *Override) Decide(rules *Policy, t Tokens, target string) Decision {
	s := Snapshot{Access: Unavailable}
	if o.Action == UseOperatorsRules {
		s = Snapshot{Rules: rules}
	}
	d := s.Decide(t, target)
	if d.Reason == ReasonRobotsTxt {
		return d
	}
	switch o.Action {
	case UseOperatorsRules, HoldUnavailable:
	case AllowOrigin:
		d = Decision{Allowed: true, Reason: ReasonOverride}
	default:
		d = Decision{Reason: ReasonOverride}
	}
	d.Override = o
	return d
}

// Until is up to when the override is in force: a day, "2027-03-31", which is
// the last one, or a moment as in RFC 3339. It is empty if that is for ever. All
// are in UTC.
func (o *Override) Until() string { return Until(o.Expires) }

// Until returns the text for a moment from which on something is no longer in
// force: the day that ends with it, else the moment itself.
func Until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}

// String names the override in a few words: which it is, who answers for it, up
// to when, and why.
func (o *Override) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "override for %s", o.For)
	if o.Owner != "" {
		fmt.Fprintf(&b, " by %s", o.Owner)
	}
	if until := o.Until(); until != "" {
		fmt.Fprintf(&b, " until %s", until)
	}
	if o.Reason != "" {
		fmt.Fprintf(&b, ": %q", o.Reason)
	}
	return b.String()
}
