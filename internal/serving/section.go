package serving

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"heed/internal/fieldline"
)

// Fault is a request that cannot be read.
type Fault struct {
	Status  int    // what fits: 400, 431, 501, 505
	Section []byte // what came of its header section, at most as much as is allowed
	Line    int    // length of its first line, as far as that came
	Text    string // what is wrong, where the octets do not show it; empty otherwise
}

func (f *Fault) Error() string {
	return fmt.Sprintf("request that cannot be read (%d): %s", f.Status, f.Text)
}

// request is a request as it is answered.
type request struct {
	*http.Request
	ctx     requestContext
	section []byte // a copy, in memory that is used again
	body    body
}

// sectionSize is what most header sections have room in.
const sectionSize = 2 << 10

var sections = sync.Pool{New: func() any { return new([sectionSize]byte) }}

// release gives the memory of the section back.
func (r *request) release() {
	if cap(r.section) == sectionSize {
		sections.Put((*[sectionSize]byte)(r.section[:sectionSize]))
	}
	r.section = nil
}

// errLeft is a client that went away, or took too long for a request.
var errLeft = errors.New("the client did not send a whole request")

// readRequest reads a header section. An error is a *Fault or errLeft.
func (c *conn) readRequest() (*request, error) {
	octets, err := c.section()
	if err != nil {
		return nil, err
	}
	r := &request{section: keep(octets)}
	rest := c.reader.Buffered() - len(octets)
	if r.Request, err = http.ReadRequest(c.reader); err != nil {
		return nil, r.fault(err)
	}
	if r.ProtoMajor != 1 {
		return nil, r.refused(http.StatusHTTPVersionNotSupported, "")
	}
	if c.reader.Buffered() != rest { // what the parser left would be taken for a body or a request
		return nil, r.refused(http.StatusBadRequest, "where the header section ends is not certain")
	}
	if text := r.check(); text != "" {
		return nil, r.refused(http.StatusBadRequest, text)
	}
	r.RemoteAddr = c.remote
	r.body.ReadCloser = r.Request.Body
	if len(r.TransferEncoding) > 0 {
		r.body.ReadCloser = &chunked{r: c.reader, request: r.Request}
	}
	r.body.none = r.Request.Body == http.NoBody
	if !r.body.none {
		r.Request.Body = &r.body
	}
	return r, nil
}

// keep copies a header section.
func keep(octets []byte) []byte {
	if len(octets) > sectionSize {
		return bytes.Clone(octets)
	}
	return append(sections.Get().(*[sectionSize]byte)[:0], octets...)
}

// section waits for a whole header section and leaves it to be read.
func (c *conn) section() ([]byte, error) {
	limit := c.server.config.HeaderLimit
	var s fieldline.Scanner
	for first := true; ; first = false {
		octets, _ := c.reader.Peek(c.reader.Buffered())
		end := s.End(octets)
		switch {
		case end > limit, end == 0 && len(octets) > limit:
			return nil, &Fault{Status: http.StatusRequestHeaderFieldsTooLarge, Section: bytes.Clone(octets[:limit]), Line: lineOf(octets)}
		case end > 0:
			return octets[:end], nil
		case s.Begun() && !bytes.Contains(octets[:lineOf(octets)], version):
			return octets, nil // not HTTP, and nothing else may ever follow: the parser does not get further
		case len(octets) == c.reader.Size():
			c.enlarge(octets, limit)
		}
		if first && c.used { // the time of a first request runs already
			c.readWithin(c.server.config.HeaderTimeout)
		}
		switch _, err := c.reader.Peek(len(octets) + 1); {
		case err == nil:
		case errors.Is(err, io.EOF) && len(octets) > 0:
			return octets, nil // the parser says what is wrong with it, if it is anything but cut
		default:
			return nil, errLeft
		}
	}
}

var version = []byte(" HTTP/")

// enlarge makes a reader for a header section that fills the one there is: as
// much larger as has come already, for it costs a client nothing to begin one.
func (c *conn) enlarge(octets []byte, limit int) {
	all := io.MultiReader(bytes.NewReader(bytes.Clone(octets)), c.Conn)
	size := min(2*len(octets), limit+1)
	c.release()
	c.reader = bufio.NewReaderSize(all, size)
}

func lineOf(b []byte) int {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return n
	}
	return len(b)
}

// fault returns what http.ReadRequest's error means for the client.
func (r *request) fault(err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errLeft
	case strings.HasPrefix(err.Error(), "unsupported transfer encoding"): // net/http has no type for it
		return r.refused(http.StatusNotImplemented, "")
	}
	return r.refused(http.StatusBadRequest, "")
}

func (r *request) refused(status int, text string) *Fault {
	return &Fault{Status: status, Section: r.section, Line: lineOf(r.section), Text: text}
}

// check looks for what http.ReadRequest leaves to a server, and returns what is
// wrong.
func (r *request) check() string {
	hosts, host, coded, sized, folded := r.count()
	switch {
	case folded:
		return "a field line begins with a blank; write each field in one line (RFC 9112 §5.2)"
	case hosts == 0 && r.ProtoAtLeast(1, 1) && r.Method != http.MethodConnect:
		return "missing required Host field (RFC 9112 §3.2)"
	case hosts > 1:
		return "there are two Host fields"
	case !isHost(host):
		return "malformed Host field"
	case coded && sized:
		return "there are both Content-Length and Transfer-Encoding (RFC 9112 §6.1)"
	case coded && !r.ProtoAtLeast(1, 1):
		return "there is a Transfer-Encoding in HTTP/1.0 (RFC 9112 §6.1)"
	}
	for name := range r.Header { // values it looks at itself
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Sprintf("the field name %q has octets that no name has", name)
		}
	}
	return ""
}

var (
	hostField        = []byte("Host:")
	contentLength    = []byte("Content-Length:")
	transferEncoding = []byte("Transfer-Encoding:")
)

// count looks for fields of which http.ReadRequest keeps one, or none.
func (r *request) count() (hosts int, host []byte, coded, sized, folded bool) {
	for line := range fieldline.Lines(r.section) {
		switch line[0] | 0x20 {
		case ' ', '\t' | 0x20:
			folded = folded || line[0] == ' ' || line[0] == '\t'
		case 'h':
			if begins(line, hostField) {
				hosts++
				host = bytes.Trim(line[len(hostField):], " \t\r")
			}
		case 'c':
			sized = sized || begins(line, contentLength)
		case 't':
			coded = coded || begins(line, transferEncoding)
		}
	}
	return hosts, host, coded, sized, folded
}

func begins(line, name []byte) bool {
	return len(line) >= len(name) && bytes.EqualFold(line[:len(name)], name)
}
