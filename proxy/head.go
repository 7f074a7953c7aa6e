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
	early  atomic.Int32 // the octet that was read last, if it was read alone, and 1; 0: none

	mu     sync.Mutex
	octets []byte // the first headOctets at most; nil until some came
	total  int    // octets read so far
	line   int    // length of the first line, once its end was read
	ended  bool   // it was
}

var heads = sync.Pool{New: func() any { return new([headOctets]byte) }}

// add takes what was read into buf. net/http reads into a buffer of one octet
// to see whether the client is still there, which takes the first octet of the
// next request.
func (h *head) add(buf, got []byte) {
	if len(got) == 0 {
		return
	}
	switch {
	case len(buf) == 1:
		h.early.Store(int32(got[0]) + 1)
	case h.early.Load() != 0:
		h.early.Store(0)
	}
	if h.closed.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed.Load() {
		h.append(got)
	}
}

func (h *head) append(b []byte) {
	if h.octets == nil {
		h.octets = heads.Get().(*[headOctets]byte)[:0]
	}
	h.octets = append(h.octets, b[:min(len(b), headOctets-len(h.octets))]...)
	if i := bytes.IndexByte(b, '\n'); i >= 0 && !h.ended {
		h.line, h.ended = h.total+i, true
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
	if early := h.early.Swap(0); early != 0 {
		h.append([]byte{byte(early - 1)})
	}
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
