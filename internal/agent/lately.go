package agent

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"

	"heed/policy"
)

const (
	places         = 256 // a crawl has a handful of User-Agents
	longRemembered = 512 // octets of a field that is remembered at most
)

// lately is the one memory of fields: what they say depends on nothing else.
var lately = memory{seed: maphash.MakeSeed()}

// memory is of the fields that came lately, each at the place that its hash
// says. One that comes displaces the one that is there, so no lock is needed and
// no order of use; two in turn at the same place are read anew each time.
type memory struct {
	seed   maphash.Seed
	places [places]atomic.Pointer[remembered]
}

// remembered is a field and what it says. It does not change.
type remembered struct {
	field  string
	tokens policy.Tokens
}

func (m *memory) tokens(field string) policy.Tokens {
	place := &m.places[maphash.String(m.seed, field)%places]
	if r := place.Load(); r != nil && r.field == field {
		return r.tokens
	}
	field = strings.Clone(field) // of a request, which must not stay in memory for it
	t := read([]string{field})
	t.Main, t.Also = slices.Clip(t.Main), slices.Clip(t.Also) // who appends to one copies it
	place.Store(&remembered{field, t})
	return t
}
