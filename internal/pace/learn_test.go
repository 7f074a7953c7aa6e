package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAnotherRobotsTxtWaitsForWhatTheFirstSays: nobody knows at first which gap a
// host wants.
func TestAnotherRobotsTxtWaitsForWhatTheFirstSays(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		why   string
		takes time.Duration // the first fetch
		then  func(*rig)    // once it is over
		want  []time.Duration
	}{
		{"it asks for a gap", 100 * ms, func(r *rig) { r.begin(request{Request: Request{Interval: 2 * s, Hold: 10 * s}}) }, []time.Duration{0, 2*s + 100*ms, 4*s + 100*ms}},
		{"it asks for none", 100 * ms, func(r *rig) { r.begin(request{}) }, []time.Duration{0, 100 * ms, 100 * ms}},
		{"it asks for a gap, and disallows", 100 * ms, func(r *rig) { r.Teach("a.example", 2*s) }, []time.Duration{0, 2*s + 100*ms}},
		{"it asks for none, and disallows", 100 * ms, func(r *rig) { r.Teach("a.example", 0) }, []time.Duration{0, 100 * ms}},
		{"nobody asks by it", 100 * ms, func(*rig) {}, []time.Duration{0, 100*ms + reading}},
		{"it hangs", 10 * s, func(*rig) {}, []time.Duration{0, connecting}},
	} {
		inBubble(t, Config{}, func(r *rig) {
			hold := Request{Hold: time.Minute}
			first := make(chan struct{})
			r.wg.Go(func() { defer close(first); _ = r.do(request{Request: hold, robots: true, takes: c.takes}) })
			synctest.Wait()
			r.begin(request{Request: hold, robots: true})
			<-first
			c.then(r)
			r.wg.Wait()
			t.Log(c.why)
			r.wantGone(c.want...)
		})
	}
}

// TestARobotsTxtKeepsTheGapThatWasAskedFor, though nobody was let go yet for whom
// it was asked.
func TestARobotsTxtKeepsTheGapThatWasAskedFor(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		_ = r.do(request{robots: true})
		r.begin(request{Request: Request{Interval: 14 * s, Hold: s}})
		for range 3 {
			r.begin(request{Request: Request{Hold: time.Minute}, robots: true})
		}
		r.wg.Wait()
		r.wantGone(0, 14*s, 28*s, 42*s)
	})
}
