package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heed/internal/pace"
	"heed/policy"
)

// Patience is for how long a request waits for a robots.txt that is not known.
type Patience struct {
	Hold time.Duration // from the beginning, while it is the turn of the fetch that it waits for
	Wait time.Duration // for the fetch itself: its waits for a turn do not count
}

// Held is what a request waited for the turn of the fetch of its robots.txt. The
// zero value is that it did not.
type Held struct {
	Time time.Duration
	By   *pace.Refusal // what it would have been refused for, had it not waited
}

// awaitRobots waits for what is not remembered: for the turn of the fetch no longer
// than the request is held, as for its own, and for the fetch itself for as long as
// an origin may take. Patience that is not needed for the one is none for the other.
func (p *Proxy) awaitRobots(x *exchange) (policy.Snapshot, error) {
	s, err := p.awaitFor(x.in.Context(), x)
	switch refusal, late := errors.AsType[*pace.Refusal](err); {
	case err == nil:
		return s, nil
	case late:
		return s, p.paced(x, askedPace{}, p.robotsFirst(x, refusal))
	case x.held > 0 && errors.Is(err, context.Canceled):
		return s, &problem{kind: kindClientGone, cause: fmt.Errorf("waiting for the turn of %s: %w", x.origin.RobotsURL(), err)}
	}
	return s, &problem{kind: kindRobotsPending, retry: retryPending, cause: fmt.Errorf("waiting for %s: %w", x.origin.RobotsURL(), err)}
}

// awaitFor waits, and notes for what.
func (p *Proxy) awaitFor(ctx context.Context, x *exchange) (policy.Snapshot, error) {
	asked := time.Now()
	s, held, err := p.Policies.Await(ctx, x.origin, Patience{Hold: p.holdOf(x), Wait: p.Wait})
	x.entry.RobotsWait = time.Since(asked) - held.Time
	x.held, x.entry.PaceWait = held.Time, held.Time
	if held.By != nil {
		x.entry.Pace = (askedPace{}).told(held.By.Cause, held.By.Interval)
	}
	return s, err
}

// robotsFirst is the refusal of a request whose robots.txt comes too late for it,
// for the reason for which that does. The page's own turn comes after it, so that
// is when the client is to come back.
func (p *Proxy) robotsFirst(x *exchange, refusal *pace.Refusal) error {
	own := *refusal
	own.Retry = p.Pacer.Promise(pace.Request{
		Host: x.origin.Host, Port: x.origin.Port, By: askerOf(x), What: x.target,
	}, refusal.Retry)
	return fmt.Errorf("robots.txt is not known, and has its turn first: %w", &own)
}
