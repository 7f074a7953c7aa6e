package roundtrip

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// bufferSize is how much of an answer is read at once. With chunks, each of
// which is a line and a part, 16 KiB take 38 % less CPU than 4 KiB.
const bufferSize = 16 << 10

// mostKept is how long a header section may be whose memory is used again.
const mostKept = 16 << 10

// maxInterim is how many 1xx answers are taken for a request.
const maxInterim = 100

var (
	// errStale is a kept connection on which nothing was answered.
	errStale = errors.New("the origin closed a connection that was kept")

	errEarlySwitch = errors.New("the origin switched protocols (101) before it had the request")

	errSwitchInHTTP2 = errors.New("the origin switched protocols (101) in HTTP/2, which knows none of that (RFC 9113 §8.6)")

	errTooManyInterim = fmt.Errorf("the origin sent more than %d interim answers (1xx) and no final one", maxInterim)
)

var (
	readers  = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}
	requests = sync.Pool{New: func() any { return new([]byte) }}
)

// conn is a connection to a host. It belongs to one request, or to the pool.
type conn struct {
	net.Conn
	transport *Transport
	host      *host
	state     *tls.ConnectionState // nil: no TLS
	wire      *wire                // below TLS; nil: none that was made here
	probe     *probe               // nil: there is no socket to look at
	used      bool                 // a request went out on it before, or might have
	reader    *bufio.Reader        // nil: nothing is under way
	by        time.Time            // the deadline that is set; zero: another, or none

	// in the pool
	since        time.Time
	older, newer *conn
}

func (t *Transport) newConn(h *host, c net.Conn) *conn {
	to := &conn{Conn: c, transport: t, host: h}
	if secure, ok := c.(*tls.Conn); ok && h.key.secure {
		state := secure.ConnectionState()
		to.state = &state
		to.wire, _ = secure.NetConn().(*wire)
	}
	to.probe = newProbe(to)
	return to
}

// quiet reports whether nothing came on a connection that is kept: the end of
// it, above all, and no answer that nobody asked for, which would be taken for
// that to the next request. It waits for nothing.
func (c *conn) quiet() bool { return c.probe.silent() && c.drained() }

// roundTripOn makes a request on a connection, which it takes over.
func (t *Transport) roundTripOn(c *conn, req *http.Request, h hooks) (*http.Response, error) {
	ctx := req.Context()
	if err := h.connected(ctx, c); err != nil {
		closeBody(req)
		c.used = true // it may grow old now
		t.pool.keep(c)
		return nil, err
	}
	stop := afterFunc(ctx, c.abort)
	resp, up, err := c.roundTrip(req, h)
	fault := up.over()
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols && !up.sent() {
		err = errEarlySwitch
	}
	if err != nil {
		stop()
		c.drop()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case fault != nil:
			return nil, fmt.Errorf("reading the request's body: %w", fault)
		}
		return nil, err
	}
	resp.TLS = c.state
	b := &body{ReadCloser: resp.Body, conn: c, ctx: ctx, stop: stop, upload: up}
	b.keep = !resp.Close && !req.Close && resp.StatusCode >= http.StatusOK
	b.untilEnd = resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		_ = c.SetDeadline(time.Time{})
		resp.Body = &upgraded{b}
	case resp.Body == http.NoBody && !up.running():
		b.end(true)
		return resp, nil
	case resp.ContentLength < 0 || resp.ContentLength > int64(c.reader.Buffered()):
		c.by = time.Time{}
		_ = c.SetReadDeadline(time.Time{}) // what is there already needs none
		resp.Body = b
	default:
		resp.Body = b
	}
	c.abortIf(ctx)
	return resp, nil
}

// afterFunc is context.AfterFunc, without what that allocates where the context
// has a method of its own.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	if a, ok := ctx.(interface{ AfterFunc(f func()) func() bool }); ok {
		return a.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}

// precision is which part of a time limit is not counted: a deadline that was set
// so short a time ago is not set again, which takes a lock and a timer.
const precision = 32

