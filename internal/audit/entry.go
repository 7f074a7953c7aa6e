// Package audit keeps account of exchanges: one Entry each, written as one
// canonical log line (Log), kept for a while so that a decision can be looked
// up by its id (Recent), and summed up (Summary).
//
// An Entry never holds a credential, a cookie or a body.
package audit

import (
	"net/netip"
	"time"

	"heed/policy"
)

// Verdict is what heed did with an exchange.
type Verdict uint8

const (
	// Denied is the zero value: what was not explicitly forwarded was not.
	Denied Verdict = iota
	// Forwarded went to the origin, whatever came back.
	Forwarded
	// Answered was heed's own page, or an interception's CONNECT.
	Answered
)

func (v Verdict) String() string {
	switch v {
	case Forwarded:
		return "forwarded"
	case Answered:
		return "answered"
	default:
		return "denied"
	}
}

// Channel is the way a request came in.
type Channel uint8

const (
	// Plain is a request in absolute form on the proxy's own port.
	Plain Channel = iota
	// Connect is a CONNECT itself.
	Connect
	// Tunnel is plain HTTP inside a CONNECT.
	Tunnel
	// Intercepted is HTTP inside TLS inside a CONNECT.
	Intercepted
)

func (c Channel) String() string {
	switch c {
	case Connect:
		return "connect"
	case Tunnel:
		return "tunnel"
	case Intercepted:
		return "intercepted"
	default:
		return "plain"
	}
}

// Entry is one exchange: who asked for what, what was decided and why, and
// what came of it. It is written by the exchange's own goroutine, until it is
// recorded; after that it is another's. Who keeps one clones it.
type Entry struct {
	ID      string
	Start   time.Time
	Client  netip.AddrPort
	Channel Channel
	Proto   string // "HTTP/1.1", "HTTP/2.0"
	Method  string
	Origin  string // "https://a.example"; empty when the target could not be read
	Target  string // path and query as received; host:port for CONNECT
	Tokens  policy.Tokens

	Identity *Identity // who asks, where the configuration has a name for it; nil where it has none

	Verdict  Verdict
	Decision policy.Decision
	Snapshot *policy.Snapshot // what Decision was made from; nil when robots.txt was not consulted, as where there is an override
	Reason   string           // why, as one of a bounded set: a problem's name ("disallowed", "dns-error") or "allowed"
	Err      string           // the cause where something failed; empty otherwise

	// Report tells that it was forwarded only because the mode is report, and
	// Denial what it would have been denied for otherwise; zero unless Report.
	// Reason is that of Denial then, unless the forwarding came to nothing.
	Report bool
	Denial Denial

	Status     int
	BytesIn    int64         // body octets received from the client
	BytesOut   int64         // body octets sent to the client
	Duration   time.Duration // from the request's header to the last octet of the answer
	RobotsWait time.Duration // spent waiting for robots.txt, part of Duration; not for its turn
	OriginWait time.Duration // until the origin's answer began, part of Duration
	PaceWait   time.Duration // spent waiting for its turn at the origin and for that of its robots.txt, part of Duration
	Pace       Pace          // what it had to wait for, or was refused for

	robots policy.Snapshot // room for what Snapshot points to
}

// Pace is why a request had to wait before it went to its origin, or was refused
// to. The zero value is that it had not to.
type Pace struct {
	Cause    string        // one of a bounded set: "crawl-delay", "retry-after", …; "" for none
	Interval time.Duration // between two requests; 0 where it is about another thing
	Asked    time.Duration // what the site asks for, where that is more than Interval; 0 otherwise
	Line     int           // of robots.txt; 0 where it is not the site that asks
	Until    time.Time     // when one that was refused may come back; zero where it was not
}

// Identity is a client that the configuration names, in its words. It does not
// change.
type Identity struct {
	Name                      string // never empty
	Purpose, Project, Contact string // each may be empty
}

// Denial is why something would have been denied.
type Denial struct {
	Reason string // as Entry's
	Cause  string // as Entry's Err; empty where a rule or the operator says it all
}

// paced is the Reason of what came before its turn.
const paced = "paced"

// IsPacedToo tells of what report mode forwarded, and would have refused for
// another reason and for coming before its turn.
func (e *Entry) IsPacedToo() bool {
	return e.Report && e.Denial.Reason != paced && !e.Pace.Until.IsZero()
}

// Clone returns a copy that stays what it is. It shares the rules, and the texts
// of the request.
func (e *Entry) Clone() *Entry {
	c := *e
	if e.Snapshot != nil {
		c.Consult(e.Snapshot)
	}
	return &c
}

// Consult sets Snapshot to a copy of s, within the entry: there is one for nearly
// every exchange.
func (e *Entry) Consult(s *policy.Snapshot) {
	e.robots = *s
	e.Snapshot = &e.robots
}
