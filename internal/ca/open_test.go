package ca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoadSaysWhenThereIsNoCA(t *testing.T) {
	dir := t.TempDir()
	for _, dir := range []string{dir, filepath.Join(dir, "absent")} {
		if _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Load(%s): %v, want fs.ErrNotExist", dir, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("Load left %v behind (%v)", entries, err)
	}
}

func TestGoroutinesThatStartAtOnceHaveOneCA(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "heed")
	const n = 32
	prints := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			prints[i] = c.Fingerprint()
		})
	}
	wg.Wait()
	for _, p := range prints {
		if p == "" || p != prints[0] {
			t.Fatalf("fingerprints differ: %q", prints)
		}
	}
	onlyPair(t, dir)
}

// onlyPair fails unless dir holds the two files and nothing else.
func onlyPair(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Name() != keyName || entries[1].Name() != certName {
		t.Errorf("%s holds %v, want %s and %s", dir, entries, keyName, certName)
	}
}

const processDir = "HEED_TEST_CA_DIR"

// TestProcess is not a test by itself but one of the processes of the next.
func TestProcess(t *testing.T) {
	dir := os.Getenv(processDir)
	if dir == "" {
		return
	}
	if _, err := os.Stdout.WriteString("fingerprint " + open(t, dir).Fingerprint() + "\n"); err != nil {
		t.Fatal(err)
	}
}

func TestProcessesThatStartAtOnceHaveOneCA(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "heed")
	outputs := make([]bytes.Buffer, 8)
	var started []*exec.Cmd
	for i := range outputs {
		cmd := exec.Command(exe, "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), processDir+"="+dir)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, cmd)
	}
	for i, cmd := range started {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("process %d: %v\n%s", i, err, &outputs[i])
		}
	}
	want := "fingerprint " + open(t, dir).Fingerprint() + "\n"
	for i := range outputs {
		if !strings.HasPrefix(outputs[i].String(), want) {
			t.Errorf("process %d has another CA: %s, want %s", i, &outputs[i], want)
		}
	}
	onlyPair(t, dir)
}

func TestOpenGoesOnAfterACrash(t *testing.T) {
	for _, tt := range []struct {
		when  string
		crash func(t *testing.T, dir string)
		kept  bool // the key in place must be the one that is used
	}{
		{"before anything was made", func(*testing.T, string) {}, false},
		{"while the key was written", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".ca.key-123"), []byte("-----BEGIN PRIV"), 0o600)
		}, false},
		{"before the certificate was written", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, keyName), testKey(t), 0o600)
		}, true},
		{"while the certificate was written", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, keyName), testKey(t), 0o600)
			write(t, filepath.Join(dir, ".ca.pem-123"), []byte("-----BEGIN CERT"), 0o644)
		}, true},
	} {
		t.Run(tt.when, func(t *testing.T) {
			dir := t.TempDir()
			tt.crash(t, dir)
			if _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Load before the next start: %v, want fs.ErrNotExist", err)
			}
			before, _ := os.ReadFile(filepath.Join(dir, keyName))
			c := open(t, dir)
			after, err := os.ReadFile(filepath.Join(dir, keyName))
			if err != nil {
				t.Fatal(err)
			}
			if tt.kept && !bytes.Equal(before, after) {
				t.Error("the key that was in place was replaced")
			}
			if again := open(t, dir); again.Fingerprint() != c.Fingerprint() {
				t.Error("the start after that has another CA")
			}
		})
	}
}

