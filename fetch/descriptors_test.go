//go:build unix

package fetch

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Descriptors used up for real: the fetch fails, and succeeds once they are
// back, without a pause.
func TestDescriptorsUsedUpAreNotTheOriginsFault(t *testing.T) {
	h := newHostile(t, write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 256
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var taken []int
	giveBack := func() {
		for _, fd := range taken {
			_ = syscall.Close(fd)
		}
		taken = nil
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	defer giveBack()
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	f := newFetcher(t, Config{Transport: realTransport(t)})
	byName := mustParse(t, "http", "name.example")
	for _, o := range []origin.Origin{h.origin, byName} {
		s := snapshot(t, f, o)
		if s.Access != policy.Unreachable || !strings.Contains(s.Err, "too many open files") || allowed(s, "/") {
			t.Errorf("%s: %+v", o, s)
		}
		if _, ok := f.Remembered(o, time.Now()); ok {
			t.Errorf("%s: remembered: %+v", o, s)
		}
	}
	giveBack()
	if s := snapshot(t, f, h.origin); s.Access != policy.Unavailable {
		t.Errorf("with descriptors again: %+v", s)
	}
}
