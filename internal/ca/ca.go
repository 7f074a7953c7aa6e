// Package ca keeps heed's own certificate authority: the one that lets it
// read inside TLS for the clients that were told to trust it, and no others.
//
// Open makes the CA on the first start: an ECDSA P-256 key from crypto/rand
// and a certificate that no other install shares, in two files of one
// directory:
//
//	ca.key   the private key, PKCS #8 in PEM, mode 0600
//	ca.pem   the certificate, PEM
//
// The key never leaves this package. What is handed out is the certificate
// (PEM, DER, Bundle) and the leaf certificates that an Issuer signs for the
// hosts of tunnels.
//
// Two files, not one, because ca.pem is the file that people copy to their
// clients. They are put in place so that no moment and no race shows one that
// does not belong to the other: the key first, by a hard link that fails if
// there is a key already, then the certificate, made for whichever key is
// there, in the same way. A crash in between leaves a key without a
// certificate, and the next start makes the certificate for it. Processes
// that start at once all end with the same pair.
//
// A CA is refused, with the path and the remedy, when its key could be read
// by anyone else (a mode looser than 0600, another owner), when others may
// write to its directory, when key and certificate do not belong together,
// and outside its validity.
package ca

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The names of the two files in the CA's directory.
const (
	certName = "ca.pem"
	keyName  = "ca.key"
)

// CA is a certificate authority that was loaded from its directory and
// checked. Immutable; safe for concurrent use. Make one with Open or Load.
type CA struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// Certificate returns the CA's certificate. The caller must not change it.
func (c *CA) Certificate() *x509.Certificate { return c.cert }

// PEM returns the certificate, and only that, as one PEM block.
func (c *CA) PEM() []byte { return encodeCertificate(c.cert.Raw) }

// DER returns the certificate, and only that, in the form that some devices
// install from (.crt, .cer).
func (c *CA) DER() []byte { return slices.Clone(c.cert.Raw) }

// CertFile returns the path of the certificate's PEM file.
func (c *CA) CertFile() string { return filepath.Join(c.dir, certName) }

// Fingerprint returns the SHA-256 of the certificate as the trust dialogs of
// browsers and openssl print it: upper-case hex in pairs, with colons.
func (c *CA) Fingerprint() string {
	sum := sha256.Sum256(c.cert.Raw)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}

// String returns the name and the fingerprint. It is also what keeps the key
// out of whatever a CA is printed into.
func (c *CA) String() string {
	return c.cert.Subject.CommonName + " (SHA-256 " + c.Fingerprint() + ")"
}

// GoString is String, for %#v.
func (c *CA) GoString() string { return c.String() }

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
