package proxy

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"heed/internal/stall"
)

// countedBody counts the octets of a request's body. The transport reads it on
// a goroutine of its own, and may go on when the answer has come already.
type countedBody struct {
	io.ReadCloser
	w     *responseWriter
	n     atomic.Int64
	asked sync.Once
	stall *stall.Watch // nil in HTTP/1.1
}

// Read reads from the client, who may be waiting to be asked for the body. An
// error other than the end is a *bodyError.
func (b *countedBody) Read(p []byte) (int, error) {
	b.asked.Do(b.ask)
	b.stall.Begin()
	defer b.stall.Done()
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	switch {
	case err == nil:
	case err != io.EOF:
		err = &bodyError{err}
	case b.w.in != nil: // with its end come the trailers, also those that were not declared
		dropAsker(b.w.in.Trailer)
	}
	return n, err
}

// ask sends 100 Continue where the client expects it, not into a 1xx answer of
// the origin that is being passed on at that time. HTTP/2 has frames for both,
// and net/http sees to it.
func (b *countedBody) ask() {
	if in := b.w.in; in != nil && in.ProtoMajor == 1 && hasToken(in.Header["Expect"], "100-continue") {
		b.w.writeInterim(http.StatusContinue, nil, nil)
	}
}

// bodyError is the error of a request's body, for which no origin is to blame.
type bodyError struct{ cause error }

func (e *bodyError) Error() string { return e.cause.Error() }
func (e *bodyError) Unwrap() error { return e.cause }
