package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// responseWriter stands between goproxy and net/http's ResponseWriter. It
// counts, copies with pooled buffers, flushes streams, keeps net/http from
// adding fields to an origin's answer, and gives out hijacked connections
// that are tracked and have lost nothing.
type responseWriter struct {
	http.ResponseWriter
	raw    *tracker
	replay bool // a CONNECT: goproxy drops what Hijack had buffered (https.go:276)

	status    int
	written   int64
	forwarded bool        // the answer is an origin's: nothing is added to it
	stream    bool        // its length is unknown: each read is passed on at once
	cut       error       // why the origin's answer broke off
	conn      *rawConn    // set by Hijack
	early     sync.Mutex  // guards Header against 1xx answers, which come on another goroutine
	begun     atomic.Bool // the final answer has begun: no 1xx after it
}

// WriteHeader begins the answer. net/http adds a Date and sniffs a
// Content-Type unless the key is there with no value.
func (w *responseWriter) WriteHeader(status int) {
	w.begun.Store(true)
	w.early.Lock()
	defer w.early.Unlock()
	w.status = status
	if h := w.Header(); w.forwarded {
		for _, name := range [...]string{"Date", "Content-Type"} {
			if _, there := h[name]; !there {
				h[name] = nil
			}
		}
		w.stream = len(h["Content-Length"]) == 0
	}
	w.ResponseWriter.WriteHeader(status)
}

// informational passes a 1xx answer on, unless the final one has begun.
func (w *responseWriter) informational(status int, fields http.Header) {
	w.early.Lock()
	defer w.early.Unlock()
	if w.begun.Load() {
		return
	}
	h := w.Header()
	for name, values := range fields {
		h[name] = values
	}
	w.ResponseWriter.WriteHeader(status)
	clear(h)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.written += int64(n)
	return n, err
}

// Flush sends what is buffered; goproxy asks for it.
func (w *responseWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom copies an answer's body. Without it net/http allocates 32 KiB for
// each, and streams that are not event streams are held back (http.go:100).
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	var total int64
	for {
		n, err := r.Read(buf[:])
		if n > 0 {
			m, writeErr := w.Write(buf[:n])
			total += int64(m)
			if writeErr != nil {
				return total, writeErr
			}
			if w.stream {
				w.Flush()
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// writeResponse sends an answer of heed's own that did not go through goproxy.
func (w *responseWriter) writeResponse(resp *http.Response) {
	defer func() { _ = resp.Body.Close() }()
	h := w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // a client that went away is no fault
}

// Hijack hands out the connection. For a CONNECT it begins with the octets
// that came in the same segment.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = w.raw.track(c)
	if n := rw.Reader.Buffered(); w.replay && n > 0 {
		early, _ := rw.Reader.Peek(n)
		w.conn.early = bytes.Clone(early)
	}
	return w.conn, rw, nil
}

// closeUpgraded ends the client's side of a WebSocket, which goproxy leaves
// open when the origin hangs up (http.go:92). A CONNECT's connection belongs
// to whoever took it.
func (w *responseWriter) closeUpgraded() {
	if w.conn != nil && !w.replay {
		_ = w.conn.Close()
		w.written += w.conn.sent.Load()
	}
}

// countedBody counts the octets of a request's body.
type countedBody struct {
	io.ReadCloser
	n int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	return n, err
}
