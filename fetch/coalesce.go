package fetch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"heed/internal/origin"
	"heed/policy"
)

// errAbandoned ends a fetch that waits for its turn and that nobody waits for.
var errAbandoned = errors.New("nobody waits for it any more")

// flights joins callers who ask for one origin at the same time.
//
// Every flight has a goroutine and a context of its own. Once it has begun to
// ask nothing a caller does ends it: what it brings is of use to the next one.
// While it still waits for its turn it is given up when its last caller leaves,
// so that clients who come and go cannot pile up work; but for some that callers
// were told to come back for.
type flights struct {
	ctx       context.Context // ends when closed
	cancel    context.CancelCauseFunc
	running   sync.WaitGroup
	mostAhead int64        // how many are ahead of expiry, approximately: no caller's patience bounds those
	ahead     atomic.Int64 // how many are

	mu     sync.Mutex // guards what follows, and the fields of each flight but snapshot
	byKey  map[origin.Origin]*flight
	kept   int // how many go on though nobody waits; mostAhead at most
	closed bool
}

// flight is one fetch and those who wait for it.
type flight struct {
	done     chan struct{}
	snapshot policy.Snapshot // set before done is closed
	ctx      context.Context
	cancel   context.CancelCauseFunc
	ahead    bool // it was begun for what is known and will expire soon
	waiting  int
	begun    bool
	landed   bool
	kept     bool          // it goes on when nobody waits: some were told to come back
	turn     Turn          // that it waits for; nil: it does not
	changed  chan struct{} // closed when turn is another
}

func newFlights(mostAhead int) *flights {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &flights{ctx: ctx, cancel: cancel, mostAhead: int64(mostAhead), byKey: make(map[origin.Origin]*flight)}
}

// awaitAlways waits for the flight of o, which it starts when there is none, for as
// long as ctx says, whatever the flight waits for.
func (f *Fetcher) awaitAlways(ctx context.Context, o origin.Origin) (policy.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return policy.Snapshot{}, err
	}
	fl := f.board(o)
	if fl == nil {
		return f.failed(o, errClosed), nil
	}
	select {
	case <-fl.done:
		return fl.snapshot, nil
	case <-ctx.Done():
		f.flights.leave(o, fl)
		return policy.Snapshot{}, ctx.Err()
	}
}

// board has a caller wait for the flight of o, which it starts when there is none.
// It is nil when no more are started.
func (f *Fetcher) board(o origin.Origin) *flight {
	fl, joined := f.flights.join(o, false, f.fly)
	if joined {
		f.observe.joined(o)
	}
	return fl
}

// fetchAhead has what is known of o asked for anew before it expires. Nobody
// waits for it.
func (f *Fetcher) fetchAhead(o origin.Origin) { f.flights.join(o, true, f.fly) }

// mayFlyAhead reports whether there is room for one more flight ahead of expiry.
// Where there is none, a later lookup finds some.
func (fs *flights) mayFlyAhead() bool { return fs.ahead.Load() < fs.mostAhead }

// fly runs one flight. Whatever happens in it, a panic included, its callers
// are released, with a snapshot that allows nothing at worst.
func (f *Fetcher) fly(o origin.Origin, fl *flight) {
	obtained := false
	defer func() {
		if v := recover(); v != nil || !obtained {
			fl.snapshot = f.failed(o, newPanicError(v))
		}
		f.flights.land(o, fl)
	}()
	fl.snapshot = f.obtain(fl, o)
	obtained = true
}

// join returns the flight of o, and whether it was there already. It is nil
// when no more are started.
func (fs *flights) join(o origin.Origin, ahead bool, fly func(origin.Origin, *flight)) (fl *flight, joined bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fl, joined = fs.byKey[o]; joined {
		fl.waiting++
		return fl, true
	}
	if fs.closed {
		return nil, false
	}
	fl = &flight{done: make(chan struct{}), changed: make(chan struct{}), ahead: ahead, waiting: 1}
	fl.ctx, fl.cancel = context.WithCancelCause(fs.ctx)
	fs.byKey[o] = fl
	if ahead {
		fs.ahead.Add(1)
	}
	fs.running.Go(func() { fly(o, fl) })
	return fl, false
}

// leave says that a caller waits no longer.
func (fs *flights) leave(o origin.Origin, fl *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fl.waiting--
	if fl.waiting > 0 || fl.begun || fl.kept {
		return
	}
	fl.cancel(errAbandoned)
	if fs.byKey[o] == fl {
		delete(fs.byKey, o) // the next caller starts anew
	}
}

// keep has a flight go on when nobody waits for it any more, if not too many do.
func (fs *flights) keep(fl *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !fl.kept && !fl.landed && int64(fs.kept) < fs.mostAhead {
		fl.kept = true
		fs.kept++
	}
}

// look returns the turn that a flight waits for, nil for none, and what is closed
// when that is another.
func (fs *flights) look(fl *flight) (Turn, <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fl.turn, fl.changed
}

// waits notes which turn a flight waits for; nil: none any more.
func (fs *flights) waits(fl *flight, t Turn) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fl.turn = t
	close(fl.changed)
	fl.changed = make(chan struct{})
}

// depart marks a flight as begun. The error says why it is not to begin.
func (fs *flights) depart(fl *flight) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := context.Cause(fl.ctx); err != nil {
		return err
	}
	fl.begun = true
	return nil
}

// progress is how far a flight has come, as its retrieval tells.
type progress struct {
	flights *flights
	flight  *flight
}

func (p progress) depart() error { return p.flights.depart(p.flight) }
func (p progress) waits(t Turn)  { p.flights.waits(p.flight, t) }

// land releases the callers of a flight whose snapshot is set.
func (fs *flights) land(o origin.Origin, fl *flight) {
	fs.mu.Lock()
	if fs.byKey[o] == fl {
		delete(fs.byKey, o)
	}
	if fl.landed = true; fl.kept {
		fs.kept--
	}
	fs.mu.Unlock()
	if fl.ahead {
		fs.ahead.Add(-1)
	}
	fl.cancel(nil)
	close(fl.done)
}

func (fs *flights) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.cancel(errClosed)
	fs.running.Wait()
}

func (fs *flights) count() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.byKey)
}
