package roundtrip

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestUpload(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16)
	for _, secure := range []bool{false, true} {
		type seen struct {
			body    string
			length  int64
			coding  []string
			trailer http.Header
		}
		got := make(chan seen, 1)
		o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
			for {
				r, err := http.ReadRequest(c.in)
				if err != nil {
					return
				}
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
					return
				}
				got <- seen{string(b), r.ContentLength, r.TransferEncoding, r.Trailer}
				c.say(ok(""))
			}
		})
		tr := newClient(t, nil)
		for _, r := range []struct {
			why     string
			body    string
			length  int64
			trailer http.Header
		}{
			{"a length", "hello", 5, nil},
			{"one octet", "x", 1, nil},
			{"chunks", "hello", -1, nil},
			{"no length, and nothing", "", -1, nil},
			{"trailers", "hello", -1, http.Header{"X-Sum": {"1", "2"}}},
			{"much, with a length", big, int64(len(big)), nil},
			{"much, in chunks", big, -1, nil},
		} {
			req := newRequest(t, "POST", o.url(secure), io.NopCloser(strings.NewReader(r.body)))
			req.ContentLength, req.Trailer = r.length, r.trailer
			if status, _, err := fetch(tr, req); status != 200 || err != nil {
				t.Fatalf("%s: %d, %v", r.why, status, err)
			}
			s := <-got
			if s.body != r.body || s.length != r.length || len(s.coding) > 0 != (r.length < 0) {
				t.Errorf("%s: %d octets, length %d, coding %v", r.why, len(s.body), s.length, s.coding)
			}
			if len(s.trailer["X-Sum"]) != len(r.trailer["X-Sum"]) {
				t.Errorf("%s: trailers %v", r.why, s.trailer)
			}
		}
		if n := o.accepted.Load(); n != 1 {
			t.Errorf("%d connections for all, want 1", n)
		}
	}
}

// faulty is a body that ends with an error.
type faulty struct {
	text string
	err  error
}

func (f *faulty) Read(p []byte) (int, error) {
	if f.text == "" {
		return 0, f.err
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

// A request of which the client did not send all must not look whole to the
// origin.
func TestHalfAnUploadIsNone(t *testing.T) {
	cut := errors.New("the client is gone")
	for _, secure := range []bool{false, true} {
		for _, r := range []struct {
			why    string
			body   io.Reader
			length int64
			want   error
			early  bool // the origin has begun to answer
		}{
			{"cut, with a length", &faulty{"hello", cut}, 10, cut, false},
			{"cut, in chunks", &faulty{"hello", cut}, -1, cut, false},
			{"cut at once", &faulty{"", cut}, -1, cut, false},
			{"too short", strings.NewReader("hello"), 10, io.ErrUnexpectedEOF, false},
			{"too long", strings.NewReader("hello world"), 10, nil, false},
			{"cut, and the answer has begun", &faulty{"hello", cut}, -1, nil, true},
			{"a trailer that cannot be sent", strings.NewReader("hello"), -1, nil, false},
		} {
			whole := make(chan bool, 1)
			o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
				req, err := http.ReadRequest(c.in)
				if err != nil {
					whole <- false
					return
				}
				if r.early {
					c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
				}
				_, err = io.Copy(io.Discard, req.Body)
				whole <- err == nil
			})
			tr := newClient(t, nil)
			req := newRequest(t, "POST", o.url(secure), r.body)
			req.ContentLength = r.length
			if strings.HasPrefix(r.why, "a trailer") {
				req.Trailer = http.Header{"X": {"a\r\nb"}}
			}
			_, _, err := fetch(tr, req)
			if err == nil || r.want != nil && !errors.Is(err, r.want) {
				t.Errorf("%s, TLS %t: %v, want %v", r.why, secure, err, r.want)
			}
			if refused := new(RequestError); errors.As(err, &refused) {
				t.Errorf("%s, TLS %t: %v, which says that nothing was sent", r.why, secure, err)
			}
			if <-whole {
				t.Errorf("%s, TLS %t: the origin got a request that looks whole", r.why, secure)
			}
		}
	}
}

