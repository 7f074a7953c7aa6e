package fetch

import (
	"context"
	"time"

	"heed/internal/origin"
)

// Turn is the turn of a request at its origin.
type Turn interface {
	Sent()                                         // the request goes out now
	Answered(status int, retryAfter time.Duration) // what came; 0: nothing was asked for
	End()                                          // it is over, whatever came
}

// noTurn is a turn where there are none.
type noTurn struct{}

func (noTurn) Sent()                       {}
func (noTurn) Answered(int, time.Duration) {}
func (noTurn) End()                        {}

// await waits for the turn of a request.
func (r *retriever) await(ctx context.Context, o origin.Origin) (Turn, error) {
	if r.turn == nil {
		return noTurn{}, nil
	}
	return r.turn(ctx, o)
}
