package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"heed/internal/serving"
)

// requestOf makes what can be made of the header section of a request that could
// not be read: enough for an answer and a line in the log.
func requestOf(octets []byte) *http.Request {
	line, _, _ := strings.Cut(string(octets), "\n")
	method, rest, _ := strings.Cut(strings.TrimSuffix(line, "\r"), " ")
	target := rest
	if end := strings.LastIndex(rest, " HTTP/"); end >= 0 {
		target = rest[:end]
	}
	if !isToken(method) || len(method) > 32 {
		method, target = "", ""
	}
	return &http.Request{Method: method, RequestURI: shown(redactUserinfo(target)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}}
}

// problemOfHead says what is wrong with a request of which net/http's parser says
// little.
func (p *Proxy) problemOfHead(f *serving.Fault) *problem {
	status, line := f.Status, f.Line
	switch {
	case status == http.StatusRequestHeaderFieldsTooLarge && line > p.Limits.URL:
		return &problem{kind: kindURITooLong, cause: fmt.Errorf("the request line has %d octets or more; a request-target may have %d (limits.url)", line, p.Limits.URL)}
	case status == http.StatusRequestHeaderFieldsTooLarge:
		return p.headerTooLarge()
	case status == http.StatusNotImplemented:
		return &problem{kind: kindTransferCoding, cause: errors.New("the field Transfer-Encoding names another coding than chunked")}
	case status == http.StatusHTTPVersionNotSupported:
		return &problem{kind: kindVersion, cause: errors.New("the request line names a version other than HTTP/1.0 and HTTP/1.1")}
	default:
		return &problem{kind: kindBadRequest, cause: errors.New(faultOf(f.Section, f.Text))}
	}
}

// faultOf finds the fault of a request by looking at its beginning. It never
// shows the value of a field, which may be a credential.
func faultOf(octets []byte, text string) string {
	line, fields, whole := strings.Cut(string(octets), "\n")
	if whole {
		if fault := faultOfLine(strings.TrimSuffix(line, "\r")); fault != "" {
			return fault
		}
		if fault := faultOfFields(fields); fault != "" {
			return fault
		}
	}
	if text != "" {
		return text
	}
	return "the request could not be read as HTTP/1.1 (RFC 9112)"
}

func faultOfLine(line string) string {
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 {
		return fmt.Sprintf("the request line %q is not of the form METHOD URL HTTP/1.1", shown(redactUserinfo(line)))
	}
	if !isToken(method) {
		return fmt.Sprintf("the method %q has octets that no method has", shown(method))
	}
	if _, _, ok := http.ParseHTTPVersion(version); !ok {
		if strings.Contains(version, " ") {
			return "the request-target has a blank; write it as %20"
		}
		return fmt.Sprintf("%q is not an HTTP version; send HTTP/1.1", shown(version))
	}
	absolute := target
	if method == http.MethodConnect && !strings.HasPrefix(target, "/") {
		absolute = "http://" + target
	}
	_, err := url.ParseRequestURI(absolute)
	if err == nil {
		return ""
	}
	if cause := new(url.Error); errors.As(err, &cause) {
		err = cause.Err // without the URL, which follows as the client wrote it
	}
	return fmt.Sprintf("the request-target %q cannot be read: %v", shown(redactUserinfo(target)), err)
}

// faultOfFields looks at whole lines alone: the last one may have been cut.
func faultOfFields(fields string) string {
	lengths, hosts := map[string]bool{}, 0
	for n := 1; ; n++ {
		line, rest, whole := strings.Cut(fields, "\n")
		line, fields = strings.TrimSuffix(line, "\r"), rest
		if !whole || line == "" {
			return ""
		}
		name, value, colon := strings.Cut(line, ":")
		folded := line[0] == ' ' || line[0] == '\t'
		switch {
		case folded && n == 1:
			return "the first field line begins with a blank"
		case folded:
		case !colon:
			return fmt.Sprintf("field line %d of the header has no colon", n)
		case !isToken(name):
			return fmt.Sprintf("the header field name %q has octets that no name has", shown(name))
		case strings.ContainsFunc(value, isControl):
			return fmt.Sprintf("the value of the header field %s has a control octet", name)
		case strings.EqualFold(name, "Host"):
			if hosts++; hosts > 1 {
				return "there are two Host fields"
			}
		case strings.EqualFold(name, "Content-Length"):
			value = strings.Trim(value, " \t")
			if value == "" || strings.Trim(value, "0123456789") != "" {
				return fmt.Sprintf("Content-Length %q is not a number of octets", shown(value))
			}
			if lengths[value] = true; len(lengths) > 1 {
				return "there are two Content-Length fields that differ"
			}
		}
	}
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isToken reports whether s is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
