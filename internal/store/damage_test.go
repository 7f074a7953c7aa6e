package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"heed/fetch"
	"heed/internal/origin"
	"heed/internal/store/storetest"
	"heed/policy"
)

// sample is a file with records, closed, and what is in it: half of the origins
// disallow all, so that a record taken for another's shows.
func sample(t testing.TB, records int) ([]byte, map[origin.Origin]fetch.Record) {
	t.Helper()
	path := filepath.Join(t.TempDir(), DefaultName)
	f, err := Open(Config{Path: path, Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	want := map[origin.Origin]fetch.Record{}
	for i := range records {
		r := storetest.Successful(fmt.Sprintf("User-agent: *\nDisallow: /%d\n%s", i, strings.Repeat("# long\n", i%300)))
		if i%2 == 0 {
			r = fetch.Record{Access: policy.Unreachable, Checked: r.Checked, Retry: r.FreshUntil, Attempts: i, Err: "refused"}
		}
		want[numbered(i)] = r
		f.Save(numbered(i), r)
		if i%100 == 99 {
			flush(t, f) // so that there are free pages
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b, want
}

// use opens a file, reads all of it, writes to it, sweeps it and reads it
// again. Whatever it holds, heed must come through, and no record may be found
// that was not saved.
func use(t testing.TB, content []byte, want map[origin.Origin]fetch.Record) (found int, aside []string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, DefaultName)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Config{Path: path, Delay: time.Millisecond})
	if err != nil {
		t.Fatalf("heed does not start: %v", err)
	}
	fresh := storetest.Successful("User-agent: *\nDisallow: /fresh\n")
	for round := range 2 {
		for o, r := range want {
			got, ok, _ := f.Load(context.Background(), o)
			if !ok {
				continue
			}
			if d := storetest.Equal(got, r); d != "" {
				t.Fatalf("%s: a record that nobody saved: %s", o, d)
			}
			found += 1 - round
		}
		for i := range 40 {
			f.Save(storetest.HTTPS(fmt.Sprintf("fresh%d.example", i*i)), fresh)
		}
		_ = f.Flush(context.Background()) // it fails where the damage shows now
		for o := range want {
			if strings.HasSuffix(o.Host, "7.example") {
				_ = f.Forget(context.Background(), o)
				delete(want, o)
			}
		}
		if _, err := f.Stats(context.Background()); err != nil && round == 1 {
			_, err = f.Stats(context.Background()) // with a new file
			if err != nil {
				t.Fatalf("what is new cannot be read either: %v", err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	f, err = Open(Config{Path: path, Delay: time.Millisecond})
	if err != nil {
		t.Fatalf("heed does not start again: %v", err)
	}
	f.Save(storetest.HTTPS("fresh0.example"), fresh) // it may have been in a file that showed its damage late
	if f.Flush(context.Background()) != nil {
		flush(t, f) // to a new one
	}
	holds(t, f, storetest.HTTPS("fresh0.example"), fresh)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(path + ".damaged-*")
	if err != nil {
		t.Fatal(err)
	}
	return found, names
}

func copyOf(want map[origin.Origin]fetch.Record) map[origin.Origin]fetch.Record {
	c := map[origin.Origin]fetch.Record{}
	for o, r := range want {
		c[o] = r
	}
	return c
}

func TestFileThatIsNotHeedsIsSetAsideUnharmed(t *testing.T) {
	whole, _ := sample(t, 50)
	other := func(change func(*bbolt.Tx) error) []byte {
		path := filepath.Join(t.TempDir(), "other.db")
		if change != nil {
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if change == nil {
			change = func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("accounts")); return err }
		}
		if err := errors.Join(db.Update(change), db.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	random := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	for _, row := range []struct {
		why     string
		content []byte
		says    string
	}{
		{"nothing in it", nil, "it is empty"},
		{"one octet", []byte("x"), "not a file that heed wrote"},
		{"a text", []byte(strings.Repeat("User-agent: *\nDisallow: /\n", 1000)), "not a file that heed wrote"},
		{"random octets", random, "not a file that heed wrote"},
		{"zeros", make([]byte, 1<<16), "not a file that heed wrote"},
		{"another program's", other(nil), "another program wrote it"},
		{"a later heed's", other(func(tx *bbolt.Tx) error { return tx.Bucket(bucketFormat).Put(keyFormat, []byte("2")) }), `format "2"`},
		{"a part is missing", other(func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketBodies) }), "lacks a part"},
		{"cut in half", whole[:len(whole)/2], "cut short"},
	} {
		t.Run(row.why, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, DefaultName)
			if err := os.WriteFile(path, row.content, 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			f := begin(t, Config{Path: path, Log: zerolog.New(&log)})
			names, _ := filepath.Glob(path + ".damaged-*")
			if len(names) != 1 || f.Counts().SetAside != 1 {
				t.Fatalf("set aside: %v, counted %d; want one", names, f.Counts().SetAside)
			}
			if kept, err := os.ReadFile(names[0]); err != nil || !bytes.Equal(kept, row.content) {
				t.Errorf("what was set aside is not what was there (%v)", err)
			}
			for _, says := range []string{row.says, path, names[0]} {
				if !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), says) {
					t.Errorf("the log does not say %q: %s", says, log.String())
				}
			}
			o, r := numbered(1), storetest.Successful("x")
			f.Save(o, r)
			flush(t, f)
			holds(t, f, o, r)
		})
	}
}

func TestFileCutShortAnywhereIsNoHarm(t *testing.T) {
	t.Parallel()
	whole, want := sample(t, 90)
	page := os.Getpagesize()
	for size := 0; size < len(whole); size += page {
		for _, n := range []int{size, size + 1, size + page/2} {
			if n >= len(whole) || testing.Short() && n > 20*page {
				continue
			}
			use(t, whole[:n], copyOf(want))
		}
	}
}

func TestPageThatWasOverwrittenIsNoHarm(t *testing.T) {
	t.Parallel()
	whole, want := sample(t, 90)
	page := os.Getpagesize()
	random := rand.NewChaCha8([32]byte{2})
	for at := 0; at < len(whole); at += page {
		for _, row := range []struct {
			why  string
			fill func([]byte)
		}{
			{"zeros", func(b []byte) { clear(b) }},
			{"ones", func(b []byte) {
				for i := range b {
					b[i] = 0xff
				}
			}},
			{"random octets", func(b []byte) { _, _ = random.Read(b) }},
			{"random octets behind the header", func(b []byte) { _, _ = random.Read(b[16:]) }},
			{"the page before", func(b []byte) { copy(b, whole[max(0, at-page):]) }},
			{"a page of another place under its own number", func(b []byte) { copy(b[8:], whole[(at+7*page)%len(whole):][8:page]) }},
		} {
			b := bytes.Clone(whole)
			row.fill(b[at : at+page])
			if found, _ := use(t, b, copyOf(want)); t.Failed() {
				t.Fatalf("page %d, %s: %d records", at/page, row.why, found)
			}
		}
	}
}

func TestOctetThatWasChangedIsNoHarm(t *testing.T) {
	t.Parallel()
	whole, want := sample(t, 120)
	random := rand.New(rand.NewPCG(3, 4))
	n := 120
	if testing.Short() {
		n = 40
	}
	for range n {
		b := bytes.Clone(whole)
		at := random.IntN(len(b))
		b[at] ^= 1 << random.IntN(8)
		if use(t, b, copyOf(want)); t.Failed() {
			t.Fatalf("octet %d", at)
		}
	}
}

// The file is cut short, or overwritten, while heed has it open.
func TestFileThatIsDamagedInUseIsReplaced(t *testing.T) {
	for _, row := range []struct {
		why    string
		damage func(t *testing.T, path string)
	}{
		{"cut to nothing", func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) }},
		{"cut to its first pages", func(t *testing.T, path string) { check(t, os.Truncate(path, int64(2*os.Getpagesize()))) }},
		{"overwritten", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			check(t, err)
			info, err := f.Stat()
			check(t, err)
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size())), 0)
			check(t, errors.Join(err, f.Close()))
		}},
	} {
		for _, first := range []string{"read", "write"} {
			t.Run(row.why+", then "+first, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), DefaultName)
				var log bytes.Buffer
				f := begin(t, Config{Path: path, Delay: time.Millisecond, Log: zerolog.New(&log)})
				for i := range 500 {
					f.Save(numbered(i), storetest.Successful(bodyOf(i)))
				}
				flush(t, f)
				row.damage(t, path)
				if first == "read" {
					for i := range 500 {
						if r, ok, _ := f.Load(t.Context(), numbered(i)); ok && string(r.Body) != bodyOf(i) {
							t.Fatalf("%d has the body %q", i, r.Body)
						}
					}
				}
				o, r := storetest.HTTPS("new.example"), storetest.Successful("new")
				f.Save(o, r)
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
					holds(t, f, o, r) // all the time
					if f.Counts().SetAside == 1 && f.Flush(t.Context()) == nil {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("no new file: %+v\n%s", f.Counts(), log.String())
					}
				}
				holds(t, f, o, r)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(log.String(), "set aside") {
					t.Errorf("the log does not say it: %s", log.String())
				}
				f = begin(t, Config{Path: path})
				holds(t, f, o, r)
			})
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzDamagedFile(f *testing.F) {
	whole, want := sample(f, 120)
	f.Add(uint32(4096), []byte("octets"), false)
	f.Add(uint32(len(whole)/2), []byte{}, true)
	f.Fuzz(func(t *testing.T, at uint32, octets []byte, cut bool) {
		b := bytes.Clone(whole)
		place := int(at) % len(b)
		copy(b[place:], octets)
		if cut {
			b = b[:place]
		}
		use(t, b, copyOf(want))
	})
}
