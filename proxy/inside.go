package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// inside serves the requests in HTTP/2 inside accepted CONNECTs. It is
// net/http's own server behind a listener that is fed with hijacked connections.
// goproxy's interception has no time limits, and a panic in it ends the process
// (https.go:524).
type inside struct {
	feed   *feed
	server *http.Server
	tls    *tls.Config // one for all connections, so that sessions can be resumed
	near   *tls.Config // the same for clients on this machine
}

func (p *Proxy) newInside() inside {
	protocols := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1", "http/1.0"}, // the last of a client that says in advance that it speaks no other
		GetCertificate: p.leaf,
	}
	protocols.WrapSession, protocols.UnwrapSession = sessionsOf(protocols)
	near := protocols.Clone()
	near.CurvePreferences = nearCurves
	return inside{feed: newFeed(), server: p.newHTTP2(protocols), tls: protocols, near: near}
}

// serveInside serves the requests in HTTP/1.1 inside an accepted CONNECT; secure
// is nil where there is no TLS.
func (p *Proxy) serveInside(c net.Conn, t *tunnel, secure *tls.Conn) {
	var state *tls.ConnectionState
	if secure != nil {
		s := secure.ConnectionState()
		state = &s
	}
	p.server.ServeConn(context.Background(), &clientConn{Conn: c, tunnel: t}, func(r *http.Request) {
		r.TLS, t.used = state, true
	})
	if secure != nil && !t.used {
		p.followLeave(secure, t)
	}
}

// nearCurves are what keys are agreed on by with a client on this machine:
// crypto/tls's own, without those against a quantum computer, which are a fifth
// of the cost of a connection. They guard what somebody records today, and
// nobody records what never leaves the machine.
var nearCurves = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// configFor returns how TLS is spoken with a client.
func (in inside) configFor(client netip.Addr) *tls.Config {
	if client.IsLoopback() {
		return in.near
	}
	return in.tls
}

// sessionsOf returns what makes tickets of sessions and sessions of tickets,
// with crypto/tls's own keys, of which there is a new one each day and none
// older than a week. A session is resumed under the name alone that it was made
// for: crypto/tls would take any, and RFC 6066 §3 forbids that.
func sessionsOf(c *tls.Config) (
	wrap func(tls.ConnectionState, *tls.SessionState) ([]byte, error),
	unwrap func([]byte, tls.ConnectionState) (*tls.SessionState, error),
) {
	wrap = func(state tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		s.Extra = append(s.Extra, []byte(state.ServerName))
		return c.EncryptTicket(state, s)
	}
	unwrap = func(ticket []byte, state tls.ConnectionState) (*tls.SessionState, error) {
		s, err := c.DecryptTicket(ticket, state)
		if err != nil || s == nil || len(s.Extra) != 1 || string(s.Extra[0]) != state.ServerName {
			return nil, err // a whole handshake, then
		}
		return s, nil
	}
	return wrap, unwrap
}

// serve returns when the server has been shut down.
func (in inside) serve() error { return closed(in.server.Serve(in.feed)) }

// feed is a net.Listener whose connections are delivered by hand.
type feed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newFeed() *feed { return &feed{conns: make(chan net.Conn), done: make(chan struct{})} }

// deliver hands a connection to the server, or closes it when that has ended.
func (f *feed) deliver(c net.Conn) {
	select {
	case f.conns <- c:
	case <-f.done:
		_ = c.Close()
	}
}

// Accept waits for the next connection that is delivered.
func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. What is delivered later is closed.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

// Addr returns a name for logs.
func (f *feed) Addr() net.Addr { return feedAddr{} }

type feedAddr struct{}

func (feedAddr) Network() string { return "tunnel" }
func (feedAddr) String() string  { return "inside a CONNECT" }
