package fetch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// A busy origin is asked before its robots.txt expires, and nobody waits.
func TestABusyOriginNeverKeepsAnybodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: after(5*time.Second, answers(200, closedFile))}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		for began := time.Now(); time.Since(began) < 10*24*time.Hour; time.Sleep(10 * time.Minute) {
			now := time.Now()
			if s := snapshot(t, f, o); time.Since(now) != 0 || s.Access != policy.Successful || !s.FreshUntil.After(now) {
				t.Fatalf("after %v a caller waited %v for %+v", time.Since(began), time.Since(now), s)
			}
		}
		if n := transport.asked.Load(); n < 10 || n > 12 {
			t.Errorf("%d requests in ten days, want one in 23 hours or so", n)
		}
	})
}

// 1,000 lookups in the time before expiry start one fetch.
func TestOneFetchIsMadeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		transport.becomes(after(time.Second, answers(200, closedFile)))
		time.Sleep(23*time.Hour + time.Minute)
		for range 1000 {
			snapshot(t, f, o)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		if n := transport.asked.Load(); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

func TestAnOriginThatNobodyAsksForIsNotFetchedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport})
		snapshot(t, f, at(t, "a.example"))
		time.Sleep(30 * 24 * time.Hour)
		if n := transport.asked.Load(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// A fetch ahead that fails changes nothing while what is known is fresh, but
// the pause it sets is kept also once that has expired.
func TestAFetchAheadThatFailsLeavesWhatIsFresh(t *testing.T) {
	for _, first := range []script{answers(200, closedFile), answers(404, ""), answers(403, "")} {
		synctest.Test(t, func(t *testing.T) {
			transport := &counted{answer: first}
			f := newFetcher(t, Config{Transport: transport, Refusals: true})
			o := at(t, "a.example")
			good := snapshot(t, f, o)
			transport.becomes(answers(503, "", "Retry-After: 7200"))
			time.Sleep(23*time.Hour + 30*time.Minute)
			snapshot(t, f, o)
			synctest.Wait()
			s := snapshot(t, f, o)
			if s.Access != good.Access || s.Rules != good.Rules || s.Status != good.Status || s.FreshUntil != good.FreshUntil || !s.StaleSince.IsZero() {
				t.Errorf("still fresh: %+v", s)
			}
			if s.Attempts != 1 || s.Err != "status 503" || s.Checked.Equal(good.Checked) {
				t.Errorf("the failure is not seen: %+v", s)
			}
			if allowed(s, "/public") != allowed(good, "/public") {
				t.Errorf("/public: %v", allowed(s, "/public"))
			}
			time.Sleep(time.Hour) // it has expired, and the pause lasts on
			s = snapshot(t, f, o)
			if n := transport.asked.Load(); n != 2 {
				t.Errorf("%d requests, want 2: the pause was broken", n)
			}
			if s.Access != policy.Unreachable || s.Status != 503 || (s.Rules != nil) != (good.Rules != nil) || s.RetryAfter != 2*time.Hour {
				t.Errorf("expired: %+v", s)
			}
			if good.Rules == nil && allowed(s, "/public") {
				t.Error("an unreachable origin without rules is open")
			}
		})
	}
}

func TestCloseEndsAFetchAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		transport.becomes(after(time.Hour, answers(200, closedFile)))
		time.Sleep(23*time.Hour + 30*time.Minute)
		snapshot(t, f, o)
		synctest.Wait()
		f.Close()
		if s, err := f.Snapshot(context.Background(), o); err != nil || !allowed(&s, "/public") {
			t.Errorf("what is fresh is there when closed: %v, %+v", err, s)
		}
	})
}

// Nobody waits for what is fetched ahead, so that nobody's patience bounds how
// much of it there is: a crawl that comes back a day later finds all due at once.
func TestFetchesAheadDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport, Concurrency: 10})
		var origins []origin.Origin
		for i := range 1000 {
			origins = append(origins, at(t, fmt.Sprintf("a%d.example", i)))
			snapshot(t, f, origins[i])
		}
		time.Sleep(23*time.Hour + time.Minute)
		transport.becomes(after(5*time.Second, answers(200, closedFile)))
		for range 100 {
			for _, o := range origins {
				snapshot(t, f, o)
			}
			synctest.Wait()
			if n := f.Stats().Fetching; n != 10 {
				t.Fatalf("%d fetches under way, want 10", n)
			}
			time.Sleep(6 * time.Second)
		}
		if n := transport.asked.Load(); n != 2000 {
			t.Errorf("%d requests, want 2000: what found no room finds some later", n)
		}
	})
}
