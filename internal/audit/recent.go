package audit

import (
	"sync"
	"sync/atomic"

	"heed/policy"
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
	if e.Verdict == Denied {
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

// kept is what is kept of an entry: all that is needed to explain it, but
// neither the rules of its snapshot nor texts that point into them, or into a
// request. Else a few thousand entries would hold on to as many robots.txt
// files, past any bound.
type kept struct {
	full     bool  // there is one
	entry    Entry // without what follows
	decision policy.Kept
	texts    []byte
	lengths  [6]int32
}

// idle is how many octets a slot keeps for texts that may never be as long again.
const idle = 1 << 10

func (k *kept) keep(e *Entry) {
	if cap(k.texts)+k.decision.Size() > idle { // the last one was unusual
		k.texts, k.decision = nil, policy.Kept{}
	}
	k.full = true
	k.entry = *e
	k.entry.Decision = policy.Decision{}
	k.entry.Tokens.Fields = nil
	if e.Snapshot != nil {
		if k.entry.Snapshot = &k.entry.robots; e.Snapshot != &e.robots {
			k.entry.robots = *e.Snapshot
		}
		k.entry.Snapshot.Rules, k.entry.Snapshot.Hops, k.entry.Snapshot.Body = nil, nil, nil
	}
	k.decision.Keep(&e.Decision, keepText)
	k.texts = k.texts[:0]
	for i, text := range k.entry.texts() {
		n := min(len(*text), keepText)
		k.texts = append(k.texts, (*text)[:n]...)
		k.lengths[i] = int32(n)
		*text = ""
	}
}

// texts are those of an entry that a request may be behind. The id is the first.
func (e *Entry) texts() [6]*string {
	return [...]*string{&e.ID, &e.Proto, &e.Method, &e.Origin, &e.Target, &e.Err}
}

// is tells whether an entry with this id is kept.
func (k *kept) is(id string) bool {
	return k.full && string(k.texts[:k.lengths[0]]) == id
}

// restore returns the entry that is kept, in memory of its own.
func (k *kept) restore() *Entry {
	e := k.entry
	if e.Snapshot != nil {
		e.Consult(k.entry.Snapshot)
	}
	e.Decision = k.decision.Decision()
	rest := string(k.texts)
	for i, text := range e.texts() {
		*text, rest = rest[:k.lengths[i]], rest[k.lengths[i]:]
	}
	return &e
}
