package proxy

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// headOctets is how much of a request that net/http is reading is remembered.
const headOctets = 4 << 10

// head remembers the first octets of the request that net/http is reading on a
// connection, until a handler has it. The zero value is open. The goroutine
// that serves the connection and the one by which net/http notices that a
// client went away both read, hence the lock; while a handler has the request
// it is not taken.
type head struct {
	closed atomic.Bool

	mu     sync.Mutex
	octets []byte // the first headOctets at most; nil until some came
	total  int    // octets read so far
	line   int    // length of the first line, once its end was read
	ended  bool   // it was
}

var heads = sync.Pool{New: func() any { return new([headOctets]byte) }}

// add takes what was read.
func (h *head) add(b []byte) {
	if h.closed.Load() || len(b) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() {
		return
	}
	if h.octets == nil {
		h.octets = heads.Get().(*[headOctets]byte)[:0]
	}
	h.octets = append(h.octets, b[:min(len(b), headOctets-len(h.octets))]...)
	if !h.ended {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			h.line, h.ended = h.total+i, true
		}
	}
	h.total += len(b)
}

// close forgets what was read: a handler has the request.
func (h *head) close() {
	h.closed.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reset()
}

// open begins with the next request.
func (h *head) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reset()
	h.closed.Store(false)
}

func (h *head) reset() {
	if h.octets != nil {
		heads.Put((*[headOctets]byte)(h.octets[:headOctets]))
	}
	h.octets, h.total, h.line, h.ended = nil, 0, 0, false
}

// read returns a copy of what is remembered, and the length of the first line
// as far as it came.
func (h *head) read() (octets []byte, line int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if line = h.line; !h.ended {
		line = h.total
	}
	return bytes.Clone(h.octets), line
}
