package ca

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// renew is the remedy for a pair that cannot be mended.
const renew = "restore " + certName + " and " + keyName + " from a copy, or remove both to make a new CA that every client must trust anew"

// pair makes a CA of the contents of its two files: it refuses what is not a
// CA, is outside its validity, or does not belong together.
func pair(dir string, certPEM, keyPEM []byte, now time.Time) (*CA, error) {
	certPath, keyPath := filepath.Join(dir, certName), filepath.Join(dir, keyName)
	cert, err := parseCertificate(certPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", certPath, err, renew)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", keyPath, err, renew)
	}
	public, ok := cert.PublicKey.(interface{ Equal(x crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return nil, fmt.Errorf("%s is not the key of %s: %s", keyPath, certPath, renew)
	}
	if now.Before(cert.NotBefore) {
		return nil, fmt.Errorf("%s is valid from %s only, and the clock says %s: set the clock",
			certPath, cert.NotBefore.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if now.After(cert.NotAfter) {
		return nil, fmt.Errorf("%s expired on %s: remove %s and %s to make a new CA that every client must trust anew",
			certPath, cert.NotAfter.Format(time.RFC3339), certName, keyName)
	}
	return &CA{dir: dir, cert: cert, key: key}, nil
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("does not begin with a certificate in PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	if !cert.BasicConstraintsValid || !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, errors.New("is not the certificate of a CA")
	}
	return cert, nil
}

// parseKey reads a key in PKCS #8, as heed writes it, or in SEC 1, as
// "openssl ecparam -genkey" does, parameters before it and all.
func parseKey(data []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "EC PRIVATE KEY":
			return x509.ParseECPrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, err
			}
			signer, ok := key.(crypto.Signer)
			if !ok {
				return nil, fmt.Errorf("holds a %T, which cannot sign", key)
			}
			return signer, nil
		}
	}
	return nil, errors.New("holds no private key in PEM")
}
