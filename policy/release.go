package policy

import (
	"slices"
	"sync"
)

// compilers keeps what compilers write into, so that a Policy is put together
// without growing piece by piece.
var compilers = sync.Pool{New: func() any { return &compiler{policy: new(Policy)} }}

// release returns the Policy, in memory of its own and of just the size it
// needs, and gives the compiler back.
func (c *compiler) release() *Policy {
	const most = 4 << 20 // octets of text that a compiler may keep
	p := new(Policy)
	*p = *c.policy
	p.text = string(c.text)
	p.rules = own(p.rules)
	p.sets = own(p.sets)
	p.keys = own(p.keys)
	p.hints = own(p.hints)
	p.groups = own(p.groups)
	p.mentions = own(p.mentions)
	p.named = own(p.named)
	p.tokens = own(p.tokens)
	p.records = own(p.records)
	if cap(c.text) > most {
		return p
	}
	old := c.policy
	*old = Policy{
		rules: old.rules[:0], sets: old.sets[:0], keys: old.keys[:0], hints: old.hints[:0],
		groups: old.groups[:0], mentions: old.mentions[:0], named: old.named[:0], tokens: old.tokens[:0], records: old.records[:0],
	}
	*c = compiler{
		policy: old, text: c.text[:0], rules: c.rules[:0], ofGroup: c.ofGroup[:0], tokens: c.tokens[:0],
		order: c.order[:0], ancestors: c.ancestors[:0],
	}
	compilers.Put(c)
	return p
}

// own returns a copy of s; nil for an empty one, whatever was there before.
func own[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return slices.Clone(s)
}
