package relay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// long are limits that no test meets.
var long = Limits{Stalled: time.Minute, Quiet: 5}

// tcpPair returns both ends of a connection over loopback.
func tcpPair(t testing.TB) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	return near, far
}

// hidden is a connection of which one cannot see that it is TCP.
type hidden struct{ net.Conn }

func (c hidden) CloseWrite() error { return closeWrite(c.Conn) }

// kinds are the pairs of connections that are carried in different ways.
var kinds = map[string]func(net.Conn) net.Conn{
	"TCP":            func(c net.Conn) net.Conn { return c },
	"something else": func(c net.Conn) net.Conn { return hidden{c} },
}

// ended is what the end is told.
type ended struct{ fromA, fromB int64 }

// between relays between two far ends and returns the near ones.
func between(t testing.TB, kind func(net.Conn) net.Conn, l Limits) (a, b net.Conn, end <-chan ended) {
	t.Helper()
	a, farA := tcpPair(t)
	b, farB := tcpPair(t)
	for _, c := range []net.Conn{a, b} {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	done := make(chan ended, 1)
	Start(kind(farA), kind(farB), l, func(fromA, fromB int64) {
		done <- ended{fromA, fromB}
		close(done)
	})
	t.Cleanup(func() { // goleak would show what does not end
		_ = a.Close()
		_ = b.Close()
		await(t, done)
	})
	return a, b, done
}

func await(t testing.TB, end <-chan ended) ended {
	t.Helper()
	select {
	case e := <-end:
		return e
	case <-time.After(patience):
		t.Fatal("the tunnel does not end")
		return ended{}
	}
}

// octets are many, no two neighbours alike, so that what is lost or twice shows.
func octets(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16 ^ i>>8 ^ i)
	}
	return b
}

// TestOctetsAreCarriedBothWaysAtOnce in pieces of all sizes: a few by buffer,
// many by pipe, and what is between.
func TestOctetsAreCarriedBothWaysAtOnce(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, bufferEdge - 1, bufferEdge, bufferEdge + 1, 3 << 20} {
				a, b, end := between(t, kind, long)
				want := octets(size)
				read := make(chan []byte, 2)
				for _, c := range []net.Conn{a, b} {
					go func() {
						_, _ = c.Write(want[:size/2])
						_, _ = c.Write(want[size/2:])
						_ = c.(*net.TCPConn).CloseWrite()
					}()
					go func() {
						got, err := io.ReadAll(c)
						if err != nil {
							t.Error(err)
						}
						read <- got
					}()
				}
				for range 2 {
					if got := <-read; !bytes.Equal(got, want) {
						t.Errorf("%d octets came, not the %d that were sent", len(got), size)
					}
				}
				if e := await(t, end); e.fromA != int64(size) || e.fromB != int64(size) {
					t.Errorf("counted %+v, want %d both ways", e, size)
				}
			}
		})
	}
}

// bufferEdge is where the ways of carrying meet.
const bufferEdge = 16 << 10

// TestPiecesThatFollowEachOther: after many octets few come, and the other way
// round, and all in order.
func TestPiecesThatFollowEachOther(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			a, b, end := between(t, kind, long)
			total := 0
			for _, size := range []int{10, 1 << 20, 10, 100 << 10, 1, 64 << 10, 2 << 20, 5} {
				want := octets(size)
				go func() { _, _ = a.Write(want) }()
				got := make([]byte, size)
				if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d octets: %v", size, err)
				}
				if _, err := b.Write([]byte{1}); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(a, got[:1]); err != nil {
					t.Fatal(err)
				}
				total += size
			}
			_ = a.Close()
			_ = b.Close()
			if e := await(t, end); e.fromA != int64(total) || e.fromB != 8 {
				t.Errorf("counted %+v, want %d and 8", e, total)
			}
		})
	}
}

// TestAResetEndsBoth, also while octets are in a pipe.
func TestAResetEndsBoth(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			a, b, end := between(t, kind, long)
			go func() { _, _ = a.Write(octets(32 << 20)) }() // more than sockets hold
			if _, err := io.ReadFull(b, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			_ = b.(*net.TCPConn).SetLinger(0)
			_ = b.Close()
			e := await(t, end)
			if e.fromA < 1<<20 || e.fromA >= 32<<20 {
				t.Errorf("counted %+v", e)
			}
			if _, err := io.ReadAll(a); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a reads %v", err)
			}
		})
	}
}

