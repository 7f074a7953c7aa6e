package roundtrip

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"heed/internal/stall"
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
	sending stall.Watch
}

// withTakenBody returns a request whose context late ends, and what is to be
// called when it was answered. Without a body it is the same.
func withTakenBody(req *http.Request, limit time.Duration, late func()) (out *http.Request, answered func()) {
	if !hasBody(req) {
		return req, func() {}
	}
	b := &takenBody{ReadCloser: req.Body, sending: stall.Watch{Limit: limit, Late: late}}
	out = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { b.sending.End() }, // now the answer is due
	}))
	out.Body = b
	return out, b.sending.End
}

// Read is called when net/http has sent what it had.
func (b *takenBody) Read(p []byte) (int, error) {
	b.sending.Done()
	n, err := b.ReadCloser.Read(p)
	b.sending.Begin()
	return n, err
}

// Close closes the body. Nothing of it will be sent any more.
func (b *takenBody) Close() error {
	b.sending.End()
	return b.ReadCloser.Close()
}

// causeOf is why a context ended, if it was for a reason of this package.
func causeOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	var kept notSent
	switch {
	case errors.As(cause, &kept):
		return kept.error
	case errors.Is(cause, errNotTaken), errors.Is(cause, notTakenInTime{}):
		return cause
	}
	return nil
}
