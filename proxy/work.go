package proxy

import (
	"context"
	"sync"
	"sync/atomic"
)

// work counts the exchanges under way, also those whose connection was
// hijacked. Counting takes no lock: every exchange passes here. The zero value
// is ready; calls of wait must not overlap.
type work struct {
	n    atomic.Int64
	idle atomic.Pointer[idle] // nil unless someone waits
}

// idle is closed when nothing is under way.
type idle struct {
	once sync.Once
	done chan struct{}
}

func (w *work) enter() { w.n.Add(1) }

func (w *work) leave() {
	if w.n.Add(-1) > 0 {
		return
	}
	if i := w.idle.Load(); i != nil {
		i.once.Do(func() { close(i.done) })
	}
}

// wait returns when none is under way, or with the error of ctx when that ends
// first.
func (w *work) wait(ctx context.Context) error {
	i := &idle{done: make(chan struct{})}
	w.idle.Store(i) // before the look: whoever leaves after it sees i
	if w.n.Load() == 0 {
		return nil
	}
	select {
	case <-i.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
