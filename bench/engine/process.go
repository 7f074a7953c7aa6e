package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a proxy may take until it listens.
const patience = 30 * time.Second

// command is how a proxy is started. Everything that it writes is in folder.
type command struct {
	argv []string
	env  []string
	user string // who it is to be if this program is root; empty: root
	// leaves is what it may leave behind when it is killed, as filepath.Glob has it.
	leaves string
}

// saidLog is the file in a proxy's folder with what it says.
const saidLog = "said.log"

// process is a proxy under measurement, with the processes that it started.
type process struct {
	cmd    *exec.Cmd
	said   string // path
	leaves string // see command
	ended  chan struct{}
	err    error // set when ended is closed
	pids   []int // all of it, the first its own
}

// start starts a proxy on its processor, and waits until it listens.
func start(ctx context.Context, c *cores, what command, at netip.AddrPort, folder string) (*process, error) {
	p := &process{said: filepath.Join(folder, saidLog), leaves: what.leaves, ended: make(chan struct{})}
	out, err := os.OpenFile(p.said, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p.cmd = exec.Command(what.argv[0], what.argv[1:]...) //nolint:noctx // stop ends it, with all that it started
	p.cmd.Dir = folder
	p.cmd.Env = append([]string{"HOME=" + folder, "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, what.env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// A group of its own, which stop can end; and nothing outlives this program.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.become(what.user, folder); err != nil {
		return nil, err
	}
	if err := c.on(*one(c.proxy), p.cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", what.argv[0], err)
	}
	go func() {
		if p.err = p.cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.ended)
	}()
	if err := p.ready(ctx, at); err != nil {
		err = fmt.Errorf("starting %s: %w\n%s", strings.Join(what.argv, " "), err, p.tail())
		p.stop()
		return nil, err
	}
	return p, nil
}

// become has the proxy run as another user, whose the folder then is.
func (p *process) become(name, folder string) error {
	if name == "" || os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, uid, gid))
	})
}

// ready waits until somebody listens.
func (p *process) ready(ctx context.Context, at netip.AddrPort) error {
	limit := time.After(patience)
	for {
		if c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", at.String()); err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.ended:
			return fmt.Errorf("it ended: %w", p.err)
		case <-limit:
			return fmt.Errorf("it does not listen on %s after %v", at, patience)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// alive returns an error if the proxy has ended.
func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("it ended: %w\n%s", p.err, p.tail())
	default:
		return nil
	}
}

// tail is the last that it said.
func (p *process) tail() string {
	text, err := os.ReadFile(p.said)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-2000):]))
}

// stop ends the group. Nothing of it is wanted any more, so it is not asked.
func (p *process) stop() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // gone already: as well
	<-p.ended
	left, _ := filepath.Glob(p.leaves) // the pattern is ours
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// count finds the processes that belong to it.
func (p *process) count() error {
	parents := map[int][]int{}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state ppid …, and the name may have anything in it
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		parents[parent] = append(parents[parent], pid)
	}
	p.pids = []int{p.cmd.Process.Pid}
	for i := 0; i < len(p.pids); i++ {
		p.pids = append(p.pids, parents[p.pids[i]]...)
	}
	return nil
}

// cpu is the processor time of all its processes, to the nanosecond.
func (p *process) cpu() (sum time.Duration, err error) {
	for _, pid := range p.pids {
		// The clock of another process, as clock_getcpuclockid(3) names it.
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
			return 0, fmt.Errorf("reading the processor time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// memory is what all its processes have resident, now and at most, in octets.
func (p *process) memory() (now, most int64, err error) {
	for _, pid := range p.pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, 0, fmt.Errorf("reading the memory: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			if key != "VmRSS" && key != "VmHWM" {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("reading the memory: %w", err)
			}
			if key == "VmRSS" {
				now += n << 10
			} else {
				most += n << 10
			}
		}
	}
	if now == 0 {
		return 0, 0, errors.New("reading the memory: the system does not tell")
	}
	return now, most, nil
}

// ownCPU is the processor time of this program.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
