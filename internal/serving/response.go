package serving

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// Response is the http.ResponseWriter of a request, and an http.Flusher, an
// http.Hijacker and an io.ReaderFrom. Like other ResponseWriters it is for one
// goroutine.
//
// Fields without values are not sent; a Date is added where the key is absent.
// 100 Continue is for the handler to send.
type Response struct {
	conn    *conn
	request *request
	header  http.Header
	model   []byte

	status   int // 0: nothing was written
	length   int64
	sent     int64 // octets of the body
	none     bool  // the answer has no body
	chunked  bool
	last     bool // the connection ends with it
	long     bool // more was written than the length says
	asked    bool // 100 Continue was sent
	hijacked bool
	trailers []string // declared
	out      []byte   // to be written
	err      error
}

const (
	// smallBuffer holds an answer's header section and a body as most are.
	smallBuffer = 8 << 10

	// largeBuffer is for bodies that fill a small one.
	largeBuffer = 64 << 10
)

var (
	smalls = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
	larges = sync.Pool{New: func() any { return new([largeBuffer]byte) }}
)

// Conn is the connection that the request came in through.
func (w *Response) Conn() net.Conn { return w.conn.Conn }

// Section is the header section of the request as it came, with the request
// line and the empty line. It is good until the handler returns.
func (w *Response) Section() []byte { return w.request.section }

// With makes the request's context know values, without another request and
// another context. Nil for a key means that it is asked further.
func (w *Response) With(values interface{ Value(key any) any }) { w.request.ctx.values = values }

// Header returns the fields of the answer, and behind WriteHeader its trailers.
func (w *Response) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// Like makes the answer one with these fields, in the order and with the
// spelling of the header section of another answer, and with its phrase if the
// status is the same. Nil as the section makes them sorted. The map is the
// Response's from then on, and the section until WriteHeader returns.
func (w *Response) Like(h http.Header, section []byte) { w.header, w.model = h, section }

// WriteHeader begins the answer; with a status 1xx other than 101 it sends one
// that is not the final one, which HTTP/1.0 does not have (RFC 9110 §15.2). A
// status that has not three digits is a panic.
func (w *Response) WriteHeader(status int) {
	switch {
	case w.status != 0 || w.hijacked:
		return
	case status < 100 || status > 999:
		panic(fmt.Sprintf("serving: the status %d has not three digits", status))
	case status < 200 && status != http.StatusSwitchingProtocols:
		if w.request.ProtoAtLeast(1, 1) {
			w.asked = w.asked || status == http.StatusContinue
			w.compose(status)
			w.flush()
		}
		return
	}
	w.status = status
	w.frame()
	w.compose(status)
	w.model = nil
}

// frame decides how the end of the body will be known.
func (w *Response) frame() {
	r, h := w.request, w.Header()
	w.last = r.Close || w.conn.server.closing.Load() || hasToken(h["Connection"], "close") || !w.wanted()
	if values := h["Content-Length"]; len(values) == 1 {
		if n, err := strconv.ParseUint(values[0], 10, 63); err == nil {
			w.length = int64(n)
		}
	}
	if w.length < 0 {
		delete(h, "Content-Length")
	}
	switch {
	case w.status < 200 || w.status == http.StatusNoContent:
		w.none = true
		w.last = w.last || w.status < 200 // what follows is another protocol
		delete(h, "Content-Length")       // RFC 9110 §8.6
	case r.Method == http.MethodHead || w.status == http.StatusNotModified:
		w.none = true
	case w.length >= 0:
	case r.ProtoAtLeast(1, 1):
		w.chunked = true
	default:
		w.last = true // the end of the connection is that of the body
	}
}

// wanted reports whether the body was read, or can be: it is not when it broke
// off, or when nobody has asked for it, and it is long or may not come at all.
func (w *Response) wanted() bool {
	r, b := w.request, &w.request.body
	if b.ended() || b.begun() {
		return b.whole() || !b.over.Load()
	}
	return r.ContentLength >= 0 && r.ContentLength <= drainOctets && w.comes()
}

// comes reports whether the client sends the body. One that was not asked for,
// though it said that it waits for that, may come or not.
func (w *Response) comes() bool {
	return w.asked || !hasToken(w.request.Header["Expect"], "100-continue")
}

// Write writes a part of the body. Less than a buffer waits for Flush, or for
// the end. What is more than the Content-Length is not sent, and ends the
// connection, as does what is less.
func (w *Response) Write(p []byte) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	if w.none {
		if w.request.Method == http.MethodHead {
			return len(p), nil
		}
		return 0, http.ErrBodyNotAllowed
	}
	if left := w.length - w.sent; w.length >= 0 && int64(len(p)) > left {
		p, w.long = p[:left], true
	}
	w.sent += int64(len(p))
	if w.chunked && len(p) > 0 {
		w.addSize(len(p))
	}
	w.add(p)
	if w.chunked && len(p) > 0 {
		w.add(crlf)
	}
	if w.err == nil && w.long {
		return len(p), http.ErrContentLength
	}
	return len(p), w.err
}

