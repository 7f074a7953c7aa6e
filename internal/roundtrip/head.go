package roundtrip

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// FramingError is a response of which two readers would take different parts
// for the body. http.ReadResponse drops the length, or the coding, and does not
// tell.
type FramingError struct{ cause string }

func (e *FramingError) Error() string { return e.cause }

var (
	errLengthAndCoding = &FramingError{"response with both Content-Length and Transfer-Encoding (RFC 9112 §6.3)"}
	errCodingInOld     = &FramingError{"response in HTTP/1.0 with Transfer-Encoding (RFC 9112 §6.1)"}
)

// defaultHeaderLimit is that of http.Transport.
const defaultHeaderLimit = 10 << 20

// head waits for a whole header section, looks at it, and leaves it to be read.
// What it returns is good until then.
func (c *conn) head() ([]byte, error) {
	limit := int(c.transport.base.MaxResponseHeaderBytes)
	if limit <= 0 {
		limit = defaultHeaderLimit
	}
	var s section
	for {
		octets, _ := c.reader.Peek(c.reader.Buffered())
		end, err := s.look(octets)
		switch {
		case err != nil:
			return nil, err
		case end > limit, end == 0 && len(octets) > limit:
			return nil, fmt.Errorf("response with a header section of more than %d octets", limit)
		case end > 0:
			return octets[:end], nil
		case len(octets) == c.reader.Size(): // it is longer than usual
			c.grow(octets, limit)
		}
		switch _, err := c.reader.Peek(len(octets) + 1); {
		case errors.Is(err, io.EOF):
			return octets, nil // the parser finds no end either, and says what it found in its place
		case err != nil:
			return nil, err
		}
	}
}

// grow gives the reader, which is full, twice the room, but for no more than a
// header section of the limit and an octet behind it.
func (c *conn) grow(octets []byte, limit int) {
	full := c.reader
	c.reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(octets)), c.Conn), min(2*full.Size(), limit+1))
	giveBack(full)
}

// section is a header section that is being looked at.
type section struct {
	line   int // where the line begins that is next
	seen   int // how far there is no end of that line
	first  bool
	old    bool // older than HTTP/1.1
	length bool
	coding bool
}

// look goes through the lines that are whole. It returns where the section
// ends, 0 if it does not yet.
func (s *section) look(b []byte) (end int, err error) {
	for {
		n := bytes.IndexByte(b[s.seen:], '\n')
		if n < 0 {
			s.seen = len(b)
			return 0, nil
		}
		n += s.seen
		line := bytes.TrimSuffix(b[s.line:n], cr)
		s.line, s.seen = n+1, n+1
		if len(line) == 0 {
			return s.line, s.fault()
		}
		s.take(line)
	}
}

var (
	cr               = []byte("\r")
	colon            = []byte(":")
	http10           = []byte("HTTP/1.0 ")
	http0            = []byte("HTTP/0.")
	contentLength    = []byte("Content-Length")
	transferEncoding = []byte("Transfer-Encoding")
)

func (s *section) take(line []byte) {
	if !s.first {
		s.first, s.old = true, bytes.HasPrefix(line, http10) || bytes.HasPrefix(line, http0)
		return
	}
	// Only a name that begins like one of the two is worth a closer look.
	switch line[0] | 0x20 {
	case 'c':
		s.length = s.length || isField(line, contentLength)
	case 't':
		s.coding = s.coding || isField(line, transferEncoding)
	}
}

// isField reports whether a line is of a field, with blanks before the colon or
// not: net/http takes such a name for another one, and others do not.
func isField(line, name []byte) bool {
	return len(line) > len(name) && bytes.EqualFold(line[:len(name)], name) &&
		bytes.HasPrefix(bytes.TrimLeft(line[len(name):], " \t"), colon)
}

func (s *section) fault() error {
	switch {
	case s.coding && s.length:
		return errLengthAndCoding
	case s.coding && s.old:
		return errCodingInOld
	}
	return nil
}