// TestOpenRefuses holds the exact texts: each names the path and the remedy.
// DIR stands for the directory.
func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{
			"a certificate without its key",
			func(t *testing.T, dir string) { remove(t, filepath.Join(dir, keyName)) },
			"loading the CA: DIR/ca.key is missing, the key of DIR/ca.pem: restore it, or remove the certificate to make a new CA that every client must trust anew",
		},
		{
			"a key of another certificate",
			func(t *testing.T, dir string) { write(t, filepath.Join(dir, keyName), testKey(t), 0o600) },
			"loading the CA: DIR/ca.key is not the key of DIR/ca.pem: " + renew,
		},
		{
			"a key cut short",
			func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, keyName), []byte("-----BEGIN PRIVATE KEY-----\nMIG"), 0o600)
			},
			"loading the CA: DIR/ca.key: holds no private key in PEM: " + renew,
		},
		{
			"an empty certificate file",
			func(t *testing.T, dir string) { write(t, filepath.Join(dir, certName), nil, 0o644) },
			"loading the CA: DIR/ca.pem: does not begin with a certificate in PEM: " + renew,
		},
		{
			"the key in the place of the certificate",
			func(t *testing.T, dir string) { write(t, filepath.Join(dir, certName), testKey(t), 0o644) },
			"loading the CA: DIR/ca.pem: does not begin with a certificate in PEM: " + renew,
		},
		{
			"the certificate of a server",
			func(t *testing.T, dir string) {
				leaf, err := NewIssuer(open(t, dir), 1).Certificate("a.example")
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, certName), encodeCertificate(leaf.Certificate[0]), 0o644)
			},
			"loading the CA: DIR/ca.pem: is not the certificate of a CA: " + renew,
		},
		{
			"a file that is far too large",
			func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, certName), bytes.Repeat([]byte("x"), maxFile+1), 0o644)
			},
			"loading the CA: DIR/ca.pem is larger than 65536 octets, which no certificate or key is: " + renew,
		},
		{
			"a directory in the place of the key",
			func(t *testing.T, dir string) {
				remove(t, filepath.Join(dir, keyName))
				if err := os.Mkdir(filepath.Join(dir, keyName), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			"loading the CA: DIR/ca.key is not a regular file: move it away and start again",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir)
			tt.spoil(t, dir)
			refused(t, dir, tt.want)
		})
	}
}

func refused(t *testing.T, dir, want string) {
	t.Helper()
	want = strings.ReplaceAll(want, "DIR", dir)
	_, err := Open(dir)
	if err == nil || err.Error() != want {
		t.Errorf("Open: %v\nwant: %s", err, want)
	}
	if _, err := Load(dir); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load takes a broken CA for none: %v", err)
	}
}

func TestOpenRefusesAPathThatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	write(t, file, []byte("x"), 0o600)
	if _, err := Open(file); err == nil || err.Error() != "loading the CA: "+file+" is not a directory: name another state directory (--state-dir)" {
		t.Errorf("Open of a file: %v", err)
	}
	if _, err := Open(filepath.Join(file, "heed")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open under a file: %v, want an error that names it", err)
	}
}

func TestOpenRefusesACAOutsideItsValidity(t *testing.T) {
	dir := t.TempDir()
	cert := open(t, dir).Certificate()
	synctest.Test(t, func(t *testing.T) { // here it is midnight, 1 January 2000
		refused(t, dir, "loading the CA: DIR/ca.pem is valid from "+cert.NotBefore.Format(time.RFC3339)+
			" only, and the clock says 2000-01-01T00:00:00Z: set the clock")
	})
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		cert := open(t, dir).Certificate()
		time.Sleep(time.Until(cert.NotAfter))
		open(t, dir) // its last moment
		time.Sleep(time.Second)
		refused(t, dir, "loading the CA: DIR/ca.pem expired on "+cert.NotAfter.Format(time.RFC3339)+
			": remove ca.pem and ca.key to make a new CA that every client must trust anew")
	})
}

func TestOpenTakesAKeyInSEC1(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	der, err := x509.MarshalECPrivateKey(c.key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	key := append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 0}}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	write(t, filepath.Join(dir, keyName), key, 0o600)
	if got := open(t, dir); got.Fingerprint() != c.Fingerprint() {
		t.Error("another CA")
	}
}

func TestOpenRefusesACAThatMayNotSign(t *testing.T) {
	dir := t.TempDir()
	key := open(t, dir).key
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, certName), encodeCertificate(der), 0o644)
	refused(t, dir, "loading the CA: DIR/ca.pem: is not the certificate of a CA: "+renew)
}

func write(t *testing.T, path string, data []byte, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// testKey returns a key that belongs to no certificate.
func testKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
