package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// after answers when some time has passed, unless the request ends before.
func after(d time.Duration, s script) script {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return s(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

func TestAThousandCallersShareOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var joined atomic.Int64
		transport := &counted{answer: after(time.Second, answers(200, closedFile))}
		f := newFetcher(t, Config{Transport: transport, Observe: Observer{Joined: func(origin.Origin) { joined.Add(1) }}})
		o := at(t, "a.example")
		got := make([]*policy.Snapshot, 1000)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = snapshot(t, f, o) })
		}
		synctest.Wait()
		if n := f.Stats().Fetching; n != 1 {
			t.Errorf("%d fetches under way", n)
		}
		wg.Wait()
		for i, s := range got {
			if s.Rules != got[0].Rules || s.Checked != got[0].Checked || s.Access != policy.Successful {
				t.Fatalf("caller %d got another snapshot: %+v", i, s)
			}
		}
		if transport.asked.Load() != 1 || joined.Load() != 999 {
			t.Errorf("%d requests, %d joined", transport.asked.Load(), joined.Load())
		}
	})
}

func TestTheFirstCallerGoesAndTheFetchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: after(5*time.Second, answers(200, closedFile))}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			start := time.Now()
			s, err := f.Snapshot(ctx, o)
			if s.URL != "" || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("the caller who left: %v, %v after %v", s, err, time.Since(start))
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if s := snapshot(t, f, o); s.Access != policy.Successful {
				t.Errorf("the caller who stayed: %+v", s)
			}
		})
		wg.Wait()
		if s := snapshot(t, f, o); s.Access != policy.Successful || transport.asked.Load() != 1 {
			t.Errorf("after it: %+v, %d requests", s, transport.asked.Load())
		}
	})
}

func TestAFetchThatEverybodyLeftIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: after(5*time.Second, answers(200, closedFile))}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, err := f.Snapshot(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		time.Sleep(10 * time.Second)
		if s, ok := f.Remembered(o, time.Now()); !ok || s.Access != policy.Successful || transport.asked.Load() != 1 {
			t.Errorf("%+v, %v, %d requests", s, ok, transport.asked.Load())
		}
	})
}

func TestACallerWhoseTimeIsOverStartsNothing(t *testing.T) {
	transport := &counted{answer: answers(200, "")}
	f := newFetcher(t, Config{Transport: transport})
	o := at(t, "a.example")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := f.Snapshot(ctx, o); s.URL != "" || !errors.Is(err, context.Canceled) || transport.asked.Load() != 0 {
		t.Errorf("%v, %v, %d requests", s, err, transport.asked.Load())
	}
	snapshot(t, f, o)
	if s, err := f.Snapshot(ctx, o); s.URL == "" || err != nil {
		t.Errorf("what is remembered needs no time: %v, %v", s, err)
	}
}

func TestTheTimeoutIsThatOfTheFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: after(time.Hour, answers(200, ""))}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		start := time.Now()
		s := snapshot(t, f, o)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		if s.Access != policy.Unreachable || s.Err != "no complete answer in time: context deadline exceeded" || s.Attempts != 1 {
			t.Errorf("%+v", s)
		}
		if snapshot(t, f, o); transport.asked.Load() != 1 {
			t.Error("not remembered")
		}
	})
}

// The wait for a slot does not count towards the timeout, so heed's own load
// is never taken for an origin's silence; and one origin's silence holds up
// another one only when all slots are taken.
func TestFetchesAreBoundedAndWaitWithoutTimingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		transport := script(func(r *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return after(6*time.Second, answers(200, ""))(r)
		})
		var waited atomic.Int64
		f := newFetcher(t, Config{Transport: transport, Concurrency: 3, Observe: Observer{Fetched: func(e Event) {
			waited.Store(max(waited.Load(), int64(e.Waited)))
		}}})
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				if s := snapshot(t, f, at(t, fmt.Sprintf("h%d.example", i))); s.Access != policy.Successful {
					t.Errorf("origin %d: %+v", i, s)
				}
			})
		}
		wg.Wait()
		if most.Load() != 3 || time.Since(start) != 24*time.Second {
			t.Errorf("%d at a time, in %v", most.Load(), time.Since(start))
		}
		if time.Duration(waited.Load()) != 18*time.Second {
			t.Errorf("the last one waited %v", time.Duration(waited.Load()))
		}
	})
}

func TestAFetchThatNobodyWaitsForIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: after(8*time.Second, answers(200, ""))}
		f := newFetcher(t, Config{Transport: transport, Concurrency: 1})
		a, b := at(t, "a.example"), at(t, "b.example")
		var wg sync.WaitGroup
		wg.Go(func() { snapshot(t, f, a) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for range 3 {
			wg.Go(func() {
				if _, err := f.Snapshot(ctx, b); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %v", err)
				}
			})
		}
		time.Sleep(2 * time.Second)
		if n := f.Stats().Fetching; n != 1 {
			t.Errorf("%d fetches under way or waiting, want 1", n)
		}
		wg.Go(func() { // it can still be asked for
			if s := snapshot(t, f, b); s.Access != policy.Successful {
				t.Errorf("%+v", s)
			}
		})
		wg.Wait()
		if n := transport.asked.Load(); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

func TestCloseEndsFetchesAndRemembersNothingOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: after(time.Hour, answers(200, ""))}
		f := New(Config{Transport: transport, Concurrency: 1})
		known := at(t, "known.example")
		transport.becomes(answers(200, ""))
		snapshot(t, f, known)
		transport.becomes(after(time.Hour, answers(200, "")))
		var wg sync.WaitGroup
		for i := range 2 { // one with a slot, one waiting for it
			wg.Go(func() {
				s := snapshot(t, f, at(t, fmt.Sprintf("h%d.example", i)))
				if s.Access != policy.Unreachable || s.Err != "heed is shutting down" || s.Attempts != 0 || allowed(s, "/") {
					t.Errorf("%+v", s)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		f.Close()
		wg.Wait()
		if time.Since(start) != 0 {
			t.Errorf("Close took %v", time.Since(start))
		}
		if s := snapshot(t, f, at(t, "late.example")); s.Access != policy.Unreachable || s.Err != "heed is shutting down" {
			t.Errorf("a late caller: %+v", s)
		}
		if s := snapshot(t, f, known); s.Access != policy.Successful {
			t.Errorf("what is in memory: %+v", s)
		}
		if n := f.Stats(); n.Origins != 1 || n.Fetching != 0 {
			t.Errorf("%+v", n)
		}
		f.Close() // once more does no harm
	})
}

// Callers who come and go at random, over few origins: one fetch at a time for
// each, everybody gets an answer or their own error, nothing is left over.
func TestCallersComeAndGo(t *testing.T) {
	var running sync.Map
	f := New(Config{Concurrency: 2, FreshFor: time.Microsecond, Transport: script(func(r *http.Request) (*http.Response, error) {
		if _, twice := running.LoadOrStore(r.Host, true); twice {
			t.Errorf("%s is asked twice at the same time", r.Host)
		}
		defer running.Delete(r.Host)
		return after(50*time.Microsecond, answers(200, closedFile))(r)
	})})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%7)*40*time.Microsecond)
				s, err := f.Snapshot(ctx, at(t, fmt.Sprintf("h%d.example", (g+i)%5)))
				cancel()
				if (s.URL == "") == (err == nil) {
					t.Errorf("Snapshot = %v, %v", s, err)
				}
				if err == nil && (s.Access != policy.Successful || allowed(&s, "/private/x")) {
					t.Errorf("%+v", s)
				}
			}
		})
	}
	wg.Wait()
	f.Close()
	if n := f.Stats().Fetching; n != 0 || len(f.retriever.gate.places) != 0 {
		t.Errorf("%d flights and %d slots left over", n, len(f.retriever.gate.places))
	}
}
