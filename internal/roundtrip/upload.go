package roundtrip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// uploadBuffer is how much of a request's body is sent at once.
	uploadBuffer = 32 << 10

	// answerGrace is how long an answer is waited for when the origin did not take
	// all of a body: a refusal that came before its end.
	answerGrace = time.Second

	// uploadGrace is how long the end of a body is waited for when the answer is
	// over, so that its connection can be kept.
	uploadGrace = 50 * time.Millisecond
)

var uploads = sync.Pool{New: func() any { return new([uploadBuffer]byte) }}

// upload is the body of a request on its way, on a goroutine of its own: an
// origin may answer before it has it all, and while it takes it.
type upload struct {
	conn   *conn
	req    *http.Request
	goOn   chan struct{} // closed when the origin wants the body; nil: it is sent at once
	done   chan struct{} // closed when nothing is sent any more
	asking sync.Once

	mu       sync.Mutex
	answered bool
	fault    error // of the client's body: what was sent is not a request
	failed   bool  // not all was sent
}

// begin starts to send the body of a request whose header section was sent.
func (c *conn) begin(req *http.Request) *upload {
	u := &upload{conn: c, req: req, done: make(chan struct{})}
	if httpguts.HeaderValuesContainsToken(req.Header["Expect"], "100-continue") && c.transport.base.ExpectContinueTimeout > 0 {
		u.goOn = make(chan struct{})
	}
	go u.run()
	return u
}

func (u *upload) run() {
	defer close(u.done)
	defer func() {
		if cause := recover(); cause != nil { // of the body: nobody else is to end with it
			err := fmt.Errorf("panic: %v", cause)
			u.end(err, true)
		}
		_ = u.req.Body.Close()
	}()
	if !u.wanted() {
		u.end(nil, true)
		return
	}
	fault, err := u.send()
	u.end(fault, err != nil)
}

// wanted waits for the origin to say that it wants the body, where the client
// asked for that (RFC 9110 §10.1.1). One that says nothing gets it all the same.
func (u *upload) wanted() bool {
	if u.goOn == nil {
		return true
	}
	timer := time.NewTimer(u.conn.transport.base.ExpectContinueTimeout)
	defer timer.Stop()
	select {
	case <-u.goOn:
	case <-timer.C:
	case <-u.req.Context().Done():
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.answered
}

// goAhead is the origin's 100, or its final answer.
func (u *upload) goAhead() {
	if u != nil && u.goOn != nil {
		u.asking.Do(func() { close(u.goOn) })
	}
}

// send sends the body. A fault is one of the body, and not of the connection.
func (u *upload) send() (fault, err error) {
	to := timely{u.conn, u.req.Context()}
	if u.req.ContentLength > 0 {
		return u.copy(to)
	}
	chunks := httputil.NewChunkedWriter(to)
	if fault, err = u.copy(chunks); fault != nil || err != nil {
		return fault, err
	}
	if err := chunks.Close(); err != nil { // the last chunk, without the empty line behind the trailers
		return nil, err
	}
	trailers, fault := trailerLines(u.req.Trailer)
	if fault != nil {
		return fault, fault
	}
	_, err = to.Write(trailers)
	return nil, err
}

func (u *upload) copy(to io.Writer) (fault, err error) {
	buf := uploads.Get().(*[uploadBuffer]byte)
	defer uploads.Put(buf)
	left := u.req.ContentLength // ≤ 0: not known
	for {
		n, readErr := u.req.Body.Read(buf[:])
		if u.req.ContentLength > 0 && int64(n) > left {
			n, readErr = 0, fmt.Errorf("the body is longer than its Content-Length of %d", u.req.ContentLength)
		}
		left -= int64(n)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return nil, err
			}
		}
		switch {
		case readErr == nil:
		case !errors.Is(readErr, io.EOF):
			return readErr, readErr
		case left > 0:
			return io.ErrUnexpectedEOF, io.ErrUnexpectedEOF
		default:
			return nil, nil
		}
	}
}

// checkTrailer refuses a trailer field that would be something else where it is
// read, or that must not be one (RFC 9110 §6.5.1).
func checkTrailer(name string, values []string) error {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidTrailerHeader(name) {
		return &RequestError{fmt.Sprintf("trailer field %q cannot be sent", name)}
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			return &RequestError{fmt.Sprintf("the value of the trailer field %s cannot be sent", name)}
		}
	}
	return nil
}

// trailerLines are the trailer fields as they are sent, and the empty line. They
// are looked at once more: their values come with the end of the body.
func trailerLines(h http.Header) ([]byte, error) {
	var b []byte
	for _, name := range sortedKeys(h) {
		if err := checkTrailer(name, h[name]); err != nil {
			return nil, &TrailerError{err}
		}
		for _, v := range h[name] {
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...), nil
}

func sortedKeys(h http.Header) []string {
	keys := make([]string, 0, len(h))
	for k := range h {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}

// timely writes to an origin that has to take each part within the time that it
// may take for an answer.
type timely struct {
	c   *conn
	ctx context.Context //nolint:containedctx // the request's, for as long as its body is sent
}

func (t timely) Write(p []byte) (int, error) {
	_ = t.c.SetWriteDeadline(deadline(t.c.transport.base.ResponseHeaderTimeout))
	t.c.abortIf(t.ctx)
	return t.c.Write(p)
}

// end notes how sending ended, and lets the time for the answer begin.
func (u *upload) end(fault error, failed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fault, u.failed = fault, failed
	switch {
	case fault != nil:
		u.conn.abort() // half a request is none: nobody waits for its answer, or for the rest of it
	case u.answered:
	case failed:
		_ = u.conn.SetReadDeadline(time.Now().Add(answerGrace))
	default:
		_ = u.conn.SetReadDeadline(deadline(u.conn.transport.base.ResponseHeaderTimeout))
	}
	u.conn.abortIf(u.req.Context())
}

// over is called when there is an answer, or an error that there is none, and
// returns the error of the body where that is the cause.
func (u *upload) over() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	u.answered = true
	fault := u.fault
	u.mu.Unlock()
	u.goAhead()
	return fault
}

// running reports whether the body is still being sent.
func (u *upload) running() bool {
	if u == nil {
		return false
	}
	select {
	case <-u.done:
		return false
	default:
		return true
	}
}

// sent reports whether all of the body was sent, for which it waits a little.
func (u *upload) sent() bool {
	if u == nil {
		return true
	}
	if !u.ended() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.failed
}

// ended waits a little for the end of sending.
func (u *upload) ended() bool {
	if !u.running() {
		return true
	}
	timer := time.NewTimer(uploadGrace)
	defer timer.Stop()
	select {
	case <-u.done:
		return true
	case <-timer.C:
		return false
	}
}
