package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"time"
)

// Certificates that are good are so in every year in which tests may think
// that they run: a bubble of testing/synctest begins in 2000.
var (
	from  = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	until = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// authority signs the certificates of origins.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

var (
	trusted = sync.OnceValue(func() *authority { return newAuthority("trusted by the tests") })
	unknown = sync.OnceValue(func() *authority { return newAuthority("known to nobody") })
)

func newAuthority(name string) *authority {
	a := &authority{key: newKey()}
	a.certificate = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	return a
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// sign makes a certificate for a key; its own where there is none yet.
func (a *authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	issuer := a.certificate
	if issuer == nil {
		issuer = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, &key.PublicKey, a.key)
	if err != nil {
		panic(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return parsed
}

// Roots is who vouches for the certificates of ServerConfig.
func Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(trusted().certificate)
	return pool
}

// ServerConfig is TLS as an origin speaks it that is well, whatever it is
// called.
func ServerConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519}} // the cheapest, as there are so many
	present(c, trusted(), func(*x509.Certificate) {})
	return c
}

// present has a server show a certificate for the name that it is asked for, or
// for the address; change makes something else of it.
func present(c *tls.Config, a *authority, change func(*x509.Certificate)) {
	key := serverKey()
	c.Certificates = nil
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		leaf := &x509.Certificate{
			Subject: pkix.Name{CommonName: "origin"}, NotBefore: from, NotAfter: until,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
		}
		if hello.ServerName != "" {
			leaf.DNSNames = []string{hello.ServerName}
		} else if host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String()); err == nil {
			leaf.IPAddresses = []net.IP{net.ParseIP(host)}
		}
		change(leaf)
		return &tls.Certificate{Certificate: [][]byte{a.sign(leaf, key).Raw}, PrivateKey: key}, nil
	}
}

var serverKey = sync.OnceValue(newKey)
