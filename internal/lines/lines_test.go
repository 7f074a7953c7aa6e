package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// joined has each worker number its lines, and joins what they return.
func joined(t *testing.T, in io.Reader) (string, error) {
	t.Helper()
	var all strings.Builder
	err := Work(in, func() func(*Batch) string {
		return func(b *Batch) string {
			var out strings.Builder
			for i, line := range b.Lines {
				fmt.Fprintf(&out, "%d:%s\n", b.First+i, line)
			}
			return out.String()
		}
	}, func(s string, _ bool) error {
		all.WriteString(s)
		return nil
	})
	return all.String(), err
}

func TestResultsComeInTheOrderOfTheLines(t *testing.T) {
	var in, want strings.Builder
	for i := range 20_000 {
		text := strings.Repeat("x", i%97)
		fmt.Fprintf(&in, "%s\n", text)
		fmt.Fprintf(&want, "%d:%s\n", i+1, text)
	}
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(in.String()), "in halves": iotest.HalfReader(strings.NewReader(in.String()))} {
		if got, err := joined(t, r); err != nil || got != want.String() {
			t.Errorf("%s: %v, %d octets, want %d", name, err, len(got), want.Len())
		}
	}
}

func TestTheLastLineNeedsNoEnd(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "1:a\n", "a\n": "1:a\n", "\n": "1:\n", "a\n\nb": "1:a\n2:\n3:b\n"} {
		if got, err := joined(t, strings.NewReader(in)); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestALineThatIsTooLongIsNil(t *testing.T) {
	in := io.MultiReader(strings.NewReader("a\n"), bytes.NewReader(make([]byte, Longest+2)), strings.NewReader("\nb\n"))
	var lengths []int
	err := Work(in, func() func(*Batch) *Batch { return func(b *Batch) *Batch { return b } }, func(b *Batch, _ bool) error {
		for _, line := range b.Lines {
			if line == nil {
				lengths = append(lengths, -1)
				continue
			}
			lengths = append(lengths, len(line))
		}
		return nil
	})
	if err != nil || fmt.Sprint(lengths) != "[1 -1 1]" {
		t.Errorf("%v, %v", lengths, err)
	}
}

func TestWhatCameBeforeAFaultIsWorkedOn(t *testing.T) {
	fault := errors.New("the disk is gone")
	got, err := joined(t, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(fault)))
	if !errors.Is(err, fault) || got != "1:a\n2:b\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTheFirstErrorEndsTheWork, and no goroutine is left.
func TestTheFirstErrorEndsTheWork(t *testing.T) {
	full, taken := errors.New("no room"), 0
	err := Work(strings.NewReader(strings.Repeat("x\n", 1<<20)), func() func(*Batch) int { return func(b *Batch) int { return len(b.Lines) } }, func(int, bool) error {
		taken++
		return full
	})
	if !errors.Is(err, full) || taken != 1 {
		t.Errorf("%v after %d", err, taken)
	}
}

// TestALineIsWorkedOnWhenItComes: whoever asks line by line is not kept waiting
// for more.
func TestALineIsWorkedOnWhenItComes(t *testing.T) {
	r, w := io.Pipe()
	answers, done := make(chan string), make(chan error)
	go func() {
		done <- Work(r, func() func(*Batch) string { return func(b *Batch) string { return string(b.Lines[0]) } }, func(s string, more bool) error {
			if more {
				s += " and more"
			}
			answers <- s
			return nil
		})
	}()
	for _, line := range []string{"one", "two"} {
		_, _ = io.WriteString(w, line+"\n")
		select {
		case got := <-answers:
			if got != line {
				t.Errorf("got %q, want %q", got, line)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it waits for more")
		}
	}
	_ = w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const total = 256 << 20
	runtime.GC() // what other tests have left
	in := io.LimitReader(endless{}, total)
	var most uint64
	batches := 0
	err := Work(in, func() func(*Batch) int { return func(b *Batch) int { return len(b.Lines) } }, func(int, bool) error {
		if batches++; batches%50 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
		return nil
	})
	if err != nil || most == 0 || most > total/4 {
		t.Errorf("%v; %d octets are held at most", err, most)
	}
}

// endless has lines of 1,000 octets.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
		if i%1000 == 0 {
			p[i] = '\n'
		}
	}
	return len(p), nil
}
