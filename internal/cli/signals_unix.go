//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardedSignals are passed on to the command of heed run. Those of job
// control (SIGTSTP, SIGCONT, SIGWINCH) are not: the terminal sends them to heed
// and the command alike.
var forwardedSignals = []os.Signal{
	syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
}

// alreadySentToChild reports whether the command got a signal that heed got.
// Ctrl-C and Ctrl-\ go to the terminal's whole foreground process group, and
// the command is in heed's. Passing them on too would interrupt it twice, which
// many programs take as the order to drop everything. The other way round is
// the lesser evil: kill -INT of heed alone, while it is in the foreground, does
// not reach the command; SIGTERM does.
func alreadySentToChild(s os.Signal) bool {
	return (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground()
}

// inForeground reports whether heed's process group has the terminal.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false // no terminal
	}
	defer func() { _ = tty.Close() }() // it was only asked
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// catchStop returns where Ctrl-Z is told in place of stopping heed, which does it
// by itself then (stopSelf). Nil where heed was started to ignore it.
func catchStop() chan os.Signal {
	if signal.Ignored(syscall.SIGTSTP) {
		return nil
	}
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	return stops
}

// stopSelf stops heed until somebody has it go on.
func stopSelf() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }
