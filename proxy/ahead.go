package proxy

import (
	"context"
	"sync"

	"heed/internal/origin"
)

// ahead is what is begun before a client asks for it, so that it does not wait
// for one thing after the other: the certificate of an origin while the client
// is told that its CONNECT is accepted, and the robots.txt while it shakes
// hands. Nothing waits for it, and what is begun is what the first request
// would begin a few milliseconds later. The zero value is ready.
type ahead struct {
	mu      sync.Mutex
	over    bool
	ctx     context.Context // ends with the proxy; nil before the first begin
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// begin runs f in the background, unless the proxy ends.
func (a *ahead) begin(f func(context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	if a.ctx == nil {
		a.ctx, a.cancel = context.WithCancel(context.Background())
	}
	a.running.Go(func() {
		defer quietly()
		f(a.ctx)
	})
}

// quietly ends a panic in what is begun ahead. The request that follows asks
// for the same and makes the noise.
func quietly() { _ = recover() }

// end waits for what was begun, which it asks to end.
func (a *ahead) end() {
	a.mu.Lock()
	a.over = true
	if a.cancel != nil {
		a.cancel()
	}
	a.mu.Unlock()
	a.running.Wait()
}

// leafAhead has the certificate of a host made, if there is none.
func (p *Proxy) leafAhead(host string) {
	if p.Leaves.Kept(host) {
		return
	}
	p.ahead.begin(func(context.Context) {
		_, _ = p.Leaves.Certificate(host) // the handshake asks again, and has the error
	})
}

// known is done from the start: who asks with it is given what is known, and
// does not have anything fetched.
var known = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// robotsAhead has the robots.txt of an origin fetched, if it is not known. This
// is not done at the CONNECT: browsers open tunnels that they may not use, and
// what a port speaks shows only in its first octet. A client that has begun a
// handshake has its request ready. While nobody has asked yet the fetch waits
// for its turn like any other, for as long as a request would.
func (p *Proxy) robotsAhead(o origin.Origin) {
	defer quietly()
	if p.operatorDecides(o) {
		return
	}
	if _, err := p.Policies.Snapshot(known, o); err == nil {
		return
	}
	p.ahead.begin(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, p.Wait)
		defer cancel()
		_, _ = p.Policies.Snapshot(ctx, o) // the request asks again, and has the error
	})
}
