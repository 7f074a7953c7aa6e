package relay

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// bufferSize is how much is read at once of a direction that does not carry
// much. A read that fills it says that there is more.
const bufferSize = 16 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// tcp is one direction between two sockets. Go's io.Copy would splice as well,
// but it takes a pipe before it waits: two descriptors and 20 KiB for each
// direction of each tunnel that says nothing. It also tells what moved only
// when all has.
type tcp struct {
	*half
	r, w syscall.RawConn
	bulk bool // what comes next goes through a pipe
	flat bool // splice does not work on these sockets

	// Set by take and by pass.
	b    *[bufferSize]byte
	pipe *pipe
	n    int
	err  error
}

// copy carries one direction, without a copy in this process where it can.
func (h *half) copy() error {
	src, ok := h.src.(*net.TCPConn)
	dst, ok2 := h.dst.(*net.TCPConn)
	if !ok || !ok2 {
		return h.copyBuffered()
	}
	r, err := src.SyscallConn()
	if err != nil {
		return err
	}
	w, err := dst.SyscallConn()
	if err != nil {
		return err
	}
	return (&tcp{half: h, r: r, w: w}).copy()
}

func (c *tcp) copy() error {
	take, pass := c.take, c.pass // made once: each mention would allocate
	for {
		if err := c.r.Read(take); err != nil {
			return err
		}
		switch {
		case c.bulk && errors.Is(c.err, unix.EINVAL):
			c.bulk, c.flat = false, true // some sockets cannot: read what splice would not
			continue
		case c.err != nil:
			return c.err
		case c.n == 0:
			return io.EOF
		case c.bulk:
			c.err = c.passAll(pass)
		default:
			c.err = c.give(c.b[:c.n])
			c.bulk = c.n == bufferSize && !c.flat
			buffers.Put(c.b)
			c.b = nil
		}
		if c.err != nil {
			return c.err
		}
	}
}

// take reads what there is. When there is nothing it gives back what it would
// have read into, and has Go wait.
func (c *tcp) take(fd uintptr) bool {
	if c.bulk {
		return c.takeBulk(fd)
	}
	c.b = buffers.Get().(*[bufferSize]byte)
	c.n, c.err = again(func() (int, error) { return unix.Read(int(fd), c.b[:]) })
	if c.err != nil || c.n == 0 {
		buffers.Put(c.b)
		c.b = nil
	}
	return !errors.Is(c.err, unix.EAGAIN)
}

func (c *tcp) takeBulk(fd uintptr) bool {
	if c.pipe, c.err = newPipe(); c.err != nil {
		c.bulk, c.flat, c.err = false, true, nil // out of descriptors, say: it goes without
		return c.take(fd)
	}
	c.n, c.err = again(func() (int, error) { return splice(int(fd), c.pipe.w, pipeSize) })
	if c.err != nil || c.n == 0 {
		c.pipe.keep()
		c.pipe = nil
	}
	return !errors.Is(c.err, unix.EAGAIN)
}

// passAll empties the pipe.
func (c *tcp) passAll(pass func(uintptr) bool) error {
	c.bulk = c.n >= bufferSize
	for c.n > 0 {
		if err := c.w.Write(pass); err != nil {
			c.err = err
		}
		if c.err != nil {
			c.pipe.close() // there is something in it that nobody wants
			return c.err
		}
	}
	c.pipe.keep()
	c.pipe = nil
	return nil
}

// pass gives what is in the pipe, as much as is taken.
func (c *tcp) pass(fd uintptr) bool {
	n, err := again(func() (int, error) { return splice(c.pipe.r, int(fd), c.n) })
	if errors.Is(err, unix.EAGAIN) {
		c.writing.Store(true)
		return false
	}
	c.writing.Store(false)
	if n == 0 && err == nil {
		err = io.ErrNoProgress // which cannot be, and would be for ever
	}
	c.err = err
	c.n -= max(n, 0)
	c.moved.Add(int64(max(n, 0)))
	return true
}

func splice(from, to, n int) (int, error) {
	moved, err := unix.Splice(from, nil, to, nil, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	return int(moved), err
}

// queued is how many octets were given to c that its other end has not
// acknowledged.
func queued(c net.Conn) (n int64) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if waiting, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil {
			n = int64(waiting)
		}
	})
	return n
}

// again calls f until no signal interrupts it.
func again(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
