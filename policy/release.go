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
	p.rules = slices.Clone(p.rules)
	p.sets = slices.Clone(p.sets)
	p.keys = slices.Clone(p.keys)
	p.hints = slices.Clone(p.hints)
	p.groups = slices.Clone(p.groups)
	p.mentions = slices.Clone(p.mentions)
	p.named = slices.Clone(p.named)
	p.records = slices.Clone(p.records)
	if cap(c.text) > most {
		return p
	}
	old := c.policy
	*old = Policy{
		rules: old.rules[:0], sets: old.sets[:0], keys: old.keys[:0], hints: old.hints[:0],
		groups: old.groups[:0], mentions: old.mentions[:0], named: old.named[:0], records: old.records[:0],
	}
	*c = compiler{
		policy: old, text: c.text[:0], rules: c.rules[:0], ofGroup: c.ofGroup[:0], tokens: c.tokens[:0],
		items: c.items[:0], ordered: c.ordered[:0], ancestors: c.ancestors[:0],
	}
	compilers.Put(c)
	return p
}
