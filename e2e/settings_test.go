package e2e

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// trustStorePassword opens a Java trust store, which holds nothing secret.
const trustStorePassword = "changeit"

// settings is what a user reads off a heed that runs: where it is, its CA's
// certificate, the bundle of the system's roots and it, and what was made of
// them for the clients that want a store of their own.
type settings struct {
	url, host, port              string
	caFile, bundle               string
	trustStore, wgetrc, rprofile string
	home                         string // home holds an NSS database that trusts the CA
}

// settingsOf reads off a running heed what its users set by hand.
func settingsOf(t *testing.T, h *heed) settings {
	t.Helper()
	dir := t.TempDir()
	s := settings{
		url:        h.url(),
		caFile:     filepath.Join(dir, "heed-ca.pem"),
		bundle:     filepath.Join(dir, "bundle.pem"),
		trustStore: filepath.Join(dir, "trust.p12"),
		wgetrc:     filepath.Join(dir, "wgetrc"),
		rprofile:   filepath.Join(dir, "Rprofile"),
		home:       t.TempDir(),
	}
	var err error
	if s.host, s.port, err = net.SplitHostPort(h.Proxy); err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.caFile, heedCommand(t, nil, "ca", "export", "--state-dir", h.StateDir))
	writeFile(t, s.bundle, heedCommand(t, nil, "ca", "export", "--bundle", "--state-dir", h.StateDir))
	writeFile(t, s.wgetrc, []byte("ca_certificate = "+s.bundle+"\n"))
	// R's curl package reads CURL_CA_BUNDLE on Linux only in later releases
	// than Debian 12's.
	writeFile(t, s.rprofile, []byte(`setHook(packageEvent("httr", "onLoad"), function(...)
  httr::set_config(httr::config(cainfo = Sys.getenv("CURL_CA_BUNDLE"))))
`))
	if _, err := java()(); err == nil {
		tool(t, "keytool", "-importcert", "-noprompt", "-alias", "heed", "-file", s.caFile,
			"-keystore", s.trustStore, "-storetype", "PKCS12", "-storepass", trustStorePassword)
	}
	if _, err := onPath("certutil")(); err == nil {
		makeNSS(t, s.home, s.caFile)
	}
	return s
}

// makeNSS makes the database in a home from which Chromium learns to trust ca.
func makeNSS(t *testing.T, home, ca string) {
	t.Helper()
	dir := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tool(t, "certutil", "-N", "-d", "sql:"+dir, "--empty-password")
	tool(t, "certutil", "-A", "-d", "sql:"+dir, "-n", "heed", "-t", "C,,", "-i", ca)
}

func tool(t *testing.T, argv ...string) {
	t.Helper()
	if o := execute(t, time.Minute, cleanEnv(t.TempDir()), argv...); o.status != 0 {
		t.Fatalf("%v: status %d\n%s%s", argv, o.status, o.stdout, o.stderr)
	}
}

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "heed.yaml")
	writeFile(t, path, []byte(yaml))
	return path
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
