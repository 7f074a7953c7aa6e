package testnet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair connects two ends.
func pair(t *testing.T, c Config) (client, server *Conn) {
	t.Helper()
	n := New(c)
	l, err := n.Listen("192.0.2.1:80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := n.DialContext(t.Context(), "tcp", "192.0.2.1:80")
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return a.(*Conn), b.(*Conn)
}

func TestConnIsANetConn(t *testing.T) {
	for name, c := range map[string]Config{
		"at once":             {},
		"with latency":        {Latency: time.Millisecond},
		"with a small window": {Window: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				a, b := pair(t, c)
				return a, b, func() { _ = a.Close(); _ = b.Close() }, nil
			})
		})
	}
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if n, err := io.WriteString(c, s); n != len(s) || err != nil {
		t.Errorf("wrote %d of %d octets: %v", n, len(s), err)
	}
}

func read(t *testing.T, c net.Conn, want string, wantErr error) {
	t.Helper()
	got, err := io.ReadAll(c)
	if string(got) != want || !errors.Is(err, wantErr) {
		t.Errorf("read %q, %v; want %q, %v", got, err, want, wantErr)
	}
}

func TestTheEndsOfAConnection(t *testing.T) {
	for _, row := range []struct {
		why string
		do  func(t *testing.T, a, b *Conn)
	}{
		{"closed in one direction, the other goes on", func(t *testing.T, a, b *Conn) {
			write(t, a, "question")
			_ = a.CloseWrite()
			read(t, b, "question", nil)
			write(t, b, "answer")
			_ = b.Close()
			read(t, a, "answer", nil)
			if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("a write after CloseWrite: %v", err)
			}
		}},
		{"closed, with all of what came read: an end", func(t *testing.T, a, b *Conn) {
			write(t, a, "x")
			_ = a.Close()
			read(t, b, "x", nil)
		}},
		{"closed, with something unread: a reset behind what was sent", func(t *testing.T, a, b *Conn) {
			write(t, b, "never read")
			synctest.Wait()
			write(t, a, "sent")
			_ = a.Close()
			read(t, b, "sent", syscall.ECONNRESET)
		}},
		{"linger 0: a reset behind what was sent", func(t *testing.T, a, b *Conn) {
			write(t, a, "sent")
			_ = a.SetLinger(0)
			_ = a.Close()
			read(t, b, "sent", syscall.ECONNRESET)
			for _, want := range []error{syscall.ECONNRESET, syscall.EPIPE} {
				if _, err := b.Write([]byte("x")); !errors.Is(err, want) {
					t.Errorf("a write after a reset: %v, want %v", err, want)
				}
			}
		}},
		{"the first write to an end that is gone succeeds, the second does not", func(t *testing.T, a, b *Conn) {
			_ = a.Close()
			write(t, b, "x")
			if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("the second: %v", err)
			}
			read(t, b, "", nil) // the end came before the reset
		}},
		{"whoever waits on an end that is closed is told", func(t *testing.T, a, b *Conn) {
			failed := make(chan error)
			for _, op := range []func([]byte) (int, error){a.Read, func([]byte) (int, error) { return a.Write(make([]byte, 1<<20)) }} {
				go func() {
					_, err := op(make([]byte, 1))
					failed <- err
				}()
			}
			synctest.Wait()
			_ = a.Close()
			for range 2 {
				if err := <-failed; !errors.Is(err, net.ErrClosed) {
					t.Errorf("%v, want net.ErrClosed", err)
				}
			}
		}},
		{"whoever writes into a full window is told that the reader is gone", func(t *testing.T, a, b *Conn) {
			failed := make(chan error)
			go func() {
				_, err := a.Write(make([]byte, 1<<20))
				failed <- err
			}()
			synctest.Wait()
			_ = b.Close()
			if err := <-failed; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%v, want ECONNRESET", err)
			}
		}},
		{"closed twice: an error", func(t *testing.T, a, _ *Conn) {
			_ = a.Close()
			if err := a.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v", err)
			}
			if err := a.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("SetDeadline: %v", err)
			}
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pair(t, Config{})
				defer a.Close()
				defer b.Close()
				row.do(t, a, b)
			})
		})
	}
}

func TestASlowReaderStallsTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, Config{Window: 10})
		defer a.Close()
		defer b.Close()
		start := time.Now()
		go func() {
			p := make([]byte, 10)
			for range 3 {
				time.Sleep(time.Minute)
				_, _ = io.ReadFull(b, p)
			}
		}()
		write(t, a, string(bytes.Repeat([]byte("x"), 30)))
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("30 octets through a window of 10, read each minute: %v", took)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
	})
}

func TestLatencyHoldsOctetsTheEndAndAReset(t *testing.T) {
	const latency = 70 * time.Millisecond
	for why, end := range map[string]func(*Conn){
		"the end":     func(c *Conn) { _ = c.CloseWrite() },
		"a reset":     func(c *Conn) { _ = c.SetLinger(0); _ = c.Close() },
		"more octets": func(c *Conn) { _, _ = c.Write([]byte("y")) },
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				a, b := pair(t, Config{Latency: latency})
				defer a.Close()
				defer b.Close()
				if took := time.Since(start); took != 2*latency {
					t.Errorf("connected after %v", took)
				}
				write(t, a, "x")
				time.Sleep(time.Second)
				sent := time.Now()
				end(a)
				p := make([]byte, 1)
				if _, err := b.Read(p); err != nil || !time.Now().Equal(sent) {
					t.Errorf("the first octet: %v after %v", err, time.Since(sent))
				}
				_, _ = b.Read(p)
				if took := time.Since(sent); took != latency {
					t.Errorf("it came after %v", took)
				}
			})
		})
	}
}

func TestADeadlineEndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, Config{Window: 1})
		defer a.Close()
		defer b.Close()
		start := time.Now()
		_ = a.SetReadDeadline(start.Add(time.Second))
		_ = a.SetWriteDeadline(start.Add(time.Minute))
		var timeout net.Error
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != time.Second {
			t.Errorf("reading: %v after %v", err, time.Since(start))
		}
		if n, err := a.Write([]byte("xx")); n != 1 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("writing: %d octets, %v after %v", n, err, time.Since(start))
		}
		_ = a.SetDeadline(time.Time{})
		write(t, b, "x")
		if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("reading once the deadline was taken away: %d octets, %v", n, err)
		}
	})
}
