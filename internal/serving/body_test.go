package serving_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// smuggled is what must never reach a handler: it is a part of a body, or follows
// one whose end is not certain.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n"

// watchFor fails a test whose handler gets the smuggled request.
func watchFor(t *testing.T, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/smuggled" {
			t.Errorf("a part of a body was taken for a request")
		}
		next(w, r)
	}
}

// TestBodyThatBreaksOffEndsTheConnection: what follows is no request, whoever
// read the body, and however often it was asked for more.
func TestBodyThatBreaksOffEndsTheConnection(t *testing.T) {
	s := start(t, watchFor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/unread" {
			text(w, http.StatusOK, "unread")
			return
		}
		_, err := io.Copy(io.Discard, r.Body)
		for range 3 {
			if _, again := r.Body.Read(make([]byte, 8)); !errors.Is(again, err) {
				t.Errorf("a body failed with %v, and then with %v", err, again)
			}
		}
		text(w, http.StatusBadRequest, fmt.Sprint(err != nil))
	}))
	for _, test := range []struct{ why, chunks string }{
		{"a size that is no number", "zz\r\n"},
		{"a size that is empty", "\r\n"},
		{"a size with a sign", "+1\r\nx\r\n"},
		{"a size as in C", "0x1\r\nx\r\n"},
		{"a size that overflows", "fffffffffffffffff\r\n"},
		{"a size line that ends with LF alone", "1\nx\r\n0\r\n\r\n"},
		{"a bare CR in a size line", "1;\rx\r\nx\r\n0\r\n\r\n"},
		{"a chunk that is longer than its size", "1\r\nxx\r\n0\r\n\r\n"},
		{"a chunk that ends with LF alone", "1\r\nx\n0\r\n\r\n"},
		{"an extension without end", "1;" + repeat("x", 5000) + "\r\nx\r\n0\r\n\r\n"},
		{"a trailer without a colon", "0\r\nrubbish\r\n\r\n"},
		{"a trailer without end", "0\r\nX: " + repeat("x", 5000) + "\r\n\r\n"},
	} {
		for _, target := range []string{"/read", "/unread"} {
			t.Run(test.why+target, func(t *testing.T) {
				c := s.ask(chunked(target, test.chunks) + smuggled)
				if target == "/unread" {
					c.says(http.StatusOK, "unread")
				} else {
					resp, _ := c.answer(http.MethodPost)
					if resp.StatusCode != http.StatusBadRequest || !resp.Close {
						t.Errorf("answered %d, close %t", resp.StatusCode, resp.Close)
					}
				}
				c.closeWrite()
				c.ends()
			})
		}
	}
}

