package policy

import (
	"sync"
	"unsafe"
)

// compilers keeps what compilers write into, so that a Policy is put together
// without growing piece by piece.
var compilers = sync.Pool{New: func() any { return &compiler{policy: new(Policy)} }}

// release returns the Policy, in memory of its own and of just the size it
// needs, and gives the compiler back.
func (c *compiler) release() *Policy {
	const most = 4 << 20 // octets of text, or of rules, that a compiler may keep
	p := new(Policy)
	*p = *c.policy
	p.settle(c.text)
	if cap(c.text) > most || sizeOf(c.rules[:cap(c.rules)]) > most {
		return p
	}
	old := c.policy
	*old = Policy{
		rules: old.rules[:0], sets: old.sets[:0], keys: old.keys[:0], hints: old.hints[:0],
		groups: old.groups[:0], mentions: old.mentions[:0], named: old.named[:0], tokens: old.tokens[:0], records: old.records[:0],
		paces: old.paces[:0],
	}
	*c = compiler{
		policy: old, text: c.text[:0], rules: c.rules[:0], ofGroup: c.ofGroup[:0], tokens: c.tokens[:0],
		byName: c.byName[:0], groups: c.groups[:0], texts: c.texts[:0], order: c.order[:0], ancestors: c.ancestors[:0],
	}
	compilers.Put(c)
	return p
}

// settle moves all that p points to, and text, into one piece of memory. So a
// Policy takes two allocations, and a decision that comes when it has not been
// asked for long finds what it needs in a page or two.
func (p *Policy) settle(text []byte) {
	block := make([]uint64, (p.held()+len(text)+7)/8)
	rest := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(block))), 8*len(block))
	// What has to lie at a multiple of eight octets comes first, what has to at
	// one of four is next.
	rest = move(&p.keys, rest)
	rest = move(&p.hints, rest)
	rest = move(&p.paces, rest)
	rest = move(&p.sets, rest)
	rest = move(&p.tokens, rest)
	rest = move(&p.named, rest)
	rest = move(&p.mentions, rest)
	rest = move(&p.rules, rest)
	rest = move(&p.groups, rest)
	rest = move(&p.records, rest)
	move(&text, rest)
	p.text = unsafe.String(unsafe.SliceData(text), len(text))
}

// held is how many octets p points to, text aside.
func (p *Policy) held() int {
	return sizeOf(p.keys) + sizeOf(p.hints) + sizeOf(p.sets) + sizeOf(p.tokens) + sizeOf(p.named) +
		sizeOf(p.mentions) + sizeOf(p.rules) + sizeOf(p.groups) + sizeOf(p.records) + sizeOf(p.paces)
}

// move moves the elements of s, which hold no pointers, to the start of block,
// and returns the rest of it. An empty s becomes nil.
func move[T any](s *[]T, block []byte) []byte {
	if len(*s) == 0 {
		*s = nil
		return block
	}
	moved := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(block))), len(*s))
	copy(moved, *s)
	size := sizeOf(*s)
	*s = moved
	return block[size:]
}

func sizeOf[T any](s []T) int {
	var element T
	return len(s) * int(unsafe.Sizeof(element))
}
