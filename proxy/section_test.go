package proxy

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/internal/audit"
)

// TestSectionsInHTTP2: what is wrong with a header section is told and recorded,
// as in HTTP/1.1, and nothing of it goes on.
func TestSectionsInHTTP2(t *testing.T) {
	const limit = 8 << 10
	o := newTLSOrigin(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.RequestURI+" ["+string(body)+"]")
	})
	host := hostOf(o)
	r := start(t, func(c *Config) { c.Limits.Header, c.Limits.URL = limit, limit })
	for _, tt := range []struct {
		why, method, path string
		fields            []string
		body              string
		status            int
		reason            string
		seen              string
	}{
		{"one field just within the limit", "GET", "/", []string{"x", strings.Repeat("x", limit-5)}, "", 200, "allowed", "GET / []"},
		{"one field just over it", "GET", "/", []string{"x", strings.Repeat("x", limit-4)}, "", 431, "header-too-large", ""},
		{"many that are over it together", "GET", "/", manyFields(limit/40, strings.Repeat("x", 40)), "", 431, "header-too-large", ""},
		{"a length", "POST", "/", []string{"content-length", "5"}, "hello", 200, "allowed", "POST / [hello]"},
		{"a length with zeros before it", "POST", "/", []string{"content-length", "005"}, "hello", 200, "allowed", "POST / [hello]"},
		{"no length", "POST", "/", nil, "hello", 200, "allowed", "POST / [hello]"},
		{"a length and no body", "GET", "/", []string{"content-length", "5"}, "", 400, "bad-request", ""},
		{"a length that is no number", "POST", "/", []string{"content-length", "x"}, "hello", 400, "bad-request", ""},
		{"lengths that differ", "POST", "/", []string{"content-length", "5", "content-length", "6"}, "hello", 400, "bad-request", ""},
		{"a question about the origin as a whole", "OPTIONS", "*", nil, "", 200, "allowed", ""}, // the origin's server answers it, as net/http does
	} {
		f := newH2Client(t, r, host)
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		section := append([]string{":method", tt.method, ":scheme", "https", ":authority", host, ":path", tt.path}, tt.fields...)
		f.headers(block(section...), tt.body == "")
		if tt.body != "" && tt.status == http.StatusOK { // else net/http may end the stream before the answer
			_ = f.WriteData(1, true, []byte(tt.body))
		}
		status, seen := f.answer()
		if status != tt.status || seen != tt.seen {
			t.Errorf("%s: %d, the origin saw %q; want %d, %q", tt.why, status, seen, tt.status, tt.seen)
		}
		if e := r.entryOf(t, audit.Intercepted); e.Status != tt.status || e.Reason != tt.reason {
			t.Errorf("%s: recorded %d, %s", tt.why, e.Status, e.Reason)
		}
	}
}

// manyFields are n fields with the same value.
func manyFields(n int, value string) (fields []string) {
	for range n {
		fields = append(fields, "x", value)
	}
	return fields
}

// headers sends a header section in as many frames as it takes.
func (f *h2Client) headers(block []byte, end bool) {
	const most = 16 << 10
	first := block[:min(len(block), most)]
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndStream: end, EndHeaders: len(first) == len(block)})
	for rest := block[len(first):]; len(rest) > 0; {
		next := rest[:min(len(rest), most)]
		rest = rest[len(next):]
		_ = f.WriteContinuation(1, len(rest) == 0, next)
	}
}

// answer returns the status of the final answer, 0 where there is none, and what
// the origin saw.
func (f *h2Client) answer() (status int, seen string) {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return 0, ""
		}
		h, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		for _, field := range h.Fields {
			switch field.Name {
			case ":status":
				status, _ = strconv.Atoi(field.Value)
			case "x-seen":
				seen = field.Value
			}
		}
		return status, seen
	}
}
