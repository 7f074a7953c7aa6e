//go:build !linux

package e2e

import (
	"net"
	"sync/atomic"
	"time"
)

// arrivals accepts connections that know when something was read of them last,
// which is a little later than it came.
type arrivals struct{ net.Listener }

// stamping has nobody stamp anything.
var stamping net.ListenConfig

// Accept wraps the connection.
func (l arrivals) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stampedConn{Conn: conn}, nil
}

// stampedConn is a connection with the time of what was read last.
type stampedConn struct {
	net.Conn
	first, last atomic.Pointer[time.Time] // when it came
	ended       atomic.Bool               // nobody knows
}

// Read reads, and looks at the clock.
func (c *stampedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	at := time.Now()
	c.first.CompareAndSwap(nil, &at)
	c.last.Store(&at)
	return n, err
}
