package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// quietFor is how many idle times an unread tunnel may be quiet. What is in it
// may be a connection that its ends keep for later, as browsers do.
const quietFor = 5

// relay copies both directions of an unread tunnel until both have ended, or
// nothing moved in either for the idle time.
func (p *Proxy) relay(client, upstream net.Conn) {
	var moved atomic.Int64 // when something last did, in either direction; Unix nanoseconds
	moved.Store(time.Now().UnixNano())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.copyHalf(upstream, client, &moved)
	}()
	p.copyHalf(client, upstream, &moved)
	<-done
	_ = client.Close()
	_ = upstream.Close()
}

// copyHalf copies one direction and passes its end on. Any other end closes
// both connections, so that the other direction does not wait for ever.
func (p *Proxy) copyHalf(dst, src net.Conn, moved *atomic.Int64) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	quiet := p.Timeouts.Idle * quietFor
	for {
		_ = src.SetReadDeadline(time.Unix(0, moved.Load()).Add(quiet))
		n, err := src.Read(buf[:])
		if n > 0 {
			moved.Store(time.Now().UnixNano())
			_ = dst.SetWriteDeadline(time.Now().Add(p.Timeouts.Idle))
			if _, writeErr := dst.Write(buf[:n]); writeErr != nil {
				break
			}
			moved.Store(time.Now().UnixNano())
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, moved.Load())) < quiet {
			continue // the other direction moved meanwhile
		}
		if errors.Is(err, io.EOF) && closeWrite(dst) == nil {
			return
		}
		if err != nil {
			break
		}
	}
	_ = dst.Close()
	_ = src.Close()
}

// lingerTime and lingerOctets bound what is read of a request that has been
// answered.
const (
	lingerTime   = time.Second
	lingerOctets = 256 << 10
)

// linger ends a connection on which something was answered though not all of
// the request was read: closed at once, the answer would be lost to a reset.
func linger(c net.Conn) {
	if closeWrite(c) == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c, lingerOctets) // whatever ends it
	}
}