func TestExpectContinue(t *testing.T) {
	for _, r := range []struct {
		why   string
		serve func(c *peer, r *http.Request)
		took  bool // the body was sent
		again bool // the connection is used again
	}{
		{"100", func(c *peer, r *http.Request) {
			c.say("HTTP/1.1 100 Continue\r\n\r\n")
			_, _ = io.Copy(io.Discard, r.Body)
			c.say(ok("done"))
		}, true, true},
		{"silence, and then it is sent all the same", func(c *peer, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c.say(ok("done"))
		}, true, true},
		{"417", func(c *peer, _ *http.Request) {
			c.say("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 4\r\n\r\ndone")
		}, false, false},
		{"a final answer", func(c *peer, _ *http.Request) { c.say(ok("done")) }, false, false},
		{"a final answer without a body", func(c *peer, _ *http.Request) { c.say(ok("")) }, false, false},
		{"103 and a final answer", func(c *peer, _ *http.Request) { c.say("HTTP/1.1 103 Early Hints\r\n\r\n" + ok("done")) }, false, false},
	} {
		o := newOrigin(t, nil, func(c *peer, _ int64) {
			for {
				req, err := http.ReadRequest(c.in)
				if err != nil {
					return
				}
				if req.Method == "GET" {
					c.say(ok("next"))
					continue
				}
				r.serve(c, req)
			}
		})
		tr := newClient(t, func(b *http.Transport) { b.ExpectContinueTimeout = 200 * time.Millisecond })
		body := &closings{Reader: strings.NewReader("hello")}
		read := false
		req := newRequest(t, "POST", o.url(false), body)
		req.Body = readTold{body, &read}
		req.ContentLength = 5
		req.Header.Set("Expect", "100-continue")
		if _, _, err := fetch(tr, req); err != nil {
			t.Errorf("%s: %v", r.why, err)
		}
		eventually(t, r.why+": the body is closed", func() bool { return body.n.Load() == 1 })
		if read != r.took {
			t.Errorf("%s: the body was sent: %t", r.why, read)
		}
		if _, got, err := fetch(tr, newRequest(t, "GET", o.url(false), nil)); got != "next" || err != nil {
			t.Errorf("%s: next %q, %v", r.why, got, err)
		}
		if n := o.accepted.Load(); (n == 1) != r.again {
			t.Errorf("%s: %d connections", r.why, n)
		}
	}
}

type readTold struct {
	io.ReadCloser
	read *bool
}

func (r readTold) Read(p []byte) (int, error) { *r.read = true; return r.ReadCloser.Read(p) }

// An answer may come before the request was sent, and while it is.
func TestAnswerBeforeTheUploadEnds(t *testing.T) {
	t.Run("413", func(t *testing.T) {
		o := newOrigin(t, nil, func(c *peer, _ int64) {
			_, _ = http.ReadRequest(c.in)
			c.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
			_, _ = io.CopyN(io.Discard, c.in, 1<<20)
		})
		tr := newClient(t, nil)
		client, origin := io.Pipe()
		req := newRequest(t, "POST", o.url(false), client)
		go func() { _, _ = io.Copy(origin, rand.Reader) }()
		if status, body, err := fetch(tr, req); status != 413 || body != "big" || err != nil {
			t.Errorf("%d %q, %v", status, body, err)
		}
		eventually(t, "no connection is left", func() bool { return o.open.Load() == 0 && kept(t, tr) == 0 })
	})
	t.Run("both ways at once", func(t *testing.T) {
		o := newOrigin(t, nil, func(c *peer, _ int64) {
			r, err := http.ReadRequest(c.in)
			if err != nil {
				return
			}
			c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			b := make([]byte, 1)
			for {
				if _, err := r.Body.Read(b); err != nil {
					break
				}
				c.say("1\r\n" + string(b) + "\r\n")
			}
			c.say("0\r\n\r\n")
			c.request()
			c.say(ok("next"))
		})
		tr := newClient(t, nil)
		client, toOrigin := io.Pipe()
		resp, err := tr.RoundTrip(newRequest(t, "POST", o.url(false), client))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		for _, c := range []byte("echo") {
			_, _ = toOrigin.Write([]byte{c})
			if _, err := io.ReadFull(resp.Body, b); err != nil || b[0] != c {
				t.Fatalf("%q, %v", b, err)
			}
		}
		_ = toOrigin.Close()
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
		if _, body, err := fetch(tr, newRequest(t, "GET", o.url(false), nil)); body != "next" || err != nil || o.accepted.Load() != 1 {
			t.Errorf("%q, %v, %d connections", body, err, o.accepted.Load())
		}
	})
}

