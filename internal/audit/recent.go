package audit

import (
	"strings"
	"sync/atomic"
)

// How many entries can still be looked up by id. Denials are kept longer than
// forwards because they are what people ask about; together the slots hold
// about 8 MiB of ordinary entries, and not more than 64 MiB of the largest.
const (
	keepDenied    = 4096
	keepForwarded = 1024
)

// keepText bounds the texts of an entry that is kept.
const keepText = 2 << 10

// Recent holds the last exchanges so that a decision can be explained by its
// id. Record takes no lock and the memory is bounded; Find reads every slot,
// which is fine for a person's question. Safe for concurrent use. The zero
// value is ready.
type Recent struct {
	denied    ring[[keepDenied]atomic.Pointer[Entry]]
	forwarded ring[[keepForwarded]atomic.Pointer[Entry]]
}

type ring[A any] struct {
	next  atomic.Uint64
	slots A
}

// Record keeps a copy of e in place of the oldest of its kind.
func (r *Recent) Record(e *Entry) {
	e = kept(e)
	if e.Verdict == Denied {
		r.denied.slots[(r.denied.next.Add(1)-1)%keepDenied].Store(e)
		return
	}
	r.forwarded.slots[(r.forwarded.next.Add(1)-1)%keepForwarded].Store(e)
}

// kept is what is kept of an entry: all that is needed to explain it, but
// neither the rules of its snapshot nor texts that point into them. Else a few
// thousand entries would hold on to as many robots.txt files, past any bound.
func kept(e *Entry) *Entry {
	c := *e
	if e.Snapshot != nil {
		s := *e.Snapshot
		s.Rules, s.Hops = nil, nil
		c.Snapshot = &s
	}
	c.Decision = e.Decision.Clone(keepText)
	for _, text := range []*string{&c.Target, &c.Err} {
		*text = strings.Clone((*text)[:min(len(*text), keepText)])
	}
	return &c
}

// Find returns the entry with this id, or nil when there was none or it has
// been displaced.
func (r *Recent) Find(id string) *Entry {
	if e := find(r.denied.slots[:], id); e != nil {
		return e
	}
	return find(r.forwarded.slots[:], id)
}

func find(slots []atomic.Pointer[Entry], id string) *Entry {
	for i := range slots {
		if e := slots[i].Load(); e != nil && e.ID == id {
			return e
		}
	}
	return nil
}
