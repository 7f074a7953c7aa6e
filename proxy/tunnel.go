package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"heed/internal/origin"
)

// checkServerName refuses a TLS connection whose SNI is not the CONNECT's
// host: the client would be shown one name and served another. A client that
// connected to an address has no name to send.
func (t *tunnel) checkServerName(sni string) error {
	if sni == "" {
		return nil
	}
	o, err := origin.Parse("https", sni)
	if err != nil {
		return fmt.Errorf("TLS server name %q: %w", sni, err)
	}
	if !strings.EqualFold(o.Host, t.origin.Host) {
		return fmt.Errorf("TLS server name %q inside a tunnel to %q: they must be the same", o.Host, t.origin.Host)
	}
	return nil
}

// relay copies both directions of an unread tunnel until both have ended, or
// nothing moved for the idle time.
func (p *Proxy) relay(x *exchange, client *rawConn, upstream net.Conn) {
	done := make(chan int64, 1)
	go func() {
		n := p.copyHalf(upstream, client)
		done <- n
	}()
	p.copyHalf(client, upstream)
	x.entry.BytesIn = <-done
	_ = client.Close()
	x.entry.BytesOut = client.sent.Load()
}

// copyHalf copies one direction and passes its end on. Any other end closes
// both, so that the other direction does not wait for ever.
func (p *Proxy) copyHalf(dst, src net.Conn) int64 {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	var total int64
	for {
		_ = src.SetReadDeadline(time.Now().Add(p.Timeouts.Idle * 5))
		n, err := src.Read(buf[:])
		if n > 0 {
			_ = dst.SetWriteDeadline(time.Now().Add(p.Timeouts.Idle))
			m, writeErr := dst.Write(buf[:n])
			total += int64(m)
			if writeErr != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			if half, ok := dst.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return total
			}
			break
		}
		if err != nil {
			break
		}
	}
	_ = dst.Close()
	_ = src.Close()
	return total
}