// The client has an answer before the end of its upload is waited for, which is
// of use for the connection alone.
func TestAnswerDoesNotWaitForTheUpload(t *testing.T) {
	for _, r := range []struct{ why, answer, body string }{
		{"a body", "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig", "big"},
		{"the last on its connection", "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig", "big"},
		{"chunks", "HTTP/1.1 413 Content Too Large\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbig\r\n0\r\n\r\n", "big"},
		{"no body", "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n", ""},
		{"no body ever", "HTTP/1.1 304 Not Modified\r\n\r\n", ""},
	} {
		o := newOrigin(t, nil, func(c *peer, _ int64) {
			_, _ = http.ReadRequest(c.in)
			c.say(r.answer)
			_, _ = io.Copy(io.Discard, c.in)
		})
		tr := newClient(t, nil)
		fastest := patience
		for range 10 {
			client, toOrigin := io.Pipe()
			began := time.Now()
			resp, err := tr.RoundTrip(newRequest(t, "POST", o.url(false), client))
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, len(r.body))
			if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != r.body {
				t.Errorf("%s: %q, %v", r.why, b, err)
			}
			fastest = min(fastest, time.Since(began))
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("%s: %q behind it, %v", r.why, rest, err)
			}
			_, _ = resp.Body.Close(), toOrigin.Close()
		}
		if fastest >= uploadGrace {
			t.Errorf("%s: each of ten took %v or more", r.why, fastest)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// An origin that takes nothing keeps nobody.
func TestUploadToAnOriginThatNeverReads(t *testing.T) {
	for _, end := range []string{"time", "context"} {
		for _, secure := range []bool{false, true} {
			gone := make(chan struct{})
			o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
				if secure {
					_ = c.in.UnreadByte()
					_, _ = c.in.Peek(1) // the handshake
				}
				<-gone
			})
			tr := newClient(t, func(b *http.Transport) {
				if end == "time" {
					b.ResponseHeaderTimeout = 100 * time.Millisecond
				}
			})
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			if end == "context" {
				time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
			}
			body := &closings{Reader: endless{}}
			began := time.Now()
			_, _, err := fetch(tr, newRequest(t, "POST", o.url(secure), body).WithContext(ctx))
			var timeout net.Error
			switch {
			case end == "context" && !errors.Is(err, cause), end == "time" && (!errors.As(err, &timeout) || !timeout.Timeout()):
				t.Errorf("%s, TLS %t: %v", end, secure, err)
			case time.Since(began) > 4*time.Second:
				t.Errorf("%s, TLS %t: took %v", end, secure, time.Since(began))
			}
			eventually(t, "the body is closed", func() bool { return body.n.Load() == 1 })
			close(gone)
			cancel(nil)
		}
	}
}

// An answer that has begun has its time, whenever the upload ends.
func TestUploadThatEndsLaterDoesNotHurryTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, _, end := inMemory(t, func(b *http.Transport) { b.ResponseHeaderTimeout = time.Minute }, func(c io.ReadWriter) {
			req, err := http.ReadRequest(newReader(c))
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			_, _ = io.Copy(io.Discard, req.Body)
			time.Sleep(10 * time.Minute)
			_, _ = io.WriteString(c, "hello")
		})
		defer end()
		client, to := io.Pipe()
		go func() {
			time.Sleep(time.Second)
			_, _ = io.WriteString(to, "x")
			_ = to.Close()
		}()
		if _, body, err := fetch(tr, newRequest(t, "POST", "http://h0.example/", client)); body != "hello" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	})
}

// Of an upload that takes long the time for the answer begins with its end.
func TestTimeForTheAnswerBeginsAfterTheUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, _, end := inMemory(t, func(b *http.Transport) { b.ResponseHeaderTimeout = time.Minute }, polite)
		defer end()
		client, to := io.Pipe()
		go func() {
			for range 10 {
				_, _ = io.WriteString(to, "x")
				time.Sleep(30 * time.Second)
			}
			_ = to.Close()
		}()
		if _, body, err := fetch(tr, newRequest(t, "POST", "http://h0.example/", client)); body != "hello" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	})
}