// within bounds what follows. It reports whether a deadline was set.
func (c *conn) within(d time.Duration) bool {
	if d > 0 {
		by := time.Now().Add(d)
		if ahead := by.Sub(c.by); 0 <= ahead && ahead < d/precision {
			return false
		}
		c.by = by
	}
	_ = c.SetDeadline(c.by)
	return true
}

// abort ends what is under way.
func (c *conn) abort() { _ = c.SetDeadline(time.Unix(1, 0)) }

// abortIf aborts once more, after a deadline that may have been set over that of
// abort.
func (c *conn) abortIf(ctx context.Context) {
	if ctx.Err() != nil {
		c.abort()
	}
}

// roundTrip sends the request and reads the header section of its answer.
func (c *conn) roundTrip(req *http.Request, h hooks) (resp *http.Response, up *upload, err error) {
	repeat := c.used && repeatable(req)
	c.used = true
	if c.within(c.transport.base.ResponseHeaderTimeout) {
		c.abortIf(req.Context())
	}
	if err := c.send(req, h.sent()); err != nil {
		closeBody(req)
		return nil, nil, stale(repeat, err)
	}
	if hasBody(req) {
		c.by = time.Time{}
		_ = c.SetReadDeadline(time.Time{}) // its time begins when the body was sent
		c.abortIf(req.Context())
		up = c.begin(req)
	}
	c.reader = readers.Get().(*bufio.Reader)
	c.reader.Reset(c.Conn)
	if _, err := c.reader.Peek(1); err != nil {
		return nil, up, stale(repeat, err)
	}
	resp, err = c.answer(req, h, up)
	return resp, up, err
}

// answer reads header sections up to that of the final answer.
func (c *conn) answer(req *http.Request, h hooks, up *upload) (*http.Response, error) {
	for range maxInterim + 1 {
		head, err := c.head()
		if err != nil {
			return nil, err
		}
		section := h.received(head)
		resp, err := http.ReadResponse(c.reader, req)
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", readError(err))
		}
		if resp.StatusCode < 100 || resp.StatusCode > 199 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
		if resp.StatusCode == http.StatusContinue {
			up.goAhead()
		}
		if err := h.interim(resp, section); err != nil {
			return nil, err
		}
	}
	return nil, errTooManyInterim
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// closeBody closes the body of a request that nobody sends.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// repeatable reports whether a request may be sent twice (RFC 9110 §9.2.2).
func repeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return !hasBody(req)
	}
	return false
}

// readError is the error of an answer that could not be read: io.EOF would be
// the end of one that was whole.
func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// stale tells an error of a kept connection that the origin was closing, where
// the request may be sent once more, from one that means something. An origin
// that takes its time is not asked again.
func stale(repeat bool, err error) error {
	var timeout net.Error
	var refused *RequestError
	if !repeat || errors.As(err, &refused) || errors.As(err, &timeout) && timeout.Timeout() {
		return readError(err)
	}
	return fmt.Errorf("%w: %w", errStale, readError(err))
}

// send writes the header section in one piece.
func (c *conn) send(req *http.Request, order []byte) error {
	buf := requests.Get().(*[]byte)
	defer requests.Put(buf)
	b, err := c.transport.appendRequest((*buf)[:0], req, order)
	if cap(b) <= mostKept {
		*buf = b
	}
	if err != nil {
		return err
	}
	_, err = c.Write(b)
	return err
}

// release gives the buffer back, and reports whether nothing was left in it.
func (c *conn) release() (empty bool) {
	if c.reader == nil {
		return true
	}
	empty = c.reader.Buffered() == 0
	giveBack(c.reader)
	c.reader = nil
	return empty
}

// giveBack has a reader used again, unless it had to grow.
func giveBack(r *bufio.Reader) {
	r.Reset(nil)
	if r.Size() == bufferSize {
		readers.Put(r)
	}
}

// close ends a connection on which nothing is under way.
func (c *conn) close() {
	c.release()
	_ = c.Close()
}

// drop ends a connection whatever is under way. It does not take leave inside
// TLS: the origin may not read any more, and would be waited for.
func (c *conn) drop() {
	c.release()
	_ = bottom(c.Conn).Close()
}
