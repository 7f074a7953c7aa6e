package serving_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestKeepAlive: whether a connection goes on is what both sides say, by version.
func TestKeepAlive(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		h := raw(w)
		if r.URL.Path == "/close" {
			h["Connection"] = []string{"Close"}
		}
		if r.URL.Path != "/unknown" {
			h["Content-Length"] = []string{"2"}
		}
		_, _ = io.WriteString(w, "ok")
	})
	for _, test := range []struct {
		why     string
		request string
		field   string // Connection of the answer
		goesOn  bool
	}{
		{"1.1", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", true},
		{"1.1, the client is at its end", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close", false},
		{"1.1, the same in a list", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n", "close", false},
		{"1.1, the handler is", "GET /close HTTP/1.1\r\nHost: a\r\n\r\n", "close", false},
		{"1.1, no length", "GET /unknown HTTP/1.1\r\nHost: a\r\n\r\n", "", true},
		{"1.2 is 1.1 with something new", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "", true},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", "close", false},
		{"1.0 that asks for it", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "keep-alive", true},
		{"1.0 that asks for it, no length", "GET /unknown HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "close", false},
		{"1.0 that asks for both", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "close", false},
	} {
		t.Run(test.why, func(t *testing.T) {
			c := s.ask(test.request)
			resp, body := c.answer(http.MethodGet)
			if got := resp.Header.Get("Connection"); resp.Close && got == "" {
				got = "close" // net/http takes it away
				if got != test.field {
					t.Errorf("Connection: %q, want %q", got, test.field)
				}
			} else if got != test.field {
				t.Errorf("Connection: %q, want %q", got, test.field)
			}
			if body != "ok" {
				t.Errorf("body %q", body)
			}
			if !test.goesOn {
				c.ends()
				return
			}
			c.send(get("/close"))
			c.says(http.StatusOK, "ok")
			c.ends()
		})
	}
}

// TestPipelinedRequestsAreAnsweredInOrder: whatever form the body before has, and
// whether the handler reads it or not.
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/unread":
			text(w, http.StatusOK, "unread")
		case "/part":
			b := make([]byte, 2)
			_, _ = io.ReadFull(r.Body, b)
			text(w, http.StatusOK, "part "+string(b))
		case "/closed":
			_ = r.Body.Close()
			text(w, http.StatusOK, "closed")
		default:
			echo(w, r)
		}
	})
	long := repeat("x", 100<<10)
	for _, test := range []struct{ why, request, answer string }{
		{"none", get("/a"), "GET /a "},
		{"length 0", post("/a", ""), "POST /a "},
		{"a length", post("/a", "hello"), "POST /a hello"},
		{"a length, not read", post("/unread", "hello"), "unread"},
		{"a length, read in part", post("/part", "hello"), "part he"},
		{"a length, closed", post("/closed", "hello"), "closed"},
		{"longer than any buffer", post("/a", long), "POST /a " + long},
		{"longer than any buffer, not read", post("/unread", long), "unread"},
		{"chunks", chunked("/a", "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), "POST /a hello"},
		{"chunks in capitals", "POST /a HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "POST /a x"},
		{"chunks, read in part", chunked("/part", "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), "part he"},
		{"chunks with extensions", chunked("/a", "5;a=b\r\nhello\r\n0;c\r\n\r\n"), "POST /a hello"},
		{"chunks with a trailer", chunked("/a", "5\r\nhello\r\n0\r\nX: y\r\n\r\n"), "POST /a hello"},
		{"chunks with a declared trailer, read in part", chunked("/part", "5\r\nhello\r\n0\r\nX: y\r\n\r\n", "Trailer: X\r\n"), "part he"},
		{"no chunk", chunked("/a", "0\r\n\r\n"), "POST /a "},
		{"an empty line behind it", post("/a", "hello") + "\r\n", "POST /a hello"},
		{"LF behind it", post("/a", "hello") + "\n", "POST /a hello"},
		{"two empty lines behind it", post("/a", "hello") + "\r\n\r\n", "POST /a hello"},
		{"a header section longer than the buffer", get("/a", "X: "+repeat("x", 20<<10)+"\r\n"), "GET /a "},
		{"the same, and a body", post("/a", "hello", "X: "+repeat("x", 20<<10)+"\r\n"), "POST /a hello"},
		{"lines that end with LF alone", strings.ReplaceAll(get("/a"), "\r", ""), "GET /a "},
		{"the length twice, the same", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "POST /a hello"},
	} {
		t.Run(test.why, func(t *testing.T) {
			c := s.client()
			go func() { _, _ = io.WriteString(c.Conn, test.request+get("/1")+test.request+get("/2")) }()
			for i := range 2 {
				c.says(http.StatusOK, test.answer)
				c.says(http.StatusOK, fmt.Sprintf("GET /%d ", i+1))
			}
		})
	}
}

// TestPipelinedRequestIsNotLostWhenAnotherGoroutineReadTheBody: that one may be on
// its way out of Read, or ask once more, when the answer ends.
func TestPipelinedRequestIsNotLostWhenAnotherGoroutineReadTheBody(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		end := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, r.Body)
			close(end)
			for range 50 {
				_, _ = r.Body.Read(make([]byte, 8))
			}
		}()
		<-end
		text(w, http.StatusOK, r.URL.Path)
	})
	const each = 20
	for range 50 {
		var all strings.Builder
		for i := range each {
			all.WriteString(chunked(fmt.Sprintf("/%d", i), "3\r\nabc\r\n0\r\n\r\n"))
		}
		c := s.ask(all.String())
		for i := range each {
			c.says(http.StatusOK, fmt.Sprintf("/%d", i))
		}
		_ = c.Close()
	}
}

func TestManyPipelinedRequestsInOneWrite(t *testing.T) {
	s := start(t, echo)
	const n = 500
	c := s.client()
	go func() {
		var all strings.Builder
		for i := range n {
			all.WriteString(get(fmt.Sprintf("/%d", i)))
		}
		_, _ = io.WriteString(c.Conn, all.String())
	}()
	for i := range n {
		c.says(http.StatusOK, fmt.Sprintf("GET /%d ", i))
	}
}

// TestOptionsOfTheServer are a request like others (RFC 9110 §9.3.7).
func TestOptionsOfTheServer(t *testing.T) {
	start(t, echo).ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").says(http.StatusOK, "OPTIONS * ")
}