// TestAReaderThatStallsIsGivenUp, though the other direction moves.
func TestAReaderThatStallsIsGivenUp(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			const stalled = 50 * time.Millisecond
			a, b, end := between(t, kind, Limits{Stalled: stalled, Quiet: 1000})
			_ = b.(*net.TCPConn).SetReadBuffer(4 << 10)
			go func() { _, _ = a.Write(octets(32 << 20)) }()
			go func() { _, _ = io.Copy(io.Discard, a) }()
			tick := time.NewTicker(stalled / 5)
			defer tick.Stop()
			for deadline := time.After(patience); ; {
				select {
				case <-tick.C:
					_, _ = b.Write([]byte{1}) // it has things to say, and never reads
					continue
				case <-end:
				case <-deadline:
					t.Fatal("it is kept for ever")
				}
				return
			}
		})
	}
}

// TestASlowReaderIsNot given up.
func TestASlowReaderIsNot(t *testing.T) {
	const stalled, moves = 800 * time.Millisecond, 80 * time.Millisecond
	a, b, end := between(t, kinds["TCP"], Limits{Stalled: stalled, Quiet: 1000})
	const size = 16 << 20
	go func() {
		_, _ = a.Write(octets(size))
		_ = a.(*net.TCPConn).CloseWrite()
	}()
	got, tick := 0, time.NewTicker(moves)
	defer tick.Stop()
	for buf := make([]byte, size/20); ; <-tick.C {
		n, err := io.ReadFull(b, buf)
		got += n
		if err != nil {
			break
		}
	}
	if got != size {
		t.Errorf("%d octets came of %d", got, size)
	}
	_ = b.Close()
	await(t, end)
}

// TestSilenceEnds a tunnel, at the time that was said.
func TestSilenceEnds(t *testing.T) {
	const stalled = 100 * time.Millisecond
	began := time.Now()
	a, b, end := between(t, kinds["TCP"], Limits{Stalled: stalled, Quiet: 5})
	if _, err := a.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(b); err != nil {
		t.Errorf("b reads %v, want the end", err)
	}
	if e := await(t, end); e != (ended{1, 0}) || time.Since(began) < 4*stalled {
		t.Errorf("%+v after %v, want one octet and %v", e, time.Since(began), 5*stalled)
	}
}

// TestDescriptorsThatAreIdle: a tunnel that waits has its two sockets.
func TestDescriptorsThatAreIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no pipes here, and no /proc to count them in")
	}
	a, b, _ := between(t, kinds["TCP"], long)
	go func() { _, _ = a.Write(octets(1 << 20)) }()
	if _, err := io.ReadFull(b, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	for range 50 {
		a, b, _ := between(t, kinds["TCP"], long)
		go func() { _, _ = a.Write(octets(1 << 20)) }()
		if _, err := io.ReadFull(b, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	// Four sockets for each, since all ends are in this process, and the few
	// pipes that were in use at a time.
	if more := descriptors(t) - before; more > 50*4+20 {
		t.Errorf("50 tunnels that wait have %d descriptors, want 200 for sockets and a few", more)
	}
}

func BenchmarkBulk(b *testing.B) {
	for name, kind := range kinds {
		b.Run(name, func(b *testing.B) {
			near, far, _ := between(b, kind, long)
			_ = near.SetDeadline(time.Time{})
			_ = far.SetDeadline(time.Time{})
			const size = 16 << 20
			piece, buf := octets(1<<20), make([]byte, 256<<10)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				go func() {
					for range size / len(piece) {
						_, _ = near.Write(piece)
					}
				}()
				for got := 0; got < size; {
					n, err := far.Read(buf)
					if err != nil {
						b.Fatal(err)
					}
					got += n
				}
			}
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	near, far, _ := between(b, kinds["TCP"], long)
	_ = near.SetDeadline(time.Time{})
	_ = far.SetDeadline(time.Time{})
	buf := make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = near.Write(buf)
		if _, err := io.ReadFull(far, buf); err != nil {
			b.Fatal(err)
		}
		_, _ = far.Write(buf)
		if _, err := io.ReadFull(near, buf); err != nil {
			b.Fatal(err)
		}
	}
}
