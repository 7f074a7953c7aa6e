package serving

import (
	"errors"
	"io"
	"net/http"
	"strconv"
)

// readier is a body that knows whether there is something to be read at once.
type readier interface{ Ready() bool }

// chunkRoom is what the line before a chunk takes of at most largeBuffer octets.
const chunkRoom = len("10000\r\n")

// ReadFrom copies a body. What has come of it goes out at once, joined with what
// is buffered: the header section, at the beginning. Where the body says (Ready)
// that nothing has come yet, the header section goes first.
func (w *Response) ReadFrom(r io.Reader) (int64, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	if w.none {
		return 0, nil
	}
	if body, ok := r.(readier); ok && !body.Ready() || !ok && w.length < 0 {
		w.flush()
	}
	var total int64
	for {
		n, err := w.read(r)
		total += int64(n)
		switch {
		case w.err != nil:
			return total, w.err
		case errors.Is(err, io.EOF):
			return total, nil // the end goes out with finish
		case err != nil:
			w.flush()
			return total, err
		}
		w.flush()
		if w.err != nil {
			return total, w.err
		}
	}
}

// read reads once, into the buffer.
func (w *Response) read(r io.Reader) (int, error) {
	start := len(w.buffer())
	at, end := start, cap(w.out)
	if w.chunked {
		at, end = at+chunkRoom, end-len(crlf)
	}
	if end-at < smallBuffer/4 || cap(w.out) > largeBuffer { // the header section has left little room, or made much
		w.flush()
		return w.read(r)
	}
	room := w.out[at:end:end]
	if left := w.length - w.sent; w.length >= 0 && int64(len(room)) > left {
		room = w.out[at : at+int(left)+1 : end] // one more, to see the end
	}
	n, err := r.Read(room[:min(len(room), end-at)])
	full := n == end-at
	if w.length >= 0 && w.sent+int64(n) > w.length {
		n, err, w.long = int(w.length-w.sent), http.ErrContentLength, true
	}
	w.sent += int64(n)
	w.took(start, at, n)
	if full && cap(w.out) == smallBuffer {
		w.flush()
		w.drop()
		w.out = larges.Get().(*[largeBuffer]byte)[:0]
	}
	return n, err
}

// took makes what was read a part of the buffer: as it is, or as a chunk.
func (w *Response) took(start, at, n int) {
	switch {
	case n == 0:
	case !w.chunked:
		w.out = w.out[:at+n]
	default:
		var room [chunkRoom]byte
		line := append(strconv.AppendInt(room[:0], int64(n), 16), crlf...)
		all := w.out[:cap(w.out)]
		copy(all[start:], line)
		if start+len(line) != at {
			copy(all[start+len(line):], all[at:at+n])
		}
		end := start + len(line) + n
		w.out = all[:end+copy(all[end:], crlf)]
	}
}
