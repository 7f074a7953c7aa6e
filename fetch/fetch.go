// Package fetch answers one question: what is the robots.txt of this origin,
// now? An origin goes in, its policy.Snapshot comes out.
//
//	fetcher := fetch.New(fetch.Config{Transport: transport, UserAgent: "heed/1 (+https://a.example/bot)"})
//	defer fetcher.Close()
//	snapshot, err := fetcher.Snapshot(ctx, origin)
//
// A snapshot that is fresh is in memory and is found without a lock that other
// origins share. Else the origin is asked: once, however many callers wait, on
// a context of its own, so that a caller who goes away takes nothing from the
// others.
//
// # Access results (RFC 9309 §2.3.1)
//
//	2xx but 206             successful; 204 and an empty body: no rules
//	301 302 303 307 308     followed, at most five, to http and https, across
//	                        authorities; the rules bind the first authority
//	4xx but 429             unavailable
//	all else                unreachable: 429, 5xx, 206, 304 and 1xx that nobody
//	                        asked for, a redirect that leads nowhere or is
//	                        refused, an unknown coding, a transfer cut short, a
//	                        failure of name, network or TLS, the timeout
//
// Unreachable never becomes permission. The last rules obtained are used on
// while they are younger than 30 days; where there are none nothing is allowed.
//
// # Lifetimes
//
// What was obtained is fresh for 24 hours (§2.4). An unreachable origin is not
// asked again before a pause, which grows from a minute to an hour, or which
// the origin set by Retry-After. A deadline has passed when the monotonic or
// the wall clock says so: a clock set back does not prolong anything, and
// neither does a machine that slept.
//
// Faults of heed's own machine (no descriptors, no memory, a resolver that does
// not answer) say nothing about the origin and are not remembered.
//
// # What the origin sees
//
// GET, and the fields Host, User-Agent, Accept and Accept-Encoding. Nothing of
// a client is ever sent: there is no way for it to get here.
package fetch

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Defaults of Config.
const (
	DefaultUserAgent    = "heed"
	DefaultMaxRedirects = 5
	DefaultTimeout      = 10 * time.Second
	DefaultFreshFor     = 24 * time.Hour
	DefaultStaleFor     = 30 * 24 * time.Hour
	DefaultRetryMin     = time.Minute
	DefaultRetryMax     = time.Hour
	DefaultMemoryBytes  = 64 << 20
	DefaultConcurrency  = 256
)

// Config is what a Fetcher is made of. Zero and negative numbers mean the
// default.
type Config struct {
	// Transport makes single requests. Required. It must not follow
	// redirects, add fields, or outlive the context of a request; it should
	// connect to checked addresses only (internal/dial), and bound the header
	// of an answer (http.Transport.MaxResponseHeaderBytes: 64 KiB is plenty,
	// its default is 10 MiB).
	Transport http.RoundTripper

	// UserAgent is the User-Agent field of every request. Empty means
	// DefaultUserAgent.
	UserAgent string

	// Limit is how many octets of a body are read, once decoded. The default,
	// which is also the least, is policy.DefaultLimit (RFC 9309 §2.5).
	Limit int

	// MaxRedirects is how many redirects are followed in a row. An origin that
	// redirects once more is unreachable.
	MaxRedirects int

	// Timeout bounds a fetch as a whole, redirects and body included, but not
	// its wait for a free slot.
	Timeout time.Duration

	// FreshFor is how long an answer is used without asking again; more than
	// 24 hours means 24 hours (RFC 9309 §2.4).
	FreshFor time.Duration

	// StaleFor is how old rules may be that are used on while their origin is
	// unreachable (RFC 9309 §2.3.1.4). Negative means that none are.
	StaleFor time.Duration

	// RetryMin is the least pause after the first failure; it doubles with
	// each further one up to RetryMax.
	RetryMin, RetryMax time.Duration

	// MemoryBytes bounds, approximately, the memory that snapshots take.
	MemoryBytes int64

	// Concurrency is how many fetches run at a time, over all origins. Others
	// wait; one that nobody waits for any more is not begun.
	Concurrency int

	// Cautious has each robots.txt compiled with policy.Options.Cautious, and
	// sets policy.Snapshot.Cautious: what any dialect disallows is disallowed.
	// It takes several times the time and memory.
	Cautious bool

	// KeepBodies sets policy.Snapshot.Body, for those who look at the file
	// itself: the body as read, at most one octet more than Limit.
	KeepBodies bool

	// Observe is told what happens.
	Observe Observer
}

// Fetcher obtains and remembers the robots.txt of origins. Make one with New.
// It is safe for concurrent use.
type Fetcher struct {
	retriever retriever
	lifetimes lifetimes
	memory    *memory
	flights   *flights
	timeout   time.Duration
	cautious  bool
	keep      bool // bodies
	observe   Observer
}

