package pace

import (
	"errors"
	"testing"
	"time"
)

// TestATurnTellsWhenItComes, and why not before.
func TestATurnTellsWhenItComes(t *testing.T) {
	inBubble(t, Config{PerOrigin: 2}, func(r *rig) {
		var robots, free Turn
		due := func(turn *Turn, in time.Duration, want *Refusal) {
			t.Helper()
			got, late := turn.Due()
			refusal, _ := errors.AsType[*Refusal](late)
			if got != in || (refusal == nil) != (want == nil) || want != nil && *refusal != *want {
				t.Errorf("due in %v, %+v; want %v, %+v", got, refusal, in, want)
			}
		}
		due(&free, 0, nil)
		_ = r.do(request{Request: Request{Interval: 8 * s, Hold: s}})
		time.Sleep(3 * s)
		r.begin(request{Request: Request{Interval: 8 * s, Hold: time.Minute}}) // which it goes before
		if err := r.AskRobots(r.t.Context(), &robots, Request{Host: "a.example", Hold: time.Minute}); err != nil {
			t.Fatal(err)
		}
		due(&robots, 5*s, &Refusal{Host: "a.example", Cause: Site, Interval: 8 * s, Retry: 5 * s})
		time.Sleep(4500 * time.Millisecond)
		due(&robots, 500*time.Millisecond, &Refusal{Host: "a.example", Cause: Site, Interval: 8 * s, Retry: s})
		if err := robots.Wait(r.t.Context()); err != nil {
			t.Fatal(err)
		}
		due(&robots, 0, nil)
		robots.End()
		due(&robots, 0, nil)
		r.wg.Wait()
	})
}

// TestOfATurnThatWaitsForOthersToEndNobodyKnowsWhenItComes.
func TestOfATurnThatWaitsForOthersToEndNobodyKnowsWhenItComes(t *testing.T) {
	inBubble(t, Config{PerOrigin: 1}, func(r *rig) {
		r.begin(request{Request: Request{}, takes: time.Minute})
		var robots Turn
		if err := r.AskRobots(r.t.Context(), &robots, Request{Host: "a.example", Hold: time.Hour}); err != nil {
			t.Fatal(err)
		}
		in, late := robots.Due()
		if refusal, _ := errors.AsType[*Refusal](late); in != 0 || refusal == nil || refusal.Cause != Concurrency || refusal.Retry != s {
			t.Errorf("due in %v, %+v", in, late)
		}
		robots.End()
		r.wg.Wait()
	})
}

// TestWhoIsPromisedATurnBehindAnotherComesBackForIt: the other is that of the
// robots.txt, and the page has its own an interval later. Those who are promised one
// after the other do not come together.
func TestWhoIsPromisedATurnBehindAnotherComesBackForIt(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		_ = r.do(request{Request: Request{Interval: 8 * s, Hold: s}})
		var robots Turn
		if err := r.AskRobots(r.t.Context(), &robots, Request{Host: "a.example", Port: "443", Hold: time.Minute}); err != nil {
			t.Fatal(err)
		}
		in, _ := robots.Due()
		page := func(what string) Request {
			return Request{Host: "a.example", Port: "443", By: Asker{Client: "c"}, What: what, Interval: 8 * s}
		}
		for i, row := range []struct {
			what string
			want time.Duration
		}{{"/1", 16 * s}, {"/2", 24 * s}, {"/1", 16 * s}} {
			if got := r.Promise(page(row.what), in); got != row.want {
				t.Errorf("the %dth, for %s, is to come back in %v, want %v", i+1, row.what, got, row.want)
			}
		}
		if n := r.State(1).Waiting; n != 1 {
			t.Errorf("%d wait, want the robots.txt alone", n)
		}
		if err := robots.Wait(r.t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = robots.Send(r.t.Context())
		robots.End()
		for i, what := range []string{"/1", "/2"} {
			time.Sleep(time.Duration(16+8*i)*s - r.since())
			if err := r.do(request{Request: page(what), by: "c"}); err != nil {
				t.Errorf("%s, when it was told to come back: %v", what, err)
			}
		}
	})
}

// TestOfASecondRobotsTxtNothingIsToldWhileTheFirstIsOnItsWay: what that says is when
// it comes.
func TestOfASecondRobotsTxtNothingIsToldWhileTheFirstIsOnItsWay(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		var first, second Turn
		for _, turn := range []*Turn{&first, &second} {
			if err := r.AskRobots(r.t.Context(), turn, Request{Host: "a.example", Hold: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		if _, late := second.Due(); late != nil || !second.Waits() {
			t.Errorf("it is told %v", late)
		}
		_ = first.Send(r.t.Context())
		first.Answered(200, 0)
		first.End()
		r.begin(request{Request: Request{Interval: 8 * s, Hold: time.Minute}})
		if in, late := second.Due(); in != 8*s || late == nil {
			t.Errorf("then it comes in %v: %v", in, late)
		}
		second.End()
		r.wg.Wait()
	})
}
