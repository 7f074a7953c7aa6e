// Package load is both ends of a measurement: clients that ask as fast as they
// are answered, and the origin that they ask. Both are one goroutine (package
// wire), so that they take one core and little of it.
//
// What is asked and answered are octets made beforehand. Every answer is
// checked for status, length and, as far as it came with its header, body; that
// each page that a client got was asked for at the origin is checked at the
// end. The first fault ends the run: there is no rate of errors.
package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"heed/bench/engine/wire"
)

// patience is how long the last answers may take.
const patience = 15 * time.Second

// Rig is an origin, and the clients to be.
type Rig struct {
	*Origin
	id       *Identity
	loop     *wire.Loop
	patience time.Duration
}

// NewRig opens the origin. It answers during Run only.
func NewRig(id *Identity) (*Rig, error) {
	l, err := wire.New()
	if err != nil {
		return nil, err
	}
	o, err := newOrigin(l, id)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Rig{o, id, l, patience}, nil
}

// Close closes every connection.
func (r *Rig) Close() { _ = r.loop.Close() }

// Result is what came of a plan.
type Result struct {
	// Answers is how many there were within Took. Of one that was under way when
	// that began or ended the part counts that its body tells.
	Answers     float64
	Took        time.Duration
	Latencies   []time.Duration // of those answers, ascending; with Plan.Each the connection's too
	Connections int             // that clients opened, the warming up included
}

// At returns the latency that a share of the answers did not exceed.
func (r *Result) At(share float64) time.Duration {
	return r.Latencies[min(int(share*float64(len(r.Latencies))), len(r.Latencies)-1)]
}

// run is a plan under way.
type run struct {
	octets

	plan       Plan
	origin     netip.AddrPort
	originLeaf []byte
	tls        *tls.Config
	hello      []byte

	working  int // clients
	met      int // clients that have had an answer
	ending   bool
	counting bool
	opened   int
	all      int // answers, whenever they came
	counted  []time.Duration
	octetsIn int // of bodies, while counting
}

func (r *run) octetsRead(n int) {
	if r.counting {
		r.octetsIn += n
	}
}

func (r *run) count(began time.Time) {
	r.all++
	if r.counting {
		r.counted = append(r.counted, time.Since(began))
	}
}

// Run carries a plan out. begin and end are called where what counts begins
// and ends; when ctx ends, so does it, soon. It can be called once, since
// proxies keep connections.
func (r *Rig) Run(ctx context.Context, p Plan, begin, end func()) (Result, error) {
	x := &run{
		plan: p, hello: r.hello, origin: r.at(p.Way), originLeaf: r.id.Certificate.Certificate[0],
		tls: &tls.Config{
			InsecureSkipVerify: true, // it would cost what the proxy is to have; handshake looks whose certificate it is
			NextProtos:         []string{"http/1.1"},
			CurvePreferences:   []tls.CurveID{tls.X25519},
		},
		counted: make([]time.Duration, 0, 1<<20),
	}
	if p.Streams > 0 {
		x.tls.NextProtos = []string{"h2"}
	}
	x.octets = p.octets(x.origin)
	for range p.Conns {
		x.working++
		r.loop.Go(func(t *wire.Task) error {
			c := &client{run: x, task: t, in: answers{buf: make([]byte, 16<<10), read: x.octetsRead}}
			if p.Streams > 0 {
				return c.workHTTP2()
			}
			return c.work()
		})
	}
	if err := r.met(ctx, x); err != nil {
		return Result{}, err
	}
	if err := r.until(ctx, p.Warm); err != nil {
		return Result{}, err
	}
	begin()
	x.counting = true
	began := time.Now()
	err := r.until(ctx, p.Time)
	took := time.Since(began)
	x.counting = false
	end()
	if err != nil {
		return Result{}, err
	}
	x.ending = true
	if err := r.loop.Run(func() bool { return x.working == 0 }, time.Now().Add(r.patience)); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%d of %d clients have waited %v for an answer", x.working, p.Conns, r.patience)
		}
		return Result{}, err
	}
	if err := r.check(x); err != nil {
		return Result{}, err
	}
	slices.Sort(x.counted)
	answers := float64(len(x.counted))
	if !p.Denied {
		answers = float64(x.octetsIn) / float64(p.Size)
	}
	return Result{answers, took, x.counted, x.opened}, nil
}

// met waits until every client has had an answer: some proxies take long for a
// certificate.
func (r *Rig) met(ctx context.Context, x *run) error {
	err := r.loop.Run(func() bool { return x.met == x.plan.Conns || ctx.Err() != nil }, time.Now().Add(4*r.patience))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%d of %d clients have had no answer after %v", x.plan.Conns-x.met, x.plan.Conns, 4*r.patience)
	}
	return errors.Join(err, context.Cause(ctx))
}

// until lets the loop run for a time.
func (r *Rig) until(ctx context.Context, d time.Duration) error {
	err := r.loop.Run(func() bool { return ctx.Err() != nil }, time.Now().Add(d))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return errors.Join(err, context.Cause(ctx))
}

// at is where the origin is for those who come a way.
func (r *Rig) at(w Way) netip.AddrPort {
	switch w {
	case Intercepted:
		return r.TLS
	case Relayed:
		return r.Sealed
	}
	return r.Plain
}

// check compares what clients got with what the origin gave.
func (r *Rig) check(x *run) error {
	switch {
	case len(x.counted) == 0:
		return fmt.Errorf("no answer came within %v", x.plan.Time)
	case x.plan.Denied && r.pagesAsked > 0:
		return fmt.Errorf("%d requests that were to be denied came to the origin", r.pagesAsked)
	case !x.plan.Denied && r.pagesAsked < x.all:
		return fmt.Errorf("clients got %d pages, and the origin was asked for %d only: something answers in its place", x.all, r.pagesAsked)
	}
	return nil
}
