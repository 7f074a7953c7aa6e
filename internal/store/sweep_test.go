package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"heed/fetch"
	"heed/internal/store/storetest"
	"heed/policy"
)

// swept lets a file sweep once: it does so as soon as it is opened, if the time
// between sweeps is short.
func swept(t *testing.T, f *File, done func(Stats) bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s, err := f.Stats(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if done(s) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", s)
		}
	}
}

func TestSweepDropsWhatIsOfNoMoreUse(t *testing.T) {
	now := time.Now()
	body := storetest.Successful("kept")
	rows := []struct {
		why  string
		r    fetch.Record
		kept bool
	}{
		{"just checked", body, true},
		{"checked long ago", fetch.Record{Access: policy.Unavailable, Checked: now.Add(-31 * 24 * time.Hour)}, false},
		{"checked long ago, and fresh", fetch.Record{Access: policy.Unavailable, Checked: now.Add(-31 * 24 * time.Hour), FreshUntil: now}, true},
		{"not to be asked again yet", fetch.Record{Access: policy.Unreachable, Checked: now.Add(-31 * 24 * time.Hour), Retry: now}, true},
		{"almost of no use", fetch.Record{Access: policy.Unavailable, Checked: now.Add(-30*24*time.Hour + time.Hour)}, true},
		{"checked by a clock that was wrong", fetch.Record{Access: policy.Unavailable, Checked: now.Add(365 * 24 * time.Hour)}, false},
	}
	f := begin(t, Config{Sweep: 10 * time.Millisecond})
	kept := 0
	for i, row := range rows {
		f.Save(numbered(i), row.r)
		if row.kept {
			kept++
		}
	}
	flush(t, f)
	swept(t, f, func(s Stats) bool { return s.Records == kept })
	for i, row := range rows {
		if _, ok, err := f.Load(t.Context(), numbered(i)); ok != row.kept || err != nil {
			t.Errorf("%s: kept %v, %v", row.why, ok, err)
		}
	}
}

func TestSweepDropsBodiesThatNobodyNamesAndNoOther(t *testing.T) {
	f := begin(t, Config{Sweep: 10 * time.Millisecond})
	const origins = 3000
	for i := range origins {
		f.Save(numbered(i), storetest.Successful(fmt.Sprint("first ", i%1500)))
	}
	flush(t, f)
	for i := range origins { // half of the origins have other bodies from now on
		if i%1500 < 750 {
			f.Save(numbered(i), storetest.Successful(fmt.Sprint("second ", i%10)))
		}
	}
	flush(t, f)
	swept(t, f, func(s Stats) bool { return s.Bodies == 750+10 })
	for i := range origins {
		want := fmt.Sprint("first ", i%1500)
		if i%1500 < 750 {
			want = fmt.Sprint("second ", i%10)
		}
		if r, ok, err := f.Load(t.Context(), numbered(i)); !ok || err != nil || string(r.Body) != want {
			t.Fatalf("%d: %q, %v, %v, want %q", i, r.Body, ok, err, want)
		}
	}
}

// Records are saved all the time while bodies come to be of no use.
func TestSweepTakesNothingFromWhatIsSavedMeanwhile(t *testing.T) {
	f := begin(t, Config{Sweep: time.Millisecond, Delay: time.Millisecond})
	for round := range 60 {
		for i := range 20 {
			body := fmt.Sprint("body ", (i+round)%7)
			f.Save(numbered(i), storetest.Successful(body))
			confirmed := storetest.Successful(body)
			confirmed.Body = nil
			f.Save(numbered(i), confirmed)
		}
		if round%5 == 0 {
			flush(t, f)
		}
		time.Sleep(2 * time.Millisecond)
		for i := range 20 {
			if r, ok, err := f.Load(t.Context(), numbered(i)); !ok || err != nil || string(r.Body) != fmt.Sprint("body ", (i+round)%7) {
				t.Fatalf("round %d, origin %d: %q, %v, %v", round, i, r.Body, ok, err)
			}
		}
	}
}

func TestDamagedRecordsAndBodiesAreDroppedAndCounted(t *testing.T) {
	f := begin(t, Config{Delay: time.Hour})
	shared := storetest.Successful("shared body, long enough to be compressed compressed compressed")
	for i := range 10 {
		f.Save(numbered(i), shared)
	}
	other := storetest.Successful("other")
	f.Save(numbered(10), other)
	f.Save(numbered(11), other)
	flush(t, f)
	// Whoever writes these is not heed.
	check(t, f.disk.Load().write(func(tx *bbolt.Tx, _ content) error {
		records, bodies := tx.Bucket(bucketRecords), tx.Bucket(bucketBodies)
		moved := records.Get(keyOf(numbered(10)))
		check(t, records.Put(keyOf(numbered(12)), append([]byte(nil), moved...))) // under another's key
		changed := append([]byte(nil), records.Get(keyOf(numbered(11)))...)
		changed[1] ^= 3 // another access result
		check(t, records.Put(keyOf(numbered(11)), changed))
		body := append([]byte(nil), bodies.Get(shared.Sum[:])...)
		body[len(body)-3] ^= 1
		return bodies.Put(shared.Sum[:], body)
	}))
	for i, why := range map[int]string{0: "its body is damaged", 11: "it was changed", 12: "it is another's"} {
		if r, ok, err := f.Load(t.Context(), numbered(i)); ok || err != nil {
			t.Errorf("%s: %+v, %v", why, r, err)
		}
	}
	holds(t, f, numbered(10), other)
	if c := f.Counts(); c.Damaged != 3 {
		t.Errorf("%d damaged, want 3", c.Damaged)
	}
	f.Save(numbered(0), shared) // the body comes back with whoever is asked again
	flush(t, f)
	for i := range 10 {
		holds(t, f, numbered(i), shared)
	}
	if s, err := f.Stats(t.Context()); err != nil || s.Damaged != 0 || s.Records != 11 {
		t.Errorf("%+v, %v: want 11 records, none damaged", s, err)
	}
}
