package dial

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Responses of which two readers would take different parts for the body.
// net/http drops the length, or the coding, and does not tell.
var (
	errLengthAndCoding = errors.New("response with both Content-Length and Transfer-Encoding (RFC 9112 §6.3)")
	errCodingInOld     = errors.New("response in HTTP/1.0 with Transfer-Encoding (RFC 9112 §6.1)")
)

// longestName is what is kept of a line of a header: enough for a status, and for
// the names that count.
const longestName = 64

// framed is a connection on which requests without a body are made, one after
// the other. It looks at the header of each response in HTTP/1 as it passes.
type framed struct {
	net.Conn
	used  atomic.Bool           // a request was written
	asked atomic.Bool           // another one was, since the last response
	fault atomic.Pointer[error] // of a response; net/http would lose it if Read returned it

	reading bool // what comes is header
	status  bool // of which the status line is next
	line    []byte
	old     bool // HTTP/1.0
	interim bool // 1xx: another header follows
	length  bool
	coding  bool
}

func newFramed(conn net.Conn) *framed {
	c := &framed{Conn: conn}
	c.begin() // a response may be there before the first request is
	return c
}

// Write begins a request.
func (c *framed) Write(p []byte) (int, error) {
	if c.used.Swap(true) {
		c.asked.Store(true)
	}
	return c.Conn.Write(p)
}

// Read notes the fault of a response by the time its header was read.
func (c *framed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.asked.CompareAndSwap(true, false) {
		c.begin()
	}
	if fault := c.look(p[:n]); fault != nil {
		c.fault.Store(&fault)
	}
	return n, err
}

func (c *framed) begin() {
	c.reading, c.status, c.line = true, true, c.line[:0]
	c.old, c.interim, c.length, c.coding = false, false, false, false
}

// look reads octets of a header, up to its end.
func (c *framed) look(p []byte) error {
	for len(p) > 0 && c.reading {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		c.line = append(c.line, part[:min(len(part), longestName-len(c.line))]...)
		if end < 0 {
			return nil
		}
		p = p[end+1:]
		if err := c.take(bytes.TrimSuffix(c.line, []byte("\r"))); err != nil {
			return err
		}
		c.line = c.line[:0]
	}
	return nil
}

// take reads a line.
func (c *framed) take(line []byte) error {
	switch {
	case c.status:
		c.status = false
		c.old = bytes.HasPrefix(line, []byte("HTTP/1.0"))
		c.interim = len(line) > 9 && line[9] == '1' && !bytes.HasPrefix(line[9:], []byte("101"))
	case len(line) > 0:
		name, _, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t") // net/http takes it all the same
		c.length = c.length || bytes.EqualFold(name, []byte("Content-Length"))
		c.coding = c.coding || bytes.EqualFold(name, []byte("Transfer-Encoding"))
	case c.coding && c.length:
		return errLengthAndCoding
	case c.coding && c.old:
		return errCodingInOld
	case c.interim:
		c.begin()
	default:
		c.reading = false
	}
	return nil
}

// robots makes requests for robots.txt.
type robots struct{ *Transport }

// RoundTrip takes no response of which two readers would take different parts
// for the body.
func (t robots) RoundTrip(req *http.Request) (*http.Response, error) {
	var conn *framed
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { conn, _ = c.Conn.(*framed) },
	})
	resp, err := t.Transport.RoundTrip(req.WithContext(ctx))
	if conn == nil || conn.fault.Load() == nil {
		return resp, err
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	return nil, *conn.fault.Load()
}

// RobotsTransport returns a transport for robots.txt: a Transport with
// OriginsOnly, which takes no response in HTTP/1 whose framing is faulty. Its
// requests must not have a body.
func (d *Dialer) RobotsTransport(base *http.Transport) http.RoundTripper {
	t := d.Transport(base)
	t.OriginsOnly = true
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return frame(dial(ctx, network, addr))
	}
	base.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return handshake(ctx, conn, base.TLSClientConfig, addr, base.TLSHandshakeTimeout)
	}
	if t.absolute != nil {
		proxied := t.absolute.DialContext
		t.absolute.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return frame(proxied(ctx, network, addr))
		}
	}
	return robots{t}
}

func frame(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return newFramed(conn), nil
}

// handshake is the one of http.Transport, which hides what is inside.
func handshake(ctx context.Context, conn net.Conn, c *tls.Config, addr string, timeout time.Duration) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("dialling: %w", err)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	c = c.Clone()
	c.ServerName, c.NextProtos = host, []string{"h2", "http/1.1"}
	secure := tls.Client(conn, c)
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if trace != nil && trace.TLSHandshakeDone != nil {
			trace.TLSHandshakeDone(tls.ConnectionState{}, err)
		}
		if errors.Is(err, context.DeadlineExceeded) { // as a connection that is not made in time
			err = fmt.Errorf("in the TLS handshake: %w", &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded})
		}
		return nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		return secure, nil // framed by HTTP/2; http.Transport ends the handshake, which is done
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secure.ConnectionState(), nil)
	}
	return newFramed(secure), nil
}
