// Package wire lets thousands of connections be spoken on, each by a function
// that reads and writes as if it were alone, for as little as the system calls
// themselves cost: a client and an origin that share one core must not be what
// a proxy on another core waits for.
//
// The functions are coroutines of one goroutine (iter.Pull), which epoll wakes
// (Linux alone has it). A Conn is a net.Conn, so crypto/tls speaks over it. It
// has no deadlines: the Loop as a whole has one, for each phase.
//
// Nothing here may be used but by the goroutine that calls Run, or before it.
package wire

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrStopped is what Read, Write and Accept return once the Loop is at its end.
var ErrStopped = errors.New("the loop was stopped")

// Loop runs tasks. Make one with New, and Close it.
type Loop struct {
	file   *os.File // the epoll instance, on which Go's own poller waits
	raw    syscall.RawConn
	epoll  int
	conns  []*Conn // by descriptor
	events []unix.EpollEvent
	tasks  map[*Task]struct{} // under way
	err    error              // the first of a task
}

// New returns a Loop without tasks.
func New() (*Loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	l := &Loop{file: os.NewFile(uintptr(fd), "epoll"), epoll: fd, events: make([]unix.EpollEvent, 512), tasks: map[*Task]struct{}{}}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		_ = l.file.Close()
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	return l, nil
}

// Task is a function under way.
type Task struct {
	loop   *Loop
	resume func() (struct{}, bool)
	end    func()
	park   func(struct{}) bool
	open   []*Conn // what is closed when the task ends
}

// Go begins a task, which runs until it first has to wait. An error that it
// returns ends Run, unless the Loop is being closed. What it opened and left
// open is closed.
func (l *Loop) Go(f func(*Task) error) {
	t := &Task{loop: l}
	t.resume, t.end = iter.Pull(func(park func(struct{}) bool) {
		t.park = park
		err := f(t)
		for _, c := range t.open {
			_ = c.Close()
		}
		delete(l.tasks, t)
		if err != nil && l.err == nil && !errors.Is(err, ErrStopped) {
			l.err = err
		}
	})
	l.tasks[t] = struct{}{}
	t.resume()
}

// Run lets the tasks go on until done says so, which is asked whenever all of
// them wait, until a task fails, or until the deadline, which is
// os.ErrDeadlineExceeded.
func (l *Loop) Run(done func() bool, deadline time.Time) error {
	if err := l.file.SetReadDeadline(deadline); err != nil {
		return fmt.Errorf("setting the loop's deadline: %w", err)
	}
	for l.err == nil && !done() {
		var n int
		var failed error
		err := l.raw.Read(func(uintptr) bool {
			n, failed = unix.EpollWait(l.epoll, l.events, 0)
			return n > 0 || failed != nil && failed != unix.EINTR
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		for i := range l.events[:n] {
			l.wake(&l.events[i])
		}
	}
	return l.err
}

// wake tells a connection what happened, and lets its task go on if it waits
// for that. An event of a descriptor that was closed, and is another's now,
// does no harm: the task tries, and waits again.
func (l *Loop) wake(e *unix.EpollEvent) {
	c := l.conns[e.Fd]
	if c == nil {
		return
	}
	if e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.ended, c.readable, c.writable = true, true, true
	}
	c.readable = c.readable || e.Events&unix.EPOLLIN != 0
	c.writable = c.writable || e.Events&unix.EPOLLOUT != 0
	if t := c.waiting; t != nil && (c.wants == reading && c.readable || c.wants == writing && c.writable) {
		c.waiting = nil
		t.resume()
	}
}

// Close ends all tasks and closes what they had open.
func (l *Loop) Close() error {
	for len(l.tasks) > 0 {
		for t := range l.tasks {
			t.end()
			delete(l.tasks, t)
		}
	}
	for _, c := range l.conns {
		if c != nil {
			_ = c.Close()
		}
	}
	return l.file.Close()
}
