package fetch

import (
	"crypto/sha256"
	"sync"

	"heed/policy"
)

// bodyCost is what a body takes besides its policy: itself and its place in
// the table. Measured.
const bodyCost = 320

// body is a compiled robots.txt under the hash of its octets. Many origins
// have the same file (of a platform, of a framework, an empty one): it is
// compiled and kept once.
type body struct {
	sum   [sha256.Size]byte
	rules *policy.Policy
	size  int64 // charged, once
	held  int   // entries in memory that refer to it; guarded by bodies.mu
}

// bodies is the table of the bodies that entries in memory refer to. It counts
// references rather than leaving them to the garbage collector, because the
// memory tier must know at once what dropping an entry has freed.
type bodies struct {
	mu    sync.Mutex
	bySum map[[sha256.Size]byte]*body
}

// share returns the body with these octets, compiled now if it is new. It is
// in the table once an entry holds it.
func (b *bodies) share(octets []byte, limit int) *body {
	sum := sha256.Sum256(octets)
	b.mu.Lock()
	known := b.bySum[sum]
	b.mu.Unlock()
	if known != nil {
		return known
	}
	rules := policy.Compile(octets, policy.Options{Limit: limit})
	return &body{sum: sum, rules: rules, size: int64(rules.Size()) + bodyCost}
}

// hold counts an entry that refers to a body. It returns the body in the
// table, which is another one if two origins brought the same octets at the
// same time, and the octets of memory that are now charged for it.
func (b *bodies) hold(want *body) (have *body, charged int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have = b.bySum[want.sum]; have == nil {
		have, charged = want, want.size
		b.bySum[want.sum] = want
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
			delete(b.bySum, x.sum)
			freed += x.size
		}
	}
	return freed
}

func (b *bodies) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.bySum)
}
