package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"heed/e2e/process"
)

// driven is the heed that is driven.
type driven struct {
	*process.Heed
	trust *x509.CertPool // its CA
	dir   string
}

// start starts it. Pace has its place elsewhere; robots.txt files grow old soon, so
// that they are asked for again and again.
func start(ctx context.Context, binary string, w *web) (*driven, error) {
	dir, err := os.MkdirTemp("", "heed-soak-")
	if err != nil {
		return nil, err
	}
	d := &driven{dir: dir, trust: x509.NewCertPool()}
	config := filepath.Join(dir, "heed.yaml")
	text := fmt.Sprintf(`allow_address: [127.0.0.0/8]
connect_to: [":80:%s", ":443:%s"]
upstream: {roots: %s}
robots: {fresh_min: 10s, fresh_for: 20s, timeout: 3s, wait: 2s}
pace: {per_origin: 0, per_address: 0}
timeouts: {idle: 10s}
log: {format: json}
`, w.plain, w.secure, w.roots)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	if d.Heed, err = process.Start(process.Config{
		Binary: binary, StateDir: filepath.Join(dir, "state"),
		Env:   []string{"HOME=" + dir, "LANG=C.UTF-8"},
		Flags: []string{"--config", config},
		Keep:  fewBesideExchanges(),
	}); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	ca, err := exec.CommandContext(ctx, binary, "ca", "export", "--state-dir", d.StateDir).Output()
	if err != nil || !d.trust.AppendCertsFromPEM(ca) {
		return nil, errors.Join(fmt.Errorf("exporting heed's CA: %w", err), d.stop())
	}
	return d, nil
}

// fewBesideExchanges keeps what heed says besides its exchanges, until that is much,
// and whatever tells of a panic.
func fewBesideExchanges() func([]byte) bool {
	octets := 0
	return func(line []byte) bool {
		if !bytes.Contains(line, []byte("panic")) && (octets > 1<<20 || !process.BesideExchanges(line)) {
			return false
		}
		octets += len(line)
		return true
	}
}

// stop ends it, which it must do well.
func (d *driven) stop() error { return errors.Join(d.Stop(), d.remove()) }

func (d *driven) remove() error { return os.RemoveAll(d.dir) }

// held is what a process holds.
type held struct{ memory, descriptors, goroutines int64 }

// held asks heed for it.
func (d *driven) held(ctx context.Context) (h held, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.Admin+"/metrics", nil)
	if err != nil {
		return h, err
	}
	resp, err := new(http.Client).Do(r)
	if err != nil {
		return h, fmt.Errorf("asking heed for its metrics: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "process_resident_memory_bytes":
			h.memory = int64(n)
		case "process_open_fds":
			h.descriptors = int64(n)
		case "go_goroutines":
			h.goroutines = int64(n)
		}
	}
	return h, lines.Err()
}
