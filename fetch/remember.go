package fetch

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/patrickmn/go-cache"

	"heed/internal/origin"
	"heed/policy"
)

const (
	// shardCount is how many parts the memory has, each with locks of its own.
	shardCount = 128

	// entryCost is what an entry takes besides its texts and its body: itself
	// and its place in a map. Measured.
	entryCost = 230

	// moreCost and failureCost are what an entry takes that has more, and one
	// whose origin failed.
	moreCost    = 64
	failureCost = 128

	// causeCost is what the cause of a failure takes besides its text: a few
	// errors, each within the next.
	causeCost = 256
)

// memory is the memory tier: the entries of many origins within a bounded
// number of octets.
//
// It is built on go-cache, which is one map under one lock, unbounded, with
// expiry by the wall clock. So there are many of them; none has a janitor
// (which would scan all of it under the lock and outlive its owner) or an
// expiry (entries carry their own deadlines); and each shard has two
// generations, which bound it: when there is too much, the young generation of
// one shard becomes the old one, and what was old is dropped whole, in turn
// from shard to shard. An entry that is found in the old generation is carried
// over to the young one, so what is in use stays. Nothing keeps a list in
// order of use, and a lookup takes no lock but the shared one of a go-cache.
type memory struct {
	seed    maphash.Seed
	shards  [shardCount]shard
	bodies  bodies
	max     int64
	used    atomic.Int64 // octets charged for entries and bodies
	mark    atomic.Int64 // the octets above which a shard is turned; at most max
	evicted func(origins int, octets int64)

	sweeping sync.Mutex // guards hand, and who may change mark
	hand     int        // the shard to turn next
}

// shard is a part of the memory.
type shard struct {
	now atomic.Pointer[generations]
	mu  sync.Mutex // held to change now or what is in it
	_   [48]byte   // shards in use by different cores share no cache line
}

// generations are replaced together, so that a reader sees a pair that belongs
// together.
type generations struct{ young, old *generation }

// generation has a go-cache for each kind of key.
type generation [kinds]*cache.Cache

// The default ports have a kind of their own: there the host alone is the key,
// a string that exists already. No allocation for nearly all origins, and no
// separator that a name could forge.
const (
	kindHTTPS = iota // https on 443
	kindHTTP         // http on 80
	kindOther
	kinds
)

// place returns the kind and key of an origin. Different origins differ in
// one of them, whatever octets they have.
func place(o origin.Origin) (kind int, key string) {
	switch {
	case o.Scheme == "https" && o.Port == "443":
		return kindHTTPS, o.Host
	case o.Scheme == "http" && o.Port == "80":
		return kindHTTP, o.Host
	}
	return kindOther, strconv.Itoa(len(o.Scheme)) + " " + strconv.Itoa(len(o.Port)) + " " + o.Scheme + o.Port + o.Host
}

func newMemory(octets int64, evicted func(int, int64)) *memory {
	m := &memory{seed: maphash.MakeSeed(), max: octets, evicted: evicted}
	m.mark.Store(octets / 2)
	m.bodies = bodies{limit: policy.DefaultLimit, byKey: make(map[bodyKey]*body)}
	for i := range m.shards {
		m.shards[i].now.Store(&generations{young: newGeneration(), old: newGeneration()})
	}
	return m
}

func newGeneration() *generation {
	var g generation
	for i := range g {
		g[i] = cache.New(cache.NoExpiration, 0)
	}
	return &g
}

func (m *memory) shard(o origin.Origin) *shard {
	return &m.shards[maphash.String(m.seed, o.Host)%shardCount]
}

// get returns the entry of an origin, nil if there is none.
func (m *memory) get(o origin.Origin) *entry {
	kind, key := place(o)
	s := m.shard(o)
	for {
		now := s.now.Load()
		if v, ok := now.young[kind].Get(key); ok {
			return v.(*entry)
		}
		if v, ok := now.old[kind].Get(key); ok {
			s.carry(kind, key)
			return v.(*entry)
		}
		// It may have been carried over between the two looks, or the
		// generations may have changed under them.
		if v, ok := now.young[kind].Get(key); ok {
			return v.(*entry)
		}
		if s.now.Load() == now {
			return nil
		}
	}
}

// carry moves an entry to the young generation.
func (s *shard) carry(kind int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	v, ok := now.old[kind].Get(key)
	if !ok {
		return // replaced, carried or dropped meanwhile
	}
	now.young[kind].Set(key, v, cache.NoExpiration)
	now.old[kind].Delete(key)
}

