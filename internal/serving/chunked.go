package serving

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"net/textproto"
)

// What is wrong with a body in chunks.
var (
	errChunkSize      = errors.New("a chunk's size is no hexadecimal number")
	errChunkLine      = errors.New("a chunk's line does not end with CR LF, or is too long")
	errChunkExtension = errors.New("a chunk's extension has a control octet")
	errChunkEnd       = errors.New("a chunk does not end where its size says")
	errChunkOverhead  = errors.New("there is much more around the chunks than in them")
	errTrailerLong    = errors.New("the trailer section is too long")
)

const (
	// mostChunkLine is how long the line before a chunk may be.
	mostChunkLine = 4 << 10

	// mostDigits is how many a size may have, zeros before it too.
	mostDigits = 16

	// usualOverhead is what the line before a chunk may have; what is more may be
	// twice the data, and all in all mostOverhead, so that nobody keeps a proxy busy
	// with nothing.
	usualOverhead = 16
	mostOverhead  = 16 << 10
)

// chunked is a body in chunks (RFC 9112 §7.1). net/http reads one, too, but lets
// any octet pass in an extension, and RFC 9112 has nothing but tokens and quoted
// strings there: others may end the line at it.
type chunked struct {
	r       *bufio.Reader
	request *http.Request // where trailers go to

	left     uint64 // of the chunk
	inside   bool   // its end is to come
	overhead int
	err      error
}

// Read returns what has come, and waits where that is nothing.
func (c *chunked) Read(p []byte) (n int, err error) {
	for n < len(p) && c.err == nil {
		if c.left == 0 && n > 0 && !c.nextIsHere() {
			break
		}
		if c.left == 0 {
			c.err = c.next()
			continue
		}
		part := p[n:]
		if uint64(len(part)) > c.left {
			part = part[:c.left]
		}
		if n > 0 && c.r.Buffered() == 0 {
			break
		}
		m, err := c.r.Read(part)
		n += m
		c.left -= uint64(m)
		if err != nil {
			c.err = unexpected(err)
		}
	}
	if n > 0 {
		return n, nil
	}
	return n, c.err
}

// Close does nothing: what is left is not skipped here.
func (c *chunked) Close() error { return nil }

// nextIsHere reports whether the line before the next chunk has come.
func (c *chunked) nextIsHere() bool {
	here, _ := c.r.Peek(c.r.Buffered())
	if c.inside {
		here = here[min(len("\r\n"), len(here)):]
	}
	return bytes.IndexByte(here, '\n') >= 0
}

// next reads the end of a chunk and the line before the next. io.EOF is that the
// last one has been read, with the trailers.
func (c *chunked) next() error {
	if c.inside {
		var end [2]byte
		if _, err := io.ReadFull(c.r, end[:]); err != nil {
			return unexpected(err)
		}
		if string(end[:]) != "\r\n" {
			return errChunkEnd
		}
		c.inside = false
	}
	line, err := c.line()
	if err != nil {
		return err
	}
	size, err := chunkSize(line)
	if err != nil {
		return err
	}
	c.overhead = max(0, c.overhead+len(line)-usualOverhead-2*int(min(size, mostOverhead)))
	if c.overhead > mostOverhead {
		return errChunkOverhead
	}
	if size == 0 {
		return c.trailers()
	}
	c.left, c.inside = size, true
	return nil
}

// line reads a line without its end. It is good until the next read.
func (c *chunked) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errChunkLine
	case err != nil:
		return nil, unexpected(err)
	}
	line, whole := bytes.CutSuffix(line, []byte("\r\n"))
	if !whole || len(line) > mostChunkLine || bytes.IndexByte(line, '\r') >= 0 {
		return nil, errChunkLine
	}
	return line, nil
}

// chunkSize reads the size in a line, and looks at the extension behind it.
func chunkSize(line []byte) (size uint64, err error) {
	size, rest, extended := 0, line, false
	for ; len(rest) > 0; rest = rest[1:] {
		digit, is := hexDigit(rest[0])
		if !is {
			extended = true
			break
		}
		if size > math.MaxInt64>>4 || len(line)-len(rest) == mostDigits {
			return 0, errChunkSize
		}
		size = size<<4 | uint64(digit)
	}
	if len(rest) == len(line) {
		return 0, errChunkSize
	}
	if !extended {
		return size, nil
	}
	if rest = bytes.TrimLeft(rest, " \t"); len(rest) > 0 && rest[0] != ';' {
		return 0, errChunkSize
	}
	for _, o := range rest {
		if o < ' ' && o != '\t' || o == 0x7f {
			return 0, errChunkExtension
		}
	}
	return size, nil
}

func hexDigit(c byte) (value byte, is bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// trailers reads what is behind the last chunk. io.EOF is that all is well.
func (c *chunked) trailers() error {
	first, err := c.r.Peek(len("\r\n"))
	if err != nil {
		return unexpected(err)
	}
	if string(first) == "\r\n" {
		_, _ = c.r.Discard(len("\r\n")) // which are there
		return io.EOF
	}
	if !c.endIsNear() {
		return errTrailerLong
	}
	fields, err := textproto.NewReader(c.r).ReadMIMEHeader()
	if err != nil {
		return unexpected(err)
	}
	if c.request.Trailer == nil {
		c.request.Trailer = make(http.Header, len(fields))
	}
	for name, values := range fields {
		c.request.Trailer[name] = values
	}
	return io.EOF
}

// endIsNear reports whether a trailer section ends within what a reader holds:
// textproto would read on for ever.
func (c *chunked) endIsNear() bool {
	for {
		here, _ := c.r.Peek(c.r.Buffered())
		if bytes.Contains(here, []byte("\r\n\r\n")) {
			return true
		}
		if _, err := c.r.Peek(len(here) + 1); err != nil { // the reader is full, or nothing comes
			return false
		}
	}
}

// unexpected is the error of a connection that ends in the middle.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