var crlf = []byte("\r\n")

// begin sends a 200 if no status was written.
func (w *Response) begin() error {
	if w.hijacked {
		return http.ErrHijacked
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.err
}

// add appends to the buffer, which it writes when it is full.
func (w *Response) add(parts ...[]byte) {
	for _, p := range parts {
		if len(w.out)+len(p) > cap(w.buffer()) {
			w.flush()
		}
		if len(p) > cap(w.buffer()) {
			w.write(p)
			continue
		}
		w.out = append(w.buffer(), p...)
	}
}

// addSize appends the line before a chunk.
func (w *Response) addSize(n int) {
	if cap(w.buffer())-len(w.out) < 16+len(crlf) {
		w.flush()
	}
	w.out = append(strconv.AppendInt(w.buffer(), int64(n), 16), crlf...)
}

// buffer is what is still to be written, with room behind it.
func (w *Response) buffer() []byte {
	if w.out == nil {
		w.out = smalls.Get().(*[smallBuffer]byte)[:0]
	}
	return w.out
}

// drop gives the buffer back.
func (w *Response) drop() {
	switch cap(w.out) {
	case smallBuffer:
		smalls.Put((*[smallBuffer]byte)(w.out[:smallBuffer]))
	case largeBuffer:
		larges.Put((*[largeBuffer]byte)(w.out[:largeBuffer]))
	}
	w.out = nil
}

func (w *Response) flush() {
	if len(w.out) > 0 {
		w.write(w.out)
		w.out = w.out[:0]
	}
	if cap(w.out) > largeBuffer { // a header section was longer than any chunk is to be
		w.out = nil
	}
}

// write writes to the client, who must take each part within the idle time.
func (w *Response) write(p []byte) {
	for w.err == nil && len(p) > 0 {
		w.conn.writeWithin()
		var n int
		n, w.err = w.conn.Write(p[:min(len(p), largeBuffer)])
		p = p[n:]
	}
}

// FlushError sends what is buffered, and the header section in any case.
func (w *Response) FlushError() error {
	if err := w.begin(); err != nil {
		return err
	}
	w.flush()
	return w.err
}

// Flush is FlushError for who does not care.
func (w *Response) Flush() { _ = w.FlushError() }

// Hijack hands the connection over. What the client has sent already is in the
// reader.
func (w *Response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := w.conn
	switch {
	case w.hijacked:
		return nil, nil, http.ErrHijacked
	case w.err != nil:
		return nil, nil, w.err
	case !c.state.CompareAndSwap(active, taken):
		return nil, nil, http.ErrServerClosed
	}
	c.watch.end()
	w.flush()
	w.drop()
	w.hijacked = true
	c.server.drop(c)
	_ = c.SetDeadline(noDeadline)
	return c.Conn, bufio.NewReadWriter(c.reader, bufio.NewWriterSize(c.Conn, 16)), nil
}

// finish ends the answer, and reports whether the connection can be used again.
// free is that nobody reads the body.
func (w *Response) finish(free bool) bool {
	defer w.close()
	if w.status == 0 {
		w.finishEmpty()
	}
	if w.chunked {
		w.add(lastChunk)
		w.addTrailers()
		w.add(crlf)
	}
	w.flush()
	if w.err != nil || w.long || !w.none && w.length >= 0 && w.sent != w.length {
		return false // the client sees that it is not whole
	}
	b := &w.request.body
	if !w.last && free && (b.ended() || w.comes()) && b.drain() {
		return true
	}
	if !b.whole() || w.conn.reader.Buffered() > 0 {
		Linger(w.conn.Conn)
	}
	return false
}

// finishEmpty begins an answer of which the handler wrote nothing.
func (w *Response) finishEmpty() {
	h := w.Header()
	if len(h["Content-Length"]) == 0 && w.request.Method != http.MethodHead && !hasTrailers(h) {
		h["Content-Length"] = []string{"0"}
	}
	w.WriteHeader(http.StatusOK)
}

// errFinished is for a handler that writes when it has returned.
var errFinished = errors.New("serving: the answer is over")

func (w *Response) close() {
	w.drop()
	w.err = errFinished
}

var lastChunk = []byte("0\r\n")

// addTrailers appends those that were declared before the body, and those that
// are named with http.TrailerPrefix.
func (w *Response) addTrailers() {
	for _, name := range w.trailers {
		for _, v := range w.header[name] {
			w.add([]byte(name+": "+clean(v)), crlf)
		}
	}
	for name, values := range w.header {
		name, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		if !prefixed || !validName(name) || !httpguts.ValidTrailerHeader(name) {
			continue
		}
		for _, v := range values {
			w.add([]byte(name+": "+clean(v)), crlf)
		}
	}
}

func hasTrailers(h http.Header) bool {
	for name := range h {
		if name == "Trailer" || strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}