// New returns a Fetcher. It does no I/O and starts no goroutine. It panics
// when c.Transport is nil, which is a mistake in the program.
func New(c Config) *Fetcher {
	if c.Transport == nil {
		panic("fetch: Config.Transport is required")
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	freshFor := min(orDefault(c.FreshFor, DefaultFreshFor), DefaultFreshFor)
	retryMin := orDefault(c.RetryMin, DefaultRetryMin)
	return &Fetcher{
		retriever: retriever{
			transport:    c.Transport,
			userAgent:    c.UserAgent,
			limit:        max(c.Limit, policy.DefaultLimit),
			maxRedirects: orDefault(c.MaxRedirects, DefaultMaxRedirects),
		},
		lifetimes: lifetimes{
			freshFor: freshFor,
			staleFor: staleFor(c.StaleFor),
			retryMin: retryMin,
			retryMax: max(orDefault(c.RetryMax, DefaultRetryMax), retryMin),
		},
		memory:   newMemory(orDefault(c.MemoryBytes, DefaultMemoryBytes), c.Observe.evicted),
		flights:  newFlights(orDefault(c.Concurrency, DefaultConcurrency)),
		timeout:  orDefault(c.Timeout, DefaultTimeout),
		cautious: c.Cautious,
		keep:     c.KeepBodies,
		observe:  c.Observe,
	}
}

func staleFor(d time.Duration) time.Duration {
	if d < 0 {
		return 0
	}
	return orDefault(d, DefaultStaleFor)
}

func orDefault[T int | int64 | time.Duration](n, def T) T {
	if n <= 0 {
		return def
	}
	return n
}

// Snapshot returns the robots.txt of o: from memory while it is fresh, or
// while the pause after a failure lasts; else by asking the origin, together
// with all others who want to know at that time.
//
// The error is that of ctx, when it ended before there was an answer. A fetch
// that failed is no error but a snapshot whose Access is policy.Unreachable.
func (f *Fetcher) Snapshot(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
	if s, ok := f.Remembered(o); ok {
		return s, nil
	}
	return f.await(ctx, o)
}

// Remembered returns what Snapshot would return without asking the origin. It
// never fetches and never waits.
func (f *Fetcher) Remembered(o origin.Origin) (*policy.Snapshot, bool) {
	e := f.memory.get(o)
	if e == nil || passed(time.Now(), e.until) {
		return nil, false
	}
	return &e.snapshot, true
}

// Close ends the fetches under way and waits for them. Their callers, and
// those who come later for what is not in memory, are told that the origin is
// unreachable.
func (f *Fetcher) Close() { f.flights.close() }

// Stats is what a Fetcher holds at the moment.
type Stats struct {
	Origins  int   // snapshots in memory
	Bodies   int   // different robots.txt bodies among them
	Octets   int64 // memory that both take, approximately
	Fetching int   // origins being asked, or waiting for a slot
}

// Stats counts what the Fetcher holds.
func (f *Fetcher) Stats() Stats {
	return Stats{
		Origins:  f.memory.origins(),
		Bodies:   f.memory.bodies.count(),
		Octets:   f.memory.used.Load(),
		Fetching: f.flights.count(),
	}
}

// obtain finds out what the robots.txt of o is, for everybody who waits on fl.
// No second obtain runs for o at the same time.
func (f *Fetcher) obtain(fl *flight, o origin.Origin) *policy.Snapshot {
	prev := f.memory.get(o)
	if prev != nil {
		now := time.Now()
		if !passed(now, prev.until) {
			return &prev.snapshot // obtained between the caller's look and this one
		}
		if !passed(now, prev.retry) {
			e := prev.withoutRules()
			f.memory.put(o, e)
			return &e.snapshot
		}
	}
	asked := time.Now()
	if err := f.flights.begin(fl); err != nil {
		return f.failed(o, err)
	}
	defer f.flights.end()

	began := time.Now()
	ctx, cancel := context.WithTimeout(fl.ctx, f.timeout)
	defer cancel()
	a := f.ask(ctx, o)
	now := time.Now()
	e := f.next(prev, o, a, now, rand.Float64())
	remember := !ours(a.err)
	if remember {
		f.memory.put(o, e)
	}
	f.observe.fetched(Event{
		Origin:     o,
		Snapshot:   &e.snapshot,
		Err:        wrap(o, a.err),
		Waited:     began.Sub(asked),
		Duration:   now.Sub(began),
		Requests:   a.requests,
		Remembered: remember,
	})
	return &e.snapshot
}

// failed returns a snapshot of o for a fault of heed's own. It is not
// remembered, but what is remembered is used on as for any other failure.
func (f *Fetcher) failed(o origin.Origin, err error) *policy.Snapshot {
	e := f.next(f.memory.get(o), o, unreachable(err), time.Now(), 0)
	return &e.snapshot
}

// next returns what is known of o after a, see lifetimes.next, in a snapshot of
// the kind that this Fetcher makes.
func (f *Fetcher) next(prev *entry, o origin.Origin, a answer, now time.Time, jitter float64) *entry {
	e := f.lifetimes.next(prev, o.RobotsURL(), a, now, jitter)
	e.snapshot.Cautious = f.cautious
	if f.keep && a.access == policy.Successful {
		e.snapshot.Body, e.snapshot.UTF8 = a.octets, a.utf8
	}
	return e
}

// ask retrieves and compiles. A panic in either, or in the transport, is a
// failure like any other: it is remembered, so that a body which provokes it
// does not provoke it at every request.
func (f *Fetcher) ask(ctx context.Context, o origin.Origin) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a = answer{access: policy.Unreachable, err: newPanicError(v), requests: a.requests}
		}
	}()
	a = f.retriever.retrieve(ctx, o)
	if a.access == policy.Successful {
		a.body = f.memory.bodies.share(a.octets, policy.Options{
			Limit:    f.retriever.limit,
			Cautious: f.cautious,
			Decoded:  f.cautious && a.utf8, // else nobody looks at it, and equal bodies would be kept twice
		})
	}
	return a
}
