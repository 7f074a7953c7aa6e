//go:build unix

package roundtrip

import (
	"syscall"
)

// probe looks whether octets came on a connection, without a wait and without
// an allocation.
type probe struct {
	socket syscall.RawConn
	look   func(fd uintptr)
	octet  [1]byte
	quiet  bool
}

// newProbe returns nil where there is no socket to look at.
func newProbe(c *conn) *probe {
	socket, ok := bottom(c.Conn).(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	p := &probe{socket: raw}
	p.look = p.peek
	return p
}

func (p *probe) peek(fd uintptr) {
	_, _, err := syscall.Recvfrom(int(fd), p.octet[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	p.quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
}

// silent reports whether nothing came: no end, no error, no octet. What cannot
// be looked at counts as silent.
func (p *probe) silent() bool {
	if p == nil {
		return true
	}
	p.quiet = false
	err := p.socket.Control(p.look)
	return err == nil && p.quiet
}
