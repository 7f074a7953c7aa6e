package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// insideServers serve the requests inside accepted CONNECTs, with and without
// TLS. They are net/http's own servers behind a listener that is fed with
// hijacked connections, which gives HTTP/2, time limits, 100-continue and
// Shutdown. goproxy's interception has none of these, and a panic in it ends
// the process (https.go:524).
type insideServers struct {
	plain, tls             *feed
	plainServer, tlsServer *http.Server
}

func (p *Proxy) newInside() insideServers {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.serveExchange(w, r, r.Context().Value(tunnelKey{}).(*tunnel))
	})
	in := insideServers{plain: newFeed(), tls: newFeed(), plainServer: p.newServer(handler), tlsServer: p.newServer(handler)}
	in.tlsServer.TLSConfig = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: p.leaf,
	}
	for _, s := range []*http.Server{in.plainServer, in.tlsServer} {
		s.ConnContext = withTunnel
	}
	return in
}

// leaf returns the certificate for the host that the client believes it talks
// to. When that is not the CONNECT's host, the requests inside are refused:
// the handshake succeeds so that the client can be told why.
func (p *Proxy) leaf(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" {
		fed, ok := hello.Conn.(*fedConn)
		if !ok {
			return nil, errNotOurPath
		}
		name = fed.tunnel.origin.Host
	}
	return p.Leaves.Certificate(name)
}

type tunnelKey struct{}

// withTunnel lets a request know the CONNECT it came in through.
func withTunnel(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, tunnelKey{}, c.(*fedConn).tunnel)
}

// feed is a net.Listener whose connections are delivered by hand.
type feed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// fedConn is an accepted CONNECT's connection.
type fedConn struct {
	*rawConn
	tunnel *tunnel
}

func newFeed() *feed { return &feed{conns: make(chan net.Conn), done: make(chan struct{})} }

// deliver hands a connection to the server, or closes it when that has ended.
func (f *feed) deliver(c *rawConn, t *tunnel) {
	select {
	case f.conns <- &fedConn{c, t}:
	case <-f.done:
		_ = c.Close()
	}
}

func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

func (f *feed) Addr() net.Addr { return feedAddr{} }

type feedAddr struct{}

func (feedAddr) Network() string { return "tunnel" }
func (feedAddr) String() string  { return "inside a CONNECT" }

// serve returns when the servers have been shut down.
func (in insideServers) serve() error {
	ended := make(chan error, 2)
	go func() { ended <- in.plainServer.Serve(in.plain) }()
	go func() { ended <- in.tlsServer.ServeTLS(in.tls, "", "") }()
	return errors.Join(closed(<-ended), closed(<-ended))
}

func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
