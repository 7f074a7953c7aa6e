package wire

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"
)

func newLoop(t *testing.T) *Loop {
	t.Helper()
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for fd, c := range l.conns {
			if c != nil {
				t.Errorf("descriptor %d is open still", fd)
			}
		}
	})
	return l
}

// echo gives everything back.
func echo(_ *Task, c *Conn) error {
	buf := make([]byte, 100<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return nil // the other end is what the tests look at
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return err
		}
	}
}

func (l *Loop) runTo(t *testing.T, done *int, want int) {
	t.Helper()
	if err := l.Run(func() bool { return *done == want }, time.Now().Add(10*time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestTasksSpeakWithEachOther(t *testing.T) {
	l := newLoop(t)
	at, err := l.Listen(echo)
	if err != nil {
		t.Fatal(err)
	}
	// More than both sockets hold, so that the reader and the writer wait by turns.
	const tasks, size = 20, 3 << 20
	done := 0
	for n := range tasks {
		l.Go(func(task *Task) error {
			c, err := task.Dial(at)
			if err != nil {
				return err
			}
			want := bytes.Repeat([]byte{byte(n)}, size/tasks)
			got := make([]byte, len(want))
			for range 20 {
				if _, err := c.Write(want); err != nil {
					return err
				}
				if _, err := io.ReadFull(c, got); err != nil {
					return err
				}
				if !bytes.Equal(got, want) {
					return errors.New("other octets came back")
				}
			}
			done++
			return nil
		})
	}
	l.runTo(t, &done, tasks)
}

func TestAWriterWaitsForItsReader(t *testing.T) {
	l := newLoop(t)
	written, read, done := 0, 0, 0
	const size = 32 << 20
	at, err := l.Listen(func(_ *Task, c *Conn) error {
		n, err := c.Write(make([]byte, size))
		written = n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Go(func(task *Task) error {
		defer func() { done++ }()
		c, err := task.Dial(at)
		if err != nil {
			return err
		}
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Discard(buf)
			read += n
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	l.runTo(t, &done, 1)
	if written != size || read != size {
		t.Errorf("%d octets were written and %d read of %d", written, read, size)
	}
}

// What came together with the end is read before the end.
func TestTheEndComesAfterTheLastOctet(t *testing.T) {
	l := newLoop(t)
	at, err := l.Listen(func(_ *Task, c *Conn) error {
		_, err := c.Write([]byte("last"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	l.Go(func(task *Task) error {
		c, err := task.Dial(at)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(c)
		if err != nil || string(got) != "last" {
			t.Errorf("got %q, %v", got, err)
		}
		done++
		return nil
	})
	l.runTo(t, &done, 1)
}

func TestRunEndsWithATasksError(t *testing.T) {
	l := newLoop(t)
	fault := errors.New("a fault")
	l.Go(func(*Task) error { return fault })
	if err := l.Run(func() bool { return false }, time.Now().Add(time.Second)); !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
}

func TestRunEndsAtItsDeadline(t *testing.T) {
	l := newLoop(t)
	if _, err := l.Listen(echo); err != nil {
		t.Fatal(err)
	}
	for range 2 { // another phase follows
		if err := l.Run(func() bool { return false }, time.Now().Add(10*time.Millisecond)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
}

func TestCloseEndsTasksThatWait(t *testing.T) {
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	at, err := l.Listen(echo)
	if err != nil {
		t.Fatal(err)
	}
	var got error
	l.Go(func(task *Task) error {
		c, err := task.Dial(at)
		if err != nil {
			return err
		}
		_, got = c.Read(make([]byte, 1))
		return got
	})
	if err := l.Run(func() bool { return false }, time.Now().Add(10*time.Millisecond)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(got, ErrStopped) {
		t.Errorf("the task that read got %v", got)
	}
}

func TestNobodyThere(t *testing.T) {
	l := newLoop(t)
	l.Go(func(task *Task) error {
		_, err := task.Dial(netip.MustParseAddrPort("127.0.0.1:1"))
		return err
	})
	if err := l.Run(func() bool { return false }, time.Now().Add(time.Second)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
