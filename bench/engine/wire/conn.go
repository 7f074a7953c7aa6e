package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// what a task waits for.
const (
	reading = iota
	writing
)

// Conn is a TCP connection of one task, or a listener of one.
type Conn struct {
	fd                 int
	task               *Task
	waiting            *Task // nil: it does not wait
	wants              int
	readable, writable bool // as far as is known: epoll tells of changes only
	ended              bool // there will be no more events
	closed             bool
}

// adopt takes a descriptor that does not block.
func (t *Task) adopt(fd int) (*Conn, error) {
	c := &Conn{fd: fd, task: t, writable: true}
	for len(t.loop.conns) <= fd {
		t.loop.conns = append(t.loop.conns, nil)
	}
	// Edge-triggered: one call for a connection's whole life.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd)}
	if err := unix.EpollCtl(t.loop.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watching a connection: %w", err)
	}
	t.loop.conns[fd] = c
	t.open = append(t.open, c)
	return c, nil
}

// Dial connects to an IPv4 address.
func (t *Task) Dial(to netip.AddrPort) (*Conn, error) {
	fd, err := socket()
	if err != nil {
		return nil, err
	}
	err = unix.Connect(fd, sockaddr(to))
	waits := errors.Is(err, unix.EINPROGRESS)
	if err != nil && !waits {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("connecting to %s: %w", to, err)
	}
	c, adoptErr := t.adopt(fd)
	if adoptErr != nil {
		return nil, adoptErr
	}
	if waits {
		c.writable = false
		if err := c.wait(writing); err != nil {
			return nil, err
		}
		if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || n != 0 {
			_ = c.Close()
			return nil, fmt.Errorf("connecting to %s: %w", to, unix.Errno(n))
		}
	}
	return c, nil
}

// Listen takes connections on a free port of 127.0.0.1 and has a task of its
// own handle each. An error of handle is one of the task.
func (l *Loop) Listen(handle func(*Task, *Conn) error) (netip.AddrPort, error) {
	fd, err := socket()
	if err != nil {
		return netip.AddrPort{}, err
	}
	at, err := listen(fd)
	if err != nil {
		_ = unix.Close(fd)
		return netip.AddrPort{}, fmt.Errorf("listening: %w", err)
	}
	l.Go(func(t *Task) error {
		c, err := t.adopt(fd)
		if err != nil {
			return err
		}
		for {
			fd, err := c.accept()
			if err != nil {
				return err
			}
			l.Go(func(t *Task) error {
				c, err := t.adopt(fd)
				if err != nil {
					return err
				}
				return handle(t, c)
			})
		}
	})
	return at, nil
}

func listen(fd int) (netip.AddrPort, error) {
	if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0))); err != nil {
		return netip.AddrPort{}, err
	}
	if err := unix.Listen(fd, 4096); err != nil {
		return netip.AddrPort{}, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	at := name.(*unix.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)), nil
}

func (c *Conn) accept() (int, error) {
	for {
		fd, _, err := unix.Accept4(c.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			return fd, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		case unix.EAGAIN:
			c.readable = false
			if err := c.wait(reading); err != nil {
				return -1, err
			}
		case unix.EINTR, unix.ECONNABORTED:
		default:
			return -1, fmt.Errorf("accepting a connection: %w", err)
		}
	}
}

func socket() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening a socket: %w", err)
	}
	// Between two processors of one machine nothing is congested, and what finds
	// that out costs the load time. The proxies keep the system's own.
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	return fd, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

func sockaddr(a netip.AddrPort) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// wait lets others go on until c may be read or written.
func (c *Conn) wait(what int) error {
	if c.closed {
		return net.ErrClosed
	}
	c.waiting, c.wants = c.task, what
	if !c.task.park(struct{}{}) {
		return ErrStopped
	}
	return nil
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) { return c.receive(p, 0) }

// Discard reads into nothing, as many octets as p has room for: they are not
// copied, and p stays as it is.
func (c *Conn) Discard(p []byte) (int, error) { return c.receive(p, unix.MSG_TRUNC) }

func (c *Conn) receive(p []byte, flags int) (int, error) {
	for {
		if !c.readable {
			if err := c.wait(reading); err != nil {
				return 0, err
			}
		}
		n, errno := recv(c.fd, p, flags)
		switch {
		case errno == unix.EAGAIN:
			c.readable = false
		case errno == unix.EINTR:
		case errno != 0:
			return 0, fmt.Errorf("reading: %w", errno)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			c.readable = n == len(p) || c.ended // less than asked for: there is no more
			return n, nil
		}
	}
}

// Write implements net.Conn: all of p is written, or an error says why not.
func (c *Conn) Write(p []byte) (int, error) {
	for sent := 0; ; {
		n, errno := send(c.fd, p[sent:])
		switch errno {
		case 0:
			if sent += n; sent == len(p) {
				return sent, nil
			}
		case unix.EAGAIN:
			c.writable = false
			if err := c.wait(writing); err != nil {
				return sent, err
			}
		case unix.EINTR:
		default:
			return sent, fmt.Errorf("writing: %w", errno)
		}
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	c.task.loop.conns[c.fd] = nil
	for i, other := range c.task.open {
		if other == c {
			c.task.open = append(c.task.open[:i:i], c.task.open[i+1:]...)
			break
		}
	}
	return os.NewSyscallError("close", unix.Close(c.fd))
}

// LocalAddr implements net.Conn. Nobody asks.
func (c *Conn) LocalAddr() net.Addr { return nil }

// RemoteAddr implements net.Conn. Nobody asks.
func (c *Conn) RemoteAddr() net.Addr { return nil }

// SetDeadline implements net.Conn and does nothing: the Loop has a deadline.
func (c *Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline is SetDeadline.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is SetDeadline.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }
