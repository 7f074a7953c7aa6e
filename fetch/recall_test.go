package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// shelf is a store in memory, with what each origin was saved with.
type shelf struct {
	mu      sync.Mutex
	records map[origin.Origin]Record
	bodies  map[[sha256.Size]byte][]byte
	saved   int
	broken  error
}

func newShelf() *shelf {
	return &shelf{records: map[origin.Origin]Record{}, bodies: map[[sha256.Size]byte][]byte{}}
}

func (s *shelf) Load(_ context.Context, o origin.Origin) (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return Record{}, false, s.broken
	}
	r, ok := s.records[o]
	r.Body = s.bodies[r.Sum]
	return r, ok, nil
}

func (s *shelf) Save(o origin.Origin, r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved++
	if r.Body != nil {
		s.bodies[r.Sum] = r.Body
	}
	r.Body = nil
	s.records[o] = r
}

func (s *shelf) Forget(_ context.Context, o origin.Origin) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, o)
	return s.broken
}

// restarted is a fetcher that is started anew on what the last one knew.
func restarted(t *testing.T, s *shelf, transport *counted, c Config) *Fetcher {
	t.Helper()
	c.Transport, c.Store = transport, s
	return newFetcher(t, c)
}

func TestARestartForgetsNothing(t *testing.T) {
	const day = 24 * time.Hour
	for _, r := range []struct {
		why      string
		before   []script      // answers, a day and two hours between them
		down     time.Duration // how long heed is not there
		then     script        // what the origin would answer
		requests int64         // after the restart
		access   policy.Access
		stale    bool
		public   bool
	}{
		{"rules that are fresh", []script{answers(200, closedFile)}, day - 1, fails(errDown), 0, policy.Successful, false, true},
		{"rules that have expired", []script{answers(200, closedFile)}, day, answers(200, "User-agent: *\nDisallow: /\n"), 1, policy.Successful, false, false},
		{"rules that have expired, and are the same", []script{versioned(`"1"`, closedFile)}, day, versioned(`"1"`, "Disallow: /\n"), 1, policy.Successful, false, true},
		{"no file", []script{answers(404, "")}, day - 1, fails(errDown), 0, policy.Unavailable, false, true},
		{"no file, expired", []script{answers(404, "")}, day, fails(errDown), 1, policy.Unreachable, false, false},
		{"a failure and its pause", []script{answers(503, "", "Retry-After: 7200")}, 2*time.Hour - 1, answers(200, ""), 0, policy.Unreachable, false, false},
		{"a failure whose pause is over", []script{answers(503, "", "Retry-After: 7200")}, 2 * time.Hour, answers(200, ""), 1, policy.Successful, false, true},
		{"rules used on, and the pause", []script{answers(200, closedFile), answers(503, "", "Retry-After: 7200")}, 2*time.Hour - 1, answers(200, ""), 0, policy.Unreachable, true, true},
		{"rules used on, the origin still down", []script{answers(200, closedFile), fails(errDown)}, day, fails(errDown), 1, policy.Unreachable, true, true},
		{"rules that are too old by now", []script{answers(200, closedFile), fails(errDown)}, 30 * day, fails(errDown), 1, policy.Unreachable, false, false},
		{"in another charset", []script{answers(200, "User-agent: *\nDisallow: /private/\nDisallow: /\xe9\n", "Content-Type: text/plain; charset=iso-8859-1")}, 1, fails(errDown), 0, policy.Successful, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store, o := newShelf(), at(t, "a.example")
			transport := &counted{}
			f := restarted(t, store, transport, Config{})
			var last *policy.Snapshot
			for i, answer := range r.before {
				if i > 0 {
					time.Sleep(26 * time.Hour)
				}
				transport.becomes(answer)
				last = snapshot(t, f, o)
			}
			f.Close()
			time.Sleep(r.down)
			transport.becomes(r.then)
			transport.asked.Store(0)
			f = restarted(t, store, transport, Config{})
			s := snapshot(t, f, o)
			if n := transport.asked.Load(); n != r.requests {
				t.Errorf("%s: %d requests, want %d", r.why, n, r.requests)
			}
			if s.Access != r.access || s.StaleSince.IsZero() == r.stale || allowed(s, "/public") != r.public || s.Rules != nil && allowed(s, "/private/x") && r.requests == 0 {
				t.Errorf("%s: %+v", r.why, s)
			}
			if r.requests == 0 {
				s.Rules, last.Rules, s.Cause, last.Cause = nil, nil, nil, nil
				if r.stale {
					last.Status = 0 // that of a failure is not kept beside that of the copy; Err names it
				}
				if !reflect.DeepEqual(s, last) {
					t.Errorf("%s: the snapshot became another\n%+v\n%+v", r.why, s, last)
				}
			}
			audit(t, f.memory)
		})
	}
}

