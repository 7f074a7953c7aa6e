package roundtrip

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"heed/internal/fieldline"
)

// FramingError is a response of which two readers would take different parts
// for the body. http.ReadResponse drops the length, or the coding, and does not
// tell.
type FramingError struct{ cause string }

func (e *FramingError) Error() string { return e.cause }

var (
	errLengthAndCoding = &FramingError{"response with both Content-Length and Transfer-Encoding (RFC 9112 §6.3)"}
	errBadLength       = &FramingError{"response in HTTP/2 with a Content-Length that is no number, or with several (RFC 9113 §8.1.1)"}
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
	var s fieldline.Scanner
	for {
		octets, _ := c.reader.Peek(c.reader.Buffered())
		end := s.End(octets)
		switch {
		case end > limit, end == 0 && len(octets) > limit:
			return nil, fmt.Errorf("response with a header section of more than %d octets", limit)
		case end > 0:
			straighten(octets[:end])
			return octets[:end], fault(octets[:end])
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

// straighten puts blanks before a colon behind it, where they mean nothing: a
// proxy must take them away (RFC 9112 §5.1), and net/http takes them for a part
// of the name. The octets are those that it will read.
func straighten(section []byte) {
	if !bytes.Contains(section, blankColon) {
		return
	}
	for line := range fieldline.Lines(section) {
		colon := bytes.IndexByte(line, ':')
		name := bytes.TrimRight(line[:max(colon, 0)], " ")
		if len(name) < colon && len(name) > 0 && line[0] != ' ' && line[0] != '\t' { // else it is of the line before
			line[len(name)], line[colon] = ':', ' '
		}
	}
}

var (
	blankColon       = []byte(" :")
	http10           = []byte("HTTP/1.0 ")
	http0            = []byte("HTTP/0.")
	contentLength    = []byte("Content-Length")
	transferEncoding = []byte("Transfer-Encoding")
)

// fault looks for what makes a framing that two readers take differently.
func fault(section []byte) error {
	var length, coding bool
	for line := range fieldline.Lines(section) {
		// Only a name that begins like one of the two is worth a closer look.
		switch line[0] | 0x20 {
		case 'c':
			length = length || isField(line, contentLength)
		case 't':
			coding = coding || isField(line, transferEncoding)
		}
	}
	switch {
	case coding && length:
		return errLengthAndCoding
	case coding && (bytes.HasPrefix(section, http10) || bytes.HasPrefix(section, http0)):
		return errCodingInOld
	}
	return nil
}

func isField(line, name []byte) bool {
	return len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], name)
}
