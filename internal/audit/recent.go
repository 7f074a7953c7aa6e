package audit

import (
	"sync"
	"sync/atomic"
)

// How many entries can still be looked up by id. Denials, and what would be one
// if the mode were not report, are kept longer than other forwards because they
// are what people ask about; together the slots hold
// about 8 MiB of ordinary entries, and not more than 64 MiB of the largest.
const (
	keepDenied    = 4096
	keepForwarded = 1024
)

// keepText bounds the texts of an entry that is kept.
const keepText = 2 << 10

// Recent holds the last exchanges so that a decision can be explained by its
// id. The memory is bounded, and used over and over: Record allocates nothing
// once it has gone round. It waits for nobody but who looks at the very entry
// that it displaces. Find reads every slot, which is fine for a person's
// question. Safe for concurrent use. The zero value is ready.
type Recent struct {
	denied    ring[[keepDenied]atomic.Pointer[slot]]
	forwarded ring[[keepForwarded]atomic.Pointer[slot]]
}

type ring[A any] struct {
	next  atomic.Uint64
	slots A
}

// slot holds one entry after the other.
type slot struct {
	mu   sync.Mutex
	kept kept
}

// Record keeps a copy of e in place of the oldest of its kind.
func (r *Recent) Record(e *Entry) {
	var at *atomic.Pointer[slot]
	if e.Verdict == Denied || e.Report {
		at = &r.denied.slots[(r.denied.next.Add(1)-1)%keepDenied]
	} else {
		at = &r.forwarded.slots[(r.forwarded.next.Add(1)-1)%keepForwarded]
	}
	s := at.Load()
	if s == nil {
		s = new(slot)
		if !at.CompareAndSwap(nil, s) {
			s = at.Load()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.keep(e)
}

// Find returns the entry with this id, or nil when there was none or it has
// been displaced.
func (r *Recent) Find(id string) *Entry {
	if e := find(r.denied.slots[:], id); e != nil {
		return e
	}
	return find(r.forwarded.slots[:], id)
}

func find(slots []atomic.Pointer[slot], id string) *Entry {
	for i := range slots {
		if s := slots[i].Load(); s != nil {
			if e := s.find(id); e != nil {
				return e
			}
		}
	}
	return nil
}

func (s *slot) find(id string) *Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.kept.is(id) {
		return nil
	}
	return s.kept.restore()
}
