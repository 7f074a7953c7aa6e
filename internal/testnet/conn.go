package testnet

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// Conn is one end of a connection. It behaves as a TCP connection on Linux:
//
//   - Close sends the end of what was written; if something that came was not
//     read, or comes later, the other end is reset instead.
//   - CloseWrite ends one direction alone.
//   - What arrived before a reset can be read; then there is ECONNRESET.
//   - The first write to an end that is gone succeeds, later ones fail; so do
//     those after a reset, with ECONNRESET and then EPIPE.
type Conn struct {
	link       *link
	in, out    *stream
	local, far net.Addr

	// guarded by link.mu
	closed      bool
	linger      int
	read, write deadline
}

// link is what both ends share. One lock serves both directions: a reset
// concerns both.
type link struct {
	mu      sync.Mutex
	changed *sync.Cond // anything of the connection; whoever waits looks again
}

// newPair returns the two ends of a connection from a client to a server.
func newPair(from, to netip.AddrPort, latency time.Duration, window int) (client, server *Conn) {
	l := new(link)
	l.changed = sync.NewCond(&l.mu)
	up := &stream{latency: latency, window: window}
	down := &stream{latency: latency, window: window}
	clientAddr, serverAddr := net.TCPAddrFromAddrPort(from), net.TCPAddrFromAddrPort(to)
	client = &Conn{link: l, in: down, out: up, local: clientAddr, far: serverAddr, linger: -1}
	server = &Conn{link: l, in: up, out: down, local: serverAddr, far: clientAddr, linger: -1}
	return client, server
}

// Read takes what has arrived, and waits if that is nothing.
func (c *Conn) Read(p []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for {
		now := time.Now()
		switch {
		case c.closed:
			return 0, c.fault("read", net.ErrClosed)
		case c.read.passed(now):
			return 0, c.fault("read", os.ErrDeadlineExceeded)
		case len(p) == 0:
			return 0, nil
		}
		if n := c.in.take(p, now); n > 0 {
			c.link.changed.Broadcast() // there is room now
			return n, nil
		}
		switch {
		case arrived(c.in.end, now):
			return 0, io.EOF
		case arrived(c.in.reset, now):
			return 0, c.fault("read", syscall.ECONNRESET)
		}
		c.link.changed.Wait()
	}
}

// Write sends octets, and waits while the window is full.
func (c *Conn) Write(p []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	written := 0
	for {
		now := time.Now()
		switch {
		case c.closed:
			return written, c.fault("write", net.ErrClosed)
		case c.write.passed(now):
			return written, c.fault("write", os.ErrDeadlineExceeded)
		case !c.out.end.IsZero(), c.out.refused:
			return written, c.fault("write", syscall.EPIPE)
		case arrived(c.in.reset, now), c.out.gone && written > 0:
			c.out.refused = true
			return written, c.fault("write", syscall.ECONNRESET)
		case c.out.gone: // nobody is there: the answer is a reset, which comes later
			c.out.refused = true
			c.setReset(c.in)
			return len(p), nil
		}
		if n := c.out.put(p[written:], now); n > 0 {
			written += n
			c.announce()
		}
		if written == len(p) {
			return written, nil
		}
		c.link.changed.Wait()
	}
}

// announce wakes whoever waits for what was just sent, once it arrives.
// link.mu is held.
func (c *Conn) announce() {
	if c.out.latency <= 0 {
		c.link.changed.Broadcast()
		return
	}
	time.AfterFunc(c.out.latency, c.wake)
}

func (c *Conn) wake() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.changed.Broadcast()
}

// setReset has the reader of a stream meet a reset. link.mu is held.
func (c *Conn) setReset(s *stream) {
	if s.reset.IsZero() {
		s.reset = time.Now().Add(s.latency)
		c.announce()
	}
}

// CloseWrite sends the end of what was written. What comes can be read on.
func (c *Conn) CloseWrite() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fault("close", net.ErrClosed)
	}
	c.finish()
	return nil
}

// finish sends the end. link.mu is held.
func (c *Conn) finish() {
	if c.out.end.IsZero() {
		c.out.end = time.Now().Add(c.out.latency)
		c.announce()
		c.link.changed.Broadcast() // a writer of this end waits in vain
	}
}

// SetLinger with 0 has Close reset the connection, as net.TCPConn does. Any
// other number has no effect here.
func (c *Conn) SetLinger(sec int) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.linger = sec
	return nil
}

// Close ends both directions. Whoever waits on this end gets net.ErrClosed.
func (c *Conn) Close() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fault("close", net.ErrClosed)
	}
	c.closed = true
	c.read.stop()
	c.write.stop()
	if c.linger == 0 || c.in.queued > 0 {
		c.setReset(c.out)
	} else {
		c.finish()
	}
	c.in.drop()
	c.link.changed.Broadcast()
	return nil
}

// LocalAddr returns this end's address, a *net.TCPAddr.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the other end's address, a *net.TCPAddr.
func (c *Conn) RemoteAddr() net.Addr { return c.far }

// SetDeadline sets both deadlines; the zero time takes them away.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.read, &c.write) }

// SetReadDeadline sets the deadline of Read, one that waits included.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.read) }

// SetWriteDeadline sets the deadline of Write, one that waits included.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.write) }

func (c *Conn) setDeadlines(t time.Time, all ...*deadline) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fault("set", net.ErrClosed)
	}
	for _, d := range all {
		d.stop()
		*d = deadline{at: t}
		if wait := time.Until(t); !t.IsZero() && wait > 0 {
			d.timer = time.AfterFunc(wait, c.wake)
		}
	}
	c.link.changed.Broadcast()
	return nil
}

func (c *Conn) fault(op string, cause error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.far, Err: cause}
}

// deadline is a moment after which an operation fails. The zero value is none.
type deadline struct {
	at    time.Time
	timer *time.Timer // wakes who waits; nil when there is nothing to wait for
}

func (d *deadline) passed(now time.Time) bool { return arrived(d.at, now) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
