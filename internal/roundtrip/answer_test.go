package roundtrip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/testnet"
)

func TestOddAnswers(t *testing.T) {
	field := func(n int) string { return "X: " + strings.Repeat("x", n) + "\r\n" }
	many := strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", maxInterim)
	for _, r := range []struct {
		why    string
		say    string
		status int    // 0: an error
		body   string // or what the error says
		again  bool   // the connection is used again
	}{
		{"a length", ok("hello"), 200, "hello", true},
		{"no length in HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhello", 200, "hello", false},
		{"a length in HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
		{"keep-alive in HTTP/1.0", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true},
		{"the end of the connection", "HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", false},
		{"a length with a blank before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", 200, "hello", true},
		{"a coding with blanks before the colon", "HTTP/1.1 200 OK\r\ntransfer-encoding   : chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, "hello", true},
		{"a close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
		{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", 200, "hello", true},
		{"chunks and trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n", 200, "hello", true},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
		{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true},
		{"a folded field", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true},
		{"as many 1xx as are taken", many + ok("hello"), 200, "hello", true},
		{"a long header section", "HTTP/1.1 200 OK\r\n" + field(60_000) + "Content-Length: 5\r\n\r\nhello", 200, "hello", true},
		{"as long as it may be", "HTTP/1.1 200 OK\r\n" + field(1<<17-43) + "Content-Length: 5\r\n\r\nhello", 200, "hello", true},

		{"one more 1xx", many + many + ok("hello"), 0, "interim", false},
		{"longer than it may be", "HTTP/1.1 200 OK\r\n" + field(1<<17-42) + "Content-Length: 5\r\n\r\nhello", 0, "octets", false},
		{"an endless header section", "HTTP/1.1 200 OK\r\n" + field(1<<18), 0, "octets", false},
		{"an endless line", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<18), 0, "octets", false},
		{"an endless status line", strings.Repeat("HTTP/1.1 200 OK", 1<<15), 0, "octets", false},
		{"trailers without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + field(1<<16), 0, "trailer", false},
		{"a cut header section", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", 0, "unexpected EOF", false},
		{"a cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 0, "unexpected EOF", false},
		{"cut chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 0, "EOF", false},
		{"cut trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n", 0, "trailer", false},
		{"bare line feeds in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", 0, "chunked", false},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 0, "Content-Length", false},
		{"two lengths in one", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", 0, "Content-Length", false},
		{"a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", 0, "Content-Length", false},
		{"a coding in HTTP/1.0 with a blank before the colon", "HTTP/1.0 200 OK\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n", 0, "HTTP/1.0", false},
		{"a tab before the colon", "HTTP/1.1 200 OK\r\nContent-Length\t: 5\r\n\r\nhello", 0, "malformed", false},
		{"another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 0, "transfer encoding", false},
		{"two codings", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, "transfer encoding", false},
		{"chunks in HTTP/0.9", "HTTP/0.9 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, "HTTP/1.0", false},
		{"garbage", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 0, "malformed", false},
		{"garbage without an end", "SSH-2.0-x", 0, "malformed", false},
		{"HTTP/0.9", "<html>hello</html>", 0, "malformed", false},
		{"nothing", "", 0, "EOF", false},
		{"an empty line before it", "\r\n" + ok("hello"), 0, "malformed", false},
		{"no colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", 0, "malformed", false},
		{"a control octet in a field", "HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", 0, "malformed", false},
		{"a bare CR in a field", "HTTP/1.1 200 OK\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n", 0, "malformed", false},
	} {
		for _, secure := range []bool{false, true} {
			o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
				if c.request() == nil {
					return
				}
				c.say(r.say)
				if r.again && c.request() != nil {
					c.say(ok("next"))
				}
				if secure {
					_ = c.Conn.Close()
				}
			})
			tr := newClient(t, func(b *http.Transport) { b.MaxResponseHeaderBytes = 1 << 17 })
			status, body, err := fetch(tr, newRequest(t, "GET", o.url(secure), nil))
			switch {
			case r.status == 0:
				if err == nil || !strings.Contains(err.Error(), r.body) {
					t.Errorf("%s, TLS %t: %d, %v, want an error of %q", r.why, secure, status, err, r.body)
				}
			case err != nil || status != r.status || body != r.body:
				t.Errorf("%s, TLS %t: %d %q, %v", r.why, secure, status, body, err)
			}
			if n := kept(t, tr); (n == 1) != r.again {
				t.Errorf("%s, TLS %t: %d connections kept", r.why, secure, n)
			}
			if r.again {
				if _, body, err := fetch(tr, newRequest(t, "GET", o.url(secure), nil)); body != "next" || err != nil {
					t.Errorf("%s, TLS %t: next %q, %v", r.why, secure, body, err)
				}
			}
			tr.CloseIdleConnections()
		}
	}
}

// crypto/tls takes the end of a connection for that of its data. Whoever is on
// the way could cut a body there whose end nothing else tells.
func TestBodyWithoutALengthIsCutWithoutCloseNotify(t *testing.T) {
	for _, r := range []struct {
		notify bool
		say    string
		whole  bool
	}{
		{true, "HTTP/1.1 200 OK\r\n\r\nhello", true},
		{false, "HTTP/1.1 200 OK\r\n\r\nhello", false},
		{true, "HTTP/1.0 200 OK\r\n\r\nhello", true},
		{false, "HTTP/1.0 200 OK\r\n\r\nhello", false},
		{false, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true},
		{false, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", true},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			c := serverTLS()
			c.MaxVersion = version
			o := newOrigin(t, c, func(c *peer, _ int64) {
				c.request()
				c.say(r.say)
				if r.notify {
					_ = c.Conn.Close()
				}
			})
			_, body, err := fetch(newClient(t, nil), newRequest(t, "GET", o.url(true), nil))
			if body != "hello" || r.whole != (err == nil) || !r.whole && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q, close_notify %t, version %x: %q, %v", r.say, r.notify, version, body, err)
			}
		}
	}
}

func TestExchange(t *testing.T) {
	head := "HTTP/1.1 200  Fine\r\nx-Y:  z\r\nCONTENT-length: 5\n\r\n"
	o := newOrigin(t, nil, func(c *peer, _ int64) {
		for {
			r := c.request()
			if r == nil {
				return
			}
			c.say("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", head+"hello")
		}
	})
	tr := newClient(t, nil)
	var interim []int
	e := &Exchange{Interim: func(status int, h http.Header, _ []byte) error {
		if h.Get("Link") == "" {
			return errors.New("no fields")
		}
		interim = append(interim, status)
		return nil
	}}
	for range 2 {
		req := newRequest(t, "GET", o.url(false), nil)
		if _, _, err := fetch(tr, req.WithContext(With(req.Context(), e))); err != nil {
			t.Fatal(err)
		}
		if string(e.Response) != head {
			t.Errorf("%q, want %q", e.Response, head)
		}
	}
	if fmt.Sprint(interim) != "[103 103]" {
		t.Errorf("interim answers: %v", interim)
	}
	stop := errors.New("no more")
	e.Interim = func(int, http.Header, []byte) error { return stop }
	req := newRequest(t, "GET", o.url(false), nil)
	if _, _, err := fetch(tr, req.WithContext(With(req.Context(), e))); !errors.Is(err, stop) || kept(t, tr) != 0 {
		t.Errorf("%v, %d kept", err, kept(t, tr))
	}
}

// A blank between a name and the colon is taken away, of an answer and of one
// with a status 1xx, and of nothing else (RFC 9112 §5.1).
func TestBlankBehindANameIsTakenAway(t *testing.T) {
	o := newOrigin(t, nil, func(c *peer, _ int64) {
		if c.request() != nil {
			c.say("HTTP/1.1 103 Early Hints\r\nLink : </x>\r\n\r\n" +
				"HTTP/1.1 200 a :b\r\nset-cookie  :a=b\r\nSet-Cookie: c=d\r\nX: y : z\r\n : w\r\n v :\r\nContent-Length: 0\r\n\r\n")
		}
	})
	var hints http.Header
	e := &Exchange{Interim: func(_ int, h http.Header, _ []byte) error {
		hints = h
		return nil
	}}
	req := newRequest(t, "GET", o.url(false), nil)
	resp, err := newClient(t, nil).RoundTrip(req.WithContext(With(req.Context(), e)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := http.Header{"Set-Cookie": {"a=b", "c=d"}, "X": {"y : z : w v :"}, "Content-Length": {"0"}}
	if !maps.EqualFunc(resp.Header, want, slices.Equal) || resp.Status != "200 a :b" {
		t.Errorf("%s: the fields are %q, want %q", resp.Status, resp.Header, want)
	}
	if hints.Get("Link") != "</x>" {
		t.Errorf("the fields of the 103 are %q", hints)
	}
	if !strings.Contains(string(e.Response), "\r\nset-cookie:") {
		t.Errorf("the header section is kept as %q", e.Response)
	}
}

// In every phase the end of the context ends the request at once, with its
// cause, and leaves nothing.
func TestContextEndsInEveryPhase(t *testing.T) {
	cause := errors.New("the client went away")
	stall := func(say string) func(*testnet.Conn) {
		return func(c *testnet.Conn) {
			in := newReader(c)
			_, _ = http.ReadRequest(in)
			_, _ = io.WriteString(c, say)
			_, _ = io.Copy(io.Discard, in)
		}
	}
	for _, r := range []struct {
		why, url string
		body     io.Reader
		serve    func(c *testnet.Conn)
	}{
		{"dialling", "http://hole.example/", nil, nil},
		{"dialling, over TLS", "https://hole.example/", nil, nil},
		{"in the handshake", "https://a.example/", nil, stall("")},
		{"waiting", "http://a.example/", nil, stall("")},
		{"in the status line", "http://a.example/", nil, stall("HTT")},
		{"in the header section", "http://a.example/", nil, stall("HTTP/1.1 200 OK\r\nX: ")},
		{"behind a 1xx", "http://a.example/", nil, stall("HTTP/1.1 102 Processing\r\n\r\n")},
		{"in a body", "http://a.example/", nil, stall("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")},
		{"in chunks", "http://a.example/", nil, stall("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")},
		{"in a body without a length", "http://a.example/", nil, stall("HTTP/1.1 200 OK\r\n\r\nhello")},
		{"in an upload", "http://a.example/", endless{}, func(c *testnet.Conn) { time.Sleep(time.Hour) }},
		{"in an upload that is taken", "http://a.example/", &slowly{}, stall("")},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := testnet.New(testnet.Config{Latency: time.Millisecond})
			for i, name := range []string{"a.example", "hole.example"} {
				addr := netipAddr(i)
				n.SetName(name, addr)
				if i == 1 {
					n.SetRoute(addr, testnet.BlackHole)
				}
			}
			served := make(chan *testnet.Conn, 10)
			var listeners []io.Closer
			for _, port := range []string{":80", ":443"} {
				l, err := n.Listen(netipAddr(0).String() + port)
				if err != nil {
					t.Fatal(err)
				}
				listeners = append(listeners, l)
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						served <- c.(*testnet.Conn)
						go func() { r.serve(c.(*testnet.Conn)); _ = c.Close() }()
					}
				}()
			}
			tr := New(Config{Base: &http.Transport{DialContext: n.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 5}})
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			began := time.Now()
			time.AfterFunc(10*time.Second, func() { cancel(cause) })
			_, _, err := fetch(tr, newRequest(t, "GET", r.url, r.body).WithContext(ctx))
			if !errors.Is(err, cause) {
				t.Errorf("%s: %v", r.why, err)
			}
			if took := time.Since(began); took != 10*time.Second {
				t.Errorf("%s: took %v", r.why, took)
			}
			if n := kept(t, tr); n != 0 {
				t.Errorf("%s: %d kept", r.why, n)
			}
			time.Sleep(2 * time.Hour)
			for _, l := range listeners {
				_ = l.Close()
			}
			for len(served) > 0 {
				c := <-served
				if _, err := c.Write([]byte("x")); err == nil {
					time.Sleep(time.Second)
					if _, err = c.Write([]byte("x")); err == nil {
						t.Errorf("%s: the connection is open", r.why)
					}
				}
			}
		})
	}
}

// slowly is a body of which an octet comes each second.
type slowly struct{}

func (*slowly) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	p[0] = 'x'
	return 1, nil
}

// A header section has its time as a whole, however it drips.
func TestHeaderSectionIsDueInTime(t *testing.T) {
	for _, r := range []struct{ why, drip string }{
		{"nothing", ""},
		{"an octet each second", "x"},
		{"a field each second", "X: y\r\n"},
		{"a 1xx each second", "\r\n\r\nHTTP/1.1 102 Processing\r\nX: y"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr, dialled, end := inMemory(t, func(b *http.Transport) { b.ResponseHeaderTimeout = 30 * time.Second }, func(c io.ReadWriter) {
				_, _ = http.ReadRequest(newReader(c))
				if r.drip == "" {
					_, _ = io.Copy(io.Discard, c)
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 102 Processing\r\nX: y")
				for {
					time.Sleep(time.Second)
					if _, err := io.WriteString(c, r.drip); err != nil {
						return
					}
				}
			})
			defer end()
			began := time.Now()
			_, _, err := fetch(tr, newRequest(t, "GET", "http://h0.example/", nil))
			var timeout net.Error
			if took := time.Since(began) - 2*time.Millisecond; !errors.As(err, &timeout) || !timeout.Timeout() || took.Round(time.Second) != 30*time.Second || dialled("h0.example") != 1 {
				t.Errorf("%s: %v after %v, dialled %d times", r.why, err, took, dialled("h0.example"))
			}
		})
	}
}

// A kept connection has no deadline behind a body that was waited for: that of
// the next request is another one, though it be the same to a second.
func TestHeaderSectionIsDueInTimeOnAKeptConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, dialled, end := inMemory(t, func(b *http.Transport) { b.ResponseHeaderTimeout = time.Minute }, func(c io.ReadWriter) {
			in := newReader(c)
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			time.Sleep(time.Millisecond)
			_, _ = io.WriteString(c, "hello")
			_, _ = io.Copy(io.Discard, in)
		})
		defer end()
		if _, body, err := fetch(tr, newRequest(t, "GET", "http://h0.example/", nil)); body != "hello" || err != nil {
			t.Fatalf("%q, %v", body, err)
		}
		began := time.Now()
		_, _, err := fetch(tr, newRequest(t, "GET", "http://h0.example/", nil))
		var timeout net.Error
		if took := time.Since(began); !errors.As(err, &timeout) || !timeout.Timeout() || took.Round(time.Second) != time.Minute || dialled("h0.example") != 1 {
			t.Errorf("%v after %v, dialled %d times", err, took, dialled("h0.example"))
		}
	})
}
