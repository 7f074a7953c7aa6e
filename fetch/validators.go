package fetch

import (
	"net/http"
	"strings"
)

// maxValidator bounds each of the validators, which are kept for every origin.
const maxValidator = 256

// validators are what a body is asked for again by (RFC 9110 §8.8): an entity
// tag, a line end, and the time of the last modification. Either may be
// missing; empty are no validators.
type validators string

// newValidators returns the validators that a store kept.
func newValidators(etag, lastModified string) validators {
	if etag == "" && lastModified == "" {
		return ""
	}
	return validators(etag + "\n" + lastModified)
}

// validatorsOf reads those of an answer. Some servers leave the quotes of an
// entity tag out and know it again only so, but "*" would be met by any body
// (RFC 9110 §13.1.2).
func validatorsOf(h http.Header) validators {
	etag := h.Values("ETag")
	var tag string
	if len(etag) == 1 && etag[0] != "*" && isVisible(etag[0]) {
		tag = etag[0]
	}
	modified := h.Get("Last-Modified")
	if _, err := http.ParseTime(modified); err != nil || len(modified) > maxValidator {
		modified = ""
	}
	return newValidators(tag, modified)
}

// isVisible reports whether a text can stand in a field as it is.
func isVisible(s string) bool {
	return s != "" && len(s) <= maxValidator && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (v validators) split() (etag, lastModified string) {
	etag, lastModified, _ = strings.Cut(string(v), "\n")
	return etag, lastModified
}

// areMeantBy reports whether a 304 with these fields is about the body of v. One
// that names another entity tag is about another body (RFC 9111 §4.3.4).
func (v validators) areMeantBy(h http.Header) bool {
	etag, _ := v.split()
	named, _ := validatorsOf(h).split()
	return etag == "" || named == "" || strings.TrimPrefix(etag, "W/") == strings.TrimPrefix(named, "W/")
}

// put makes a request conditional (RFC 9110 §13.1).
func (v validators) put(h http.Header) {
	etag, lastModified := v.split()
	if etag != "" {
		h.Set("If-None-Match", etag)
	}
	if lastModified != "" {
		h.Set("If-Modified-Since", lastModified)
	}
}
