package e2e

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStartupFaults: what keeps heed from starting is named with the remedy,
// the exit status says so, and nothing is left half-started.
func TestStartupFaults(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	writeFile(t, file, []byte("not a directory"))

	tests := []struct {
		why   string
		flags []string
		names string
	}{
		{"the port is taken", []string{"--listen", taken.Addr().String()}, taken.Addr().String()},
		{"the admin port is taken", []string{"--admin-listen", taken.Addr().String()}, taken.Addr().String()},
		{"the state directory cannot be made", []string{"--state-dir", filepath.Join(file, "state")}, file},
		{"the CA's key is for everyone to read", []string{"--state-dir", looseCA(t)}, "600"},
		{"the CA's certificate is rubbish", []string{"--state-dir", brokenCA(t)}, "ca"},
		{"the proxy would be open to everyone", []string{"--listen", "0.0.0.0:0"}, "0.0.0.0"},
		{"the config file is not there", []string{"--config", filepath.Join(dir, "none.yaml")}, "none.yaml"},
		{"an address is no address", []string{"--listen", "nonsense"}, "nonsense"},
		{"a range is no range", []string{"--allow-address", "127.0.0.0/99"}, "127.0.0.0/99"},
		{"a connect-to has four parts", []string{"--connect-to", "a:b"}, "a:b"},
		{"an unknown flag", []string{"--lisen", "127.0.0.1:0"}, "--lisen"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			args := append([]string{built.heed, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state-dir", state}, tt.flags...)
			began := time.Now()
			out := execute(t, 20*time.Second, cleanEnv(t.TempDir()), args...)
			if out.status == 0 {
				t.Errorf("exit status 0")
			}
			said := string(out.stdout) + string(out.stderr)
			if !strings.Contains(said, tt.names) {
				t.Errorf("what it says does not name %q:\n%s", tt.names, said)
			}
			if strings.Contains(said, `"ready"`) {
				t.Errorf("it said that it was ready:\n%s", said)
			}
			if strings.Contains(said, "goroutine ") {
				t.Errorf("it crashed:\n%s", said)
			}
			if d := time.Since(began); d > 10*time.Second {
				t.Errorf("it took %v to say so", d)
			}
		})
	}
}

// looseCA is a state directory whose CA has a key that others may read.
func looseCA(t *testing.T) string {
	t.Helper()
	state := madeState(t)
	for _, path := range filesOf(t, state) {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("PRIVATE KEY")) {
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
			return state
		}
	}
	t.Fatal("the state directory holds no private key")
	return ""
}

// brokenCA is a state directory whose CA cannot be read.
func brokenCA(t *testing.T) string {
	t.Helper()
	state := madeState(t)
	broken := 0
	for _, path := range filesOf(t, state) {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("BEGIN CERTIFICATE")) {
			if err := os.WriteFile(path, []byte("rubbish\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			broken++
		}
	}
	if broken == 0 {
		t.Fatal("the state directory holds no certificate")
	}
	return state
}

// madeState is a state directory as a first start leaves it.
func madeState(t *testing.T) string {
	t.Helper()
	h := startHeed(t, nil)
	h.stop(t)
	return h.StateDir
}

func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestRunReturnsStatus: heed run gives back what the command ended with, and
// leaves its output alone.
func TestRunReturnsStatus(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	out := execute(t, time.Minute, cleanEnv(t.TempDir()), built.heed, "run", "--state-dir", state, "--",
		"sh", "-c", `printf 'as it is\000\n'; echo "$http_proxy" >&2; exit 7`)
	if out.status != 7 {
		t.Errorf("status %d, want the command's 7\n%s", out.status, out.stderr)
	}
	if got := string(out.stdout); got != "as it is\x00\n" {
		t.Errorf("stdout is %q, want the command's alone", got)
	}
	if !strings.Contains(string(out.stderr), "http://127.0.0.1:") {
		t.Errorf("the command's environment names no proxy:\n%s", out.stderr)
	}
	out = execute(t, time.Minute, cleanEnv(t.TempDir()), built.heed, "run", "--state-dir", state, "--", "no-such-command-here")
	if out.status == 0 || !strings.Contains(string(out.stderr), "no-such-command-here") {
		t.Errorf("a command that is not there: status %d\n%s", out.status, out.stderr)
	}
}
