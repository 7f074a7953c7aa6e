package load

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"time"

	"heed/bench/engine/wire"
)

// Identity is the origin's certificate and its CA.
type Identity struct {
	Certificate tls.Certificate
	CA          []byte // PEM, for the proxies to trust
}

// NewIdentity makes both anew, for 127.0.0.1.
func NewIdentity() (*Identity, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the origin's CA: %w", err)
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench/engine's origin CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("making the origin's CA: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the origin's certificate: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("making the origin's certificate: %w", err)
	}
	return &Identity{
		Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		CA:          pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
	}, nil
}

// Origin answers on three ports.
type Origin struct {
	Plain netip.AddrPort // http
	TLS   netip.AddrPort // https
	// Sealed looks like TLS to who relays it: it waits for a record, answers by an
	// octet, and is spoken plain HTTP with from then on. What a relay costs is to
	// be seen, and not what encryption costs at its ends.
	Sealed netip.AddrPort

	pages map[string][]byte
	tls   *tls.Config
	pagesAsked,
	robotsAsked int
}

func newOrigin(l *wire.Loop, id *Identity) (*Origin, error) {
	o := &Origin{pages: pages(), tls: &tls.Config{
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
	head := make([]byte, 5)
	if _, err := io.ReadFull(c, head); err != nil {
		return err
	}
	if head[0] != handshakeRecord {
		return fault{fmt.Errorf("a tunnel that begins with %q, and not with the client's TLS record", head)}
	}
	if _, err := io.ReadFull(c, make([]byte, int(head[3])<<8|int(head[4]))); err != nil {
		return err
	}
	if _, err := c.Write([]byte{handshakeRecord}); err != nil {
		return err
	}
	return o.serve(c)
}

// handshakeRecord is the first octet of TLS (RFC 8446 §5.1).
const handshakeRecord = 0x16
