package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/fetch"
	"heed/internal/origin"
	"heed/internal/store/storetest"
	"heed/policy"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// begin opens a file in a folder of the test's own, which its cleanup closes.
func begin(t testing.TB, c Config) *File {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "state", DefaultName)
	}
	f, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func flush(t testing.TB, f *File) {
	t.Helper()
	if err := f.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func holds(t testing.TB, f *File, o origin.Origin, want fetch.Record) {
	t.Helper()
	got, ok, err := f.Load(context.Background(), o)
	if err != nil || !ok {
		t.Errorf("%s: no record (%v), want one", o, err)
	} else if d := storetest.Equal(got, want); d != "" {
		t.Errorf("%s: %s", o, d)
	}
}

func lacks(t testing.TB, f *File, o origin.Origin) {
	t.Helper()
	if got, ok, err := f.Load(context.Background(), o); ok || err != nil {
		t.Errorf("%s: %+v, %v, want no record", o, got, err)
	}
}

func TestFileIsATier(t *testing.T) {
	for _, row := range []struct {
		why   string
		delay time.Duration
	}{
		{"all waits to be written", time.Hour},
		{"all is written as soon as can be", time.Nanosecond},
		{"some waits and some is written", 3 * time.Millisecond},
	} {
		t.Run(row.why, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) fetch.Store { return begin(t, Config{Delay: row.delay}) })
		})
	}
}

// flushed is a tier in which nothing is found but in the file.
type flushed struct {
	*File
	t *testing.T
}

func (f flushed) Save(o origin.Origin, r fetch.Record) {
	f.File.Save(o, r)
	if err := f.Flush(context.Background()); err != nil {
		f.t.Error(err)
	}
}

func TestFileIsATierOfWhatIsWritten(t *testing.T) {
	storetest.Run(t, func(t *testing.T) fetch.Store { return flushed{begin(t, Config{}), t} })
}

func TestWhatWasSavedOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	f := begin(t, Config{Path: path, Delay: time.Hour})
	want := map[origin.Origin]fetch.Record{}
	for i := range 300 {
		r := storetest.Successful(fmt.Sprintf("Disallow: /%d\n", i%7))
		if i%3 == 0 {
			r = fetch.Record{Access: policy.Unavailable, Status: 404, Checked: r.Checked}
		}
		o := storetest.HTTPS(fmt.Sprintf("h%d.example", i))
		want[o] = r
		f.Save(o, r)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = begin(t, Config{Path: path})
	for o, r := range want {
		holds(t, f, o, r)
	}
	s, err := f.Stats(t.Context())
	if err != nil || s.Records != 300 || s.Bodies != 7 || s.Unavailable != 100 || s.Successful != 200 {
		t.Errorf("%+v, %v: want 300 records, 100 of them unavailable, and 7 bodies", s, err)
	}
}

func TestWhatIsSavedIsWrittenWithinTheDelay(t *testing.T) {
	f := begin(t, Config{Delay: 20 * time.Millisecond})
	f.Save(storetest.HTTPS("a.example"), storetest.Successful("x"))
	for deadline := time.Now().Add(10 * time.Second); f.Counts().Saved == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was written")
		}
	}
}

func TestWhatDoesNotFitIsLostAndNothingOlderIsFound(t *testing.T) {
	f := begin(t, Config{Delay: time.Hour, MaxQueue: 10_000})
	o := storetest.HTTPS("a.example")
	f.Save(o, storetest.Successful("old"))
	flush(t, f)
	f.Save(storetest.HTTPS("b.example"), storetest.Successful(string(make([]byte, 8000))))
	f.Save(o, storetest.Successful(string(make([]byte, 3000))))
	lacks(t, f, o)
	if c := f.Counts(); c.Lost != 1 {
		t.Errorf("%d lost, want 1", c.Lost)
	}
	flush(t, f)
	lacks(t, f, o)
	f.Save(o, storetest.Successful("new"))
	holds(t, f, o, storetestSame(t, f, o, "new"))
	for i := range 1000 {
		f.Save(storetest.HTTPS(fmt.Sprint(i)), storetest.Successful(fmt.Sprint(i)))
	}
	if n := f.queue.waiting.octets; n > 12_500 {
		t.Errorf("%d octets wait, the bound is 10,000 and a quarter", n)
	}
}

// storetestSame returns what f has of o, after a look at its body.
func storetestSame(t *testing.T, f *File, o origin.Origin, body string) fetch.Record {
	t.Helper()
	r, _, err := f.Load(t.Context(), o)
	if err != nil || string(r.Body) != body {
		t.Fatalf("%q, %v, want %q", r.Body, err, body)
	}
	return r
}

// A record that waits and whose body is in the file already.
func TestBodyInTheFileIsFoundForARecordThatWaits(t *testing.T) {
	f := begin(t, Config{Delay: time.Hour})
	r := storetest.Successful("Disallow: /\n")
	f.Save(storetest.HTTPS("a.example"), r)
	flush(t, f)
	later := r
	later.Body, later.Attempts = nil, 5
	f.Save(storetest.HTTPS("b.example"), later)
	later.Body = r.Body
	holds(t, f, storetest.HTTPS("b.example"), later)
	flush(t, f)
	holds(t, f, storetest.HTTPS("b.example"), later)
}

func TestAfterCloseThereIsNothingAndNothingBreaks(t *testing.T) {
	f := begin(t, Config{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	o := storetest.HTTPS("a.example")
	f.Save(o, storetest.Successful("x"))
	if err := f.Forget(t.Context(), o); err == nil {
		t.Error("Forget of a closed file says that it is done")
	}
	lacks(t, f, o)
}
