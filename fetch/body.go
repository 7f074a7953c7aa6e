package fetch

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
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

// declaresUTF8 reports whether the Content-Type says that the body is in UTF-8
// (RFC 9110 §8.3).
func declaresUTF8(h http.Header) bool {
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && strings.EqualFold(params["charset"], "utf-8")
}

func readUpTo(r io.Reader, n int) ([]byte, error) {
	octets, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return nil, fmt.Errorf("body cut short after %d octets: %w", len(octets), err)
	}
	return octets, nil
}

// readGzip bounds both sides: the decoded octets, against what a few encoded
// ones can expand to, and the encoded ones, against those that expand to
// nothing for ever.
func readGzip(r io.Reader, limit int) ([]byte, error) {
	encoded := &io.LimitedReader{R: r, N: 2 * int64(limit)}
	z, err := gzip.NewReader(encoded)
	if errors.Is(err, io.EOF) {
		return []byte{}, nil // no body at all, which servers label too
	}
	var octets []byte
	if err == nil {
		octets, err = io.ReadAll(io.LimitReader(z, int64(limit)+1))
	}
	switch {
	case err == nil:
		return octets, nil
	case encoded.N <= 0:
		return nil, fmt.Errorf("gzip body of more than %d octets that holds no more than %d", 2*limit, limit)
	}
	return nil, fmt.Errorf("gzip body broken after %d decoded octets: %w", len(octets), err)
}
