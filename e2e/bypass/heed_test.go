package bypass

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"heed/e2e/process"
)

// heed is a running `heed serve`.
type heed struct {
	*process.Heed
	trust *x509.CertPool // its CA
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
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(process.Config{
		Binary: binary, StateDir: filepath.Join(dir, "state"),
		Env:   []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
		Flags: []string{"--config", config},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	h := &heed{p, x509.NewCertPool()}
	ca, err := exec.Command(binary, "ca", "export", "--state-dir", p.StateDir).Output()
	if err != nil || !h.trust.AppendCertsFromPEM(ca) {
		t.Fatalf("heed ca export: %v", err)
	}
	return h
}

// descriptors is how many the process has open. Only Linux tells; elsewhere it is 0.
func (h *heed) descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/" + itoa(h.Cmd.Process.Pid) + "/fd")
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
