package relay

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// pipeSize is what a pipe holds, which is what one splice moves at most. Linux
// lets a user have 64 MiB in all pipes (pipe-user-pages-soft); those made then
// stay at 64 KiB or less.
const pipeSize = 1 << 20

// pipe is what splice needs between two sockets. Pipes are kept between uses,
// empty ones, until the garbage collector finds that there are more than are
// needed.
type pipe struct {
	r, w int
	gone runtime.Cleanup
}

var pipes sync.Pool

// newPipe returns an empty pipe.
func newPipe() (*pipe, error) {
	if p, ok := pipes.Get().(*pipe); ok {
		return p, nil
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	p := &pipe{r: fds[0], w: fds[1]}
	p.gone = runtime.AddCleanup(p, closeBoth, fds)
	return p, nil
}

// keep gives back an empty pipe.
func (p *pipe) keep() { pipes.Put(p) }

// close ends a pipe that has something in it.
func (p *pipe) close() {
	p.gone.Stop()
	closeBoth([2]int{p.r, p.w})
}

func closeBoth(fds [2]int) {
	_ = unix.Close(fds[0])
	_ = unix.Close(fds[1])
}