// put remembers e, which nobody else has yet, in place of what was known of o.
func (m *memory) put(o origin.Origin, e *entry) {
	kind, key := place(o)
	e.cost = int32(costOf(e))
	if kind == kindOther {
		e.cost += int32(len(key))
	} else {
		key = hostIn(e.url, key)
	}
	charge := int64(e.cost)
	if e.body != nil {
		held, charged := m.bodies.hold(e.body)
		e.body = held
		charge += charged
	}
	prev := m.shard(o).replace(kind, key, e)
	if prev != nil {
		charge -= m.free(prev)
	}
	if m.used.Add(charge) > m.mark.Load() {
		m.sweep()
	}
}

// replace puts e into the young generation and returns what it replaces.
func (s *shard) replace(kind int, key string, e *entry) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	v, ok := now.young[kind].Get(key)
	if !ok {
		v, ok = now.old[kind].Get(key)
	}
	now.young[kind].Set(key, e, cache.NoExpiration)
	now.old[kind].Delete(key)
	if !ok {
		return nil
	}
	return v.(*entry)
}

// free lets go of the bodies of entries that are in no generation any more. It
// returns the octets that are freed.
func (m *memory) free(entries ...*entry) (octets int64) {
	var held []*body
	for _, e := range entries {
		octets += int64(e.cost)
		if e.body != nil {
			held = append(held, e.body)
		}
	}
	return octets + m.bodies.release(held)
}

// sweep turns shards, one after the other, until there is room. What it drops
// has been in no use since the shard was turned before. So that this holds from
// the start, the first time round, which drops nothing, is made little by
// little while the memory fills from one half to the whole.
//
// Twice round drops everything: an end, should one entry alone be too large.
func (m *memory) sweep() {
	m.sweeping.Lock()
	defer m.sweeping.Unlock()
	for range 2 * shardCount {
		mark := m.mark.Load()
		if m.used.Load() <= mark {
			return
		}
		m.mark.Store(min(mark+m.max/(2*shardCount)+1, m.max))
		dropped := m.shards[m.hand].turn().entries()
		m.hand = (m.hand + 1) % shardCount
		octets := m.free(dropped...)
		m.used.Add(-octets)
		m.evicted(len(dropped), octets)
	}
}

// turn makes the young generation the old one and returns what was old.
func (s *shard) turn() *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	s.now.Store(&generations{young: newGeneration(), old: now.young})
	return now.old
}

func (g *generation) entries() []*entry {
	var all []*entry
	for _, c := range g {
		for _, item := range c.Items() {
			all = append(all, item.Object.(*entry))
		}
	}
	return all
}

func (m *memory) origins() int {
	n := 0
	for i := range m.shards {
		now := m.shards[i].now.Load()
		for kind := range kinds {
			n += now.young[kind].ItemCount() + now.old[kind].ItemCount()
		}
	}
	return n
}

// drop forgets an origin.
func (m *memory) drop(o origin.Origin) {
	kind, key := place(o)
	if e := m.shard(o).remove(kind, key); e != nil {
		m.used.Add(-m.free(e))
	}
}

func (s *shard) remove(kind int, key string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	v, ok := now.young[kind].Get(key)
	if !ok {
		v, ok = now.old[kind].Get(key)
	}
	now.young[kind].Delete(key)
	now.old[kind].Delete(key)
	if !ok {
		return nil
	}
	return v.(*entry)
}

// hostIn returns the host as it stands in the URL, which is kept anyway, while
// host may be part of a whole request.
func hostIn(url, host string) string {
	if i := strings.Index(url, host); i >= 0 {
		return url[i : i+len(host)]
	}
	return strings.Clone(host)
}

// costOf is the memory of an entry without its body, approximately.
func costOf(e *entry) int {
	n := entryCost + len(e.url) + len(e.validators)
	if e.more == nil {
		return n
	}
	n += moreCost + len(e.more.octets) + costOfTexts(e.more.hops)
	if f := e.more.failure; f != nil {
		n += failureCost + len(f.err) + costOfTexts(f.hops)
		if f.cause != nil {
			n += causeCost + len(f.cause.Error())
		}
	}
	return n
}

func costOfTexts(texts []string) int {
	n := 0
	for _, t := range texts {
		n += len(t) + 16
	}
	return n
}