// What a store hands back is used for no longer than if it had been obtained
// now, whatever it claims.
func TestAStoreIsNotTrustedWithTime(t *testing.T) {
	const day = 24 * time.Hour
	good := func(now time.Time) Record {
		return Record{
			Access: policy.Successful, Status: 200, Sum: sha256.Sum256([]byte(closedFile)), Body: []byte(closedFile),
			Fetched: now, Checked: now, FreshUntil: now.Add(day), FreshFor: day,
		}
	}
	for _, r := range []struct {
		why      string
		change   func(*Record, time.Time)
		requests int64
		public   bool
	}{
		{"as it is", func(*Record, time.Time) {}, 0, true},
		{"fresh for a year", func(r *Record, now time.Time) { r.Fetched, r.FreshUntil = now.Add(-day), now.Add(364*day) }, 1, true},
		{"obtained tomorrow: the clock was set back", func(r *Record, now time.Time) { r.Fetched, r.FreshUntil = now.Add(day), now.Add(2*day) }, 1, true},
		{"never obtained", func(r *Record, _ time.Time) { r.Fetched = time.Time{} }, 1, false},
		{"rules without a body", func(r *Record, _ time.Time) { r.Body = nil }, 1, false},
		{"nothing at all", func(r *Record, _ time.Time) { *r = Record{} }, 1, false},
		{"unreachable, and never failed", func(r *Record, _ time.Time) { *r = Record{Access: policy.Unreachable} }, 1, false},
		{"an access result that there is none of", func(r *Record, _ time.Time) { r.Access = 77 }, 1, false},
		{"a pause of a year", func(r *Record, now time.Time) {
			*r = Record{Access: policy.Unreachable, Attempts: 1, Checked: now.Add(-day), Retry: now.Add(365 * day)}
		}, 1, false},
		{"a failure of tomorrow", func(r *Record, now time.Time) {
			*r = Record{Access: policy.Unreachable, Attempts: 1, Checked: now.Add(365 * day), Retry: now.Add(366 * day)}
		}, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(24 * time.Hour * 400)
			store, o := newShelf(), at(t, "a.example")
			record := good(time.Now())
			r.change(&record, time.Now())
			store.Save(o, record)
			transport := &counted{answer: fails(errDown)}
			f := restarted(t, store, transport, Config{})
			s := snapshot(t, f, o)
			if n := transport.asked.Load(); n != r.requests || allowed(s, "/public") != r.public || allowed(s, "/private/x") {
				t.Errorf("%s: %d requests, want %d: %+v", r.why, n, r.requests, s)
			}
			time.Sleep(day + time.Hour)
			transport.asked.Store(0)
			if s := snapshot(t, f, o); transport.asked.Load() != 1 {
				t.Errorf("%s: not asked for more than a day: %+v", r.why, s)
			}
		})
	}
}

func TestAStoreThatFailsCostsARequestAndNoMore(t *testing.T) {
	store := newShelf()
	store.broken = errors.New("no disk")
	transport := &counted{answer: answers(200, closedFile)}
	f := restarted(t, store, transport, Config{})
	o := at(t, "a.example")
	for range 3 {
		if s := snapshot(t, f, o); s.Access != policy.Successful || allowed(s, "/private/x") {
			t.Errorf("%+v", s)
		}
	}
	if n := transport.asked.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if err := f.Forget(t.Context(), o); !errors.Is(err, store.broken) {
		t.Errorf("Forget: %v", err)
	}
}

func TestOwnFaultsAreNotSaved(t *testing.T) {
	store := newShelf()
	f := restarted(t, store, &counted{answer: fails(dnsError("i/o timeout", true))}, Config{})
	if s := snapshot(t, f, at(t, "a.example")); s.Access != policy.Unreachable || store.saved != 0 {
		t.Errorf("%d saved: %+v", store.saved, s)
	}
}

// A confirmed body is not handed over again.
func TestABodyIsSavedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf()
		f := restarted(t, store, &counted{answer: versioned(`"1"`, closedFile)}, Config{})
		o := at(t, "a.example")
		snapshot(t, f, o)
		store.bodies = map[[sha256.Size]byte][]byte{}
		time.Sleep(24 * time.Hour)
		if s := snapshot(t, f, o); s.Status != 304 || store.saved != 2 || len(store.bodies) != 0 {
			t.Errorf("%d saved, %d bodies: %+v", store.saved, len(store.bodies), s)
		}
		if r := store.records[o]; r.Sum != sha256.Sum256([]byte(closedFile)) || r.ETag != `"1"` || r.Access != policy.Successful {
			t.Errorf("%+v", r)
		}
	})
}

