package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// heed is a running `heed serve`.
type heed struct {
	proxy, admin string // host:port; admin is "" when it is off
	stateDir     string

	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when the process has ended
}

// startHeed starts `heed serve` on free ports with a new state directory and
// waits until it says that it is ready. Its environment is env alone. When the
// test ends it gets SIGTERM, and must then end by itself with status 0.
func startHeed(t testing.TB, env []string, flags ...string) *heed {
	t.Helper()
	return start(t, (*heed).stop, env, flags...)
}

// start is startHeed with another end.
func start(t testing.TB, end func(*heed, testing.TB), env []string, flags ...string) *heed {
	t.Helper()
	h := &heed{stateDir: filepath.Join(t.TempDir(), "state"), log: &logBuffer{}, done: make(chan struct{})}
	args := append([]string{
		"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state-dir", h.stateDir,
	}, flags...)
	h.cmd = exec.Command(built.heed, args...)
	h.cmd.Env = cleanEnv(t.TempDir(), env...)
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
		_ = h.cmd.Wait() // the exit status is in ProcessState
	}()
	t.Cleanup(func() { end(h, t) })
	select {
	case <-ready:
	case <-h.done:
		t.Fatalf("heed %s ended before it was ready: %v\n%s", strings.Join(args, " "), h.cmd.ProcessState, h.log)
	case <-time.After(30 * time.Second):
		t.Fatalf("heed %s is not ready after 30 s\n%s", strings.Join(args, " "), h.log)
	}
	return h
}

// read keeps what heed writes on stderr and closes ready at its ready line.
func (h *heed) read(stderr io.Reader, ready chan struct{}) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		h.log.add(lines.Bytes())
		var line struct{ Message, Proxy, Admin string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "ready" && h.proxy == "" {
			h.proxy, h.admin = line.Proxy, line.Admin
			close(ready)
		}
	}
}

func (h *heed) stop(t testing.TB) {
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-h.done:
		if code := h.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("heed ended with status %d after SIGTERM\n%s", code, h.log.tail(40))
		}
	case <-time.After(45 * time.Second):
		_ = h.cmd.Process.Kill() // its end is waited for below
		<-h.done
		t.Errorf("heed had not ended 45 s after SIGTERM\n%s", h.log.tail(40))
	}
	for _, bad := range []string{"WARNING: DATA RACE", "panic", "goroutine 1 ["} {
		if strings.Contains(h.log.String(), bad) {
			t.Errorf("heed's log holds %q\n%s", bad, h.log.tail(200))
		}
	}
	if t.Failed() && testing.Verbose() {
		t.Logf("the end of heed's log:\n%s", h.log.tail(40))
	}
}

// url is what the proxy variables are set to.
func (h *heed) url() string { return "http://" + h.proxy }

// logBuffer keeps lines; it is safe for concurrent use.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(line)
	l.b.WriteByte('\n')
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) tail(n int) string {
	lines := strings.SplitAfter(l.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// cleanEnv is an environment with nothing of this machine's proxies and
// certificates in it: a search path, a home, a locale, and extra.
func cleanEnv(home string, extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"LANG=C.UTF-8",
		"PYTHONDONTWRITEBYTECODE=1",
	}, extra...)
}

// outcome is what a finished command left.
type outcome struct {
	stdout, stderr []byte
	status         int
}

// execute runs a command to its end, for at most limit.
func execute(t testing.TB, limit time.Duration, env []string, argv ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a browser's children end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the pipes open
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("starting %v: %v", argv, err)
	}
	if ctx.Err() != nil {
		t.Errorf("%v had not ended after %v\n%s", argv, limit, stderr.Bytes())
	}
	return outcome{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
}

// heedCommand runs one of heed's other commands and fails the test unless it
// ends with status 0.
func heedCommand(t testing.TB, env []string, args ...string) []byte {
	t.Helper()
	o := execute(t, time.Minute, cleanEnv(t.TempDir(), env...), append([]string{built.heed}, args...)...)
	if o.status != 0 {
		t.Fatalf("heed %s: status %d\n%s", strings.Join(args, " "), o.status, o.stderr)
	}
	return o.stdout
}
