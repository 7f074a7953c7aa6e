package e2e

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// arrivals accepts connections that know when what was read of them last came to
// this machine. The kernel's own time stamps say so: a process that finds no
// processor free would take its own lateness for the client's.
type arrivals struct{ net.Listener }

// stamping has the kernel stamp what comes to a listener's connections, before
// they are accepted.
var stamping = net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
	var refused error
	err := raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	return errors.Join(err, os.NewSyscallError("setsockopt", refused))
}}

// Accept wraps the connection.
func (l arrivals) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	return &stampedConn{Conn: conn, raw: raw}, nil
}

// stampedConn is a connection with the time of what was read last.
type stampedConn struct {
	net.Conn
	raw         syscall.RawConn
	first, last atomic.Pointer[time.Time] // when it came
	ended       atomic.Bool               // the time may be that of its end
}

// Read reads what there is, and its time.
func (c *stampedConn) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	var got error
	var control [64]byte
	var controls int
	err = c.raw.Read(func(fd uintptr) bool {
		for {
			n, controls, _, _, got = syscall.Recvmsg(int(fd), p, control[:], 0)
			if got == syscall.EINTR {
				continue
			}
			if n > 0 { // an end that came before this was read leaves its own time
				var next [1]byte
				more, _, err := syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
				c.ended.Store(more == 0 && err == nil)
			}
			return got != syscall.EAGAIN
		}
	})
	switch {
	case err != nil:
		return 0, err
	case got != nil:
		return 0, os.NewSyscallError("recvmsg", got)
	case n == 0:
		return 0, io.EOF
	}
	at := stampOf(control[:controls])
	c.first.CompareAndSwap(nil, &at)
	c.last.Store(&at)
	return n, nil
}

// stampOf reads the kernel's time stamp, as a reading of the monotonic clock.
func stampOf(control []byte) time.Time {
	now := time.Now()
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return now
	}
	for _, m := range messages {
		if m.Header.Level == syscall.SOL_SOCKET && m.Header.Type == syscall.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			at := time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
			if lag := now.Round(0).Sub(at); lag > 0 && lag < time.Minute {
				return now.Add(-lag)
			}
		}
	}
	return now
}
