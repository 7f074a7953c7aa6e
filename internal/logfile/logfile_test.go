package logfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// out notes each write. What it does with one, beside that, is up to then.
type out struct {
	mu     sync.Mutex
	writes []string
	then   func(p []byte) (int, error)
}

func (o *out) Write(p []byte) (int, error) {
	o.mu.Lock()
	then := o.then
	o.mu.Unlock()
	n, err := len(p), error(nil)
	if then != nil {
		n, err = then(p)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes = append(o.writes, string(p[:n]))
	return n, err
}

func (o *out) do(then func(p []byte) (int, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.then = then
}

func (o *out) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.writes...)
}

func (o *out) text() string { return strings.Join(o.all(), "") }

func give(t *testing.T, w *Writer, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if n, err := w.Write([]byte(l)); n != len(l) || err != nil {
			t.Errorf("Write(%q): %d, %v", l, n, err)
		}
	}
}

func TestTheFirstLineIsWrittenAtOnceAndTheNextTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(out)
		w := New(Config{Out: o})
		began := time.Now()
		give(t, w, "a\n")
		synctest.Wait()
		if got := o.text(); got != "a\n" || time.Since(began) != 0 {
			t.Errorf("after %v: %q", time.Since(began), got)
		}
		give(t, w, "b\n", "c\n")
		time.Sleep(DefaultDelay - 1)
		if got := o.text(); got != "a\n" {
			t.Errorf("before the delay is over: %q", got)
		}
		time.Sleep(1)
		synctest.Wait()
		if got := o.all(); len(got) != 2 || got[1] != "b\nc\n" {
			t.Errorf("the writes are %q", got)
		}
		time.Sleep(time.Hour) // the goroutine has ended: the next line is the first again
		give(t, w, "d\n")
		synctest.Wait()
		if got := o.text(); got != "a\nb\nc\nd\n" {
			t.Errorf("after an hour: %q", got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestManyLinesDoNotWaitForTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(out)
		w := New(Config{Out: o, Delay: time.Hour})
		line := strings.Repeat("x", 1023) + "\n"
		give(t, w, line)
		synctest.Wait()
		for range enough / len(line) {
			give(t, w, line)
		}
		synctest.Wait()
		if got := o.all(); len(got) != 2 || len(got[1]) != enough {
			t.Errorf("%d writes within no time, want 2", len(got))
		}
		_ = w.Close()
	})
}

func TestFlushAndCloseDoNotWaitForTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(out)
		w := New(Config{Out: o, Delay: time.Hour})
		began := time.Now()
		give(t, w, "a\n")
		synctest.Wait()
		give(t, w, "b\n")
		w.Flush()
		if got := o.text(); got != "a\nb\n" {
			t.Errorf("after Flush: %q", got)
		}
		w.Flush() // nothing waits
		give(t, w, "c\n")
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got := o.text(); got != "a\nb\nc\n" || time.Since(began) != 0 {
			t.Errorf("after Close and %v: %q", time.Since(began), got)
		}
		give(t, w, "d\n") // somebody was late
		if got := o.text(); got != "a\nb\nc\nd\n" {
			t.Errorf("after a line that came after Close: %q", got)
		}
	})
}

func TestLinesOfOneGoroutineKeepTheirOrderAndNoneIsLost(t *testing.T) {
	const goroutines, lines = 8, 500
	for _, tt := range []struct {
		reason string
		config Config
	}{
		{"as it is used", Config{}},
		{"hardly any room", Config{Room: 64}},
		{"short writes to a pipe", Config{AtOnce: 32}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			o := new(out)
			tt.config.Out = o
			w := New(tt.config)
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					for i := range lines {
						_, _ = fmt.Fprintf(w, "%d %d\n", g, i)
					}
				})
			}
			all.Wait()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			next := [goroutines]int{}
			for line := range strings.Lines(o.text()) {
				var g, i int
				if _, err := fmt.Sscanf(line, "%d %d\n", &g, &i); err != nil || next[g] != i {
					t.Fatalf("the line %q comes where %v are next", line, next)
				}
				next[g]++
			}
			for g, n := range next {
				if n != lines {
					t.Errorf("%d lines of goroutine %d", n, g)
				}
			}
		})
	}
}

func TestAWriteHasWholeLines(t *testing.T) {
	o := new(out)
	w := New(Config{Out: o, AtOnce: 8})
	give(t, w, "a\nbb\nccc\ndddd\nthis line alone has more\ne\n")
	_ = w.Close()
	if got, want := fmt.Sprintf("%q", o.all()), `["a\nbb\n" "ccc\n" "dddd\n" "this line alone has more\n" "e\n"]`; got != want {
		t.Errorf("the writes are %s, want %s", got, want)
	}
}

