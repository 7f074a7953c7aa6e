package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"heed/bench/engine/wire"
)

// errGone is a connection that ended before an answer began.
var errGone = errors.New("the connection was closed in place of an answer")

// answers reads answers and checks each.
type answers struct {
	from io.Reader
	raw  *wire.Conn // nil: octets of bodies cannot be discarded unread
	buf  []byte
	have int       // octets of buf
	read func(int) // is told of octets of bodies
}

// scratch is where octets go that nobody looks at.
var scratch = make([]byte, 256<<10)

// expectation is what an answer has to be.
type expectation struct {
	status string // three digits
	body   []byte // nil: of any length, which Content-Length tells
}

// next reads one answer. closes tells that there will be no more on this
// connection.
func (a *answers) next(want *expectation) (closes bool, err error) {
	end, err := a.head()
	if err != nil {
		return false, err
	}
	h, err := parseHead(a.buf[:end+2])
	if err != nil {
		return false, err
	}
	got := a.buf[end+len(headEnd) : a.have]
	if string(h.status) != want.status {
		return false, fmt.Errorf("answered by %s, not %s:\n%s", h.status, want.status, bytes.TrimSpace(a.buf[:min(a.have, 1500)]))
	}
	length := h.length
	switch {
	case want.body == nil && length < 0:
		return false, fmt.Errorf("an answer without Content-Length:\n%s", a.buf[:end])
	case want.body != nil && length >= 0 && length != len(want.body):
		return false, fmt.Errorf("an answer of %d octets where %d are right:\n%s", length, len(want.body), a.buf[:end])
	case want.body != nil && length < 0 && !h.closes:
		return false, fmt.Errorf("an answer whose end nobody tells:\n%s", a.buf[:end])
	case want.body != nil:
		length = len(want.body)
	}
	if len(got) > length {
		return false, fmt.Errorf("%d octets after the answer: %.80q", len(got)-length, got[length:])
	}
	if want.body != nil && !bytes.Equal(got, want.body[:len(got)]) {
		return false, fmt.Errorf("an answer with another body: %.80q", got)
	}
	a.read(len(got))
	if err := a.skip(length - len(got)); err != nil {
		return false, fmt.Errorf("reading the body of an answer: %w", err)
	}
	a.have = 0
	return h.closes, nil
}

// head reads up to the end of a header section and returns where it is.
func (a *answers) head() (int, error) {
	for from := 0; ; {
		n, err := a.from.Read(a.buf[a.have:])
		a.have += n
		if i := bytes.Index(a.buf[from:a.have], headEnd); i >= 0 {
			return from + i, nil // an error comes again
		}
		switch {
		case err != nil && a.have == 0 && !errors.Is(err, wire.ErrStopped):
			return 0, fmt.Errorf("%w: %w", errGone, err)
		case err != nil:
			return 0, fmt.Errorf("reading the header of an answer: %w", err)
		case a.have == len(a.buf):
			return 0, fmt.Errorf("an answer whose header has no end in %d octets: %.200q", len(a.buf), a.buf)
		}
		from = max(0, a.have-len(headEnd)+1)
	}
}

// skip reads the rest of a body.
func (a *answers) skip(left int) error {
	for left > 0 {
		var n int
		var err error
		if p := scratch[:min(left, len(scratch))]; a.raw != nil {
			n, err = a.raw.Discard(p)
		} else {
			n, err = a.from.Read(p)
		}
		a.read(n)
		if left -= n; err != nil && left > 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("%d octets before its end: %w", left, err)
		}
	}
	return nil
}

// head is what counts of a header section.
type head struct {
	status []byte
	length int // -1: not told
	closes bool
}

// parseHead reads an HTTP/1 header section whose lines all end in CR LF.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	// HTTP/1.1 200 OK
	if len(b) < 14 || string(b[:7]) != "HTTP/1." || b[8] != ' ' {
		return h, fmt.Errorf("no HTTP/1 answer: %.200q", b)
	}
	h.status, h.closes = b[9:12], b[7] == '0'
	rest := b[bytes.IndexByte(b, '\n')+1:]
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n')
		line := rest[:end]
		rest = rest[end+1:]
		var err error
		switch line[0] | 0x20 {
		case 'c':
			if v, is := field(line, "connection"); is {
				h.closes = bytes.EqualFold(v, []byte("close"))
			} else if v, is := field(line, "content-length"); is {
				if h.length, err = strconv.Atoi(string(v)); err != nil || h.length < 0 {
					return h, fmt.Errorf("a Content-Length that is no length: %q", v)
				}
			}
		case 't':
			if _, is := field(line, "transfer-encoding"); is {
				return h, fmt.Errorf("an answer in chunks, where the origin's has a length: %q", b)
			}
		}
	}
	return h, nil
}

// field returns the value of a line if the name, in lower case, is its own.
func field(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' {
		return nil, false
	}
	for i := range len(name) {
		if c := line[i]; c != name[i] && (c < 'A' || c > 'Z' || c|0x20 != name[i]) {
			return nil, false
		}
	}
	return bytes.TrimSpace(line[len(name)+1:]), true
}
