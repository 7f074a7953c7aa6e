package ca

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"heed/internal/wholefile"
)

// Where systems keep their roots in one PEM file, after the lists of Go's
// crypto/x509. The first that holds a certificate is taken.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Gentoo, Arch, NixOS
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL 6
	"/etc/ssl/ca-bundle.pem",                            // SUSE
	"/etc/pki/tls/cacert.pem",                           // OpenELEC
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL 7 and later
	"/usr/local/etc/ssl/cert.pem",                       // FreeBSD
	"/etc/ssl/cert.pem",                                 // Alpine, OpenBSD, macOS
	"/usr/local/share/certs/ca-root-nss.crt",            // FreeBSD, DragonFly
	"/etc/openssl/certs/ca-certificates.crt",            // NetBSD
	"/opt/homebrew/etc/ca-certificates/cert.pem",        // Homebrew
}

// Where they keep one file a root, looked at when no file above is there.
var rootDirs = []string{
	"/etc/ssl/certs",         // SLES, FreeBSD 12.2 and later
	"/etc/pki/tls/certs",     // RHEL
	"/usr/local/share/certs", // FreeBSD
	"/etc/openssl/certs",     // NetBSD
}

// Bundle returns the certificate of c and the system's roots as one PEM file,
// each certificate once and ours first. It is what most clients need, because
// a file named in SSL_CERT_FILE and its like replaces their roots.
//
// roots are the PEM files or directories of PEM files to take in place of the
// system's own, which is what the value of SSL_CERT_FILE means; empty ones do
// not count. Without any, the usual places are looked at. Private keys and
// whatever else is no certificate are left out. It is an error, which says
// what to do, to find no root at all: the bundle would cut its user off from
// all but intercepted hosts.
func Bundle(c *CA, roots ...string) ([]byte, error) {
	found, err := findRoots(roots)
	if err != nil {
		return nil, fmt.Errorf("merging the system's root certificates: %w", err)
	}
	bundle := bytes.NewBuffer(c.PEM())
	seen := map[string]bool{string(c.cert.Raw): true}
	for _, der := range found {
		if !seen[string(der)] {
			seen[string(der)] = true
			bundle.Write(encodeCertificate(der))
		}
	}
	return bundle.Bytes(), nil
}

// WriteBundle writes the Bundle to path, mode 0644, whole or not at all. What
// was there before is replaced.
func WriteBundle(c *CA, path string, roots ...string) error {
	bundle, err := Bundle(c, roots...)
	if err != nil {
		return err
	}
	if err := wholefile.Put(path, bundle, 0o644, os.Rename); err != nil {
		return fmt.Errorf("writing the certificate bundle %s: %w", path, err)
	}
	return nil
}

// findRoots returns the certificates, as DER, of the named places or else of
// the usual ones.
func findRoots(named []string) ([][]byte, error) {
	var all [][]byte
	count := 0
	for _, path := range named {
		if path == "" {
			continue
		}
		count++
		ders, err := readRoots(path)
		if err != nil {
			return nil, err
		}
		all = append(all, ders...)
	}
	if count > 0 {
		return all, nil
	}
	for _, places := range [][]string{rootFiles, rootDirs} {
		for _, path := range places {
			// One that is absent or useless is passed over: others follow.
			if ders, err := readRoots(path); err == nil {
				return ders, nil
			}
		}
	}
	return nil, fmt.Errorf("none found in %s: install the system's ca-certificates package, or name a PEM file in SSL_CERT_FILE",
		strings.Join(append(append([]string{}, rootFiles...), rootDirs...), ", "))
}

// readRoots returns the certificates of a PEM file, or of the files right
// under a directory. None is an error.
func readRoots(path string) ([][]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		files = files[:0]
		for _, e := range entries {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	var ders [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			if info.IsDir() {
				continue // a dangling link or a folder among good files
			}
			return nil, err
		}
		ders = append(ders, certificates(data)...)
	}
	if len(ders) == 0 {
		return nil, fmt.Errorf("%s holds no certificate in PEM: name a file of root certificates in SSL_CERT_FILE", path)
	}
	return ders, nil
}

// certificates returns the DER of every certificate in a PEM file. Whether
// each is a good root is for the client to judge: not all that some trust
// parse in Go.
func certificates(data []byte) [][]byte {
	var ders [][]byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" && len(block.Headers) == 0 {
			ders = append(ders, block.Bytes)
		}
	}
	return ders
}
