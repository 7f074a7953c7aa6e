package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"heed/internal/serving"
)

// clientConn is a connection as it is served: a client's, on the proxy's own
// port, or the inside of an accepted CONNECT. It knows which.
type clientConn struct {
	net.Conn
	tunnel *tunnel                        // the CONNECT that it came in through; nil on the proxy's own port
	remote atomic.Pointer[netip.AddrPort] // its other end; nil until somebody asked
}

// clientListener gives out clientConns.
type clientListener struct{ net.Listener }

// Accept waits for the next client.
func (l clientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &clientConn{Conn: c}, nil
}

// CloseWrite sends the end of one direction, as TCP and TLS can. It is asked for
// where an answer must arrive though the request was not read.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type connKey struct{}

// withConn lets a request in HTTP/2 know the connection it came in through, by
// what is below TLS.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		return context.WithValue(ctx, connKey{}, secure.NetConn())
	}
	return ctx
}

// connOf returns the connection that a request came in through. One without
// did not come in through heed's door.
func connOf(w http.ResponseWriter, r *http.Request) *clientConn {
	own, _ := w.(*serving.Response)
	var at any
	if own != nil {
		at = own.Conn()
	} else {
		at = r.Context().Value(connKey{})
	}
	c, ok := at.(*clientConn)
	if !ok {
		panic(errNotOurPath)
	}
	return c
}

// unwrap returns the connection that is hijacked with c.
func unwrap(c net.Conn) net.Conn {
	if c, ok := c.(*clientConn); ok {
		return c.Conn
	}
	return c
}

// reset makes the close of c show as a broken connection. Where the end of an
// answer is the end of the connection, as in HTTP/1.0, nothing else tells a
// client that the answer is not whole. It is closed here, below TLS: a farewell
// of TLS would say that it is.
func reset(c net.Conn) {
	if socket, ok := bottom(c).(interface{ SetLinger(sec int) error }); ok {
		_ = socket.SetLinger(0)
		_ = bottom(c).Close()
	}
}

// bottom returns the connection below all that heed and TLS have put over it.
func bottom(c net.Conn) net.Conn {
	for {
		switch over := c.(type) {
		case *clientConn:
			c = over.Conn
		case *alertConn:
			c = over.Conn
		case *rawConn:
			c = over.Conn
		case *eitherConn:
			c = over.spoken()
		case *earlyConn:
			c = over.Conn
		case *tls.Conn:
			c = over.NetConn()
		default:
			return c
		}
	}
}
