package roundtrip

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// maxAttempts is how often a request is given to an origin that says, in HTTP/2,
// that it did not look at it (REFUSED_STREAM, GOAWAY): net/http goes on for a
// minute, or without a pause for as long as the caller waits.
const maxAttempts = 3

var (
	errNotTaken = fmt.Errorf("the origin did not take the request, %d times: %w", maxAttempts, io.ErrUnexpectedEOF)

	errLost = fmt.Errorf("the connection to the origin was lost: %w", io.ErrUnexpectedEOF)

	errNotHTTP2 = errors.New("the origin does not speak HTTP/2 any more")
)

// http2Conn is the error of a connection on which HTTP/2 was agreed.
type http2Conn struct{ *tls.Conn }

func (*http2Conn) Error() string { return "HTTP/2 was agreed on" }

// over2 makes a request on a connection that turned out to speak HTTP/2. Others
// to the same host wait until the http.Transport has it: each would open one.
func (t *Transport) over2(req *http.Request, h hooks, host *host, c *tls.Conn) (*http.Response, error) {
	host.handOver(c)
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { host.learned(http2) },
	})
	return of(req)(t.behind(req.WithContext(ctx), h, host))
}

// of gives an answer to the request that was asked for, whatever the request was
// that was made for it.
func of(req *http.Request) func(*http.Response, error) (*http.Response, error) {
	return func(resp *http.Response, err error) (*http.Response, error) {
		if resp != nil {
			resp.Request = req
		}
		return resp, err
	}
}

// behind has the http.Transport make a request in HTTP/2, and makes it here if
// the origin does not speak that any more: what net/http reads in HTTP/1.1
// nobody has looked at.
func (t *Transport) behind(req *http.Request, h hooks, host *host) (*http.Response, error) {
	out, body := req, (*lentBody)(nil)
	if hasBody(req) {
		body = &lentBody{body: req.Body}
		out = req.WithContext(req.Context())
		out.Body = body
	}
	resp, err := of(req)(t.inHTTP2(out, h))
	if err != nil && (errors.Is(err, errNotHTTP2) || wantsHTTP1(err)) && body.takeBack() {
		return t.roundTrip(req, h, host, only1)
	}
	body.settle()
	if err == nil {
		if err = checkLengths(resp); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
	}
	return resp, err
}

// streamError is net/http's of that name, which it has no type for outside.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("HTTP/2 stream error %d", e.Code) }

// http11Required is the code by which an origin asks for HTTP/1.1, as for an
// authentication that is one of the connection (RFC 9113 §7).
const http11Required = 0xd

func wantsHTTP1(err error) bool {
	var e streamError
	return errors.As(err, &e) && e.Code == http11Required
}

// checkLengths refuses an answer in HTTP/2 with a Content-Length that is no
// number, or with several: it must not go on (RFC 9113 §8.1.1), and to others it
// would be as long as net/http does not take it to be.
func checkLengths(resp *http.Response) error {
	lengths := resp.Header["Content-Length"]
	for _, l := range lengths {
		if _, err := strconv.ParseUint(l, 10, 63); err != nil || l != lengths[0] {
			return errBadLength
		}
	}
	if len(lengths) > 1 {
		resp.Header["Content-Length"] = lengths[:1]
	}
	return nil
}

// inHTTP2 makes a request, a second time where the first went out on a kept
// connection that the origin was just closing. net/http does that itself but
// for a connection that broke while the request was written.
func (t *Transport) inHTTP2(req *http.Request, h hooks) (*http.Response, error) {
	if h.exchange == nil {
		return t.base.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context()) // ends with the one it is made of: the body is read with it
	ctx, reused := h.traced(ctx, cancel)
	out, answered := withTakenBody(req.WithContext(ctx), t.base.ResponseHeaderTimeout, func() { cancel(notTakenInTime{}) })
	defer answered()
	resp, err := t.base.RoundTrip(out)
	err = plainer(err)
	if err != nil && reused.Load() && repeatable(req) && ctx.Err() == nil && brokenOff(err) {
		resp, err = t.base.RoundTrip(out)
		err = plainer(err)
	}
	if err == nil {
		return resp, nil
	}
	err = cmp.Or(causeOf(ctx), err)
	cancel(err)
	return nil, err
}

// plainer gives errors a name for which net/http has none, and takes out what is
// for those who program with it.
func plainer(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, end := range lostConnection {
		if strings.Contains(text, end) {
			return errLost
		}
	}
	cause, ok := strings.CutPrefix(text, "http2: Transport: cannot retry err [")
	if !ok {
		return err
	}
	cause, _, _ = strings.Cut(cause, "] after Request.Body was written")
	return errors.New(cause)
}

// lostConnection is what net/http says of requests whose connection another one
// found broken, or on which there was no answer to a PING.
var lostConnection = []string{
	"http2: client connection force closed",
	"http2: client connection lost",
	"net/http: cannot rewind body after connection loss",
}

// brokenOff reports whether an error is that of a connection which the origin
// closed.
func brokenOff(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// dialTLS opens connections for the http.Transport: the one that showed that an
// origin speaks HTTP/2, if it is still to be had. One without HTTP/2 is kept
// here.
func (t *Transport) dialTLS(ctx context.Context, _, addr string) (net.Conn, error) {
	h := t.pool.host(key{secure: true, host: strings.TrimSuffix(addr, ":443")})
	if c := h.takeOver(); c != nil {
		return c, nil
	}
	c, err := t.dial(ctx, h, either)
	var over2 *http2Conn
	switch {
	case errors.As(err, &over2):
		return over2.Conn, nil
	case err != nil:
		return nil, err
	}
	h.learned(http1)
	c.used = true // by the time that it is, the origin may have closed it
	t.pool.keep(c)
	return nil, errNotHTTP2
}

// lentBody is a request's body that net/http may get, and may close, before it
// is known whether it needs it. Nil is the body of a request that has none.
type lentBody struct {
	body io.ReadCloser

	mu      sync.Mutex
	read    bool
	closed  bool // by net/http, and not yet in truth
	settled bool // net/http's alone
}

// Read reads from the client.
func (l *lentBody) Read(p []byte) (int, error) {
	l.mu.Lock()
	l.read = true
	l.mu.Unlock()
	return l.body.Read(p)
}

// Close closes the body, at once or when it is known that nobody else needs it.
func (l *lentBody) Close() error {
	l.mu.Lock()
	if !l.settled {
		l.closed = true
		l.mu.Unlock()
		return nil
	}
	l.mu.Unlock()
	return l.body.Close()
}

// takeBack reports whether the body is as it was. Then it is not net/http's any
// more.
func (l *lentBody) takeBack() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.read
}

// settle leaves the body to net/http.
func (l *lentBody) settle() {
	if l == nil {
		return
	}
	l.mu.Lock()
	closed := l.closed
	l.settled = true
	l.mu.Unlock()
	if closed {
		_ = l.body.Close()
	}
}
