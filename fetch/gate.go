package fetch

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"heed/internal/network"
)

// gate bounds how many robots.txt are asked for at a time: in all, and from one
// address, which may be that of thousands of origins. Who waits for an address
// holds no place that others could use.
type gate struct {
	places     chan struct{}
	perAddress int

	mu        sync.Mutex
	byAddress map[netip.Prefix]*address
}

// address is where some are asking, or waiting to.
type address struct {
	places chan struct{}
	users  int // guarded by gate.mu
}

func newGate(all, perAddress int) *gate {
	return &gate{places: make(chan struct{}, all), perAddress: perAddress, byAddress: make(map[netip.Prefix]*address)}
}

// enter waits until an origin with these addresses may be asked; none mean that
// they are not known. It takes a place at each of them, since any may be the one
// that is connected to. leave must be called once it was asked. The error is the
// cause of ctx's end.
func (g *gate) enter(ctx context.Context, at []netip.Addr) (leave func(), err error) {
	var taken []func()
	leave = func() {
		for _, back := range slices.Backward(taken) {
			back()
		}
	}
	for _, key := range networksOf(at) {
		a := g.use(key)
		if err := take(ctx, a.places); err != nil {
			g.drop(key, a)
			leave()
			return nil, err
		}
		taken = append(taken, func() {
			<-a.places
			g.drop(key, a)
		})
	}
	if err := take(ctx, g.places); err != nil {
		leave()
		return nil, err
	}
	taken = append(taken, func() { <-g.places })
	return leave, nil
}

// networksOf is what addresses count as, in an order that is the same for
// everybody: so nobody waits for who waits for them.
func networksOf(at []netip.Addr) []netip.Prefix {
	keys := make([]netip.Prefix, len(at))
	for i, a := range at {
		keys[i] = network.Of(a)
	}
	slices.SortFunc(keys, netip.Prefix.Compare)
	return slices.Compact(keys)
}

func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) use(key netip.Prefix) *address {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.byAddress[key]
	if a == nil {
		a = &address{places: make(chan struct{}, g.perAddress)}
		g.byAddress[key] = a
	}
	a.users++
	return a
}

func (g *gate) drop(key netip.Prefix, a *address) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(g.byAddress, key)
	}
}
