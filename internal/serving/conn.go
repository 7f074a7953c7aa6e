package serving

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// readSize is how much is read of a client at once. A connection that waits
	// holds a buffer of this size.
	readSize = 4 << 10

	// precision is which part of a time limit is not counted: a deadline that was
	// set so short a time ago is not set again, which takes a lock and a timer.
	precision = 32

	// drainOctets is how much of a body that the handler did not read is read so
	// that the connection can be used again.
	drainOctets = 256 << 10
)

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }}

// conn serves one connection.
type conn struct {
	net.Conn
	server *Server
	ready  func(*http.Request)
	state  atomic.Int32
	reader *bufio.Reader // nil when it is still read from, and the connection ends
	watch  watch
	remote string
	used   bool // a request was answered

	readBy, writeBy time.Time // deadlines as they were set
}

// serve reads requests and has them answered, one after the other.
func (c *conn) serve(ctx context.Context) {
	defer c.end()
	c.reader = readers.Get().(*bufio.Reader)
	c.reader.Reset(c.Conn)
	c.watch.init(c)
	c.remote = c.RemoteAddr().String()
	for c.await() {
		r, err := c.readRequest()
		if err != nil {
			c.refuse(err)
			break
		}
		if !c.exchange(ctx, r) {
			break
		}
	}
	if c.state.Load() != taken {
		c.release()
	}
}

// end closes the connection, whatever became of serving it, unless it was taken
// over. A panic ends no more than that.
func (c *conn) end() {
	if v := recover(); v != nil {
		c.server.panicked(v)
	}
	if c.state.Load() == taken {
		return
	}
	c.watch.end()
	_ = c.Close()
}

// release gives the buffer back.
func (c *conn) release() {
	if r := c.reader; r != nil && r.Size() == readSize {
		r.Reset(nil)
		readers.Put(r)
	}
	c.reader = nil
}

// await waits for a request. False is the end of the connection.
func (c *conn) await() bool {
	if c.reader.Buffered() == 0 {
		if c.reader.Size() != readSize { // it was made for a header section that was longer than usual
			c.reader = readers.Get().(*bufio.Reader)
			c.reader.Reset(c.Conn)
		}
		if c.used {
			c.readWithin(c.server.config.IdleTimeout)
		} else {
			c.readWithin(c.server.config.HeaderTimeout) // it was opened for a request
		}
	}
	if _, err := c.reader.Peek(1); err != nil || !c.skipEmptyLines() {
		return false
	}
	return c.state.CompareAndSwap(idle, active)
}

// skipEmptyLines passes over line ends that some clients send behind a body
// (RFC 9112 §2.2). False is the end of the connection.
func (c *conn) skipEmptyLines() bool {
	for range 2 {
		b, err := c.reader.Peek(1)
		if err == nil && b[0] == '\r' {
			b, err = c.reader.Peek(2)
		}
		switch {
		case len(b) > 0 && b[len(b)-1] == '\n':
			_, _ = c.reader.Discard(len(b))
			if c.used {
				c.readWithin(c.server.config.IdleTimeout)
			}
		default:
			return err == nil
		}
	}
	_, err := c.reader.Peek(1)
	return err == nil
}

// exchange has a request answered. False means that no other can follow.
func (c *conn) exchange(ctx context.Context, r *request) bool {
	c.used = true
	r.ctx.Context = ctx
	defer r.ctx.cancel()
	defer r.release()
	r.body.conn, r.body.parsed = c, r.Request
	r.body.here = r.ContentLength >= 0 && r.ContentLength <= int64(c.reader.Buffered())
	r.Request = r.WithContext(&r.ctx)
	r.body.served = r.Request
	if c.ready != nil {
		c.ready(r.Request)
	}
	w := &Response{conn: c, request: r, length: -1}
	c.watch.start(r)
	whole := w.handle()
	if w.hijacked {
		return false
	}
	c.watch.stop()
	r.ctx.cancel()
	free := r.body.end()
	again := whole && w.finish(free)
	if !free {
		c.reader = nil
	}
	return again && c.state.CompareAndSwap(active, idle) && !c.server.closing.Load()
}

// handle calls the handler. False is a panic, which breaks the answer off.
func (w *Response) handle() (whole bool) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			w.conn.server.panicked(v)
		}
		w.drop()
		whole = false
	}()
	w.conn.server.config.Handler.ServeHTTP(w, w.request.Request)
	return true
}

// refuse answers what is no request, and waits for the client to take it.
func (c *conn) refuse(err error) {
	var f *Fault
	if !errors.As(err, &f) {
		return // the client went away, or took too long to say what it wants
	}
	c.writeWithin()
	if _, err := c.Write(c.server.config.Malformed(c.Conn, f)); err == nil {
		Linger(c.Conn)
	}
}

// readWithin bounds the reads that follow. 0 is no bound.
func (c *conn) readWithin(d time.Duration) {
	if by, changed := deadline(c.readBy, d); changed {
		c.readBy = by
		_ = c.SetReadDeadline(by)
	}
}

// writeWithin bounds the write that follows.
func (c *conn) writeWithin() {
	if by, changed := deadline(c.writeBy, c.server.config.IdleTimeout); changed {
		c.writeBy = by
		_ = c.SetWriteDeadline(by)
	}
}

// deadline returns when d is over, and whether that is not what was set already,
// or nearly so.
func deadline(set time.Time, d time.Duration) (by time.Time, changed bool) {
	if d <= 0 {
		return noDeadline, !set.IsZero()
	}
	by = time.Now().Add(d)
	ahead := by.Sub(set)
	return by, ahead < 0 || ahead >= d/precision
}
