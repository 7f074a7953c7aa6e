// Package faults is a catalogue of what goes wrong between heed and an origin,
// and of what heed is to make of it. It holds no tests: internal/app drives a
// whole heed with it, over a network in memory and over real TCP and TLS.
//
// A Row is one fault. What it does is one of five functions or values, by how
// early it strikes:
//
//	Net     the name does not resolve, the address does not answer
//	Accept  the connection, before anything is read
//	TLS     the handshake
//	Do      the answer, in HTTP/1
//	H2      the answer, in HTTP/2
//
// What is to come of it stands in two columns, for the two things that heed
// asks an origin for: Robots, where its robots.txt is asked for, and Page,
// where a client's request is forwarded.
//
// Origin is the server: it does what a Row says while it is broken, and is
// well otherwise. It knows heed's own requests from those it forwards by their
// User-Agent.
package faults

import (
	"crypto/tls"
	"slices"
	"sync"
	"time"

	"heed/policy"
)

// Row is one fault and what is to come of it.
type Row struct {
	Name string // what goes wrong
	Why  string // why that is right which is to come of it

	Net    NetFault
	Accept Act               // nil: the connection is served
	TLS    func(*tls.Config) // nil: the handshake is made
	Do     Act               // nil: the answer is a good one
	H2     func(*Stream)     // nil: HTTP/1.1 is spoken

	On string // "http" or "https"; empty: it is tried with both

	Robots *Robots // nil: not tried
	Page   *Page   // nil: not tried

	// InMemory is why the row is not tried over a real network; empty: it is.
	InMemory string
}

// NetFault is what goes wrong before there is a connection.
type NetFault uint8

// The faults there are.
const (
	NoFault    NetFault = iota
	NXDOMAIN            // the name does not exist
	SERVFAIL            // its name server has a fault
	DNSSilent           // nobody answers for the name
	Refused             // nobody listens
	BlackHole           // nothing comes back
	Unroutable          // there is no way to the address
	Prohibited          // it is an address that heed may not connect to
)

// Robots is what is to come of a fault where heed asks for a robots.txt. The
// one that is there says "Disallow: /private" to everybody.
type Robots struct {
	Access   policy.Access
	Any      bool          // any access will do, as long as /private is not forwarded
	Status   int           // what a client gets while nothing may be requested
	Error    string        // the error in its Proxy-Status (RFC 9209); empty: not looked at
	NoRules  bool          // successful, but without the rule
	Requests int           // requests for it that the origin sees
	AtMost   bool          // it may see fewer, but for none
	Dials    int           // connections that are opened or tried for it; 0: not looked at
	Takes    time.Duration // at most, beyond half a second
	Pause    time.Duration // until the origin is asked again; 0: between 60 and 75 s
	Fresh    time.Duration // until a good answer is asked for again; 0: not looked at
}

// Page is what is to come of a fault where heed forwards a request.
type Page struct {
	Status   int
	Error    string        // the error in its Proxy-Status; empty: the answer is the origin's
	Aborted  bool          // the body breaks off, and does not end as if it were whole
	Body     string        // what the client reads; empty: not looked at
	Requests int           // requests that the origin sees
	Takes    time.Duration // at most, beyond half a second
}

// All is every row that heed meets. It is not to be changed.
var All = sync.OnceValue(func() []Row {
	return slices.Concat(
		connections(), heads(), fields(), versions(), lengths(), chunks(), interim(), statuses(), retryAfter(),
		freshness(), redirects(), codings(), bodies(), charsets(), slowness(), handshakes(), http2(),
		accepted(), silence(), framing(), hops(), retried(),
	)
})

// What is to come of robots.txt, in n requests.

func rules(n int) *Robots { return &Robots{Access: policy.Successful, Requests: n} }

func noRules(n int) *Robots {
	return &Robots{Access: policy.Successful, NoRules: true, Requests: n}
}

func unavailable(n int) *Robots { return &Robots{Access: policy.Unavailable, Requests: n} }

func unreachable(n int) *Robots {
	return &Robots{Access: policy.Unreachable, Status: 503, Error: "http_request_denied", Requests: n}
}

func anything(n int) *Robots {
	return &Robots{Any: true, Requests: n, AtMost: true}
}

// down is an origin that cannot be talked to at all. That its robots.txt is
// unreachable is the least of it, so a client is told of the origin.
func down(status int, err string, dials int) *Robots {
	return &Robots{Access: policy.Unreachable, Status: status, Error: err, Dials: dials}
}

func (r *Robots) atMost() *Robots               { r.AtMost = true; return r }
func (r *Robots) takes(d time.Duration) *Robots { r.Takes = d; return r }
func (r *Robots) pause(d time.Duration) *Robots { r.Pause = d; return r }
func (r *Robots) dials(n int) *Robots           { r.Dials = n; return r }
func (r *Robots) fresh(d time.Duration) *Robots { r.Fresh = d; return r }

// What is to come of a page.

func forwarded(status int) *Page { return &Page{Status: status, Requests: 1} }

func failed(status int, err string) *Page {
	return &Page{Status: status, Error: err, Requests: 1}
}

func unasked(status int, err string) *Page { return &Page{Status: status, Error: err} }

func aborted() *Page { return &Page{Status: 200, Aborted: true, Requests: 1} }

func (p *Page) takes(d time.Duration) *Page { p.Takes = d; return p }
func (p *Page) body(s string) *Page         { p.Body = s; return p }
func (p *Page) requests(n int) *Page        { p.Requests = n; return p }
