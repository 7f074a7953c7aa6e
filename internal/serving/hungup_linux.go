package serving

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the client's end of a connection has come, or a reset,
// also behind octets that nobody has read yet.
func hungUp(c net.Conn) (gone bool) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		at := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if _, err := unix.Poll(at, 0); err == nil {
			gone = at[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
		}
	})
	return gone
}
