package fetch

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// readBody reads the decoded body up to limit+1 octets and no further: the one
// octet more tells that there is more, and an origin that falls silent there
// does not matter. The result is never nil without an error.
//
// The error says that the transfer was cut short or that the coding is
// unknown or broken: then nobody knows what the rules are.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	switch coding := codingOf(resp.Header); coding {
	case "", "identity":
		return readUpTo(resp.Body, limit+1)
	case "gzip", "x-gzip":
		return readGzip(resp.Body, limit)
	default:
		return nil, fmt.Errorf("body in the coding %q, which was not asked for", coding)
	}
}

// codingOf returns the content coding in lower case (RFC 9110 §8.4). More than
// one make a list, which is no coding that we know.
func codingOf(h http.Header) string {
	return strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ", ")))
}

func readUpTo(r io.Reader, n int) ([]byte, error) {
	octets, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return nil, fmt.Errorf("body cut short after %d octets: %w", len(octets), err)
	}
	return octets, nil
}

// maxRatio is how many octets one encoded octet may decode to, where that makes
// more than maxExpanded of them. Text stays far below it but for padding, and
// what is made to fill memory far above, up to 1,032.
const (
	maxRatio    = 250
	maxExpanded = 8 << 20
)

// readGzip bounds both sides: the decoded octets, against what a few encoded
// ones can expand to, and the encoded ones, against those that expand to
// nothing for ever. What expands out of all proportion and without an end is no
// file of rules, and that it begins with none is not to be taken for permission.
func readGzip(r io.Reader, limit int) ([]byte, error) {
	encoded := &meter{r: bufio.NewReader(io.LimitReader(r, 2*int64(limit)))}
	z, err := gzip.NewReader(encoded)
	if errors.Is(err, io.EOF) {
		return []byte{}, nil // no body at all, which servers label too
	}
	var octets []byte
	if err == nil {
		octets, err = io.ReadAll(io.LimitReader(z, int64(limit)+1))
	}
	switch {
	case encoded.read >= 2*limit && err != nil:
		return nil, fmt.Errorf("gzip body of more than %d octets that holds no more than %d", 2*limit, limit)
	case err != nil:
		return nil, fmt.Errorf("gzip body broken after %d decoded octets: %w", len(octets), err)
	case len(octets) <= limit || len(octets) <= maxRatio*encoded.read:
		return octets, nil
	}
	return octets, readOn(z, encoded)
}

// readOn looks whether a body that is beyond the limit, and out of proportion, has
// an end.
func readOn(z io.Reader, encoded *meter) error {
	n, err := io.CopyN(io.Discard, z, maxExpanded)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("gzip body broken %d octets beyond the limit: %w", n, err)
	case n > maxRatio*int64(encoded.read):
		return fmt.Errorf("gzip body of which %d octets decode to more than %d: more than %d for one", encoded.read, n, maxRatio)
	}
	return nil
}

// meter counts what is read. It hands out single octets, so that a decoder
// takes no more than it needs.
type meter struct {
	r    *bufio.Reader
	read int
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += n
	return n, err
}

func (m *meter) ReadByte() (byte, error) {
	b, err := m.r.ReadByte()
	if err == nil {
		m.read++
	}
	return b, err
}
