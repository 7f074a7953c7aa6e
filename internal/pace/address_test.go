package pace

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// oneMachine is where all names are, which takes some time to find out.
func oneMachine(takes time.Duration) func(context.Context, string) ([]netip.Addr, error) {
	return func(ctx context.Context, _ string) ([]netip.Addr, error) {
		select {
		case <-time.After(takes):
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// TestAHostThatIsAskedMuchLeavesRoomAtItsAddress has one name asked all the time,
// and another once in a while: the places go round.
func TestAHostThatIsAskedMuchLeavesRoomAtItsAddress(t *testing.T) {
	inBubble(t, Config{PerAddress: 2, Addresses: oneMachine(0)}, func(r *rig) {
		for range 40 {
			r.begin(request{Request: Request{Host: "busy", Hold: time.Minute}, takes: s})
		}
		r.begin(request{Request: Request{Host: "quiet", Hold: 3 * s}, takes: s})
		r.wg.Wait()
		for _, g := range r.gone {
			if g.host == "quiet" && g.at > 2*s {
				t.Errorf("the other name had its turn after %v", g.at)
			}
		}
		if len(r.refused) != 0 {
			t.Errorf("refused: %v", r.refused[0])
		}
	})
}

// most is how many were under way at a time.
func most(r *rig, ctx func(i int) context.Context, names, each int) int64 {
	var now, most atomic.Int64
	for i := range names * each {
		r.wg.Go(func() {
			var turn Turn
			c := ctx(i)
			if r.Ask(c, &turn, Request{Host: strconv.Itoa(i % names), Hold: time.Minute}) != nil || turn.Wait(c) != nil {
				return
			}
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(s)
			now.Add(-1)
			turn.End()
		})
		synctest.Wait() // they come in order
	}
	r.wg.Wait()
	return most.Load()
}

func TestNobodyGoesPastTheBoundOfAnAddressThatIsBeingLookedFor(t *testing.T) {
	inBubble(t, Config{PerAddress: 2, Addresses: oneMachine(100 * time.Millisecond)}, func(r *rig) {
		if n := most(r, func(int) context.Context { return r.t.Context() }, 4, 5); n != 2 {
			t.Errorf("%d were under way at an address where 2 may be", n)
		}
	})
}

// TestWhoGoesAwayWhileAnAddressIsLookedForLeavesTheBound has the first of each
// host leave meanwhile.
func TestWhoGoesAwayWhileAnAddressIsLookedForLeavesTheBound(t *testing.T) {
	inBubble(t, Config{PerAddress: 2, Addresses: oneMachine(100 * time.Millisecond)}, func(r *rig) {
		leaves, cancel := context.WithTimeout(r.t.Context(), 50*time.Millisecond)
		defer cancel()
		n := most(r, func(i int) context.Context {
			if i < 4 {
				return leaves
			}
			return r.t.Context()
		}, 4, 5)
		if n != 2 {
			t.Errorf("%d were under way at an address where 2 may be", n)
		}
	})
}

func TestANameThatCouldNotBeResolvedIsLookedForAgain(t *testing.T) {
	asked := 0
	where := func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked == 1 {
			return nil, errors.New("the resolver does not answer")
		}
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}
	inBubble(t, Config{PerAddress: 1, Addresses: where}, func(r *rig) {
		_ = r.do(request{})
		time.Sleep(2 * s)
		r.begin(request{takes: s})
		r.begin(request{Request: Request{Hold: time.Minute}})
		r.wg.Wait()
		r.wantGone(0, 2*s, 3*s)
	})
}

// TestALookupThatPanicsEndsNothingButItsRequest: the next one looks again.
func TestALookupThatPanicsEndsNothingButItsRequest(t *testing.T) {
	broken := true
	where := func(context.Context, string) ([]netip.Addr, error) {
		if broken {
			panic("no addresses")
		}
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}
	inBubble(t, Config{PerAddress: 1, Addresses: where}, func(r *rig) {
		func() {
			defer func() { _ = recover() }()
			_ = r.do(request{})
			t.Error("there was no panic")
		}()
		broken = false
		if err := r.do(request{}); err != nil {
			t.Error(err)
		}
	})
}
