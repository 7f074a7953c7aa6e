package proxy

import (
	"net/http"
	"sync"
	"time"
)

// stall gives up on a client of HTTP/2 that does not go on with an exchange: who
// takes no part of the answer, or sends none of the body, within the idle time.
// In HTTP/1.1 internal/serving sees to it. net/http has a time for the whole of a
// stream alone, which may not be bounded, and its deadlines end a stream also
// while nobody reads or writes: so there is one only when time is up.
// Nil bounds nothing. Safe for concurrent use.
type stall struct {
	limit time.Duration
	end   func(deadline time.Time) error // the stream's SetReadDeadline or SetWriteDeadline

	mu    sync.Mutex
	timer *time.Timer // nil: there was nothing to wait for yet
	runs  bool        // somebody reads or writes
	over  bool        // the exchange, and with it what end works on
}

// begin is called before a part is waited for.
func (s *stall) begin() {
	if s != nil {
		s.set(true)
	}
}

// done is called when it has come.
func (s *stall) done() {
	if s != nil {
		s.set(false)
	}
}

func (s *stall) set(runs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = runs && !s.over
	switch {
	case s.runs && s.timer == nil:
		s.timer = time.AfterFunc(s.limit, s.fire)
	case s.runs:
		s.timer.Reset(s.limit)
	case s.timer != nil:
		s.timer.Stop()
	}
}

func (s *stall) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs {
		_ = s.end(time.Unix(1, 0)) // both servers have it
	}
}

// close is called before the handler returns: net/http's ResponseWriter must not
// be touched after that, and a body may still be read.
func (s *stall) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.done()
}

// bound has an exchange in HTTP/2 given up where its client stalls.
func (x *exchange) bound(limit time.Duration) {
	control := http.NewResponseController(x.w.ResponseWriter)
	x.w.stall = &stall{limit: limit, end: control.SetWriteDeadline}
	x.body.stall = &stall{limit: limit, end: control.SetReadDeadline}
}

// unbound ends that. What net/http still has to send, it sends behind the
// handler, within the same time.
func (x *exchange) unbound() {
	if s := x.w.stall; s != nil {
		x.body.stall.close()
		s.close()
		_ = s.end(time.Now().Add(s.limit))
	}
}
