package replay

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"heed/internal/origin"
	"heed/policy"
)

// Remember keeps the robots.txt files that were asked for last, up to so many
// octets of memory, approximately: a log asks for the same again and again. It
// remembers as well what is not known.
func Remember(from Robots, octets int) Robots {
	m := &memory{from: from, room: octets}
	cache, err := simplelru.NewLRU(1<<20, func(_ origin.Origin, r *remembered) { m.room += r.size })
	if err != nil {
		panic(err) // the size above is none
	}
	m.cache = cache
	return m
}

type memory struct {
	from  Robots
	mu    sync.Mutex
	cache *simplelru.LRU[origin.Origin, *remembered]
	room  int // octets left; below 0 for a moment
}

// remembered is what came of asking for one. Whoever comes while it is asked for
// waits.
type remembered struct {
	done     chan struct{}
	snapshot *policy.Snapshot
	err      error
	size     int // charged; 0 while it is asked for
}

// Snapshot is Robots's.
func (m *memory) Snapshot(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
	m.mu.Lock()
	r, known := m.cache.Get(o)
	if !known {
		r = &remembered{done: make(chan struct{}), err: errors.New("asking for it came to nothing")}
		m.cache.Add(o, r)
	}
	m.mu.Unlock()
	if known {
		<-r.done
		return r.snapshot, r.err
	}
	defer close(r.done)
	r.snapshot, r.err = m.from.Snapshot(ctx, o)
	m.charge(o, r)
	return r.snapshot, r.err
}

// perOrigin is what one takes besides its rules.
const perOrigin = 1 << 10

// charge counts what is new, and makes room for it. It may have had to make room
// itself meanwhile.
func (m *memory) charge(o origin.Origin, r *remembered) {
	size := perOrigin
	if s := r.snapshot; s != nil && s.Rules != nil {
		size += s.Rules.Size() + len(s.Body)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now, kept := m.cache.Peek(o); !kept || now != r {
		return
	}
	r.size = size
	for m.room -= size; m.room < 0; {
		if _, _, ok := m.cache.RemoveOldest(); !ok {
			return
		}
	}
}
