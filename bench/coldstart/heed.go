package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"heed/e2e/process"
)

// measured is a heed that serves.
type measured struct {
	*process.Heed
	dir string
}

// start starts a heed with nothing in its state directory. All but what the
// measurement is about is left at its default, the log line an exchange too.
func start(binary string, concurrency int) (*measured, error) {
	dir, err := os.MkdirTemp("", "heed-coldstart-")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "heed.yaml")
	text := fmt.Sprintf("allow_address: [127.0.0.0/8]\nrobots:\n  concurrency: %d\nlog:\n  format: json\n", concurrency)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	h, err := process.Start(process.Config{
		Binary: binary, StateDir: filepath.Join(dir, "state"),
		Env:   []string{"HOME=" + dir, "LANG=C.UTF-8"},
		Flags: []string{"--config", config},
		Keep:  process.BesideExchanges,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &measured{h, dir}, nil
}

// stop ends heed and tells what it took. The error is the one that is given, or
// that heed did not end well.
func (m *measured) stop(err error) (cpu time.Duration, memory int64, _ error) {
	err = errors.Join(err, m.Stop(), os.RemoveAll(m.dir))
	state := m.Cmd.ProcessState
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