func TestWhatIsForgottenIsAskedAgain(t *testing.T) {
	store := newShelf()
	transport := &counted{answer: answers(200, closedFile)}
	f := restarted(t, store, transport, Config{})
	a, b := at(t, "a.example"), at(t, "b.example")
	snapshot(t, f, a)
	snapshot(t, f, b)
	if err := f.Forget(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := f.Forget(t.Context(), at(t, "never.example")); err != nil {
		t.Fatal(err)
	}
	if _, ok := store.records[a]; ok || f.Stats().Origins != 1 || f.Stats().Bodies != 1 {
		t.Errorf("kept %v, %+v", ok, f.Stats())
	}
	snapshot(t, f, a)
	snapshot(t, f, b)
	if n := transport.asked.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	audit(t, f.memory)
}

// The charset matters to a dialect that asks for it, also after a restart with
// another configuration.
func TestTheDeclaredCharsetIsKept(t *testing.T) {
	for charset, want := range map[string]bool{"; charset=UTF-8": true, "": false} {
		store, o := newShelf(), at(t, "a.example")
		transport := &counted{answer: answers(200, latin, "Content-Type: text/plain"+charset)}
		snapshot(t, restarted(t, store, transport, Config{}), o)
		s := snapshot(t, restarted(t, store, transport, Config{Cautious: true}), o)
		asked := policy.Tokens{Main: []string{"x"}, Fields: []string{"x café/1.0"}}
		if d := s.Decide(asked, "/"); s.UTF8 != want || d.Allowed == want || transport.asked.Load() != 1 {
			t.Errorf("%q: UTF8 %v, %v, %d requests", charset, s.UTF8, d, transport.asked.Load())
		}
	}
}

// What memory had to drop is in the store, and costs the origin nothing.
func TestWhatMemoryDropsTheStoreHas(t *testing.T) {
	store := newShelf()
	transport := &counted{answer: answers(200, closedFile)}
	f := restarted(t, store, transport, Config{MemoryBytes: 100_000})
	for range 3 {
		for i := range 2000 {
			if s := snapshot(t, f, host(i)); allowed(s, "/private/x") || !allowed(s, "/public") {
				t.Fatalf("%+v", s)
			}
		}
	}
	if n := transport.asked.Load(); n != 2000 {
		t.Errorf("%d requests, want 2000", n)
	}
	audit(t, f.memory)
}

// hooked is a store that does something else before it loads or forgets.
type hooked struct {
	*shelf
	load, forget func()
}

func (h hooked) Load(ctx context.Context, o origin.Origin) (Record, bool, error) {
	r, ok, err := h.shelf.Load(ctx, o)
	h.load()
	return r, ok, err
}

func (h hooked) Forget(ctx context.Context, o origin.Origin) error {
	h.forget()
	return h.shelf.Forget(ctx, o)
}

func TestALookupMeanwhileDoesNotBringBackWhatIsForgotten(t *testing.T) {
	store, o := newShelf(), at(t, "a.example")
	transport := &counted{answer: answers(200, closedFile)}
	var f *Fetcher
	f = newFetcher(t, Config{Transport: transport, Store: hooked{store, func() {}, func() { snapshot(t, f, o) }}})
	snapshot(t, f, o)
	if err := f.Forget(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Remembered(o, time.Now()); ok {
		t.Error("it is still there")
	}
}

// A flight that is given up while it reads the store does not put what it read
// in place of what another one has learnt since.
func TestAFlightThatIsGivenUpLeavesMemoryAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, o := newShelf(), at(t, "a.example")
		transport := &counted{answer: answers(200, closedFile)}
		snapshot(t, newFetcher(t, Config{Transport: transport, Store: store}), o)
		time.Sleep(25 * time.Hour)
		release := make(chan struct{})
		var read atomic.Bool
		f := newFetcher(t, Config{Transport: transport, Store: hooked{store, func() {
			if read.CompareAndSwap(false, true) {
				<-release
			}
		}, nil}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Snapshot(ctx, o); err == nil {
			t.Fatal("it did not wait")
		}
		transport.becomes(answers(200, "User-agent: *\nDisallow: /\n"))
		snapshot(t, f, o)
		close(release)
		synctest.Wait()
		if s, ok := f.Remembered(o, time.Now()); !ok || allowed(&s, "/public") {
			t.Errorf("%+v", s)
		}
	})
}

// A body that the limit cut is asked for anew by a process that may have another
// limit, rather than confirmed.
func TestABodyThatWasCutIsNotConfirmedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, o := newShelf(), at(t, "a.example")
		long := closedFile + strings.Repeat("#\n", policy.DefaultLimit/2) + "Disallow: /late/\n"
		transport := &counted{answer: versioned(`"1"`, long)}
		f := restarted(t, store, transport, Config{})
		if s := snapshot(t, f, o); !s.Truncated || !allowed(s, "/late/") {
			t.Fatalf("%+v", s)
		}
		time.Sleep(24 * time.Hour)
		if s := snapshot(t, f, o); s.Status != 304 {
			t.Errorf("not confirmed within a process: %+v", s)
		}
		f.Close()
		time.Sleep(24 * time.Hour)
		f = restarted(t, store, transport, Config{Limit: 2 * policy.DefaultLimit})
		if s := snapshot(t, f, o); s.Truncated || allowed(s, "/late/") {
			t.Errorf("still cut: status %d, truncated %v", s.Status, s.Truncated)
		}
	})
}
