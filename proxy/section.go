package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// checkSection looks at the header section of a request in HTTP/2 as
// internal/serving does at one in HTTP/1.1. net/http answers a section that is
// too large itself, or ends the connection, and nobody would be told why; and it
// takes a Content-Length that is wrong for another one, which must not go on
// (RFC 9113 §8.1.1).
func (p *Proxy) checkSection(r *http.Request) error {
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	if size > p.Limits.Header {
		return p.headerTooLarge()
	}
	for _, l := range r.Header["Content-Length"] {
		if n, err := strconv.ParseUint(l, 10, 63); err != nil || int64(n) != r.ContentLength {
			return &problem{kind: kindBadRequest, cause: errors.New("the Content-Length is no number, or there are several, or there is none of a body that long (RFC 9113 §8.1.1)")}
		}
	}
	if err := checkStream(r); err != nil {
		return &problem{kind: kindBadRequest, cause: err}
	}
	return nil
}

// headerTooLarge is what is wrong with a request whose fields are too many.
func (p *Proxy) headerTooLarge() *problem {
	return &problem{kind: kindHeaderTooLarge, cause: fmt.Errorf("the fields have more octets than the %d that are allowed (limits.header)", p.Limits.Header)}
}
