//go:build unix

package app

import "syscall"

// restrict sets the mode of a socket that is not bound yet.
func restrict(fd uintptr) error { return syscall.Fchmod(int(fd), 0o600) }
