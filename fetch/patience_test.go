package fetch

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

// TestWhoCannotWaitForTheTurnIsToldAtOnce, and finds what was fetched when the turn
// has come, though nobody waited.
func TestWhoCannotWaitForTheTurnIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: 8 * time.Second}
		f := newFetcher(t, Config{Turn: s.of, Transport: answers(404, "")})
		o := at(t, "a.example")
		began := time.Now()
		_, held, err := f.Await(t.Context(), o, Patience{Hold: 3 * time.Second, Wait: 10 * time.Second})
		if !errors.Is(err, early{}) || time.Since(began) != 0 || held != (Held{}) {
			t.Errorf("%v after %v, held %+v", err, time.Since(began), held)
		}
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if _, known := f.Remembered(o, time.Now()); !known {
			t.Error("it was not fetched")
		}
	})
}

// TestTheTimeOfAFetchBeginsWithItsTurn: who is held for longer waits for that, and
// then for the fetch.
func TestTheTimeOfAFetchBeginsWithItsTurn(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration
		err   error
		took  time.Duration
	}{
		{4 * time.Second, nil, 19 * time.Second},
		{6 * time.Second, context.DeadlineExceeded, 20 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &turns{wait: 15 * time.Second}
			slow := script(func(r *http.Request) (*http.Response, error) {
				time.Sleep(row.takes)
				return answers(404, "").RoundTrip(r)
			})
			f := newFetcher(t, Config{Turn: s.of, Transport: slow})
			began := time.Now()
			_, held, err := f.Await(t.Context(), at(t, "a.example"), Patience{Hold: time.Minute, Wait: 5 * time.Second})
			if !errors.Is(err, row.err) || time.Since(began) != row.took {
				t.Errorf("a fetch that takes %v: %v after %v, want %v after %v", row.takes, err, time.Since(began), row.err, row.took)
			}
			if held.Time != 15*time.Second || !errors.Is(held.By, early{}) {
				t.Errorf("held %+v", held)
			}
		})
	}
}

// TestATurnOfWhichNobodyKnowsWhenItComesIsWaitedForAsLongAsTheHold.
func TestATurnOfWhichNobodyKnowsWhenItComesIsWaitedForAsLongAsTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: 8 * time.Second, blind: true}
		f := newFetcher(t, Config{Turn: s.of, Transport: answers(404, "")})
		began := time.Now()
		_, held, err := f.Await(t.Context(), at(t, "a.example"), Patience{Hold: 3 * time.Second, Wait: 10 * time.Second})
		if !errors.Is(err, early{}) || time.Since(began) != 3*time.Second || held.Time != 3*time.Second {
			t.Errorf("%v after %v, held %+v", err, time.Since(began), held)
		}
	})
}

// TestATurnThatIsPushedBackIsRefusedThen, and not at the end of the hold.
func TestATurnThatIsPushedBackIsRefusedThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: 2 * time.Second, pushed: time.Hour}
		f := newFetcher(t, Config{Turn: s.of, Transport: answers(404, "")})
		began := time.Now()
		_, _, err := f.Await(t.Context(), at(t, "a.example"), Patience{Hold: time.Minute, Wait: 10 * time.Second})
		if !errors.Is(err, early{}) || time.Since(began) != 2*time.Second+looksAgain {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestATurnThatLearnsLaterHowLateItIsIsRefusedThen: until it knows it is the fetch
// that is waited for.
func TestATurnThatLearnsLaterHowLateItIsIsRefusedThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: 8 * time.Second, learns: 400 * time.Millisecond}
		f := newFetcher(t, Config{Turn: s.of, Transport: answers(404, "")})
		began := time.Now()
		_, held, err := f.Await(t.Context(), at(t, "a.example"), Patience{Hold: 3 * time.Second, Wait: 10 * time.Second})
		if !errors.Is(err, early{}) || time.Since(began) != 2*looksAgain || held != (Held{}) {
			t.Errorf("%v after %v, held %+v", err, time.Since(began), held)
		}
	})
}

// TestTheContextOfWhoIsHeldBoundsTheHold, as well as the fetch.
func TestTheContextOfWhoIsHeldBoundsTheHold(t *testing.T) {
	for _, row := range []struct {
		wait time.Duration // for the turn
		want error
		took time.Duration
	}{
		{8 * time.Second, early{}, 0},
		{time.Second, context.DeadlineExceeded, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &turns{wait: row.wait}
			slow := script(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			f := newFetcher(t, Config{Turn: s.of, Transport: slow})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			if _, _, err := f.Await(ctx, at(t, "a.example"), Patience{Hold: time.Minute, Wait: time.Minute}); !errors.Is(err, row.want) || time.Since(began) != row.took {
				t.Errorf("%v after %v, want %v after %v", err, time.Since(began), row.want, row.took)
			}
		})
	}
}

// TestWhoGoesAwayWhileHeldTakesTheFetchWithHim, if he was not told to come back.
func TestWhoGoesAwayWhileHeldTakesTheFetchWithHim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: 8 * time.Second}
		f := newFetcher(t, Config{Turn: s.of, Transport: answers(404, "")})
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		_, held, err := f.Await(ctx, at(t, "a.example"), Patience{Hold: time.Minute, Wait: time.Minute})
		if !errors.Is(err, context.Canceled) || held.Time != time.Second {
			t.Errorf("%v, held %+v", err, held)
		}
		synctest.Wait()
		if n := f.Stats().Fetching; n != 0 {
			t.Errorf("%d wait for a turn that nobody waits for", n)
		}
	})
}

// TestOnlySoManyFetchesGoOnThatNobodyWaitsFor: they are those that clients who come
// and go can pile up.
func TestOnlySoManyFetchesGoOnThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: 8 * time.Second}
		f := newFetcher(t, Config{Turn: s.of, Concurrency: 2, Transport: answers(404, "")})
		come := func() {
			for _, host := range []string{"a.example", "b.example", "c.example"} {
				if _, _, err := f.Await(t.Context(), at(t, host), Patience{Wait: time.Second}); !errors.Is(err, early{}) {
					t.Errorf("%s: %v", host, err)
				}
			}
			synctest.Wait()
		}
		come()
		come()
		if n := f.Stats().Fetching; n != 2 {
			t.Errorf("%d go on, want 2", n)
		}
		time.Sleep(9 * time.Second)
		if s, err := f.Snapshot(t.Context(), at(t, "b.example")); err != nil || s.Access != policy.Unavailable {
			t.Errorf("%v, %v", s.Access, err)
		}
		if _, _, err := f.Await(t.Context(), at(t, "c.example"), Patience{Wait: time.Second}); !errors.Is(err, early{}) {
			t.Error(err)
		}
		synctest.Wait()
		if n := f.Stats().Fetching; n != 1 {
			t.Errorf("%d go on once there is room, want 1", n)
		}
	})
}
