package fetch

import (
	"crypto/sha256"
	"sync"

	"heed/policy"
)

// bodyCost is what a body takes besides its policy: itself and its place in
// the table. Measured.
const bodyCost = 400

// bodyKey is what a compiled robots.txt depends on. The rest is the same for
// all that a Fetcher compiles.
type bodyKey struct {
	sum     [sha256.Size]byte // of its octets, as read
	charset string            // that they are declared to be in; "" if none is, or UTF-8
	decoded bool              // policy.Options.Decoded
}

// body is a compiled robots.txt under the hash of its octets. Many origins
// have the same file (of a platform, of a framework, an empty one): it is
// compiled and kept once.
type body struct {
	rules     *policy.Policy
	note      string // see text
	truncated bool   // there were more octets than the limit
	size      int64  // charged, once
	held      int    // entries in memory that refer to it; guarded by bodies.mu
	key       bodyKey
}

// bodies is the table of the bodies that entries in memory refer to. It counts
// references rather than leaving them to the garbage collector, because the
// memory tier must know at once what dropping an entry has freed.
type bodies struct {
	limit    int
	cautious bool
	strict   bool

	mu    sync.Mutex
	byKey map[bodyKey]*body
}

// share returns the body with these octets, compiled, now if it is new. It is
// in the table once an entry holds it.
func (b *bodies) share(octets []byte, charset string) *body {
	charset = charset[:min(len(charset), maxCharset)] // a store may have another
	key := bodyKey{sum: sha256.Sum256(octets), charset: charset}
	if isUTF8(charset) {
		// Nobody but a dialect looks at it, and equal bodies would be kept twice.
		key.charset, key.decoded = "", b.cautious
	}
	b.mu.Lock()
	known := b.byKey[key]
	b.mu.Unlock()
	if known != nil {
		return known
	}
	rules, note := b.compile(octets, key)
	return &body{
		key: key, rules: rules, note: note, truncated: len(octets) > b.limit,
		size: int64(rules.Size()+len(note)+len(charset)) + bodyCost,
	}
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
