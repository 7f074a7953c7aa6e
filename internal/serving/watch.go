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

	// watchAgain is when it is looked again at who cannot be waited for.
	watchAgain = 500 * time.Millisecond
)

// watch notices that a client goes away while its request is answered: it reads
// on, into the buffer of the connection, where nobody reads the body: not yet, or
// no longer. What comes is the body, or the beginning of the next request, or of
// what a handler will take over. With a full buffer, and while somebody reads the
// body, the system is asked from time to time whether the client's end has come
// behind what it still holds.
type watch struct {
	conn  *conn
	timer *time.Timer
	armed atomic.Bool // the timer will look

	mu      sync.Mutex
	request *request // that is being answered; nil: none is
	since   time.Time
	reading chan struct{} // closed when the read ended; nil: nothing is read
	reads   uint64        // of the body, when it was last looked
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
	w.request, w.since, w.reads = r, time.Now(), 0
	w.mu.Unlock()
	if w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(watchAfter)
	}
}

// look looks for the client, if the exchange is under way for long enough.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.request == nil {
		w.armed.Store(false)
		return
	}
	reads := w.request.body.reads.Load()
	moved := reads != w.reads
	w.reads = reads
	switch left := watchAfter - time.Since(w.since); {
	case left > 0:
		w.timer.Reset(left)
	case w.reading == nil && (reads == 0 || w.request.body.ended()):
		w.armed.Store(false)
		_ = w.conn.SetReadDeadline(noDeadline)
		w.reading = make(chan struct{})
		go w.read(w.conn.reader, w.request, w.reading)
	case moved: // whoever reads sees for himself
		w.timer.Reset(watchAgain)
	case hungUp(w.conn.server.config.Socket(w.conn.Conn)):
		w.armed.Store(false)
		w.request.ctx.cancel()
	default:
		w.timer.Reset(watchAgain)
	}
}

// read reads until the buffer is full. Its own errors a bufio.Reader tells once:
// who reads next reads from the connection again.
func (w *watch) read(buffer *bufio.Reader, r *request, done chan<- struct{}) {
	defer close(done)
	for buffer.Buffered() < buffer.Size() {
		if _, err := buffer.Peek(buffer.Buffered() + 1); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) { // halt's
				r.ctx.cancel()
			}
			return
		}
	}
	w.again()
}

// again has it looked again, where that is not to happen already.
func (w *watch) again() {
	if w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(watchAgain)
	}
}

// yield leaves the connection to who reads the body. When it returns nobody else
// reads.
func (w *watch) yield() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.halt() {
		w.again()
	}
}

// stop ends the watch. When it returns nobody reads.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.request = nil
	w.halt()
}

// halt ends the read, if there is one. The caller holds mu until it has ended.
func (w *watch) halt() (read bool) {
	if w.reading == nil {
		return false
	}
	_ = w.conn.SetReadDeadline(longAgo)
	<-w.reading
	w.reading = nil
	w.conn.readBy = noDeadline
	_ = w.conn.SetReadDeadline(noDeadline)
	return true
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
