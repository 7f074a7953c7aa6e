package load

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"heed/bench/engine/wire"
)

// Origin answers on three ports.
type Origin struct {
	Plain netip.AddrPort // http
	TLS   netip.AddrPort // https
	// Sealed is https, too, but for the clients of Relayed, whom it knows by their
	// ClientHello: it answers that by an octet, and is spoken plain HTTP with from
	// then on. What a relay costs is to be seen, and not what encryption costs at
	// its ends.
	Sealed netip.AddrPort

	pages map[string][]byte
	tls   *tls.Config
	hello []byte // a ClientHello in its record

	pagesAsked, robotsAsked int
}

func newOrigin(l *wire.Loop, id *Identity) (*Origin, error) {
	o := &Origin{pages: pages(), hello: clientHello(), tls: &tls.Config{
		Certificates: []tls.Certificate{id.Certificate},
		NextProtos:   []string{"http/1.1"}, // of the proxies in this measurement some know no other
		// As most origins have it: no proxy is to be slower for offering more.
		CurvePreferences: []tls.CurveID{tls.X25519},
		MinVersion:       tls.VersionTLS12,
	}}
	for _, p := range []struct {
		at    *netip.AddrPort
		serve func(*wire.Conn) error
	}{
		{&o.Plain, func(c *wire.Conn) error { return o.serve(c) }},
		{&o.TLS, func(c *wire.Conn) error { return o.serve(tls.Server(c, o.tls)) }},
		{&o.Sealed, o.serveSealed},
	} {
		at, err := l.Listen(func(_ *wire.Task, c *wire.Conn) error { return ofOrigin(p.serve(c)) })
		if err != nil {
			return nil, err
		}
		*p.at = at
	}
	return o, nil
}

// fault is what makes a run worthless; everything else that ends a connection
// of the origin is its peer's business, and shows at the client if it matters.
type fault struct{ error }

func ofOrigin(err error) error {
	var f fault
	if errors.As(err, &f) {
		return fmt.Errorf("the origin: %w", f.error)
	}
	return nil
}

// serve answers one request after the other.
func (o *Origin) serve(c io.ReadWriter) error {
	buf, have := make([]byte, 4<<10), 0
	for {
		n, err := c.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
		end := bytes.Index(buf[:have], headEnd)
		switch {
		case end < 0 && have < len(buf):
			continue
		case end < 0:
			return fault{fmt.Errorf("a request of more than %d octets: %.80q", len(buf), buf)}
		case have != end+len(headEnd):
			return fault{fmt.Errorf("more than one request at once, or a body: %.300q", buf[:have])}
		}
		whole, err := o.find(buf[:end])
		if err != nil {
			return fault{err}
		}
		if _, err := c.Write(whole); err != nil {
			return err
		}
		if bytes.Contains(buf[:have], closing) {
			return nil
		}
		have = 0
	}
}

var (
	headEnd = []byte("\r\n\r\n")
	closing = []byte("\r\nConnection: close\r\n")
	get     = []byte("GET ")
	scheme  = []byte("http://")
	robots  = []byte("/robots.txt")
)

// find returns the answer to a request, whose target may be in absolute form.
func (o *Origin) find(head []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(head, get)
	if ok {
		rest, _, ok = bytes.Cut(rest, []byte(" "))
	}
	if after, absolute := bytes.CutPrefix(rest, scheme); absolute {
		rest = after[max(0, bytes.IndexByte(after, '/')):]
	}
	whole := o.pages[string(rest)]
	if !ok || whole == nil {
		return nil, fmt.Errorf("a request that no client made: %.300q", head)
	}
	if bytes.Equal(rest, robots) {
		o.robotsAsked++
	} else {
		o.pagesAsked++
	}
	return whole, nil
}

// serveSealed does what Sealed says.
func (o *Origin) serveSealed(c *wire.Conn) error {
	record := make([]byte, 5)
	if _, err := io.ReadFull(c, record); err != nil {
		return err
	}
	if record[0] != handshakeRecord {
		return fault{fmt.Errorf("a tunnel that begins with %q, and not with the client's TLS record", record)}
	}
	record = append(record, make([]byte, int(record[3])<<8|int(record[4]))...)
	if _, err := io.ReadFull(c, record[5:]); err != nil {
		return err
	}
	if !bytes.Equal(record, o.hello) {
		return o.serve(tls.Server(&replay{c, record}, o.tls))
	}
	if _, err := c.Write([]byte{handshakeRecord}); err != nil {
		return err
	}
	return o.serve(c)
}

// handshakeRecord is the first octet of TLS (RFC 8446 §5.1).
const handshakeRecord = 0x16

// replay is a connection of which some was read already.
type replay struct {
	*wire.Conn
	first []byte
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}

// clientHello is one as crypto/tls writes it, in its record.
func clientHello() []byte {
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}}).Handshake() //nolint:noctx // it speaks with nobody, and ends when the pipe is closed
		_ = theirs.Close()
	}()
	buf := make([]byte, 4<<10)
	n, _ := ours.Read(buf)
	_ = ours.Close()
	return buf[:n]
}
