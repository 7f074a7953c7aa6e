package roundtrip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// sessions is how many TLS sessions are kept, to be taken up again by
// connections that come later. Each has an origin's certificates.
const sessions = 512

// What is offered in a handshake.
var (
	either = []string{"h2", "http/1.1"}
	only1  = []string{"http/1.1"}
)

// handshake is the one of http.Transport, with its hooks.
func (t *Transport) handshake(ctx context.Context, raw net.Conn, addr string, protocols []string) (*tls.Conn, error) {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("dialling: %w", err)
	}
	if t.base.TLSHandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.base.TLSHandshakeTimeout)
		defer cancel()
	}
	config := t.tls.Clone()
	config.NextProtos = protocols
	if config.ServerName == "" {
		config.ServerName = name
	}
	secure := tls.Client(&wire{Conn: raw}, config)
	trace := hooksOf(ctx).trace
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err = secure.HandshakeContext(ctx)
	if err != nil {
		_ = raw.Close()
		if errors.Is(err, context.DeadlineExceeded) { // as a connection that is not made in time
			err = fmt.Errorf("TLS handshake timeout: %w", &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded})
		}
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secure.ConnectionState(), err)
	}
	if err != nil {
		return nil, err
	}
	return secure, nil
}

// wire is the connection below TLS. It knows what crypto/tls does not tell: how
// the octets ended, and whether some are left over in crypto/tls's own buffer.
// Its reader alone may use it.
type wire struct {
	net.Conn
	over   bool    // it ended, and not by a close_notify, behind which nothing is read
	header [5]byte // of the record that is coming in (RFC 8446 §5.1)
	got    int     // octets of header
	left   int     // octets of the record that are still to come

	looking bool // what was read already is all there is
	octet   [1]byte
}

// Read reads from the connection.
func (w *wire) Read(p []byte) (int, error) {
	if w.looking {
		return 0, errNothing
	}
	n, err := w.Conn.Read(p)
	w.follow(p[:n])
	w.over = w.over || errors.Is(err, io.EOF)
	return n, err
}

// follow notes where in a record the octets stop.
func (w *wire) follow(p []byte) {
	for len(p) > 0 {
		if w.left > 0 {
			n := min(w.left, len(p))
			w.left -= n
			p = p[n:]
			continue
		}
		n := copy(w.header[w.got:], p)
		w.got += n
		p = p[n:]
		if w.got == len(w.header) {
			w.got, w.left = 0, int(w.header[3])<<8|int(w.header[4])
		}
	}
}

// nothing is the error of a look that found nothing. crypto/tls goes on after
// it, as after a deadline, because it is Temporary.
type nothing struct{}

func (nothing) Error() string   { return "nothing is there" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

var errNothing net.Error = nothing{}

// drained reports whether TLS holds nothing that came with what was read: it
// reads as much as there is, and a look at the socket does not see that.
func (c *conn) drained() bool {
	secure, ok := c.Conn.(*tls.Conn)
	if !ok {
		return true
	}
	if c.wire == nil || inTLS(c.wire) { // a TLS that was made elsewhere, as with an upstream proxy
		var octet [1]byte
		c.by = time.Time{} // the deadline is another one now
		_ = c.SetReadDeadline(time.Unix(1, 0))
		n, err := secure.Read(octet[:])
		var timeout net.Error
		return n == 0 && errors.As(err, &timeout) && timeout.Timeout() && (c.wire == nil || c.wire.whole())
	}
	c.wire.looking = true
	n, err := secure.Read(c.wire.octet[:])
	c.wire.looking = false
	return n == 0 && errors.Is(err, errNothing) && c.wire.whole()
}

func (w *wire) whole() bool { return w.got == 0 && w.left == 0 }

func inTLS(w *wire) bool {
	_, ok := w.Conn.(*tls.Conn)
	return ok
}

// bottom is the connection below all TLS.
func bottom(c net.Conn) net.Conn {
	for {
		switch over := c.(type) {
		case *tls.Conn:
			c = over.NetConn()
		case *wire:
			c = over.Conn
		default:
			return c
		}
	}
}
