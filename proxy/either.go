package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
)

// Some clients speak TLS with the proxy itself: those whose proxy is given as
// https://, and wget2 before 2.0 for every https URL. So the proxy's own port
// takes both, by the first octet of a connection.

// eitherListener gives out connections that may begin with a TLS handshake.
type eitherListener struct {
	net.Listener
	config *tls.Config
}

// Accept waits for the next client. It reads nothing yet: a silent client must
// not hold the others.
func (l eitherListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &eitherConn{Conn: c, config: l.config}, nil
}

// eitherConn is a connection that becomes one inside TLS when its first octet
// says so. Deadlines and addresses are those of the connection below.
type eitherConn struct {
	net.Conn
	config *tls.Config
	begun  bool                     // only the reading goroutine touches it
	secure atomic.Pointer[tls.Conn] // nil: plain
}

// Read reads from the client, the first time to see what it speaks.
func (c *eitherConn) Read(b []byte) (int, error) {
	if c.begun {
		return c.spoken().Read(b)
	}
	n, err := c.Conn.Read(b)
	if n == 0 {
		return n, err
	}
	c.begun = true
	if b[0] != tlsHandshake {
		return n, err
	}
	early := &earlyConn{Conn: c.Conn, early: io.MultiReader(bytes.NewReader(bytes.Clone(b[:n])), c.Conn)}
	c.secure.Store(tls.Server(early, c.config))
	return c.spoken().Read(b)
}

func (c *eitherConn) Write(b []byte) (int, error) { return c.spoken().Write(b) }

// Close ends the connection, with TLS's own farewell where it is spoken.
func (c *eitherConn) Close() error { return c.spoken().Close() }

// CloseWrite sends the end of one direction.
func (c *eitherConn) CloseWrite() error { return closeWrite(c.spoken()) }

// spoken is what the client's octets go through.
func (c *eitherConn) spoken() net.Conn {
	if s := c.secure.Load(); s != nil {
		return s
	}
	return c.Conn
}

// earlyConn gives back the octets that were read to look at them.
type earlyConn struct {
	net.Conn
	early io.Reader
}

func (c *earlyConn) Read(b []byte) (int, error) { return c.early.Read(b) }

// ownTLS is what the proxy's own port speaks inside TLS: HTTP/1.1, which is
// all that a CONNECT can be taken over from.
func (p *Proxy) ownTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "" {
				return p.Leaves.Certificate(hello.ServerName)
			}
			host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String())
			if err != nil {
				return nil, err
			}
			return p.Leaves.Certificate(host)
		},
	}
}
