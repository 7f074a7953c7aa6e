package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
)

// clientConn is a connection as net/http serves it: a client's, on the proxy's
// own port, or the inside of an accepted CONNECT. It knows which, and it looks
// after requests that net/http cannot read (malformed.go).
type clientConn struct {
	net.Conn
	proxy  *Proxy
	tunnel *tunnel // the CONNECT that it came in through; nil on the proxy's own port
	head   head
	remote atomic.Pointer[netip.AddrPort] // its other end; nil until somebody asked
}

// secureConn is a clientConn inside TLS that speaks HTTP/1.1. By its
// ConnectionState net/http fills Request.TLS.
type secureConn struct {
	*clientConn
	state tls.ConnectionState
}

// ConnectionState returns what the handshake agreed on.
func (c *secureConn) ConnectionState() tls.ConnectionState { return c.state }

// clientListener gives out clientConns.
type clientListener struct {
	net.Listener
	proxy *Proxy
}

// Accept waits for the next client.
func (l clientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &clientConn{Conn: c, proxy: l.proxy}, nil
}

// CloseWrite sends the end of one direction, as TCP and TLS can. net/http asks
// for it where an answer must arrive though the request was not read.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type connKey struct{}

// withConn lets a request know the connection it came in through. Those of
// HTTP/2 are known by what is below TLS.
func withConn(ctx context.Context, c net.Conn) context.Context {
	switch c := c.(type) {
	case *clientConn:
		return context.WithValue(ctx, connKey{}, c)
	case *secureConn:
		return context.WithValue(ctx, connKey{}, c.clientConn)
	case *tls.Conn:
		return withConn(ctx, c.NetConn())
	default:
		return ctx
	}
}

// connOf returns the connection that a request came in through. One without
// did not come in through heed's door.
func connOf(r *http.Request) *clientConn {
	c, ok := r.Context().Value(connKey{}).(*clientConn)
	if !ok {
		panic(errNotOurPath)
	}
	return c
}

// unwrap returns the connection that is hijacked with c, whose requests
// nobody reads any more.
func unwrap(c net.Conn) net.Conn {
	switch c := c.(type) {
	case *clientConn:
		return c.Conn
	case *secureConn:
		return c.Conn
	default:
		return c
	}
}

// reset makes the close of c show as a broken connection. Where the end of an
// answer is the end of the connection, as in HTTP/1.0, nothing else tells a
// client that the answer is not whole. It is closed here, below TLS: a farewell
// of TLS would say that it is.
func reset(c net.Conn) {
	for {
		switch below := c.(type) {
		case *clientConn:
			c = below.Conn
		case *alertConn:
			c = below.Conn
		case *rawConn:
			c = below.Conn
		case *eitherConn:
			c = below.spoken()
		case *earlyConn:
			c = below.Conn
		case *tls.Conn:
			c = below.NetConn()
		case *net.TCPConn:
			_ = below.SetLinger(0)
			_ = below.Close()
			return
		default:
			return
		}
	}
}
