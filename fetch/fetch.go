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
//	304 if it was asked for successful: the rules that are known
//	301 302 303 307 308     followed, at most five, to http and https, across
//	                        authorities; the rules bind the first authority
//	4xx but 429             unavailable
//	all else                unreachable: 429, 5xx, 206, 304 and 1xx that nobody
//	                        asked for, a redirect that leads nowhere or is
//	                        refused, an unknown coding, one that expands out of
//	                        proportion, a transfer cut short, a failure of name,
//	                        network or TLS, the timeout
//
// Unreachable never becomes permission. The last rules obtained are used on
// while they are younger than 30 days; where there are none nothing is allowed.
//
// What is successful is read as UTF-8, or as it is declared where that is
// another charset and the body is not UTF-8 all the same.
//
// # Lifetimes
//
// An answer is fresh for as long as its fields tell (RFC 9111), between five
// minutes and 24 hours; 24 hours where they tell nothing (§2.4). Then the origin
// is asked whether it has changed. In the last tenth of the time, the last hour
// at most, whoever needs it has it fetched in the background and does not wait,
// so an origin in use never keeps anybody waiting.
//
// An unreachable origin is not asked again before a pause, which grows from a
// minute to an hour, or which the origin set by Retry-After. A deadline has
// passed when the monotonic or the wall clock says so: a clock set back does not
// prolong anything, and neither does a machine that slept.
//
// # Tiers
//
// Memory is bounded; what is not in use makes room. Behind it may be a Store,
// which outlives the process: it is asked before an origin is, and told of every
// change.
//
// Faults of heed's own machine (no descriptors, no memory, a resolver that does
// not answer) say nothing about the origin and are not remembered; but where it
// had redirected before, it is not asked again within a second.
//
// # What the origin sees
//
// GET, and the fields Host, User-Agent, Accept and Accept-Encoding, and to ask
// for what has changed If-None-Match and If-Modified-Since. Nothing of a client
// is ever sent: there is no way for it to get here. So many origins are asked at
// a time, and so many of them at one address.
package fetch

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Defaults of Config.
const (
	DefaultUserAgent    = "heed"
	DefaultMaxRedirects = 5
	DefaultTimeout      = 10 * time.Second
	DefaultFreshMin     = 5 * time.Minute
	DefaultFreshFor     = 24 * time.Hour
	DefaultStaleFor     = 30 * 24 * time.Hour
	DefaultRetryMin     = time.Minute
	DefaultRetryMax     = time.Hour
	DefaultMemoryBytes  = 256 << 20
	DefaultConcurrency  = 256
	DefaultPerAddress   = 8
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

	// FreshMin and FreshFor are the least and the most for which an answer is
	// used without asking again, whatever its fields tell; FreshFor also where
	// they tell nothing. More than 24 hours means 24 hours (RFC 9309 §2.4), and
	// a FreshMin above FreshFor means FreshFor.
	FreshMin, FreshFor time.Duration

	// StaleFor is how old rules may be that are used on while their origin is
	// unreachable (RFC 9309 §2.3.1.4). Negative means that none are.
	StaleFor time.Duration

	// RetryMin is the least pause after the first failure; it doubles with
	// each further one up to RetryMax.
	RetryMin, RetryMax time.Duration

	// MemoryBytes bounds, approximately, the memory that snapshots take.
	MemoryBytes int64

	// Concurrency is how many fetches run at a time, over all origins, and
	// PerAddress how many at one address (of IPv6, in one /64). Others wait; one
	// that nobody waits for any more is not begun, and no more than Concurrency
	// that nobody waits for, ahead of expiry, wait at a time.
	Concurrency, PerAddress int

	// Lookup finds the addresses that Transport would connect to for a
	// host:port. Nil, or no address without an error: they are not known, and
	// PerAddress bounds nothing.
	Lookup func(ctx context.Context, addr string) ([]netip.Addr, error)

	// Turn asks for the turn of a request for a robots.txt at an origin, as of any
	// request to it: once for each redirect. An error, or that of the turn, ends
	// the fetch, and is remembered unless it says that the origin is blameless.
	// Nil: each may go at any time.
	Turn func(ctx context.Context, o origin.Origin) (Turn, error)

	// Store is the tier behind memory. Nil: there is none.
	Store Store

	// Refusals sets policy.Snapshot.Refusals: an origin that refuses its
	// robots.txt, by 401 or 403, is taken to disallow everything, as the draft of
	// 1996 recommends and RFC 9309 §2.3.1.3 does not.
	Refusals bool

	// Cautious has each robots.txt compiled with policy.Options.Cautious, and
	// sets policy.Snapshot.Cautious: what any dialect disallows is disallowed.
	// It takes several times the time and memory.
	Cautious bool

	// Strict has each robots.txt compiled with policy.Options.Strict.
	Strict bool

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
	store     Store // nil: none
	flights   *flights
	cautious  bool
	refusals  bool
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
	f := &Fetcher{
		retriever: retriever{
			transport:    c.Transport,
			lookup:       c.Lookup,
			gate:         newGate(orDefault(c.Concurrency, DefaultConcurrency), orDefault(c.PerAddress, DefaultPerAddress)),
			turn:         c.Turn,
			userAgent:    c.UserAgent,
			limit:        max(c.Limit, policy.DefaultLimit),
			maxRedirects: orDefault(c.MaxRedirects, DefaultMaxRedirects),
			timeout:      orDefault(c.Timeout, DefaultTimeout),
		},
		lifetimes: lifetimes{
			freshMin: orDefault(c.FreshMin, DefaultFreshMin),
			freshFor: freshFor,
			staleFor: staleFor(c.StaleFor),
			retryMin: retryMin,
			retryMax: max(orDefault(c.RetryMax, DefaultRetryMax), retryMin),
		},
		memory:   newMemory(orDefault(c.MemoryBytes, DefaultMemoryBytes), c.Observe.evicted),
		store:    c.Store,
		flights:  newFlights(orDefault(c.Concurrency, DefaultConcurrency)),
		cautious: c.Cautious,
		refusals: c.Refusals,
		keep:     c.KeepBodies,
		observe:  c.Observe,
	}
	f.memory.bodies.limit, f.memory.bodies.cautious, f.memory.bodies.strict = f.retriever.limit, c.Cautious, c.Strict
	return f
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
// while the pause after a failure lasts; else from the store, or by asking the
// origin, together with all others who want to know at that time.
//
// The error is that of ctx, when it ended before there was an answer. A fetch
// that failed is no error but a snapshot whose Access is policy.Unreachable.
func (f *Fetcher) Snapshot(ctx context.Context, o origin.Origin) (s policy.Snapshot, err error) {
	if f.look(o, time.Now(), &s) {
		return s, nil
	}
	return f.awaitAlways(ctx, o)
}

// Remembered returns what Snapshot would return without asking the store or the
// origin. It never waits. Like Snapshot it has what will expire soon fetched in
// the background. The time is that of the question, by both clocks: what
// time.Now returned a moment ago.
func (f *Fetcher) Remembered(o origin.Origin, at time.Time) (s policy.Snapshot, ok bool) {
	ok = f.look(o, at, &s)
	return s, ok
}

// look fills s, which is zero, from memory.
func (f *Fetcher) look(o origin.Origin, at time.Time, s *policy.Snapshot) bool {
	e := f.memory.get(o)
	if e == nil {
		return false
	}
	now := momentOf(at)
	if !e.isUsable(now) {
		return false
	}
	if e.isDue(now) && f.flights.mayFlyAhead() && e.asking.CompareAndSwap(false, true) {
		f.fetchAhead(o)
	}
	f.fill(s, e, now)
	return true
}

// fill makes the snapshot of an entry.
func (f *Fetcher) fill(s *policy.Snapshot, e *entry, now moment) {
	e.snapshot(now, f.lifetimes.staleFor, s)
	s.Cautious, s.Refusals = f.cautious, f.refusals
}

func (f *Fetcher) snapshotOf(e *entry, now moment) (s policy.Snapshot) {
	f.fill(&s, e, now)
	return s
}

// Forget drops what is known of o, in memory and in the store. A fetch under way
// is not disturbed, and is remembered.
func (f *Fetcher) Forget(ctx context.Context, o origin.Origin) error {
	var err error
	if f.store != nil { // first, or a lookup in between would bring it back
		err = f.store.Forget(ctx, o)
	}
	f.memory.drop(o)
	return err
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
func (f *Fetcher) obtain(fl *flight, o origin.Origin) policy.Snapshot {
	prev := f.recall(fl.ctx, o)
	if prev != nil {
		now := momentOf(time.Now())
		if prev.isUsable(now) && !(fl.ahead && prev.isDue(now)) {
			return f.snapshotOf(prev, now) // obtained between the caller's look and this one, or kept
		}
	}
	asked := time.Now()
	a := f.ask(fl, o, prev)
	ended := time.Now()
	now := momentOf(ended)
	e := f.lifetimes.next(prev, o.RobotsURL(), a, now, rand.Float64())
	remember := !ours(a.err) || fl.ahead && prev != nil || len(a.hops) > 0 // an origin that answered is not asked again at once
	if remember {
		f.memory.put(o, e)
	}
	if !ours(a.err) {
		f.save(o, e, a.octets)
	}
	s := f.snapshotOf(e, now)
	if a.requests > 0 || remember {
		f.observe.fetched(Event{
			Origin:     o,
			Snapshot:   &s,
			Err:        wrap(o, a.err),
			Waited:     a.waited,
			Duration:   ended.Sub(asked) - a.waited,
			Requests:   a.requests,
			Confirmed:  a.confirmed,
			Ahead:      fl.ahead,
			Remembered: remember,
		})
	}
	return s
}

// failed returns a snapshot of o for a fault of heed's own. It is not
// remembered, but what is remembered is used on as for any other failure.
func (f *Fetcher) failed(o origin.Origin, err error) policy.Snapshot {
	now := momentOf(time.Now())
	e := f.lifetimes.next(f.memory.get(o), o.RobotsURL(), unreachable(err), now, 0)
	e.freshUntil = e.freshUntil.earlier(now)
	return f.snapshotOf(e, now)
}

// ask retrieves and compiles. A panic in either, or in the transport, is a
// failure like any other: it is remembered, so that a body which provokes it
// does not provoke it at every request.
func (f *Fetcher) ask(fl *flight, o origin.Origin, prev *entry) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a = answer{access: policy.Unreachable, err: newPanicError(v), requests: a.requests}
		}
	}()
	a = f.retriever.retrieve(fl.ctx, o, prev.known(), progress{f.flights, fl})
	if a.access == policy.Successful && !a.confirmed {
		a.body = f.memory.bodies.share(a.octets, a.charset)
		if f.keep {
			a.kept = a.octets
		}
	}
	return a
}
