package pace

import (
	"math"
	"net/netip"
	"slices"

	"heed/internal/network"
)

const (
	// mostLag is how many turns a client that was refused can catch up with.
	mostLag = 8

	// mostShares is how many are told apart; the others are taken for one.
	mostShares = 64

	// mostPromises is how many of what a client was told are remembered.
	mostPromises = 128

	// first is the tag of what goes before all.
	first int64 = math.MinInt64
)

// client is one that turns are shared by.
type client struct {
	name string
	addr netip.Addr
}

func (by *Asker) client() client {
	if by.Client != "" {
		return client{name: by.Client}
	}
	return client{addr: network.Of(by.Addr).Addr()}
}

// shares are turns that are shared fairly: start-time fair queueing with equal
// weights (Goyal, Vin and Cheng, 1996). A turn has a tag, those with the lowest
// go first, and each that a holder has makes its next tag greater by one.
type shares[K comparable] struct {
	virtual int64 // the tag of the last that went
	all     []*share[K]
}

// share is what is due to one holder.
type share[K comparable] struct {
	key      K
	next     int64          // tag of the turn that it asks for next
	waiting  int            // how many of its turns wait
	expected moment         // until when it is expected to come back, since it was told to
	promises []promise      // what it was told, of what it did not come back for yet
	agents   shares[string] // among whom what is due to a client is shared
}

// of returns the share of a holder, a new one if there is none.
func (s *shares[K]) of(key K, now moment) *share[K] {
	for _, h := range s.all {
		if h.key == key {
			return h
		}
	}
	if len(s.all) >= mostShares {
		s.all = slices.DeleteFunc(s.all, func(h *share[K]) bool { return !h.isPresent(now) && h.next <= s.virtual })
	}
	if len(s.all) >= mostShares {
		return s.all[len(s.all)-1]
	}
	h := &share[K]{key: key, next: s.virtual}
	s.all = append(s.all, h)
	return h
}

// isPresent tells whether a holder wants turns.
func (h *share[K]) isPresent(now moment) bool { return h.waiting > 0 || h.expected > now }

// present is how many want turns.
func (s *shares[K]) present(now moment) (n int) {
	for _, h := range s.all {
		if h.isPresent(now) {
			n++
		}
	}
	return n
}

// take returns the tag of a holder's next turn. Turns that it did not ask for are
// not made up for, unless it was told to come back.
func (s *shares[K]) take(h *share[K], now moment) (tag int64) {
	tag = max(h.next, s.virtual)
	if h.expected > now {
		tag = max(h.next, s.virtual-mostLag)
	}
	h.next = tag + 1
	return tag
}

func (s *shares[K]) isOver(now moment) bool { return s.present(now) == 0 }
