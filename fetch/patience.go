package fetch

import (
	"context"
	"errors"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Patience is for how long a caller waits, besides what its context says.
type Patience struct {
	// Hold is for how long, counted from the call, where what is waited for is the
	// turn of a request (Config.Turn).
	Hold time.Duration

	// Wait is for how long where it is the fetch itself. While that waits for its
	// turn this time does not run.
	Wait time.Duration
}

// Held is what a caller waited for the turn of a request. The zero value is that
// it did not.
type Held struct {
	Time time.Duration
	By   error // what it would have been told if it could not have waited
}

// Await is Snapshot for a caller who has so much patience. Who cannot wait until
// the turn of a request has come is told so as soon as that is known: the error is
// the turn's own, and the fetch goes on, so that its result is there later. Where
// it is the fetch that takes too long, the error is context.DeadlineExceeded.
func (f *Fetcher) Await(ctx context.Context, o origin.Origin, p Patience) (policy.Snapshot, Held, error) {
	var s policy.Snapshot
	if f.look(o, time.Now(), &s) {
		return s, Held{}, nil
	}
	if err := ctx.Err(); err != nil {
		return s, Held{}, err
	}
	fl := f.board(o)
	if fl == nil {
		return f.failed(o, errClosed), Held{}, nil
	}
	w := &waiter{Patience: p, flights: f.flights, flight: fl, began: time.Now()}
	if until, bounded := ctx.Deadline(); bounded {
		w.Hold = min(w.Hold, time.Until(until))
	}
	err := w.wait(ctx)
	if err != nil {
		f.flights.leave(o, fl)
		return s, w.held, err
	}
	return fl.snapshot, w.held, nil
}

// looksAgain is how long after a turn was to come, or did not know when, it is asked
// again when it comes.
const looksAgain = 250 * time.Millisecond

// waiter is a caller who waits for a flight.
type waiter struct {
	Patience
	flights *flights
	flight  *flight
	began   time.Time
	held    Held
}

// wait waits until the flight is over. An error says why it does not wait for that.
func (w *waiter) wait(ctx context.Context) error {
	for {
		select {
		case <-w.flight.done:
			return nil
		default:
		}
		now := time.Now()
		turn, changed := w.flights.look(w.flight)
		left, late, err := w.left(turn, now)
		if err != nil {
			return err
		}
		timer := time.NewTimer(left)
		select {
		case <-w.flight.done:
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		timer.Stop()
		if late != nil {
			w.held.Time += time.Since(now)
			if errors.Is(err, context.DeadlineExceeded) { // which is its hold, too
				w.flights.keep(w.flight)
				return late
			}
		}
		if err != nil {
			return err
		}
	}
}

// left is for how long to wait before looking again, and what is told of the turn
// that is waited for, if it is one. The error is that there is no time left.
func (w *waiter) left(turn Turn, now time.Time) (left time.Duration, late, err error) {
	var in time.Duration
	if turn != nil {
		in, late = turn.Due()
	}
	waited := now.Sub(w.began)
	if late == nil {
		if left = w.Wait - (waited - w.held.Time); left <= 0 {
			return 0, nil, context.DeadlineExceeded
		}
		if turn != nil {
			left = min(left, looksAgain)
		}
		return left, nil, nil
	}
	if left = w.Hold - waited; left <= 0 || in > left {
		w.flights.keep(w.flight)
		return 0, nil, late
	}
	if w.held.By == nil {
		w.held.By = late
	}
	if in > 0 { // else it goes when others end
		left = min(left, in+looksAgain)
	}
	return left, late, nil
}