// TestWriteWaitsWhereThereIsNoRoom: back-pressure, and no line is dropped.
func TestWriteWaitsWhereThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		o := new(out)
		o.do(func(p []byte) (int, error) { <-open; return len(p), nil })
		w := New(Config{Out: o, Room: 4})
		give(t, w, "a\n")
		synctest.Wait() // a is with Out
		give(t, w, "b\n", "c\n")
		waits := make(chan struct{})
		go func() { give(t, w, "d\n"); close(waits) }()
		synctest.Wait()
		select {
		case <-waits:
			t.Error("the line that there was no room for did not wait")
		default:
		}
		if got := w.Stats().Waited; got != 1 {
			t.Errorf("%d lines waited, want 1", got)
		}
		close(open)
		<-waits
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got := o.text(); got != "a\nb\nc\nd\n" {
			t.Errorf("written: %q", got)
		}
	})
}

func TestALineLongerThanTheRoomIsTaken(t *testing.T) {
	o := new(out)
	w := New(Config{Out: o, Room: 4})
	give(t, w, "a\n", "longer than four\n", "b\n")
	if err := w.Close(); err != nil || o.text() != "a\nlonger than four\nb\n" {
		t.Errorf("%v, written: %q", err, o.text())
	}
}

// TestCloseGivesUpOnAnOutThatTakesNothing: heed must end all the same, and who
// waits for room must go on.
func TestCloseGivesUpOnAnOutThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		o := new(out)
		o.do(func(p []byte) (int, error) { <-open; return len(p), nil })
		w := New(Config{Out: o, Room: 4})
		give(t, w, "a\n")
		synctest.Wait()
		give(t, w, "b\n")
		began := time.Now()
		err := w.Close()
		if err == nil || !strings.Contains(err.Error(), "2 lines were not taken within 5s") || time.Since(began) != DefaultGrace {
			t.Errorf("Close after %v: %v", time.Since(began), err)
		}
		close(open)
		synctest.Wait()
	})
}

func TestLinesThatCannotBeWrittenAreCountedAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left")
		var failed []error
		o := new(out)
		w := New(Config{
			Out:     o,
			Failed:  func(err error) { failed = append(failed, err) },
			Missing: func(lines int, cause error) []byte { return fmt.Appendf(nil, "%d missing: %v\n", lines, cause) },
		})
		o.do(func([]byte) (int, error) { return 0, full })
		give(t, w, "a\n", "b\n")
		time.Sleep(time.Second)
		give(t, w, "c\n")
		time.Sleep(time.Second)
		if s := w.Stats(); s.Lost != 3 || !errors.Is(s.Err, full) {
			t.Errorf("while nothing can be written: %+v", s)
		}
		o.do(nil)
		give(t, w, "d\n")
		time.Sleep(time.Second)
		if got := o.text(); got != "3 missing: no space left\nd\n" {
			t.Errorf("afterwards: %q", got)
		}
		if s := w.Stats(); s.Lost != 3 || s.Err != nil {
			t.Errorf("afterwards: %+v", s)
		}
		if len(failed) != 1 || !errors.Is(failed[0], full) {
			t.Errorf("it was told %v", failed)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestALineThatWasCutDoesNotSpoilTheNext: a disk takes what still fits.
func TestALineThatWasCutDoesNotSpoilTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(out)
		fits := func(room int) {
			o.do(func(p []byte) (int, error) {
				n := min(len(p), room)
				room -= n
				if n < len(p) {
					return n, errors.New("full")
				}
				return n, nil
			})
		}
		fits(5)
		w := New(Config{Out: o, Missing: func(lines int, _ error) []byte { return fmt.Appendf(nil, "%d missing\n", lines) }})
		give(t, w, "abc\ndef\nghi\n")
		time.Sleep(time.Second)
		fits(3) // for the end of the line, and two octets of the next
		give(t, w, "jkl\n")
		time.Sleep(time.Second)
		fits(100)
		give(t, w, "mno\n")
		time.Sleep(time.Second)
		if got := o.text(); got != "abc\nd\n2 \n3 missing\nmno\n" {
			t.Errorf("written: %q", got)
		}
		if s := w.Stats(); s.Lost != 3 {
			t.Errorf("%+v, want 3 lost", s)
		}
		_ = w.Close()
	})
}

func TestAShortWriteIsAFault(t *testing.T) {
	o := new(out)
	o.do(func(p []byte) (int, error) { return len(p) - 1, nil })
	w := New(Config{Out: o})
	give(t, w, "a\n")
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close: %v", err)
	}
	if s := w.Stats(); s.Lost != 1 {
		t.Errorf("%+v, want 1 lost", s)
	}
}

func BenchmarkWrite(b *testing.B) {
	line := []byte(strings.Repeat("x", 449) + "\n")
	w := New(Config{Out: io.Discard})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = w.Write(line)
	}
	_ = w.Close()
}
