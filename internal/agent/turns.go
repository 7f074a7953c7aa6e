package agent

import (
	"net/netip"
	"runtime"
	"sync"
	"time"

	"heed/internal/network"
)

// turns is who may verify a password next. A flood of wrong ones must not take
// the processors from everybody else, nor keep a client from getting in: few are
// verified at once, and each address has one at most among those that wait for
// that, so that addresses take turns. The others of an address wait behind its
// first.
type turns struct {
	slots chan struct{} // one for each that may be verified at once

	mu    sync.Mutex
	lines map[netip.Prefix]*line
}

// line is of one address, or of what is likely to be one machine's.
type line struct {
	head    chan struct{} // has room for one: the first in line
	waiting int           // the first included; the line goes with the last
}

// mostSlots is how many are verified at once, on a large machine.
const mostSlots = 2

func newTurns() turns {
	n := max(1, min(mostSlots, runtime.GOMAXPROCS(0)/2))
	return turns{slots: make(chan struct{}, n), lines: map[netip.Prefix]*line{}}
}

// take waits for a turn, for a while. When it has come, leave gives it on.
func (t *turns) take(from netip.Addr, patience time.Duration) (leave func(), ok bool) {
	key := network.Of(from)
	l := t.enter(key)
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case l.head <- struct{}{}:
	case <-over.C:
		t.exit(key, l)
		return nil, false
	}
	select {
	case t.slots <- struct{}{}:
	case <-over.C:
		<-l.head
		t.exit(key, l)
		return nil, false
	}
	return func() {
		<-t.slots
		<-l.head
		t.exit(key, l)
	}, true
}

func (t *turns) enter(key netip.Prefix) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if l == nil {
		l = &line{head: make(chan struct{}, 1)}
		t.lines[key] = l
	}
	l.waiting++
	return l
}

func (t *turns) exit(key netip.Prefix, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		delete(t.lines, key)
	}
}
