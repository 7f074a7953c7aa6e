package ca

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asUser runs f with the file access of an ordinary user. Root passes every
// mode, so where the tests run as root, f runs as nobody: Linux keeps that
// identity per thread.
func asUser(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	chmod(t, filepath.Dir(dir), 0o711) // the test's own, so that nobody reaches dir
	for d := filepath.Dir(filepath.Dir(dir)); strings.HasPrefix(filepath.Base(d), "Test"); d = filepath.Dir(d) {
		chmod(t, d, 0o711)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread ends with its goroutine and with it
		// the identity.
		runtime.LockOSThread()
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func TestOpenSaysWhenTheDirectoryIsNotWritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	asUser(t, dir, func() {
		_, err := Open(dir)
		wantText(t, err, "making the CA: open "+dir+"/.ca.key-", ": permission denied: let the user who runs heed write to "+dir+", or name another state directory (--state-dir)")
		_, err = Open(filepath.Join(dir, "sub"))
		wantText(t, err, "making the CA: mkdir "+dir+"/sub: permission denied: let the user who runs heed write to "+dir+"/sub, or name", "")
	})
}

func TestOpenSaysWhenTheKeyIsNotReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	open(t, dir)
	chmod(t, filepath.Join(dir, keyName), 0)
	asUser(t, dir, func() {
		_, err := Open(dir)
		wantText(t, err, "loading the CA: open "+dir+"/ca.key: permission denied: run heed as the user who owns it, or name another state directory (--state-dir)", "")
	})
}

func wantText(t *testing.T, err error, prefix, suffix string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.HasSuffix(err.Error(), suffix) {
		t.Errorf("error: %v\nwant:  %s…%s", err, prefix, suffix)
	}
}
