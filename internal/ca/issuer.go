package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"heed/internal/origin"
)

const (
	// leafLife is the whole validity of a leaf, the backdated hour included.
	leafLife = 72 * time.Hour

	// DefaultLeaves is how many leaf certificates an Issuer keeps when it is
	// not told: about 3 MiB.
	DefaultLeaves = 1024
)

// Issuer makes the certificate that a client sees in place of an origin's
// own. It keeps the last ones used and signs a new one when two thirds of a
// leaf's life are over. All of its leaves have one key, made by this Issuer
// at its first leaf, which is never written anywhere and is not the CA's.
// Safe for concurrent use.
type Issuer struct {
	ca     *CA
	key    func() (*ecdsa.PrivateKey, error)
	leaves *lru.Cache[string, *tls.Certificate] // by canonical host
	making singleflight.Group
}

// NewIssuer returns an Issuer of c that keeps at most max leaves; zero or less
// means DefaultLeaves. The least recently used one makes room.
func NewIssuer(c *CA, max int) *Issuer {
	if max <= 0 {
		max = DefaultLeaves
	}
	leaves, err := lru.New[string, *tls.Certificate](max)
	if err != nil {
		panic(err) // only of a size that is not positive
	}
	return &Issuer{
		ca:     c,
		key:    sync.OnceValues(func() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }),
		leaves: leaves,
	}
}

// Certificate returns the certificate for a host: a name or an IP address
// without brackets. Every spelling of a host that package origin takes for
// one gets one leaf, and what it refuses gets an error: no name that a
// stranger wrote into a ClientHello is signed unless it can be a host.
//
// The leaf names its host in the subject alternative name alone and is good
// for TLS servers alone. It never outlives the CA; once the CA has expired
// there is an error instead. The CA's certificate follows it in the chain,
// which TLS does not need (RFC 8446 §4.4.2): so a client that lacks the CA
// complains of a self-signed certificate in the chain, names it, and can show
// it, instead of an issuer that it cannot get.
func (i *Issuer) Certificate(host string) (*tls.Certificate, error) {
	// Only canonical hosts are keys, so a hit needs no look at the host.
	if leaf, ok := i.kept(host); ok {
		return leaf, nil
	}
	name, err := canonical(host)
	if err != nil {
		return nil, fmt.Errorf("issuing a certificate: %w", err)
	}
	v, err, _ := i.making.Do(name, func() (any, error) {
		// Another call may have ended between the look above and now.
		if leaf, ok := i.kept(name); ok {
			return leaf, nil
		}
		leaf, err := i.issue(name, time.Now())
		if err != nil {
			return nil, err
		}
		i.leaves.Add(name, leaf)
		return leaf, nil
	})
	if err != nil {
		return nil, fmt.Errorf("issuing a certificate for %s: %w", name, err)
	}
	return v.(*tls.Certificate), nil
}

// Kept reports whether Certificate would return at once, for a host as package
// origin writes it.
func (i *Issuer) Kept(host string) bool {
	_, ok := i.kept(host)
	return ok
}

// kept returns the leaf of a canonical host while it need not be renewed.
func (i *Issuer) kept(host string) (*tls.Certificate, bool) {
	leaf, ok := i.leaves.Get(host)
	if !ok || !current(leaf.Leaf, time.Now()) {
		return nil, false
	}
	return leaf, true
}

// current reports whether now is within the first two thirds of the life of a
// leaf. A clock that was set back before it makes it as useless as one gone
// on.
func current(leaf *x509.Certificate, now time.Time) bool {
	renewal := leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)
	return !now.Before(leaf.NotBefore) && now.Before(renewal)
}

func (i *Issuer) issue(host string, now time.Time) (*tls.Certificate, error) {
	parent := i.ca.cert
	if !now.Before(parent.NotAfter) {
		return nil, fmt.Errorf("the CA %s expired on %s: remove %s and %s and restart to make a new one",
			i.ca.CertFile(), parent.NotAfter.Format(time.RFC3339), certName, keyName)
	}
	key, err := i.key()
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	notBefore := now.UTC().Add(-backdate)
	if notBefore.Before(parent.NotBefore) {
		notBefore = parent.NotBefore
	}
	notAfter := notBefore.Add(leafLife)
	if notAfter.After(parent.NotAfter) {
		notAfter = parent.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// No common name: some clients would take it for the host. A subject
		// all the same, because without one the SAN must be critical, which
		// not every client knows.
		Subject:               pkix.Name{Organization: []string{"heed"}},
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), i.ca.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, parent.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// canonical returns the one spelling of a host, as package origin knows it.
func canonical(host string) (string, error) {
	if len(host) > 254 { // a name of 253 and its trailing dot; do not quote 64 KiB
		return "", fmt.Errorf("host of %d octets is longer than a name can be (253)", len(host))
	}
	authority := host
	if strings.IndexByte(host, ':') >= 0 {
		authority = "[" + host + "]" // an IPv6 address; a port has no place here
	}
	o, err := origin.Parse("https", authority)
	if err != nil {
		return "", err
	}
	return o.Host, nil
}
