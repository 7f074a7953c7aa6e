//go:build unix

package limits

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors returns how many this process may have open, which is the hard
// limit: Go has raised the soft one. It is 0 where there is no limit, or where
// nobody can tell.
func Descriptors() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || uint64(l.Cur) > math.MaxInt32 {
		return 0
	}
	return int(l.Cur)
}
