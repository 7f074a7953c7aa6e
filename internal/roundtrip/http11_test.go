package roundtrip

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestOriginThatRequiresHTTP1: what it does not take in HTTP/2 it is asked in
// HTTP/1.1, unless the body is gone.
func TestOriginThatRequiresHTTP1(t *testing.T) {
	for _, tt := range []struct {
		why, method string
		body        io.Reader
		expect      bool // the body is asked for
		answered    bool
	}{
		{"a request without a body", http.MethodGet, nil, false, true},
		{"one that may not be repeated, which this is not", http.MethodPost, nil, false, true},
		{"a body that was not asked for", http.MethodPost, strings.NewReader("hello"), true, true},
		{"a body that was sent", http.MethodPost, io.MultiReader(strings.NewReader("hello")), false, false},
	} {
		var two, one atomic.Int64
		o := newOrigin(t, &tls.Config{Certificates: authority().TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}, func(c *peer, _ int64) {
			secure := c.Conn.(*tls.Conn)
			if secure.HandshakeContext(t.Context()) != nil {
				return
			}
			if secure.ConnectionState().NegotiatedProtocol != "h2" {
				req, err := http.ReadRequest(bufio.NewReader(c.in))
				if err != nil {
					return
				}
				one.Add(1)
				if tt.expect {
					c.say("HTTP/1.1 100 Continue\r\n\r\n")
				}
				body, _ := io.ReadAll(req.Body)
				got := req.Method + string(body)
				c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(got), got))
				return
			}
			resets(c, '\x0d', &two)
		})
		tr := newClient(t, func(b *http.Transport) { b.ForceAttemptHTTP2, b.ExpectContinueTimeout = true, patience })
		for range 2 { // it speaks HTTP/2 all the same
			req := newRequest(t, tt.method, o.url(true), tt.body)
			if tt.expect {
				req.Header.Set("Expect", "100-continue")
				req.Body = io.NopCloser(strings.NewReader("hello"))
			}
			_, body, err := fetch(tr, req.WithContext(With(req.Context(), &Exchange{})))
			if answered := err == nil && strings.HasPrefix(body, tt.method); answered != tt.answered || answered && tt.expect && !strings.HasSuffix(body, "hello") {
				t.Errorf("%s: %q, %v", tt.why, body, err)
			}
			if !tt.answered {
				break
			}
		}
		if want := two.Load(); tt.answered && one.Load() != want || !tt.answered && one.Load() != 0 {
			t.Errorf("%s: %d in HTTP/2, %d in HTTP/1.1", tt.why, two.Load(), one.Load())
		}
		tr.CloseIdleConnections()
	}
}

// resets answers each request in HTTP/2 with a reset, and counts them.
func resets(c *peer, code byte, seen *atomic.Int64) {
	if _, err := io.ReadFull(c.in, make([]byte, 24)); err != nil { // the preface
		return
	}
	c.say("\x00\x00\x00\x04\x00\x00\x00\x00\x00") // SETTINGS
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c.in, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c.in, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return
		}
		if head[3] == 1 { // HEADERS
			seen.Add(1)
			c.say("\x00\x00\x04\x03\x00" + string(head[5:9]) + "\x00\x00\x00" + string(rune(code))) // RST_STREAM
		}
	}
}
