package roundtrip

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// notTakenInTime is the error of a body that an origin does not take.
type notTakenInTime struct{}

func (notTakenInTime) Error() string   { return "the origin did not take the request's body in time" }
func (notTakenInTime) Timeout() bool   { return true }
func (notTakenInTime) Temporary() bool { return false }

// takenBody is the body of a request in HTTP/2, of which the origin is to take
// each part within the time that it may take for an answer, as in HTTP/1.1:
// net/http waits for ever for one that gives no window, and has no answer due
// before the whole body is sent. The client's own pauses do not count, nor does
// anything once there is an answer.
type takenBody struct {
	io.ReadCloser
	limit time.Duration
	late  func()

	mu    sync.Mutex
	timer *time.Timer // nil: nothing was read yet
	sends bool        // net/http has something to send
	over  bool
}

// withTakenBody returns a request whose context late ends, and what is to be
// called when it was answered. Without a body it is the same.
func withTakenBody(req *http.Request, limit time.Duration, late func()) (out *http.Request, answered func()) {
	if !hasBody(req) || limit == 0 {
		return req, func() {}
	}
	b := &takenBody{ReadCloser: req.Body, limit: limit, late: late}
	out = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { b.end() }, // now the answer is due
	}))
	out.Body = b
	return out, b.end
}

// Read is called when net/http has sent what it had.
func (b *takenBody) Read(p []byte) (int, error) {
	b.set(false)
	n, err := b.ReadCloser.Read(p)
	b.set(true)
	return n, err
}

// Close closes the body. Nothing of it will be sent any more.
func (b *takenBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *takenBody) set(sends bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sends = sends && !b.over
	switch {
	case b.sends && b.timer == nil:
		b.timer = time.AfterFunc(b.limit, b.fire)
	case b.sends:
		b.timer.Reset(b.limit)
	case b.timer != nil:
		b.timer.Stop()
	}
}

func (b *takenBody) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sends {
		b.late()
	}
}

func (b *takenBody) end() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.set(false)
}

// causeOf is why a context ended, if it was for a reason of this package.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errNotTaken) || errors.Is(cause, notTakenInTime{}) {
		return cause
	}
	return nil
}
