package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"heed/internal/wholefile"
)

const (
	// life is how long a CA is valid: five years of 365 days, so never
	// longer than five by the calendar.
	life = 5 * 365 * 24 * time.Hour

	// backdate lets a client whose clock is somewhat slow accept what was
	// signed a moment ago.
	backdate = time.Hour
)

// create puts a key and a certificate in dir, each only where there is none.
// What it makes may lose against another process: the caller loads what is
// there in the end.
func create(dir string, now time.Time) error {
	// MkdirAll leaves the mode of a directory that is there as it is;
	// checkDir has judged that one.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return writeRemedy(err, dir)
	}
	certPath, keyPath := filepath.Join(dir, certName), filepath.Join(dir, keyName)
	keyPEM, err := newKey()
	if err != nil {
		return err
	}
	if err := wholefile.Put(keyPath, keyPEM, 0o600, wholefile.LinkNew); err != nil {
		return writeRemedy(err, dir)
	}
	// From here on the key is the one in the file, whoever put it there.
	if keyPEM, err = readFile(keyPath, checkKeyFile); err != nil {
		return err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", keyPath, err, renew)
	}
	der, err := newCertificate(key, now)
	if err != nil {
		return err
	}
	if err := wholefile.Put(certPath, encodeCertificate(der), 0o644, wholefile.LinkNew); err != nil {
		return writeRemedy(err, dir)
	}
	return nil
}

func newKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// newCertificate signs a CA certificate for key with itself. It can sign
// leaves only, no further CA (RFC 5280 §4.2.1.9).
func newCertificate(key crypto.Signer, now time.Time) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(spki)
	notBefore := now.UTC().Add(-backdate)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"heed"}, CommonName: commonName(hostname(), id[:4])},
		NotBefore:             notBefore,
		NotAfter:              notBefore.Add(life),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		SubjectKeyId:          id[:20], // RFC 7093 §2, method 1
	}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

// newSerial returns a positive number of at most 127 bits, so that its DER
// form has no sign octet and stays under 20 octets (RFC 5280 §4.1.2.2).
func newSerial() (*big.Int, error) {
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	limit.Sub(limit, big.NewInt(1))
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}

// commonName says to people whose CA it is. The id, from the public key,
// makes the name as unique as the key: two CAs of one name confuse the trust
// stores that look up by name.
func commonName(host string, id []byte) string {
	if host == "" {
		return fmt.Sprintf("heed CA %x", id)
	}
	return fmt.Sprintf("heed CA %s %x", host, id)
}

// hostname returns the first label of the machine's name, or "" where it has
// none that fits a certificate: a common name has 64 characters at most
// (RFC 5280 appendix A, ub-common-name).
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, _, _ = strings.Cut(name, ".")
	if len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return ""
	}
	return name
}

// writeRemedy adds to a failure to write what to do about it.
func writeRemedy(err error, dir string) error {
	return fmt.Errorf("%w: let the user who runs heed write to %s, or name another state directory (--state-dir)", err, dir)
}
