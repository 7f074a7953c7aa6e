package pace

import (
	"net/netip"
	"slices"
	"sync"

	"heed/internal/network"
)

// address is a machine, as far as can be told, which may have many names.
type address struct {
	network netip.Prefix
	limit   int

	mu       sync.Mutex
	underWay int
	waiting  []*host // hosts that found no room, in order
	users    int     // hosts that are there; guarded by addresses.mu
}

// addresses are all that hosts are at.
type addresses struct {
	limit int // at each; 0: none is kept

	mu       sync.Mutex
	byPrefix map[netip.Prefix]*address
}

// of returns what addresses count as, sorted: whoever takes places takes them in
// this order. drop must be called with them.
func (all *addresses) of(found []netip.Addr) []*address {
	keys := make([]netip.Prefix, 0, len(found))
	for _, a := range found {
		keys = append(keys, network.Of(a))
	}
	slices.SortFunc(keys, netip.Prefix.Compare)
	keys = slices.Compact(keys)
	at := make([]*address, 0, len(keys))
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, key := range keys {
		a := all.byPrefix[key]
		if a == nil {
			a = &address{network: key, limit: all.limit}
			all.byPrefix[key] = a
		}
		a.users++
		at = append(at, a)
	}
	return at
}

// drop says that a host is not there any more. An address that nobody is at is
// forgotten, with the places that are still taken there.
func (all *addresses) drop(at []*address) {
	if len(at) == 0 {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, a := range at {
		if a.users--; a.users == 0 {
			delete(all.byPrefix, a.network)
		}
	}
}

// takeAll takes a place at each address, or none: then the host is told when there
// is room where there was none. Where hosts wait a place is for the one that it is
// offered to: who has just ended a request is not to have its place every time.
func takeAll(at []*address, h *host) bool {
	for _, a := range at {
		a.mu.Lock()
	}
	room := true
	for _, a := range at {
		if a.underWay >= a.limit || len(a.waiting) > 0 && !h.offered {
			room = false
			if !slices.Contains(a.waiting, h) {
				a.waiting = append(a.waiting, h)
			}
			break
		}
	}
	for _, a := range at {
		if room {
			a.underWay++
		}
		a.mu.Unlock()
	}
	return room
}

// giveBack gives places back, and tells whether a host waits for one of them: then
// offer is to be called for each address.
func giveBack(at []*address) (waitedFor bool) {
	for _, a := range at {
		a.mu.Lock()
		a.underWay--
		waitedFor = waitedFor || len(a.waiting) > 0
		a.mu.Unlock()
	}
	return waitedFor
}

// offer lets hosts that wait for room go on, by one turn each, while there is some.
// No lock of a host is held.
func (a *address) offer() {
	for {
		h := a.next()
		if h == nil {
			return
		}
		h.mu.Lock()
		h.offered = true
		h.dispatch(h.pacer.now())
		h.offered = false
		h.mu.Unlock()
	}
}

func (a *address) next() *host {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.underWay >= a.limit || len(a.waiting) == 0 {
		return nil
	}
	h := a.waiting[0]
	a.waiting = slices.Delete(a.waiting, 0, 1)
	return h
}
