// Package relay carries the octets of a tunnel unread, in both directions,
// until both have ended.
//
// A crawl keeps many tunnels open that carry nothing, and a few that carry
// much. So a tunnel that waits holds no buffer, no pipe and no timer of its
// own for each read: on Linux, where both ends are TCP, it waits until there
// is something to read and only then takes a buffer. Octets in bulk do not
// pass through this process at all (splice, see tcp_linux.go). Everything else
// (TLS below, other systems) is read and written with small buffers.
//
// The end of one direction is passed on and the other goes on. Any other end
// closes both connections, and so does silence: see Limits.
package relay

import (
	"errors"
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// Limits say when a tunnel is given up, though neither end closed it.
type Limits struct {
	// Stalled is how long one end may take nothing of what there is for it.
	// It is also how exact both limits are. Not 0.
	Stalled time.Duration

	// Quiet is for how many times Stalled nothing may move in either
	// direction. Not 0.
	Quiet int
}

// Start relays between a and b until both directions have ended, closes both,
// and then calls end with how many octets went from a to b and from b to a. It
// returns at once; each direction has a goroutine of its own, with little on
// its stack. A connection of which something was read already cannot be given:
// what is in a buffer would come too late.
func Start(a, b net.Conn, l Limits, end func(fromA, fromB int64)) {
	t := &tunnel{limits: l, end: end, out: half{dst: b, src: a}, back: half{dst: a, src: b}}
	t.open.Store(2)
	t.timer = time.AfterFunc(math.MaxInt64, t.look)
	t.timer.Reset(l.Stalled) // only now: look looks at timer
	go t.copy(&t.out)
	go t.copy(&t.back)
}

// tunnel is two directions and what watches them.
type tunnel struct {
	out, back half
	limits    Limits
	end       func(fromA, fromB int64)
	timer     *time.Timer
	open      atomic.Int32 // directions that have not ended

	// Only look touches these.
	quiet int   // how many looks in a row saw nothing move
	last  int64 // what had moved at the last look
}

// half is one direction.
type half struct {
	dst, src net.Conn
	moved    atomic.Int64 // octets that dst took
	writing  atomic.Bool  // dst is being given something
	stalled  int64        // what had arrived when look saw it writing, and 1; 0: it was not
}

// copy carries one direction. An end that cannot be passed on ends both.
func (t *tunnel) copy(h *half) {
	if err := h.copy(); !errors.Is(err, io.EOF) || closeWrite(h.dst) != nil {
		t.close()
	}
	if t.open.Add(-1) > 0 {
		return
	}
	t.timer.Stop()
	t.close()
	t.end(t.out.moved.Load(), t.back.moved.Load())
}

func (t *tunnel) close() {
	_ = t.out.src.Close()
	_ = t.out.dst.Close()
}

// look closes a tunnel that is past its limits. It runs every so often in
// place of a deadline for each read and write, which would cost each of them.
func (t *tunnel) look() {
	if t.open.Load() == 0 {
		return // it was stopped too late
	}
	moved := t.out.moved.Load() + t.back.moved.Load()
	if moved != t.last {
		t.quiet, t.last = 0, moved
	} else {
		t.quiet++
	}
	if t.quiet >= t.limits.Quiet || t.out.stuck() || t.back.stuck() {
		t.close() // both directions notice and end
		return
	}
	t.timer.Reset(t.limits.Stalled)
}

// stuck reports that dst has taken nothing since the last look. What waits in
// this machine's own queue is not taken yet: a slow reader empties that for a
// long time before there is room in it again.
func (h *half) stuck() bool {
	was := h.stalled
	h.stalled = 0
	if h.writing.Load() {
		h.stalled = h.moved.Load() - queued(h.dst) + 1
	}
	return was != 0 && h.stalled == was
}

// give writes all of b.
func (h *half) give(b []byte) error {
	h.writing.Store(true)
	n, err := h.dst.Write(b)
	h.writing.Store(false)
	h.moved.Add(int64(n))
	return err
}

// copyBuffered carries one direction through a buffer that it keeps.
func (h *half) copyBuffered() error {
	b := make([]byte, 8<<10)
	for {
		n, err := h.src.Read(b)
		if n > 0 {
			if err := h.give(b[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
