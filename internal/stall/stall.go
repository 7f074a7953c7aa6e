// Package stall bounds what net/http does not bound in HTTP/2: how long a part of
// a body may take, sent or received, whatever the whole of it takes.
//
// net/http's own limits are for the whole of a stream, and its deadlines end one
// also while nobody reads or writes. A Watch runs only while somebody waits for
// the other end.
package stall

import (
	"sync"
	"time"
)

// Watch calls Late when a wait takes longer than Limit. Both are set before its
// first use. A nil Watch bounds nothing; one is safe for concurrent use.
type Watch struct {
	Limit time.Duration // 0: none
	Late  func()        // called once for each wait that is too long, while it lasts; it must not call back

	mu    sync.Mutex
	timer *time.Timer // nil: there was nothing to wait for yet
	waits bool
	over  bool
}

// Begin is called before a wait.
func (w *Watch) Begin() {
	if w != nil {
		w.set(true)
	}
}

// Done is called behind it.
func (w *Watch) Done() {
	if w != nil {
		w.set(false)
	}
}

// End lets Late not be called any more. When it has returned, Late has.
func (w *Watch) End() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.set(false)
}

func (w *Watch) set(waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = waits && !w.over && w.Limit > 0
	switch {
	case w.waits && w.timer == nil:
		w.timer = time.AfterFunc(w.Limit, w.fire)
	case w.waits:
		w.timer.Reset(w.Limit)
	case w.timer != nil:
		w.timer.Stop()
	}
}

func (w *Watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits {
		w.Late()
	}
}
