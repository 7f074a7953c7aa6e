package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"heed/internal/serving"
	"heed/internal/stall"
)

// responseWriter stands between goproxy and the ResponseWriter of a server. It
// counts, keeps fields from being added to an origin's answer, and gives out
// hijacked connections that are tracked and have lost nothing; in HTTP/2, where
// it is net/http's, it copies with pooled buffers and flushes streams.
type responseWriter struct {
	http.ResponseWriter
	own     *serving.Response // the same, in HTTP/1.1; nil in HTTP/2
	in      *http.Request
	raw     *tracker // for hijacked connections; nil inside a tunnel, which is tracked already
	connect bool

	status    int
	written   int64
	forwarded bool         // the answer is an origin's: nothing is added to it
	endless   bool         // it has no length
	cut       error        // why the origin's answer broke off
	conn      *rawConn     // set by Hijack
	upgrade   *upgrade     // what the connection becomes behind a 101
	stall     *stall.Watch // nil in HTTP/1.1
	lost      error        // why the client did not take the answer

	sending     sync.Mutex // a timer may flush the header
	interim     sync.Mutex // 1xx answers come on other goroutines than the final one
	interimOver bool       // the final answer has begun, or there will be none of the origin's
}

// WriteHeader begins the answer. Both servers add a Date, and net/http sniffs a
// Content-Type, unless the key is there with no value.
func (w *responseWriter) WriteHeader(status int) {
	w.endInterim()
	w.status = status
	if h := w.Header(); w.forwarded {
		for _, name := range [...]string{"Date", "Content-Type"} {
			if _, there := h[name]; !there {
				h[name] = nil
			}
		}
	}
	w.endless = len(w.Header()["Content-Length"]) == 0
	w.ResponseWriter.WriteHeader(status)
	if w.forwarded && status != http.StatusSwitchingProtocols {
		clear(w.Header()) // it was taken; what is written to it now are trailers
	}
}

// writeInterim passes a 1xx answer on, unless the final one has begun. A
// client of HTTP/1.0 gets none (RFC 9110 §15.2). The transport calls this on a
// goroutine of its own, and may do so after it gave the request up.
func (w *responseWriter) writeInterim(status int, fields http.Header, section []byte) {
	w.interim.Lock()
	defer w.interim.Unlock()
	if w.interimOver || !w.in.ProtoAtLeast(1, 1) {
		return
	}
	if w.own != nil {
		w.own.Like(fields, section)
		w.own.WriteHeader(status)
		w.own.Like(nil, nil)
		return
	}
	h := w.Header()
	maps.Copy(h, fields)
	w.ResponseWriter.WriteHeader(status)
	clear(h)
}

// endInterim lets no 1xx answer through from now on. From then on the header
// belongs to the goroutine that answers.
func (w *responseWriter) endInterim() {
	w.interim.Lock()
	defer w.interim.Unlock()
	w.interimOver = true
}

// Write sends a part of the body.
func (w *responseWriter) Write(b []byte) (int, error) {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.stall.Begin()
	defer w.stall.Done()
	n, err := w.ResponseWriter.Write(b)
	w.written += int64(n)
	w.lose(err)
	return n, err
}

// lose notes why the client did not take the answer: goproxy tells nobody.
func (w *responseWriter) lose(err error) {
	if w.lost == nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		w.lost = err
	}
}

// Flush sends what is buffered; goproxy asks for it.
func (w *responseWriter) Flush() {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.flush()
}

func (w *responseWriter) flush() {
	w.stall.Begin()
	defer w.stall.Done()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a client that went away is no fault
}

// headerDelay is how long the header of an answer waits for the first octets, so
// that both are sent in one packet.
const headerDelay = 2 * time.Millisecond

// flushSoon sends the header though nothing follows yet, as in events that are
// still to happen. The function that it returns takes it back.
func (w *responseWriter) flushSoon() (stop func()) {
	over := false
	timer := time.AfterFunc(headerDelay, func() {
		w.sending.Lock()
		defer w.sending.Unlock()
		if !over {
			w.flush()
		}
	})
	return func() {
		timer.Stop()
		w.sending.Lock()
		defer w.sending.Unlock()
		over = true
	}
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom copies an answer's body, each part as it comes. Without it net/http
// allocates 32 KiB for each and holds parts back, and goproxy flushes event
// streams alone (http.go:100).
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	if w.own != nil {
		n, err := w.own.ReadFrom(r)
		w.written += n
		w.lose(err)
		return n, err
	}
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	stop := w.flushSoon()
	defer stop()
	var total int64
	for {
		n, err := r.Read(buf[:])
		if n > 0 {
			m, writeErr := w.Write(buf[:n])
			total += int64(m)
			if writeErr != nil {
				return total, writeErr
			}
		}
		if err == nil || w.endless { // more may be long in coming; and of a short answer net/http would tell a length
			w.Flush()
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
// that came in the same segment, which goproxy drops (https.go:276).
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = w.raw.track(unwrap(c))
	if n := rw.Reader.Buffered(); w.connect && n > 0 {
		early, _ := rw.Reader.Peek(n)
		w.conn.early = bytes.Clone(early)
	}
	if w.upgrade != nil {
		return &upgradedClient{w.conn, w.upgrade}, rw, nil
	}
	return w.conn, rw, nil
}

// closeUpgraded ends the client's side of a WebSocket, which goproxy leaves
// open when the origin hangs up (http.go:92). A CONNECT's connection belongs
// to whoever took it.
func (w *responseWriter) closeUpgraded() {
	if w.conn != nil && !w.connect {
		_ = w.conn.Close()
	}
}
