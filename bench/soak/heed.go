package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is the heed that is driven.
type process struct {
	proxy, admin string
	trust        *x509.CertPool
	cmd          *exec.Cmd
	dir          string
	said         *bytes.Buffer // what was no exchange
	read         chan struct{} // closed when all that it says was read
}

// start starts it. Pace has its place elsewhere; robots.txt files grow old soon, so
// that they are asked for again and again.
func start(ctx context.Context, binary string, w *web) (*process, error) {
	dir, err := os.MkdirTemp("", "heed-soak-")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "heed.yaml")
	state := filepath.Join(dir, "state")
	text := fmt.Sprintf(`listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
state_dir: %s
allow_address: [127.0.0.0/8]
connect_to: [":80:%s", ":443:%s"]
upstream: {roots: %s}
robots: {fresh_min: 10s, fresh_for: 20s, timeout: 3s, wait: 2s}
pace: {per_origin: 0, per_address: 0}
timeouts: {idle: 10s}
log: {format: json}
`, state, w.plain, w.secure, w.roots)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p := &process{dir: dir, said: new(bytes.Buffer), read: make(chan struct{}), trust: x509.NewCertPool()}
	p.cmd = exec.CommandContext(ctx, binary, "serve", "--config", config)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.Env = []string{"HOME=" + dir, "LANG=C.UTF-8"}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go p.listen(stderr, ready)
	select {
	case <-ready:
	case <-p.read:
		return nil, errors.Join(fmt.Errorf("heed ended: %s", p.said), p.stop())
	}
	ca, err := exec.CommandContext(ctx, binary, "ca", "export", "--state-dir", state).Output()
	if err != nil || !p.trust.AppendCertsFromPEM(ca) {
		return nil, errors.Join(fmt.Errorf("exporting heed's CA: %w", err), p.stop())
	}
	return p, nil
}

// listen keeps what heed says besides its exchanges.
func (p *process) listen(stderr io.Reader, ready chan<- struct{}) {
	defer close(p.read)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Message, Proxy, Admin string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "exchange" {
			continue
		}
		if line.Message == "ready" {
			p.proxy, p.admin = line.Proxy, line.Admin
			close(ready)
		}
		if p.said.Len() < 1<<20 {
			p.said.Write(append(lines.Bytes(), '\n'))
		}
	}
}

// stop ends it, which it must do well.
func (p *process) stop() error {
	defer func() { _ = os.RemoveAll(p.dir) }()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-p.read:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.read
	}
	err := p.cmd.Wait()
	if err == nil && strings.Contains(p.said.String(), "panic") {
		err = errors.New("there was a panic")
	}
	if err != nil {
		said := p.said.String()
		return fmt.Errorf("heed: %w\n%s", err, said[max(0, len(said)-4000):])
	}
	return nil
}

// held is what a process holds.
type held struct{ memory, descriptors, goroutines int64 }

// held asks heed for it.
func (p *process) held(ctx context.Context) (h held, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.admin+"/metrics", nil)
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
