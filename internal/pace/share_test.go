package pace

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestNamesOfOneClientShareFairly: of two that tell a host's turns apart by their
// User-Agent alone, each gets half, though one has many connections and the other
// one. They come back in whole seconds, as Retry-After has them, and some
// milliseconds late.
func TestNamesOfOneClientShareFairly(t *testing.T) {
	for _, c := range []struct {
		interval, hold time.Duration
		many, few      int
	}{
		{s / 5, 3 * s, 30, 1},
		{s / 2, s, 16, 1}, // a hold of two intervals: the second turn comes as it ends
		{s / 2, 3 * s, 16, 1},
		{3 * s / 2, 3 * s, 30, 1},
		{2 * s, s, 16, 1}, // nobody can wait for the next turn but one
		{2 * s, 3 * s, 16, 1},
		{2 * s, 3 * s, 32, 4},
		{5 * s, 3 * s, 16, 1},
		{5 * s, 3 * s, 16, 16},
	} {
		inBubble(t, Config{}, func(r *rig) {
			const long = 10 * time.Minute
			ctx, stop := context.WithTimeout(r.t.Context(), long)
			defer stop()
			for name, requests := range map[string]int{"many": c.many, "few": c.few} {
				for i := range requests {
					late := rand.New(rand.NewPCG(uint64(i), uint64(requests)))
					r.wg.Go(func() {
						for n := 0; ctx.Err() == nil; time.Sleep(time.Duration(late.IntN(20)) * time.Millisecond) {
							what := name + string(rune('a'+i)) + string(rune('0'+n))
							err := r.doCtx(ctx, request{Request: Request{Interval: c.interval, Hold: c.hold, What: what}, agent: name})
							var refusal *Refusal
							if errors.As(err, &refusal) {
								time.Sleep(time.Duration(math.Ceil(refusal.Retry.Seconds())) * s)
							} else {
								n++
							}
						}
					})
				}
			}
			r.wg.Wait()
			r.wantGaps(c.interval)
			if j := r.jain("many", "few"); j < 0.95 {
				t.Errorf("an interval of %v, a hold of %v, %d and %d requests: Jain's index is %.3f", c.interval, c.hold, c.many, c.few, j)
			}
			if n, all := len(r.gone), int(long/c.interval); n < all*95/100 {
				t.Errorf("an interval of %v, a hold of %v: %d of %d turns were taken", c.interval, c.hold, n, all)
			}
		})
	}
}
