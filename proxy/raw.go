package proxy

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// tracker knows the connections that were hijacked: http.Server.Shutdown does
// not. The zero value is ready.
type tracker struct {
	mu    sync.Mutex
	conns map[*rawConn]struct{}
	empty chan struct{} // closed when the last connection goes; nil unless someone waits
}

// rawConn is a hijacked connection. It gives back the octets that were read
// too early, and can close one direction where the network can.
type rawConn struct {
	net.Conn
	early    []byte // to be read first; only the reading goroutine touches it
	received atomic.Int64
	sent     atomic.Int64
	tracker  *tracker // nil: not tracked
	once     sync.Once
}

// track returns c as a rawConn that the tracker knows until it is closed; a
// nil tracker knows nothing.
func (t *tracker) track(c net.Conn) *rawConn {
	rc := &rawConn{Conn: c, tracker: t}
	if t == nil {
		return rc
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		t.conns = map[*rawConn]struct{}{}
	}
	t.conns[rc] = struct{}{}
	return rc
}

func (t *tracker) drop(c *rawConn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
	if len(t.conns) == 0 && t.empty != nil {
		close(t.empty)
		t.empty = nil
	}
}

// count is how many are open.
func (t *tracker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.conns)
}

// drain waits until all have closed. When ctx ends first it closes them, and
// returns the error of ctx.
func (t *tracker) drain(ctx context.Context) error {
	t.mu.Lock()
	if len(t.conns) == 0 {
		t.mu.Unlock()
		return nil
	}
	if t.empty == nil {
		t.empty = make(chan struct{})
	}
	empty := t.empty
	t.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	open := make([]*rawConn, 0, len(t.conns))
	for c := range t.conns {
		open = append(open, c)
	}
	t.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	return ctx.Err()
}

// Read reads what was read too early, then from the connection.
func (c *rawConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		n, err := c.Conn.Read(p)
		c.received.Add(int64(n))
		return n, err
	}
	n := copy(p, c.early)
	if c.early = c.early[n:]; len(c.early) == 0 {
		c.early = nil
	}
	c.received.Add(int64(n))
	return n, nil
}

// Write writes and counts.
func (c *rawConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// Close ends both directions.
func (c *rawConn) Close() error {
	c.once.Do(func() { c.tracker.drop(c) })
	return c.Conn.Close()
}

// CloseWrite sends the end of one direction, as TCP and TLS can.
func (c *rawConn) CloseWrite() error { return closeWrite(c.Conn) }

// first returns the first octet without taking it away.
func (c *rawConn) first() (byte, error) {
	if len(c.early) == 0 {
		var b [1]byte
		if _, err := c.Conn.Read(b[:]); err != nil {
			return 0, err
		}
		c.early = append(c.early, b[0])
	}
	return c.early[0], nil
}

// mostEarly is how much is read of a client that waits. In TLS it says hello, in
// some 2 KiB, and can do no more.
const mostEarly = 16 << 10

// attend returns a context that ends when the client goes away: what it sends is
// read, and kept. The caller reads nothing, and calls stop before it, or anybody
// else, does again.
func (c *rawConn) attend(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	_ = c.SetReadDeadline(time.Time{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buf := make([]byte, 4<<10); len(c.early) < mostEarly; {
			n, err := c.Conn.Read(buf)
			c.early = append(c.early, buf[:n]...)
			switch {
			case err == nil:
			case errors.Is(err, os.ErrDeadlineExceeded): // stop's
				return
			default:
				cancel()
				return
			}
		}
	}()
	return ctx, func() {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		<-ended
		_ = c.SetReadDeadline(time.Time{})
		cancel()
	}
}
