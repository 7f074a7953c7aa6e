package fetch

import (
	"context"
	"time"

	"heed/internal/origin"
)

// Turn is the turn of a request at its origin. Due and Waits may be called by
// others than who waits.
type Turn interface {
	Waits() bool                                   // Wait may take time
	Wait(context.Context) error                    // until it has come; an error is that it does not come
	Due() (in time.Duration, late error)           // when it comes, and what those are told who cannot wait for it; a nil error: nothing yet, or it does not wait
	Send(context.Context) error                    // the request goes out now; it may wait for that. An error keeps it from it
	Answered(status int, retryAfter time.Duration) // what came; 0: nothing was asked for
	End()                                          // it is over, whatever came
}

// noTurn is a turn where there are none.
type noTurn struct{}

func (noTurn) Waits() bool                 { return false }
func (noTurn) Wait(context.Context) error  { return nil }
func (noTurn) Due() (time.Duration, error) { return 0, nil }
func (noTurn) Send(context.Context) error  { return nil }
func (noTurn) Answered(int, time.Duration) {}
func (noTurn) End()                        {}

// await waits for the turn of a request. Those who wait for the retrieval are told
// that it is this that takes time.
func (v *retrieval) await(ctx context.Context, o origin.Origin) (Turn, error) {
	if v.turn == nil {
		return noTurn{}, nil
	}
	t, err := v.turn(ctx, o)
	if err != nil || !t.Waits() {
		return t, err
	}
	v.progress.waits(t)
	defer v.progress.waits(nil)
	if err := t.Wait(ctx); err != nil {
		t.End()
		return nil, err
	}
	return t, nil
}
