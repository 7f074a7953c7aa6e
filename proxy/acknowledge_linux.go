package proxy

import (
	"net"
	"syscall"
)

// acknowledge has the system acknowledge at once what a client has sent and what
// it sends next. The system waits 40 ms for something that could go along, and a
// client whose TCP holds back a small segment until the last one is acknowledged
// (Nagle) waits with it: it sends the header section, and the body 40 ms later.
// Python's urllib3, and requests on it, have that for proxies alone.
func acknowledge(c net.Conn) {
	socket, ok := bottom(c).(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) // it is only slower without
	})
}
