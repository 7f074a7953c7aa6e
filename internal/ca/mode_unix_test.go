//go:build unix

package ca

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestOpenMakesFilesThatOnlyTheOwnerReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	open(t, dir)
	for path, want := range map[string]os.FileMode{
		dir:                          os.ModeDir | 0o700,
		filepath.Join(dir, keyName):  0o600,
		filepath.Join(dir, certName): 0o644,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
}

func TestOpenJudgesTheModeOfTheKey(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	key := filepath.Join(dir, keyName)
	for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
		chmod(t, key, mode)
		open(t, dir)
	}
	for _, tt := range []struct {
		mode os.FileMode
		text string
	}{{0o640, "0640"}, {0o604, "0604"}, {0o644, "0644"}, {0o610, "0610"}, {0o602, "0602"}, {0o666, "0666"}} {
		chmod(t, key, tt.mode)
		refused(t, dir, "loading the CA: DIR/ca.key has mode "+tt.text+
			", so others than its owner may have read the CA's key: run \"chmod 600 DIR/ca.key\", or, if they may have, remove ca.pem and ca.key to make a new CA")
	}
}

func TestOpenJudgesTheModeOfAKeyWithoutACertificate(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, keyName), testKey(t), 0o644)
	chmod(t, filepath.Join(dir, keyName), 0o644)
	_, err := Open(dir)
	if err == nil || !strings.HasPrefix(err.Error(), "making the CA: "+dir+"/ca.key has mode 0644, ") {
		t.Errorf("Open: %v, want a refusal of the mode", err)
	}
	if _, err := os.Stat(filepath.Join(dir, certName)); !os.IsNotExist(err) {
		t.Errorf("a certificate was made for a key that others may know: %v", err)
	}
}

func TestOpenJudgesTheModeOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	for _, mode := range []os.FileMode{0o700, 0o755, 0o750} {
		chmod(t, dir, mode)
		open(t, dir)
	}
	for _, tt := range []struct {
		mode os.FileMode
		text string
	}{{0o770, "0770"}, {0o707, "0707"}, {0o777, "0777"}} {
		chmod(t, dir, tt.mode)
		refused(t, dir, "loading the CA: DIR has mode "+tt.text+", so others than its owner could replace the CA: run \"chmod 700 DIR\"")
	}
}

func TestAKeyOfAnotherOwnerIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	path := filepath.Join(dir, keyName)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	me, other := os.Geteuid(), os.Geteuid()+1
	if err := checkKeyFile(path, info, me); err != nil {
		t.Errorf("own key: %v", err)
	}
	want := path + " belongs to user " + strconv.Itoa(me) + " and heed runs as user " + strconv.Itoa(other) +
		": run heed as user " + strconv.Itoa(me) + ", or name another state directory (--state-dir)"
	if err := checkKeyFile(path, info, other); err == nil || err.Error() != want {
		t.Errorf("foreign key: %v\nwant: %s", err, want)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
