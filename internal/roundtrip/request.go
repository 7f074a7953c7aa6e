package roundtrip

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"heed/internal/fieldline"
)

// RequestError is a request that cannot be sent as it is. Nothing of it was.
type RequestError struct{ cause string }

func (e *RequestError) Error() string { return e.cause }

// TrailerError is a request whose trailers cannot be sent as they came with the
// end of its body. All before them was sent.
type TrailerError struct{ cause error }

func (e *TrailerError) Error() string { return e.cause.Error() }

// check refuses what cannot be sent whichever way it goes. What is said in the
// fields and the target is looked at when it is written.
func (t *Transport) check(req *http.Request) error {
	switch u := req.URL; {
	case u == nil:
		return &RequestError{"request without a URL"}
	case u.Scheme != "http" && (u.Scheme != "https" || t.proxied):
		return &RequestError{fmt.Sprintf("a request for the scheme %q does not go this way", u.Scheme)}
	case u.Host == "": // it would be taken for this machine
		return &RequestError{"request for a URL without a host"}
	case req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method), req.Method == http.MethodConnect: // both are tokens (RFC 9110 §9.1)
		return &RequestError{fmt.Sprintf("method %q cannot be sent", req.Method)}
	case req.ContentLength != 0 && req.Body == nil:
		return &RequestError{fmt.Sprintf("request with a Content-Length of %d and no body", req.ContentLength)}
	}
	return nil
}

// appendRequest appends the request as it is sent. Fields have the spelling and
// the order of a header section; those that it does not name follow, sorted. An
// error is a *RequestError.
func (t *Transport) appendRequest(b []byte, req *http.Request, order []byte) ([]byte, error) {
	b = append(append(b, cmp.Or(req.Method, http.MethodGet)...), ' ')
	start := len(b)
	b, err := t.appendTarget(b, req.URL)
	if err != nil {
		return b, err
	}
	if bytes.ContainsFunc(b[start:], func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return b, &RequestError{fmt.Sprintf("request-target %q has a control octet or a blank", b[start:])}
	}
	b = append(b, " HTTP/1.1\r\n"...)
	hostAt := cmp.Or(req.Host, req.URL.Host)
	if !httpguts.ValidHostHeader(hostAt) {
		return b, &RequestError{fmt.Sprintf("host %q cannot be sent", hostAt)}
	}
	var room [32]fieldline.Line
	lines, err := t.appendFields(append(room[:0], fieldline.Line{Name: "Host", Value: hostAt}), req)
	if err != nil {
		return b, err
	}
	if lines, err = appendFraming(lines, req); err != nil {
		return b, err
	}
	return append(fieldline.Append(b, lines, order), "\r\n"...), nil
}

// appendTarget appends a path, or the whole URL to a proxy, or where Opaque
// begins with the authority. The asterisk is an origin as a whole, which a URL
// says by having no path (RFC 9112 §3.2.4).
func (t *Transport) appendTarget(b []byte, u *url.URL) ([]byte, error) {
	path := cmp.Or(u.Opaque, u.EscapedPath(), "/")
	switch {
	case strings.HasPrefix(u.Opaque, "//"):
		b = append(append(append(b, u.Scheme...), ':'), path...)
	case path == "*" && t.proxied:
		b = append(append(append(b, u.Scheme...), "://"...), u.Host...)
	case path[0] != '/' && path != "*": // behind a host it would be another one
		return b, &RequestError{fmt.Sprintf("request-target %q is no path", path)}
	default:
		if t.proxied {
			b = append(append(append(b, u.Scheme...), "://"...), u.Host...)
		}
		b = append(b, path...)
	}
	if u.ForceQuery || u.RawQuery != "" {
		b = append(append(b, '?'), u.RawQuery...)
	}
	return b, nil
}

// appendFields takes the fields of a request apart, but for those that are made
// anew.
func (t *Transport) appendFields(lines []fieldline.Line, req *http.Request) ([]fieldline.Line, error) {
	for name, values := range req.Header {
		switch {
		case t.own(name):
			continue
		case name == "User-Agent" && len(values) == 1 && values[0] == "":
			continue // that is how http.Transport is told to send none
		case !httpguts.ValidHeaderFieldName(name):
			return nil, &RequestError{fmt.Sprintf("field name %q cannot be sent", name)}
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, &RequestError{fmt.Sprintf("the value of the field %s cannot be sent", name)}
			}
			lines = append(lines, fieldline.Line{Name: name, Value: v})
		}
	}
	if t.authorization != "" {
		lines = append(lines, fieldline.Line{Name: "Proxy-Authorization", Value: t.authorization})
	}
	return lines, nil
}

// own reports whether a field is not for the caller to say, however it is
// spelled: to an origin Content-length is the same as Content-Length.
func (t *Transport) own(name string) bool {
	switch len(name) {
	case len("Host"):
		return strings.EqualFold(name, "Host")
	case len("Trailer"):
		return strings.EqualFold(name, "Trailer")
	case len("Content-Length"):
		return strings.EqualFold(name, "Content-Length")
	case len("Transfer-Encoding"):
		return strings.EqualFold(name, "Transfer-Encoding")
	case len("Proxy-Authorization"):
		return t.authorization != "" && strings.EqualFold(name, "Proxy-Authorization")
	}
	return false
}

// appendFraming appends the fields that say what the request has for a body, and
// what becomes of the connection.
func appendFraming(lines []fieldline.Line, req *http.Request) ([]fieldline.Line, error) {
	if req.Close && !httpguts.HeaderValuesContainsToken(req.Header["Connection"], "close") {
		lines = append(lines, fieldline.Line{Name: "Connection", Value: "close"})
	}
	if len(req.Header["Te"]) > 0 && len(req.Header["Connection"]) == 0 { // RFC 9110 §10.1.4: so that it goes no further
		lines = append(lines, fieldline.Line{Name: "Connection", Value: "TE"})
	}
	switch {
	case !hasBody(req):
		if wantsLength(req) {
			lines = append(lines, fieldline.Line{Name: "Content-Length", Value: "0"})
		}
	case req.ContentLength > 0:
		lines = append(lines, fieldline.Line{Name: "Content-Length", Value: strconv.FormatInt(req.ContentLength, 10)})
	default:
		lines = append(lines, fieldline.Line{Name: "Transfer-Encoding", Value: "chunked"})
		if len(req.Trailer) == 0 {
			break
		}
		names := sortedKeys(req.Trailer)
		for _, name := range names {
			if err := checkTrailer(name, nil); err != nil {
				return nil, err
			}
		}
		lines = append(lines, fieldline.Line{Name: "Trailer", Value: strings.Join(names, ", ")})
	}
	return lines, nil
}

// wantsLength reports whether the absence of a body is said: where it was said,
// and where a body is expected (RFC 9110 §8.6).
func wantsLength(req *http.Request) bool {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return len(req.Header["Content-Length"]) == 1 && req.Header["Content-Length"][0] == "0"
}

// basic is the value of Proxy-Authorization, empty without credentials.
func basic(user *url.Userinfo) string {
	if user == nil {
		return ""
	}
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}