// TestRequestWhoseLengthIsUncertainIsRefused (RFC 9112 §6.3, §11.2).
func TestRequestWhoseLengthIsUncertainIsRefused(t *testing.T) {
	s := start(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the handler has got %v", r) })
	for _, test := range []struct {
		why, version, fields string
		status               int
	}{
		{"a length and chunks", "1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
		{"chunks and a length", "1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
		{"chunks and a length, folded", "1.1", "Transfer-Encoding:\r\n chunked\r\nContent-Length:\r\n 5\r\n", 400},
		{"chunks in 1.0", "1.0", "Transfer-Encoding: chunked\r\n", 400},
		{"chunks and a length in 1.0", "1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
		{"two lengths", "1.1", "Content-Length: 5\r\nContent-Length: 6\r\n", 400},
		{"two lengths that are one number", "1.1", "Content-Length: 5\r\nContent-Length: 05\r\n", 400},
		{"a list", "1.1", "Content-Length: 5, 5\r\n", 400},
		{"a plus", "1.1", "Content-Length: +5\r\n", 400},
		{"a minus", "1.1", "Content-Length: -5\r\n", 400},
		{"an empty length", "1.1", "Content-Length: \r\n", 400},
		{"hexadecimals", "1.1", "Content-Length: 0x5\r\n", 400},
		{"an underscore", "1.1", "Content-Length: 1_0\r\n", 400},
		{"more than there are numbers for", "1.1", "Content-Length: 9223372036854775808\r\n", 400},
		{"a length with a blank in it", "1.1", "Content-Length: 1 5\r\n", 400},
		{"a length with a blank before the colon", "1.1", "Content-Length : 5\r\n", 400},
		{"chunks with a blank before the colon", "1.1", "Transfer-Encoding : chunked\r\n", 400},
		{"another coding", "1.1", "Transfer-Encoding: gzip\r\n", 501},
		{"two codings", "1.1", "Transfer-Encoding: gzip, chunked\r\n", 501},
		{"chunks twice", "1.1", "Transfer-Encoding: chunked, chunked\r\n", 501},
		{"chunks with a vertical tab", "1.1", "Transfer-Encoding: \x0bchunked\r\n", 400},
		{"an empty coding", "1.1", "Transfer-Encoding: \r\n", 501},
		{"identity", "1.1", "Transfer-Encoding: identity\r\n", 501},
		{"two fields of codings", "1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
		{"a bare CR before the coding", "1.1", "X: y\rTransfer-Encoding: chunked\r\n", 400},
		{"a trailer that would frame", "1.1", "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n", 400},
	} {
		t.Run(test.why, func(t *testing.T) {
			c := s.ask("POST / HTTP/" + test.version + "\r\nHost: a\r\n" + test.fields + "\r\n" + "5\r\nhello\r\n0\r\n\r\n" + smuggled)
			if resp, _ := c.answer(http.MethodPost); resp.StatusCode != test.status {
				t.Errorf("answered %d, want %d", resp.StatusCode, test.status)
			}
			c.closeWrite()
			c.ends()
		})
	}
}

// TestExpectContinue: the handler asks for the body. Where it did not, the body
// may come or not, so nothing of it may be taken for a request.
func TestExpectContinue(t *testing.T) {
	const expect = "Expect: 100-continue\r\n"
	s := start(t, watchFor(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ask":
			raw(w)
			w.WriteHeader(http.StatusContinue)
			echo(w, r)
		case "/ask-and-leave":
			raw(w)
			w.WriteHeader(http.StatusContinue)
			text(w, http.StatusOK, "left")
		case "/just-read":
			echo(w, r)
		default:
			text(w, http.StatusForbidden, "no")
		}
	}))
	t.Run("asked for", func(t *testing.T) {
		c := s.ask("POST /ask HTTP/1.1\r\nHost: a\r\n" + expect + "Content-Length: 5\r\n\r\n")
		c.says(http.StatusContinue, "")
		c.send("hello" + get("/ask"))
		c.says(http.StatusOK, "POST /ask hello")
	})
	t.Run("asked for, and not read", func(t *testing.T) {
		c := s.ask("POST /ask-and-leave HTTP/1.1\r\nHost: a\r\n" + expect + "Content-Length: 5\r\n\r\n")
		c.says(http.StatusContinue, "")
		c.says(http.StatusOK, "left")
		c.send("hello" + get("/"))
		c.says(http.StatusForbidden, "no")
	})
	for _, body := range []struct{ why, sent string }{
		{"refused, and the body does not come", ""},
		{"refused, and the body comes", smuggled},
		{"refused, and the client goes on with a request", get("/next")},
	} {
		t.Run(body.why, func(t *testing.T) {
			c := s.ask(fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n", expect, len(smuggled)))
			resp, _ := c.answer(http.MethodPost)
			if resp.StatusCode != http.StatusForbidden || !resp.Close {
				t.Errorf("answered %d, close %t", resp.StatusCode, resp.Close)
			}
			c.send(body.sent)
			c.closeWrite()
			c.ends()
		})
	}
	t.Run("read without asking, by a client that does not wait", func(t *testing.T) {
		c := s.ask("POST /just-read HTTP/1.1\r\nHost: a\r\n" + expect + "Content-Length: 5\r\n\r\nhello" + get("/x"))
		c.says(http.StatusOK, "POST /just-read hello")
		c.says(http.StatusForbidden, "no")
	})
	t.Run("1.0 has no 100", func(t *testing.T) {
		c := s.ask("POST /ask HTTP/1.0\r\n" + expect + "Content-Length: 5\r\n\r\nhello")
		c.says(http.StatusOK, "POST /ask hello")
		c.ends()
	})
}

// TestUnreadBody: a short one is read for the sake of the connection, a long one,
// or one whose length is not known, ends it, and the answer arrives all the same.
func TestUnreadBody(t *testing.T) {
	s := start(t, watchFor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/part" {
			_, _ = io.ReadFull(r.Body, make([]byte, 10))
		}
		text(w, http.StatusForbidden, "no")
	}))
	long := repeat(smuggled, 2_000_000/len(smuggled))
	for _, test := range []struct {
		why, request string
		goesOn, says bool // whether the answer says that it does not
	}{
		{"short", post("/", repeat("x", 200<<10)), true, true},
		{"long", post("/", long), false, true},
		{"long, read in part", post("/part", long), false, false},
		{"chunks", chunked("/", "5\r\nhello\r\n0\r\n\r\n"), false, true},
		{"long chunks, read in part", chunked("/part", "ffffff\r\n"+long), false, false},
	} {
		t.Run(test.why, func(t *testing.T) {
			c := s.client()
			var sent sync.WaitGroup
			sent.Go(func() { _, _ = io.WriteString(c.Conn, test.request) })
			resp, body := c.answer(http.MethodPost)
			if resp.StatusCode != http.StatusForbidden || body != "no" || resp.Close == (test.goesOn || !test.says) {
				t.Errorf("answered %d %q, close %t", resp.StatusCode, body, resp.Close)
			}
			if test.goesOn {
				sent.Wait()
				c.send(get("/"))
				c.says(http.StatusForbidden, "no")
				return
			}
			if b, _ := io.ReadAll(c.r); len(b) > 0 { // a reset is in order: the client goes on sending
				t.Errorf("the connection goes on: %q", b)
			}
			sent.Wait()
		})
	}
}

func TestTrailersOfARequestReachTheHandler(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		declared := len(r.Trailer)
		_, _ = io.Copy(io.Discard, r.Body)
		text(w, http.StatusOK, fmt.Sprint(declared, r.Trailer["X"], r.Trailer["Y"]))
	})
	c := s.ask(chunked("/", "1\r\nx\r\n0\r\nX: 1\r\n\r\n", "Trailer: X\r\n"))
	c.says(http.StatusOK, "1 [1] []")
	c.send(chunked("/", "1\r\nx\r\n0\r\nX: 1\r\nY: 2\r\n\r\n"))
	c.says(http.StatusOK, "0 [1] [2]")
}

