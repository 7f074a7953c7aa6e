package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a heed that serves.
type process struct {
	proxy string // host:port
	cmd   *exec.Cmd
	dir   string
	said  *bytes.Buffer // until it was ready
	read  chan struct{} // closed when all that it says was read
}

// start starts a heed with nothing in its state directory. All but what the
// measurement is about is left at its default, the log line an exchange too.
func start(ctx context.Context, binary string, concurrency int) (*process, error) {
	dir, err := os.MkdirTemp("", "heed-coldstart-")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "heed.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin_listen: off\nstate_dir: %s\nallow_address: [127.0.0.0/8]\nrobots:\n  concurrency: %d\nlog:\n  format: json\n", filepath.Join(dir, "state"), concurrency)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p := &process{dir: dir, said: new(bytes.Buffer), read: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, binary, "serve", "--config", config)
	p.cmd.Env = []string{"HOME=" + dir, "LANG=C.UTF-8"}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go p.listen(stderr, ready)
	select {
	case p.proxy = <-ready:
		return p, nil
	case <-p.read:
		err = errors.New("it ended")
	case <-time.After(patience):
		err = errors.New("it did not become ready")
	}
	_, _, err = p.stop(fmt.Errorf("starting heed: %w\n%s", err, p.said))
	return nil, err
}

// listen finds the address in what heed says, and throws the rest away.
func (p *process) listen(stderr io.Reader, ready chan<- string) {
	defer close(p.read)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var line struct{ Message, Proxy string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "ready" {
			ready <- line.Proxy
			_, _ = io.Copy(io.Discard, stderr)
			return
		}
		p.said.Write(lines.Bytes())
		p.said.WriteByte('\n')
	}
}

// stop ends heed and tells what it took. The error is the one that is given, or
// that heed did not end well.
func (p *process) stop(err error) (cpu time.Duration, memory int64, _ error) {
	defer func() { _ = os.RemoveAll(p.dir) }()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	<-p.read
	ended := p.cmd.Wait()
	if err == nil && ended != nil {
		err = fmt.Errorf("heed: %w", ended)
	}
	state := p.cmd.ProcessState
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		memory = usage.Maxrss << 10 // Linux counts KiB
	}
	return state.UserTime() + state.SystemTime(), memory, err
}

// ownCPU is what this program has taken so far.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
