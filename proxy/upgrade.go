package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// upgrade is what goes on behind a WebSocket's handshake. goproxy copies both
// directions and ends both when one has ended (websocket.go:94). So the end of
// one is passed on here, and goproxy is told of it when the other has ended,
// too, or nothing moved in that for the idle time.
type upgrade struct {
	origin io.ReadWriteCloser
	idle   time.Duration
	over   chan struct{} // closed when both directions have ended, or one broke off

	mu    sync.Mutex
	ended int         // directions that have
	timer *time.Timer // ends what is left; nil while both go on
	close sync.Once
}

func newUpgrade(origin io.ReadWriteCloser, idle time.Duration) *upgrade {
	return &upgrade{origin: origin, idle: idle, over: make(chan struct{})}
}

// upgradedOrigin is the origin's end, as goproxy sees it: the body of its 101.
type upgradedOrigin struct {
	*upgrade
	w *responseWriter // it has the client's end by the time that this one is read
}

// Read reads from the origin, for the client.
func (u *upgradedOrigin) Read(b []byte) (int, error) {
	n, err := u.origin.Read(b)
	return n, u.read(err, u.w.conn)
}

// Write writes to the origin.
func (u *upgradedOrigin) Write(b []byte) (int, error) { return u.origin.Write(b) }

// Close ends both directions.
func (u *upgradedOrigin) Close() error {
	u.close.Do(func() { close(u.over) })
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.timer != nil {
		u.timer.Stop()
	}
	return u.origin.Close()
}

// upgradedClient is the client's end, as goproxy gets it by Hijack.
type upgradedClient struct {
	net.Conn
	upgrade *upgrade
}

// Read reads from the client, for the origin.
func (c *upgradedClient) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.upgrade.read(err, c.upgrade.origin)
}

// read looks at how a read ended. The end of a direction it passes on and keeps
// for itself until there is nothing more to come from the other.
func (u *upgrade) read(err error, to any) error {
	if err == nil {
		u.moved()
		return nil
	}
	half, ok := to.(interface{ CloseWrite() error })
	if !errors.Is(err, io.EOF) || !ok || half.CloseWrite() != nil || u.end() {
		u.close.Do(func() { close(u.over) })
		return err
	}
	<-u.over
	return err
}

// end counts a direction that has ended, and reports whether it was the second.
func (u *upgrade) end() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended++; u.ended == 2 {
		return true
	}
	u.timer = time.AfterFunc(u.idle, func() { u.close.Do(func() { close(u.over) }) })
	return false
}

// moved gives what is left another idle time.
func (u *upgrade) moved() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.timer != nil {
		u.timer.Reset(u.idle)
	}
}
