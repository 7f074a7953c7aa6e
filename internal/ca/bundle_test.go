package ca

import (
	"bytes"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// roots returns the PEM of n roots of which no system knows.
func roots(t *testing.T, n int) []byte {
	t.Helper()
	var all []byte
	for range n {
		all = append(all, open(t, t.TempDir()).PEM()...)
	}
	return all
}

// places makes files and dirs the usual places for the length of a test.
func places(t *testing.T, files, dirs []string) {
	oldFiles, oldDirs := rootFiles, rootDirs
	rootFiles, rootDirs = files, dirs
	t.Cleanup(func() { rootFiles, rootDirs = oldFiles, oldDirs })
}

func TestBundleIsOursAndTheSystemsRoots(t *testing.T) {
	c := open(t, t.TempDir())
	dir := t.TempDir()
	absent, junk, good, second := filepath.Join(dir, "absent"), filepath.Join(dir, "junk"), filepath.Join(dir, "good"), filepath.Join(dir, "second")
	theirs := roots(t, 2)
	write(t, junk, []byte("no certificate here"), 0o644)
	write(t, good, theirs, 0o644)
	write(t, second, roots(t, 1), 0o644)
	places(t, []string{absent, junk, good, second}, nil)

	got, err := Bundle(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(c.PEM(), theirs...); !bytes.Equal(got, want) {
		t.Errorf("the bundle is\n%s\nwant ours, then the first file that holds certificates:\n%s", got, want)
	}
}

func TestBundleTakesNamedRootsInPlaceOfTheSystems(t *testing.T) {
	c := open(t, t.TempDir())
	dir := t.TempDir()
	system, named, inDir := filepath.Join(dir, "system"), filepath.Join(dir, "named"), filepath.Join(dir, "certs")
	write(t, system, roots(t, 1), 0o644)
	one, two := roots(t, 1), roots(t, 1)
	write(t, named, one, 0o644)
	if err := os.Mkdir(inDir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(inDir, "two.pem"), two, 0o644)
	write(t, filepath.Join(inDir, "README"), []byte("text"), 0o644)
	if err := os.Symlink("nowhere", filepath.Join(inDir, "dangling")); err != nil {
		t.Fatal(err)
	}
	places(t, []string{system}, nil)

	got, err := Bundle(c, "", named, inDir)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(append(c.PEM(), one...), two...); !bytes.Equal(got, want) {
		t.Errorf("the bundle is\n%s\nwant\n%s", got, want)
	}
	empty, err := Bundle(c, "")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(empty, got) || !bytes.HasPrefix(empty, c.PEM()) || bytes.Contains(empty, one) {
		t.Error("an empty name does not mean the system's own roots")
	}
}

func TestBundleFallsBackToDirectories(t *testing.T) {
	c := open(t, t.TempDir())
	dir := t.TempDir()
	theirs := roots(t, 1)
	write(t, filepath.Join(dir, "root.pem"), theirs, 0o644)
	places(t, []string{filepath.Join(dir, "absent")}, []string{filepath.Join(dir, "nodir"), dir})
	got, err := Bundle(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(c.PEM(), theirs...); !bytes.Equal(got, want) {
		t.Errorf("the bundle is\n%s\nwant\n%s", got, want)
	}
}

func TestBundleHoldsEachCertificateOnceAndNoKey(t *testing.T) {
	c := open(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "roots.pem")
	theirs := roots(t, 1)
	// A file as administrators make them: comments, doubles, our own CA from
	// an earlier run, and a key that must not travel.
	mixed := bytes.Join([][]byte{[]byte("# roots\n"), theirs, testKey(t), []byte("\nsubject=x\n"), c.PEM(), theirs}, nil)
	write(t, file, mixed, 0o644)
	got, err := Bundle(c, file)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(c.PEM(), theirs...); !bytes.Equal(got, want) {
		t.Errorf("the bundle is\n%s\nwant\n%s", got, want)
	}
}

func TestBundleSaysWhenThereAreNoRoots(t *testing.T) {
	c := open(t, t.TempDir())
	dir := t.TempDir()
	junk, absent := filepath.Join(dir, "junk"), filepath.Join(dir, "absent")
	write(t, junk, nil, 0o644)
	places(t, []string{absent, junk}, []string{filepath.Join(dir, "nodir")})
	const prefix = "merging the system's root certificates: "
	for _, tt := range []struct {
		roots []string
		want  string
	}{
		{nil, "none found in " + absent + ", " + junk + ", " + filepath.Join(dir, "nodir") +
			": install the system's ca-certificates package, or name a PEM file in SSL_CERT_FILE"},
		{[]string{absent}, "stat " + absent + ": no such file or directory"},
		{[]string{junk}, junk + " holds no certificate in PEM: name a file of root certificates in SSL_CERT_FILE"},
		{[]string{dir}, dir + " holds no certificate in PEM: name a file of root certificates in SSL_CERT_FILE"},
	} {
		if _, err := Bundle(c, tt.roots...); err == nil || err.Error() != prefix+tt.want {
			t.Errorf("Bundle(%q): %v\nwant: %s", tt.roots, err, prefix+tt.want)
		}
	}
}

func TestWriteBundleReplacesTheFileWhole(t *testing.T) {
	c := open(t, t.TempDir())
	dir := t.TempDir()
	file, path := filepath.Join(dir, "roots.pem"), filepath.Join(dir, "bundle.pem")
	write(t, file, roots(t, 1), 0o644)
	write(t, path, []byte("what was there"), 0o600)
	if err := WriteBundle(c, path, file); err != nil {
		t.Fatal(err)
	}
	want, err := Bundle(c, file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the file is not the bundle")
	}
	if !x509.NewCertPool().AppendCertsFromPEM(got) {
		t.Error("no certificate in the file parses")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != fs.FileMode(0o644) {
		t.Errorf("mode %v, want 0644: clients of other users read it", info.Mode())
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}

	absent := filepath.Join(dir, "absent", "bundle.pem")
	if err := WriteBundle(c, absent, file); err == nil || !strings.HasPrefix(err.Error(), "writing the certificate bundle "+absent+": ") {
		t.Errorf("into a directory that is not there: %v", err)
	}
}
