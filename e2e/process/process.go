// Package process runs a built heed, for the end-to-end tests and for bench.
package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startLimit is for how long a heed may take until it is ready.
	startLimit = 30 * time.Second

	// stopLimit is for how long until it has ended. By itself it waits for up to 30 s
	// for what is under way.
	stopLimit = 45 * time.Second
)

// Config is what a Heed is made of.
type Config struct {
	Binary   string
	StateDir string
	Env      []string               // all of it
	Flags    []string               // besides those for free ports and the state directory
	Keep     func(line []byte) bool // whether a line of its log is kept; nil: each is
}

// BesideExchanges is a Keep for what is no exchange.
func BesideExchanges(line []byte) bool { return !bytes.Contains(line, []byte(`"message":"exchange"`)) }

// Heed is a running `heed serve`.
type Heed struct {
	Proxy, Admin string // host:port; Admin is "" when it is off
	StateDir     string
	Cmd          *exec.Cmd
	Log          Log
	Done         chan struct{} // closed when it has ended; the exit status is in Cmd.ProcessState
}

// Start starts a heed on free ports and waits until it says that it is ready. In
// an error is what else it said.
func Start(c Config) (*Heed, error) {
	h := &Heed{StateDir: c.StateDir, Done: make(chan struct{})}
	h.Cmd = exec.Command(c.Binary, append([]string{ //nolint:noctx // Stop ends it
		"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state-dir", c.StateDir,
	}, c.Flags...)...)
	h.Cmd.Env = c.Env
	stderr, err := h.Cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := h.Cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(h.Done)
		h.read(stderr, c.Keep, ready)
		_ = h.Cmd.Wait() // the exit status is in ProcessState
	}()
	select {
	case <-ready:
		return h, nil
	case <-h.Done:
		err = fmt.Errorf("%s: %s before it was ready", h.Cmd, h.Cmd.ProcessState)
	case <-time.After(startLimit):
		h.kill()
		err = fmt.Errorf("%s: not ready after %s", h.Cmd, startLimit)
	}
	return nil, fmt.Errorf("%w\n%s", err, h.Log.Tail(40))
}

// read keeps what heed says and closes ready at its ready line.
func (h *Heed) read(stderr io.Reader, keep func([]byte) bool, ready chan struct{}) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if keep == nil || keep(lines.Bytes()) {
			h.Log.add(lines.Bytes())
		}
		var line struct{ Message, Proxy, Admin string }
		if h.Proxy == "" && json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "ready" {
			h.Proxy, h.Admin = line.Proxy, line.Admin
			close(ready)
		}
	}
}

// Stop has heed end, if it has not ended already. An error is that it did not end
// by itself and with status 0, or that something panicked in it.
func (h *Heed) Stop() error {
	_ = h.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	var err error
	select {
	case <-h.Done:
		if code := h.Cmd.ProcessState.ExitCode(); code != 0 {
			err = fmt.Errorf("heed ended with status %d after SIGTERM\n%s", code, h.Log.Tail(40))
		}
	case <-time.After(stopLimit):
		h.kill()
		err = fmt.Errorf("heed had not ended %s after SIGTERM\n%s", stopLimit, h.Log.Tail(40))
	}
	for _, bad := range []string{"WARNING: DATA RACE", "panic", "goroutine 1 ["} {
		if strings.Contains(h.Log.String(), bad) {
			err = errors.Join(err, fmt.Errorf("heed's log has %q\n%s", bad, h.Log.Tail(200)))
		}
	}
	return err
}

func (h *Heed) kill() {
	_ = h.Cmd.Process.Kill() // its end is waited for
	<-h.Done
}

// Log is lines that were said. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(line)
	l.b.WriteByte('\n')
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Tail returns the last n lines.
func (l *Log) Tail(n int) string {
	lines := strings.SplitAfter(l.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}
