package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heed/e2e/process"
)

// heed is a running `heed serve`.
type heed struct{ *process.Heed }

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
	p, err := process.Start(process.Config{
		Binary: built.heed, StateDir: filepath.Join(t.TempDir(), "state"), Env: cleanEnv(t.TempDir(), env...), Flags: flags,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &heed{p}
	t.Cleanup(func() { end(h, t) })
	return h
}

func (h *heed) stop(t testing.TB) {
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
	if t.Failed() && testing.Verbose() {
		t.Logf("the end of heed's log:\n%s", h.Log.Tail(40))
	}
}

// url is what the proxy variables are set to.
func (h *heed) url() string { return "http://" + h.Proxy }

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
