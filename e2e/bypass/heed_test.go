package bypass

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// heed is a running `heed serve`.
type heed struct {
	proxy, admin string // host:port
	cmd          *exec.Cmd
	trust        *x509.CertPool // its CA
	done         chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// led is the configuration of a heed that is led to the origin for every name.
func led(o *origin) string {
	return "upstream:\n  roots: " + o.roots + "\nallow_address: [127.0.0.1/32]\nconnect_to: [\":80:" + o.plain + "\", \":443:" + o.secure + "\"]\n" +
		"pace: {per_origin: 0, per_address: 0}\ntimeouts: {idle: 3s}\n"
}

// startHeed starts one with a configuration. It is ended with the test, and must
// then end by itself.
func startHeed(t *testing.T, yaml string) *heed {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "heed.yaml")
	state := filepath.Join(dir, "state")
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &heed{done: make(chan struct{}), trust: x509.NewCertPool()}
	h.cmd = exec.Command(binary, "serve", "--config", config, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state-dir", state)
	h.cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	stderr, err := h.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(h.done)
		h.read(stderr, ready)
		_ = h.cmd.Wait() // the status is in ProcessState
	}()
	t.Cleanup(func() { h.stop(t) })
	select {
	case <-ready:
	case <-h.done:
		t.Fatalf("heed ended: %v\n%s", h.cmd.ProcessState, h.said())
	case <-time.After(30 * time.Second):
		t.Fatalf("heed is not ready\n%s", h.said())
	}
	ca, err := exec.Command(binary, "ca", "export", "--state-dir", state).Output()
	if err != nil || !h.trust.AppendCertsFromPEM(ca) {
		t.Fatalf("heed ca export: %v", err)
	}
	return h
}

func (h *heed) read(stderr io.Reader, ready chan struct{}) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		h.mu.Lock()
		h.log.Write(append(lines.Bytes(), '\n'))
		h.mu.Unlock()
		var line struct{ Message, Proxy, Admin string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "ready" && h.proxy == "" {
			h.proxy, h.admin = line.Proxy, line.Admin
			close(ready)
		}
	}
}

func (h *heed) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

func (h *heed) stop(t *testing.T) {
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-h.done:
	case <-time.After(45 * time.Second):
		_ = h.cmd.Process.Kill() // its end is waited for below
		<-h.done
		t.Error("heed did not end by itself")
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("heed ended with %d", code)
	}
	for _, bad := range []string{"panic", "goroutine 1 ["} {
		if strings.Contains(h.said(), bad) {
			t.Errorf("heed's log has %q", bad)
		}
	}
}

// descriptors is how many the process has open. Only Linux tells; elsewhere it is 0.
func (h *heed) descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/" + itoa(h.cmd.Process.Pid) + "/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(all)
}

// descriptorsAreBack waits until idle connections have been closed.
func (h *heed) descriptorsAreBack(t *testing.T, before int) {
	t.Helper()
	now := h.descriptors(t)
	for limit := time.Now().Add(patience); now > before && time.Now().Before(limit); now = h.descriptors(t) {
		time.Sleep(100 * time.Millisecond)
	}
	if now > before {
		t.Errorf("%d descriptors are open, before it were %d", now, before)
	}
}
