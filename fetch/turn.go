package fetch

import (
	"context"
	"time"

	"heed/internal/origin"
)

// Turn is the turn of a request at its origin.
type Turn interface {
	Send(context.Context) error                    // the request goes out now; it may wait for that. An error keeps it from it
	Answered(status int, retryAfter time.Duration) // what came; 0: nothing was asked for
	End()                                          // it is over, whatever came
}

// noTurn is a turn where there are none.
type noTurn struct{}

func (noTurn) Send(context.Context) error  { return nil }
func (noTurn) Answered(int, time.Duration) {}
func (noTurn) End()                        {}

// await waits for the turn of a request.
func (r *retriever) await(ctx context.Context, o origin.Origin) (Turn, error) {
	if r.turn == nil {
		return noTurn{}, nil
	}
	return r.turn(ctx, o)
}
