package pace

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestWhoTakesLongToConnectIsOvertaken, and waits for the next moment: that one
// is neither lost nor too early.
func TestWhoTakesLongToConnectIsOvertaken(t *testing.T) {
	for _, c := range []struct {
		why     string
		connect time.Duration
		hold    time.Duration
		want    []time.Duration
	}{
		{"in time for nobody to overtake it", s - 1, time.Minute, []time.Duration{s - 1, 3*s - 1, 5*s - 1}},
		{"between two others", 2 * s, time.Minute, []time.Duration{s, 3 * s, 5 * s}},
		{"after all others", 9 * s, time.Minute, []time.Duration{s, 3 * s, 9 * s}},
		{"overtaken by one, with little time left", 2 * s, s, []time.Duration{s, 3 * s}},
	} {
		inBubble(t, Config{}, func(r *rig) {
			r.begin(request{Request: Request{Interval: 2 * s, Hold: c.hold}, connect: c.connect})
			for range len(c.want) - 1 {
				r.begin(request{Request: Request{Interval: 2 * s, Hold: time.Minute}})
			}
			r.wg.Wait()
			r.wantGone(c.want...)
			if len(r.refused) != 0 {
				t.Errorf("%s: refused: %v", c.why, r.refused[0])
			}
		})
	}
}

// TestWhoNeverConnectsKeepsNobodyWaiting for long, whoever comes then.
func TestWhoNeverConnectsKeepsNobodyWaiting(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{Request: Request{Interval: 2 * s}, connect: time.Hour})
		r.begin(request{Request: Request{Interval: 2 * s, Hold: 3 * s}})
		time.Sleep(10 * s)
		r.begin(request{Request: Request{Interval: 2 * s}})
		r.wg.Wait()
		r.wantGone(s, 10*s, time.Hour)
	})
}

func TestARequestThatIsSentOnceMoreKeepsTheInterval(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		var turn Turn
		ask := func(hold time.Duration) {
			t.Helper()
			if err := r.Ask(r.t.Context(), &turn, Request{Host: "a.example", Interval: 2 * s, Hold: hold}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(turn.Wait(r.t.Context()), turn.Send(r.t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		ask(5 * s)
		if err := turn.Send(r.t.Context()); err != nil || r.since() != 2*s || turn.Waited() != 2*s {
			t.Errorf("once more at %v, having waited %v: %v", r.since(), turn.Waited(), err)
		}
		ctx, leave := context.WithTimeoutCause(r.t.Context(), s, errors.New("gone"))
		defer leave()
		if err := turn.Send(ctx); err == nil || err.Error() != "gone" {
			t.Errorf("who goes away meanwhile: %v", err)
		}
		turn.End()
		ask(2 * s)
		var refusal *Refusal
		if err := turn.Send(r.t.Context()); !errors.As(err, &refusal) || refusal.Cause != Site || refusal.Retry != 2*s {
			t.Errorf("it has waited for one of two seconds: %v", err)
		}
		turn.End()
	})
}

func TestNothingGoesOutAfterTheOriginsWordThatWasOnlyConnecting(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{by: "hasty", connect: s})
		// Not answered at once: who comes in the same moment is told one time, whether
		// the one that went has ended by then or not.
		r.begin(request{by: "patient", Request: Request{Hold: 3 * s}, connect: s, takes: s})
		r.begin(request{by: "second", Request: Request{Hold: 3 * s}, connect: s + 1, takes: s})
		r.begin(request{by: "refused", status: 429, after: 4 * s})
		r.wg.Wait()
		r.wantGone(0, 4*s)
		if n := len(r.refused); n != 2 {
			t.Fatalf("%d were refused", n)
		}
		if f := r.refused[0]; f.at != s || f.by != "hasty" || f.Cause != RetryAfter || f.Retry != 3*s {
			t.Errorf("at %v %s is refused by %v, and told %v", f.at, f.by, f.Cause, f.Retry)
		}
		// Two may go when that is over, and one of them goes.
		if f := r.refused[1]; f.at != 4*s || f.by == "hasty" || f.Cause != BackOff || f.Interval != s || f.Retry != s+s/20 {
			t.Errorf("at %v %s is refused by %v, and told %v", f.at, f.by, f.Cause, f.Retry)
		}
	})
}
