package serving

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"heed/internal/fieldline"
)

// compose appends the header section of an answer.
func (w *Response) compose(status int) {
	interim := status < 200 && status != http.StatusSwitchingProtocols
	b := w.appendStatus(w.buffer(), status)
	var room [32]fieldline.Line
	lines := w.fields(room[:0], interim)
	if !interim {
		lines = w.framing(lines, status)
	}
	w.out = append(fieldline.Append(b, lines, w.model), crlf...)
}

// appendStatus appends the status line, with the phrase of the model where that
// has one for the status.
func (w *Response) appendStatus(b []byte, status int) []byte {
	if w.request.ProtoAtLeast(1, 1) {
		b = append(b, "HTTP/1.1 "...)
	} else {
		b = append(b, "HTTP/1.0 "...)
	}
	b = append(strconv.AppendInt(b, int64(status), 10), ' ')
	if phrase, ok := phraseOf(w.model, status); ok {
		b = append(b, phrase...)
	} else {
		b = append(b, http.StatusText(status)...)
	}
	return append(b, crlf...)
}

// phraseOf returns the reason phrase of a header section of a status.
func phraseOf(section []byte, status int) ([]byte, bool) {
	line, _, _ := bytes.Cut(section, []byte("\n"))
	_, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(" "))
	code, phrase, _ := bytes.Cut(rest, []byte(" "))
	if n, err := strconv.Atoi(string(code)); err != nil || n != status || bytes.ContainsFunc(phrase, isControl) {
		return nil, false
	}
	return phrase, true
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// fields takes the fields of the answer apart, less those of framing.
func (w *Response) fields(lines []fieldline.Line, interim bool) []fieldline.Line {
	for name, values := range w.header {
		switch {
		case name == "Transfer-Encoding", interim && name == "Content-Length": // RFC 9110 §8.6
			continue
		case name == "Connection" && w.status != http.StatusSwitchingProtocols:
			continue
		case name == "Trailer":
			if w.chunked && w.declare(values) {
				lines = append(lines, fieldline.Line{Name: name, Value: strings.Join(w.trailers, ", ")})
			}
			continue
		case strings.HasPrefix(name, http.TrailerPrefix) || !validName(name):
			continue
		}
		for _, v := range values {
			lines = append(lines, fieldline.Line{Name: name, Value: string(clean(v))})
		}
	}
	return lines
}

// declare notes what trailers will follow, if any.
func (w *Response) declare(values []string) bool {
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if httpguts.ValidTrailerHeader(name) && validName(name) && !slices.Contains(w.trailers, name) {
				w.trailers = append(w.trailers, name)
			}
		}
	}
	return len(w.trailers) > 0
}

// framing adds what the connection needs.
func (w *Response) framing(lines []fieldline.Line, status int) []fieldline.Line {
	if _, there := w.header["Date"]; !there {
		lines = append(lines, fieldline.Line{Name: "Date", Value: date(time.Now())})
	}
	if w.chunked {
		lines = append(lines, fieldline.Line{Name: "Transfer-Encoding", Value: "chunked"})
	}
	switch {
	case status == http.StatusSwitchingProtocols:
	case w.last:
		lines = append(lines, fieldline.Line{Name: "Connection", Value: "close"})
	case !w.request.ProtoAtLeast(1, 1):
		lines = append(lines, fieldline.Line{Name: "Connection", Value: "keep-alive"})
	}
	return lines
}

func validName(name string) bool { return httpguts.ValidHeaderFieldName(name) }

// clean keeps a value on its line.
func clean(v string) string {
	if strings.ContainsAny(v, "\r\n\x00") {
		return strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(v)
	}
	return v
}

func hasToken(lines []string, token string) bool {
	return len(lines) > 0 && httpguts.HeaderValuesContainsToken(lines, token)
}

// dated is the text of a second.
type dated struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[dated]

// date is a time as Date has it, put into words once a second.
func date(now time.Time) string {
	second := now.Unix()
	if last := lastDate.Load(); last != nil && last.second == second {
		return last.text
	}
	d := &dated{second, now.UTC().Format(http.TimeFormat)}
	lastDate.Store(d)
	return d.text
}
