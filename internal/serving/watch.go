package serving

import (
	"bufio"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// watchAfter is how long an exchange may take before its client is watched.
	// Most are over by then, and need no goroutine for it.
	watchAfter = 100 * time.Millisecond

	// watchAgain is when it is looked again whether the body was read.
	watchAgain = 500 * time.Millisecond
)

// watch notices that a client goes away while its request is answered: it reads
// on, into the buffer of the connection, once the body was read. What comes is
// the beginning of the next request, or of what a handler will take over. With
// a full buffer it sees nothing more.
type watch struct {
	conn  *conn
	timer *time.Timer
	armed atomic.Bool // the timer will look

	mu      sync.Mutex
	request *request // that is being answered; nil: none is
	since   time.Time
	reading chan struct{} // closed when the read ended; nil: nothing is read
}

func (w *watch) init(c *conn) {
	w.conn = c
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
}

// start watches over an exchange. A timer that is set for the one before is left
// as it is: it is set a few times a second, however many exchanges there are.
func (w *watch) start(r *request) {
	w.mu.Lock()
	w.request, w.since = r, time.Now()
	w.mu.Unlock()
	if w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(watchAfter)
	}
}

// look reads, if the exchange is under way for long enough and nobody else does.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch left := watchAfter - time.Since(w.since); {
	case w.request == nil || w.reading != nil:
		w.armed.Store(false)
	case left > 0:
		w.timer.Reset(left)
	case !w.request.body.ended():
		w.timer.Reset(watchAgain) // the handler reads, and sees for itself
	default:
		w.armed.Store(false)
		_ = w.conn.SetReadDeadline(noDeadline)
		w.reading = make(chan struct{})
		go read(w.conn.reader, w.request.ctx.cancel, w.reading)
	}
}

// read reads until the buffer is full. Its own errors a bufio.Reader tells once:
// who reads next reads from the connection again.
func read(r *bufio.Reader, cancel func(), done chan<- struct{}) {
	defer close(done)
	for r.Buffered() < r.Size() {
		if _, err := r.Peek(r.Buffered() + 1); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) { // stop's
				cancel()
			}
			return
		}
	}
}

// stop ends the watch. When it returns nobody reads.
func (w *watch) stop() {
	w.mu.Lock()
	w.request = nil
	reading := w.reading
	w.reading = nil
	w.mu.Unlock()
	if reading == nil {
		return
	}
	_ = w.conn.SetReadDeadline(longAgo)
	<-reading
	w.conn.readBy = noDeadline
	_ = w.conn.SetReadDeadline(noDeadline)
}

// end stops for good.
func (w *watch) end() {
	w.stop()
	w.timer.Stop()
}

var noDeadline, longAgo = time.Time{}, time.Unix(1, 0)

// abort ends the context of the exchange that is watched.
func (w *watch) abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.request != nil {
		w.request.ctx.cancel()
	}
}
