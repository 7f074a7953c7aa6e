package override

import (
	"context"
	"time"
)

// lookAgain is how long Watch waits at most before it looks at the clock again,
// which may have been set, or have gone on while the machine slept.
const lookAgain = time.Minute

// Watch reports each override once when it has expired, those that had before
// it was called at once. It returns when ctx ends, or when none is left that
// could expire. Report is called from the goroutine of Watch.
func (t *Table) Watch(ctx context.Context, report func(*Record)) {
	for told := 0; t != nil && told < len(t.expire); {
		now := time.Now()
		for expired := t.Expired(now); told < len(expired); told++ {
			report(expired[told])
		}
		if told == len(t.expire) {
			return
		}
		timer := time.NewTimer(min(t.expire[told].Expires.Sub(now), lookAgain))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
