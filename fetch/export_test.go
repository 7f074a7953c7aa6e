package fetch

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"heed/internal/origin"
)

// MemoryTier is the memory as a Store. An entry holds less than a Record does,
// so the rest is kept beside it; which entry an origin has, and how long bodies
// stay, is the memory's.
type MemoryTier struct {
	m *memory

	mu      sync.Mutex
	records map[*entry]Record
	octets  map[[sha256.Size]byte][]byte
}

// NewMemoryTier returns an empty memory without a bound.
func NewMemoryTier() *MemoryTier {
	return &MemoryTier{
		m:       newMemory(1<<40, func(int, int64) {}),
		records: map[*entry]Record{},
		octets:  map[[sha256.Size]byte][]byte{},
	}
}

// Load is Store's.
func (t *MemoryTier) Load(_ context.Context, o origin.Origin) (Record, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.m.get(o)
	if e == nil {
		return Record{}, false, nil
	}
	r := t.records[e]
	if e.body != nil {
		r.Body = slices.Clone(t.octets[e.body.key.sum])
	}
	return r, true, nil
}

// Save is Store's.
func (t *MemoryTier) Save(o origin.Origin, r Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	octets := r.Body
	if octets == nil && r.Sum != [sha256.Size]byte{} {
		if t.m.bodies.byKey[bodyKey{sum: r.Sum}] == nil {
			t.m.drop(o)
			return
		}
		octets = t.octets[r.Sum]
	}
	e := &entry{url: o.RobotsURL()}
	if octets != nil {
		e.body = t.m.bodies.share(octets, "")
		t.octets[e.body.key.sum] = slices.Clone(octets)
	}
	r.Body, r.Hops = nil, slices.Clone(r.Hops)
	t.records[e] = r
	t.m.put(o, e)
}

// Forget is Store's.
func (t *MemoryTier) Forget(ctx context.Context, o origin.Origin) error {
	t.m.drop(o)
	return ctx.Err()
}
