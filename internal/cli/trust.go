package cli

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/adrg/xdg"
	"software.sslmate.com/src/go-pkcs12"

	"heed/internal/ca"
)

// trust is the paths of the files that clients are given.
type trust struct {
	bundle   string // the system's roots and heed's CA, PEM
	store    string // the same for Java, PKCS #12
	wgetrc   string // the user's own and what wget needs
	wget2rc  string // the same for wget2
	rprofile string // the user's own and what R's httr needs
}

// storePassword opens the Java trust store, which holds nothing secret; Java
// does not check a store without one.
const storePassword = pkcs12.DefaultPassword

// writeTrust writes the files into a folder, each whole or not at all, in
// place of what was there.
func writeTrust(dir string, authority *ca.CA, proxy string) (trust, error) {
	files := trust{
		bundle:   filepath.Join(dir, "bundle.pem"),
		store:    filepath.Join(dir, "truststore.p12"),
		wgetrc:   filepath.Join(dir, "wgetrc"),
		wget2rc:  filepath.Join(dir, "wget2rc"),
		rprofile: filepath.Join(dir, "Rprofile"),
	}
	roots := os.Getenv("SSL_CERT_FILE")
	if roots == files.bundle { // after eval "$(heed env)": ours is no source of itself
		roots = ""
	}
	bundle, err := ca.Bundle(authority, roots)
	if err != nil {
		return trust{}, err
	}
	store, err := javaStore(bundle)
	if err != nil {
		return trust{}, err
	}
	wgetrc, err := wgetConfig(os.Getenv("WGETRC"), files.wgetrc, []string{filepath.Join(xdg.Home, ".wgetrc")})
	if err != nil {
		return trust{}, err
	}
	wget2rc, err := wgetConfig(os.Getenv("WGET2RC"), files.wget2rc, []string{
		filepath.Join(xdg.ConfigHome, "wget", "wget2rc"), // since 2.0
		filepath.Join(xdg.Home, ".wget2rc"),              // before
	})
	if err != nil {
		return trust{}, err
	}
	// A proxy in the file goes before the variables, so a user's own would
	// lead past heed; the last line of a name counts.
	ours := "http_proxy = " + proxy + "\nhttps_proxy = " + proxy + "\nca_certificate = " + files.bundle + "\n"
	for _, file := range []struct {
		path string
		text []byte
	}{
		{files.bundle, bundle},
		{files.store, store},
		{files.wgetrc, append(wgetrc, "use_proxy = on\n"+ours...)},
		{files.wget2rc, append(wget2rc, "proxy = on\n"+ours...)},
		{files.rprofile, rProfile(os.Getenv("R_PROFILE_USER"), files.rprofile)},
	} {
		if err := replace(file.path, file.text); err != nil {
			return trust{}, fmt.Errorf("writing a file for clients: %w", err)
		}
	}
	return files, nil
}

// javaStore returns the certificates of a PEM bundle as a trust store that Java
// 8u301, 11.0.12 and later read.
func javaStore(bundle []byte) ([]byte, error) {
	var entries []pkcs12.TrustStoreEntry
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue // a root that Go does not read; the other clients have it
		}
		// Java keeps one entry a name, and roots of one subject are common.
		name := fmt.Sprintf("%03d %s", len(entries), cert.Subject.CommonName)
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: cert, FriendlyName: name})
	}
	store, err := pkcs12.Modern2023.EncodeTrustStoreEntries(entries, storePassword)
	if err != nil {
		return nil, fmt.Errorf("making the Java trust store: %w", err)
	}
	return store, nil
}

// wgetConfig returns what the user configured for wget: the file that the
// variable names, unless that is the one being written, else the first there
// is of the usual ones. Nil if there is none.
func wgetConfig(named, written string, usual []string) ([]byte, error) {
	paths := usual
	if named != "" && named != written {
		paths = []string{named}
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading wget's configuration, to keep it: %w", err)
		}
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		return text, nil
	}
	return nil, nil
}

// rProfile returns a profile for R that reads the one it stands in for, as R
// would have, and then gives httr the bundle: R's curl package of before 2024
// (Debian 12 has it) does not read CURL_CA_BUNDLE.
func rProfile(named, written string) []byte {
	own := `c(".Rprofile", "~/.Rprofile")`
	if named != "" && named != written {
		own = strconv.Quote(named)
	}
	return fmt.Appendf(nil, `local({
  own <- Filter(file.exists, %s)
  if (length(own)) source(own[[1]], local = globalenv())
})
setHook(packageEvent("httr", "onLoad"), function(...) {
  httr::set_config(httr::config(cainfo = Sys.getenv("CURL_CA_BUNDLE")))
})
`, own)
}

// replace puts a file (0600: a wgetrc may hold a password) in place whole: a
// client that reads it meanwhile sees
// the old one or the new.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
