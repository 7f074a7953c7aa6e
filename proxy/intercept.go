package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"heed/internal/origin"
)

// intercept takes the handshake of a client with heed's certificate and hands
// what is inside to the server. The handshake is made here, and not by the
// server, so that a client that does not trust heed is known by its origin.
func (p *Proxy) intercept(x *exchange, client *rawConn, t *tunnel) {
	heard := &alertConn{rawConn: client}
	below := &clientConn{Conn: heard, tunnel: t}
	secure := tls.Server(below, p.inside.configFor(t.client))
	// The deadline ends it, or whoever closes the connection; with the context
	// of the request, which knows no more, it would take a goroutine.
	if err := secure.HandshakeContext(context.Background()); err != nil {
		if alert := heard.alert(); alert != nil {
			err = alert
		}
		x.entry.Err = "TLS with the client: " + err.Error()
		p.tlsFailed(t.origin, tlsFailure(err, t.seen), err)
		_ = client.Close()
		return
	}
	t.shaken, heard.over = time.Now(), true
	_ = client.SetDeadline(time.Time{})
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		p.inside.feed.deliver(secure)
		return
	}
	go p.serveInside(secure, t, secure)
}

// leaf returns the certificate for the host that the client believes it talks
// to. When that is not the CONNECT's host, the requests inside are refused:
// the handshake succeeds so that the client can be told why.
func (p *Proxy) leaf(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, ok := hello.Conn.(*clientConn)
	if !ok {
		return nil, errNotOurPath
	}
	t, name := c.tunnel, hello.ServerName
	if t.checkServerName(name) == nil && t.origin.Host != Host && !t.barred {
		p.robotsAhead(t.origin)
	}
	if name == "" {
		name = t.origin.Host
	}
	leaf, err := p.Leaves.Certificate(name)
	t.seen = err == nil
	return leaf, err
}

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
	if o.Host != t.origin.Host {
		return fmt.Errorf("TLS server name %q inside a tunnel to %q: they must be the same", o.Host, t.origin.Host)
	}
	return nil
}
