package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cores says who runs where: the proxy alone on one processor, the clients and
// the origin on another.
type cores struct {
	all         unix.CPUSet
	proxy, load int
}

// pinned is the variable that tells this program that it has been put on the
// load's processor, and which ones it had before.
const pinned = "HEED_BENCH_CORES"

// coresOf takes the first two processors that this process may use, and puts
// all of it on the second, by starting it anew: the threads that it has would
// stay where they are, and the runtime counts processors but once.
func coresOf() (cores, error) {
	if had := os.Getenv(pinned); had != "" { //nolint:forbidigo // a program of its own, which said so to itself
		return coresFrom(strings.Split(had, ","))
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return cores{}, fmt.Errorf("asking for the processors: %w", err)
	}
	var names []string
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			names = append(names, strconv.Itoa(i))
		}
	}
	c, err := coresFrom(names)
	if err != nil {
		return c, err
	}
	self, err := os.Executable()
	if err != nil {
		return c, fmt.Errorf("finding this program: %w", err)
	}
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, one(c.load)); err != nil {
		return c, fmt.Errorf("choosing a processor: %w", err)
	}
	env := append(os.Environ(), pinned+"="+strings.Join(names, ",")) //nolint:forbidigo // handed on to itself
	return c, fmt.Errorf("starting again on one processor: %w", unix.Exec(self, os.Args, env))
}

func coresFrom(names []string) (c cores, err error) {
	var found []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			return c, fmt.Errorf("%s: %w", pinned, err)
		}
		c.all.Set(n)
		found = append(found, n)
	}
	if len(found) < 2 {
		return c, errors.New("this process may use one processor only: the proxy and the load need one each")
	}
	c.proxy, c.load = found[0], found[1]
	return c, nil
}

// on runs f, and what f starts, on some processors, and puts this thread back
// on the load's.
func (c *cores) on(set unix.CPUSet, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("choosing a processor: %w", err)
	}
	return errors.Join(f(), unix.SchedSetaffinity(0, one(c.load)))
}

// compile runs a compiler on all processors.
func (c *cores) compile(cmd *exec.Cmd) (said []byte, err error) {
	err = c.on(c.all, func() (err error) {
		said, err = cmd.CombinedOutput()
		return err
	})
	return said, err
}

func one(core int) *unix.CPUSet {
	var set unix.CPUSet
	set.Set(core)
	return &set
}