// TestBodyIsReadOnWhenTheHandlerHasReturned: as by a round trip that has its
// answer. The reads end, get nothing of another request, and what is used again
// is not in use. Run with -race.
func TestBodyIsReadOnWhenTheHandlerHasReturned(t *testing.T) {
	var readers atomic.Int32
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic", "/answer", "/close":
			begun := make(chan struct{})
			readers.Add(1)
			go func() {
				defer readers.Add(-1)
				close(begun)
				buf := make([]byte, 64)
				for {
					n, err := r.Body.Read(buf)
					if s := strings.Trim(string(buf[:n]), "x"); s != "" {
						t.Errorf("read %q of another request", s)
					}
					if err != nil {
						return
					}
					time.Sleep(10 * time.Microsecond)
				}
			}()
			<-begun
			switch r.URL.Path {
			case "/panic":
				panic(http.ErrAbortHandler)
			case "/close":
				w.Header()["Connection"] = []string{"close"}
			}
			text(w, http.StatusOK, "done")
		default:
			echo(w, r)
		}
	})
	var clients sync.WaitGroup
	for i := range 8 {
		target := []string{"/panic", "/answer", "/close", "/echo"}[i%4]
		clients.Go(func() {
			for range 60 {
				c, err := s.dial()
				if err != nil {
					t.Error(err)
					return
				}
				switch target {
				case "/echo":
					_, _ = io.WriteString(c, post(target, repeat("e", 3000), "Connection: close\r\n"))
				default:
					_, _ = io.WriteString(c, "POST "+target+" HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n"+repeat("x", 1000))
				}
				b, _ := io.ReadAll(io.LimitReader(c, 20))
				if target != "/panic" && !strings.HasPrefix(string(b), "HTTP/1.1 200") {
					t.Errorf("%s answered %q", target, b)
				}
				_ = c.Close()
			}
		})
	}
	clients.Wait()
	for until := time.Now().Add(10 * time.Second); readers.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d reads have not ended", readers.Load())
		}
	}
}

// TestBodyIsClosedBehindTheHandler: a read that comes later fails, and leaves the
// connection to the next request.
func TestBodyIsClosedBehindTheHandler(t *testing.T) {
	bodies := make(chan io.Reader, 10)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		bodies <- r.Body
		text(w, http.StatusOK, "ok")
	})
	for _, request := range []string{post("/", "hello"), post("/", "hello", "Connection: close\r\n"), chunked("/", "1\r\nx\r\n0\r\n\r\n")} {
		c := s.ask(request)
		c.says(http.StatusOK, "ok")
		if n, err := (<-bodies).Read(make([]byte, 10)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("read %d, %v", n, err)
		}
	}
}
