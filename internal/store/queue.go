package store

import (
	"crypto/sha256"
	"sync"

	"heed/fetch"
	"heed/internal/origin"
)

// queue holds what is to be written: of each origin the last that was said of
// it, and each body once. It is bounded in octets. Once it is full a record that
// would not fit becomes an order to drop the origin's old one, so that nothing
// older than what was said last is found again; a quarter more is left for such
// orders.
type queue struct {
	max  int
	lost func(records int) // told of each record that will not be written

	mu      sync.Mutex
	waiting *batch // to be written next
	writing *batch // being written; nil if nothing is
}

// batch is what is written at once.
type batch struct {
	changes map[origin.Origin]change
	bodies  map[sum]*held
	damaged map[sum]bool // bodies to be dropped, if they are not among bodies
	octets  int
	done    []chan error // told how it went
}

type sum = [sha256.Size]byte

// change is what is to be done about an origin.
type change struct {
	record *fetch.Record // without its Body; nil: it is to be dropped
	holds  bool          // it counts as a use of the body with its Sum
	octets int
}

// held is a body and how many changes use it.
type held struct {
	body []byte
	uses int
}

const (
	changeCost = 400 // octets of a change besides its texts. Measured
	bodyCost   = 150 // octets of a body besides itself
)

func newQueue(max int, lost func(int)) *queue {
	return &queue{max: max, lost: lost, waiting: newBatch()}
}

func newBatch() *batch {
	return &batch{changes: map[origin.Origin]change{}, bodies: map[sum]*held{}, damaged: map[sum]bool{}}
}

// save puts a record in the queue and returns how many origins wait in it.
func (q *queue) save(o origin.Origin, r fetch.Record) int {
	body := r.Body
	r.Body = nil
	if r.Sum == (sum{}) {
		body = nil
	}
	c := change{record: &r, octets: costOf(o, &r)}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put(o, c, body)
	return len(q.waiting.changes)
}

// forget puts an order in the queue to drop what is kept of an origin. However
// full the queue is, it is taken: whoever gives it waits for it.
func (q *queue) forget(o origin.Origin) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.remove(o)
	q.waiting.add(o, change{octets: costOf(o, nil)}, nil)
}

// drop is forget for what was found to be damaged: what was said meanwhile
// goes before it.
func (q *queue) drop(o origin.Origin, body *sum) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if body != nil {
		q.waiting.damaged[*body] = true
	}
	if _, said := q.find(o); !said {
		q.put(o, change{octets: costOf(o, nil)}, nil)
	}
}

// put replaces what is to be done about an origin. The caller holds mu.
func (q *queue) put(o origin.Origin, c change, body []byte) {
	// The body that a record was saved with before is not lost with it.
	if c.record != nil && body == nil && c.record.Sum != (sum{}) {
		if h := q.body(c.record.Sum); h != nil {
			body = h.body
		}
	}
	b := q.waiting
	b.remove(o)
	need := c.octets
	if body != nil && b.bodies[c.record.Sum] == nil {
		need += len(body) + bodyCost
	}
	if c.record != nil && b.octets+need > q.max {
		q.lost(1)
		c, body, need = change{octets: costOf(o, nil)}, nil, costOf(o, nil)
	}
	if b.octets+need > q.max+q.max/4 {
		return
	}
	b.add(o, c, body)
}

func (b *batch) add(o origin.Origin, c change, body []byte) {
	if body != nil {
		h := b.bodies[c.record.Sum]
		if h == nil {
			h = &held{body: body}
			b.bodies[c.record.Sum] = h
			b.octets += len(body) + bodyCost
		}
		h.uses++
		c.holds = true
	}
	b.changes[o] = c
	b.octets += c.octets
}

// remove takes out what is to be done about an origin, if there is anything.
func (b *batch) remove(o origin.Origin) {
	c, ok := b.changes[o]
	if !ok {
		return
	}
	delete(b.changes, o)
	b.octets -= c.octets
	if !c.holds {
		return
	}
	h := b.bodies[c.record.Sum]
	if h.uses--; h.uses == 0 {
		delete(b.bodies, c.record.Sum)
		b.octets -= len(h.body) + bodyCost
	}
}

// load returns what is to be written of an origin, with its body if that is to
// be written too. said is false when the file knows better.
func (q *queue) load(o origin.Origin) (r *fetch.Record, said bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, said := q.find(o)
	if c.record == nil {
		return nil, said
	}
	found := *c.record
	if h := q.body(found.Sum); h != nil {
		found.Body = h.body
	}
	return &found, true
}

// find returns what was said last of an origin. The caller holds mu.
func (q *queue) find(o origin.Origin) (change, bool) {
	c, ok := q.waiting.changes[o]
	if !ok && q.writing != nil {
		c, ok = q.writing.changes[o]
	}
	return c, ok
}

// body returns a body that is to be written, nil if it is not. The caller holds
// mu.
func (q *queue) body(s sum) *held {
	h := q.waiting.bodies[s]
	if h == nil && q.writing != nil {
		h = q.writing.bodies[s]
	}
	return h
}

// wait returns a channel that is told when all that is in the queue by now is
// written, or why it could not be.
func (q *queue) wait() <-chan error {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := make(chan error, 1)
	q.waiting.done = append(q.waiting.done, done)
	return done
}

// begin takes all that waits, to be written. nil if there is nothing.
func (q *queue) begin() *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.waiting
	if len(b.changes) == 0 && len(b.damaged) == 0 && len(b.done) == 0 {
		return nil
	}
	q.waiting, q.writing = newBatch(), b
	return b
}

// end says how it went. What could not be written waits again, but for origins
// of which something was said meanwhile.
func (q *queue) end(b *batch, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writing = nil
	for _, done := range b.done {
		done <- err
	}
	if err == nil {
		return
	}
	newer := q.waiting
	q.waiting = b
	b.done = newer.done
	for s := range newer.damaged {
		b.damaged[s] = true
	}
	for o, c := range newer.changes {
		var body []byte
		if c.holds {
			body = newer.bodies[c.record.Sum].body
		}
		c.holds = false
		q.put(o, c, body)
	}
}

// count returns how many origins wait.
func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.waiting.changes)
	if q.writing != nil {
		n += len(q.writing.changes)
	}
	return n
}

// abandon drops all that waits, and returns how many records that were.
func (q *queue) abandon() (records int) {
	b := q.begin()
	if b == nil {
		return 0
	}
	for _, c := range b.changes {
		if c.record != nil {
			records++
		}
	}
	q.end(b, nil)
	return records
}

func costOf(o origin.Origin, r *fetch.Record) int {
	octets := changeCost + len(o.Host)
	if r == nil {
		return octets
	}
	octets += len(r.Charset) + len(r.ETag) + len(r.LastModified) + len(r.Err)
	for _, hop := range r.Hops {
		octets += len(hop) + 16
	}
	return octets
}
