package roundtrip

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
)

// errBodyClosed is the error of a Read after Close.
var errBodyClosed = errors.New("reading a body that was closed")

// body is an answer's body. At its end the connection is kept or closed. As
// that of net/http it may be closed while another goroutine reads it.
type body struct {
	io.ReadCloser
	conn     *conn
	ctx      context.Context //nolint:containedctx // the request's: its end is the body's, as net/http has it
	stop     func() bool
	upload   *upload // nil: none
	keep     bool    // the connection may be used again
	untilEnd bool    // of the connection: nothing else says where it ends

	state atomic.Int32
	err   error // of every Read after the end; set before state is ended
}

const (
	free int32 = iota
	reading
	closing // while it is read, or by Close itself
	ended   // the connection is another's
)

// Read reads from the origin.
func (b *body) Read(p []byte) (int, error) {
	if !b.state.CompareAndSwap(free, reading) {
		return 0, b.over()
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && errors.Is(err, io.EOF) && b.upload.running() {
		err = nil // what has come goes on before the end of the upload is waited for
	}
	if err == nil && b.leave() {
		return n, nil
	}
	if err == nil {
		return n, errBodyClosed
	}
	b.err = b.verdict(err)
	closed := b.state.Swap(ended) == closing
	b.end(errors.Is(b.err, io.EOF) && !closed)
	return n, b.err
}

// leave ends a reading, and reports whether the body is still open.
func (b *body) leave() bool {
	if b.state.CompareAndSwap(reading, free) {
		return true
	}
	b.err = errBodyClosed
	b.state.Store(ended)
	b.end(false)
	return false
}

// over is the error of a Read that comes too late.
func (b *body) over() error {
	if b.state.Load() == ended {
		return b.err
	}
	return errBodyClosed
}

// verdict is what an error means. crypto/tls takes the end of a connection for
// that of its data, as if a close_notify had come: of a body that nothing else
// bounds anybody may cut off the rest then (RFC 9112 §9.8).
func (b *body) verdict(err error) error {
	switch w := b.conn.wire; {
	case errors.Is(err, io.EOF) && b.untilEnd && w != nil && w.over:
		return io.ErrUnexpectedEOF
	case !errors.Is(err, io.EOF) && b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	}
	return err
}

// Ready reports whether something has come that was not read yet, or nothing
// will. It is for the goroutine that reads.
func (b *body) Ready() bool {
	if !b.state.CompareAndSwap(free, reading) {
		return true
	}
	ready := b.conn.reader.Buffered() > 0
	return !b.leave() || ready
}

// Close gives up what was not read yet.
func (b *body) Close() error {
	switch {
	case b.state.CompareAndSwap(free, closing):
		b.err = errBodyClosed
		b.end(false)
		b.state.Store(ended)
	case b.state.CompareAndSwap(reading, closing):
		b.conn.abort() // whoever reads lets go of it, and does not keep it
	case b.state.CompareAndSwap(free, free): // it was being read, and is not any more
		return b.Close()
	}
	return nil
}

// end is called once. The connection is another's after it.
func (b *body) end(whole bool) {
	whole = whole && b.upload.sent()
	running := b.stop() // else the end of the context may yet come upon the connection
	empty := b.conn.release()
	switch {
	case whole && running && empty && b.keep:
		b.conn.transport.pool.keep(b.conn)
	case whole && running:
		b.conn.close()
	default:
		b.conn.drop()
	}
}

// upgraded is the body of a 101: the connection itself. Unlike a body it is
// written to by another goroutine.
type upgraded struct{ b *body }

// Read reads what the origin sends behind its header section.
func (u *upgraded) Read(p []byte) (int, error) {
	if u.b.conn.reader.Buffered() > 0 {
		return u.b.conn.reader.Read(p)
	}
	return u.b.conn.Read(p)
}

// Write writes to the origin.
func (u *upgraded) Write(p []byte) (int, error) { return u.b.conn.Write(p) }

// CloseWrite ends the direction to the origin, as TCP and TLS can.
func (u *upgraded) CloseWrite() error {
	if c, ok := u.b.conn.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close ends both directions. The buffer is not given back: it may be read.
func (u *upgraded) Close() error {
	u.b.stop()
	err := u.b.conn.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
