package fetch

import (
	"crypto/sha256"
	"sync"

	"heed/policy"
)

// bodyCost is what a body takes besides its policy: itself and its place in
// the table. Measured.
const bodyCost = 320

// bodyKey is what a compiled robots.txt depends on. The rest of policy.Options
// is the same for all that a Fetcher compiles.
type bodyKey struct {
	sum     [sha256.Size]byte // of its octets
	decoded bool              // policy.Options.Decoded
}

// body is a compiled robots.txt under the hash of its octets. Many origins
// have the same file (of a platform, of a framework, an empty one): it is
// compiled and kept once.
type body struct {
	key   bodyKey
	rules *policy.Policy
	size  int64 // charged, once
	held  int   // entries in memory that refer to it; guarded by bodies.mu
}

// bodies is the table of the bodies that entries in memory refer to. It counts
// references rather than leaving them to the garbage collector, because the
// memory tier must know at once what dropping an entry has freed.
type bodies struct {
	mu    sync.Mutex
	byKey map[bodyKey]*body
}

// share returns the body with these octets, compiled as o says, now if it is new. It is
// in the table once an entry holds it.
func (b *bodies) share(octets []byte, o policy.Options) *body {
	key := bodyKey{sha256.Sum256(octets), o.Decoded}
	b.mu.Lock()
	known := b.byKey[key]
	b.mu.Unlock()
	if known != nil {
		return known
	}
	rules := policy.Compile(octets, o)
	return &body{key: key, rules: rules, size: int64(rules.Size()) + bodyCost}
}

// hold counts an entry that refers to a body. It returns the body in the
// table, which is another one if two origins brought the same octets at the
// same time, and the octets of memory that are now charged for it.
func (b *bodies) hold(want *body) (have *body, charged int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have = b.byKey[want.key]; have == nil {
		have, charged = want, want.size
		b.byKey[want.key] = want
	}
	have.held++
	return have, charged
}

// release takes back holds. It returns the octets that are freed.
func (b *bodies) release(held []*body) (freed int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range held {
		x.held--
		if x.held == 0 {
			delete(b.byKey, x.key)
			freed += x.size
		}
	}
	return freed
}

func (b *bodies) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.byKey)
}
