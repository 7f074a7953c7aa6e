package roundtrip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// written is what a Transport makes of a request.
func written(t *testing.T, tr *Transport, req *http.Request, order string) string {
	t.Helper()
	b, err := tr.appendRequest(nil, req, []byte(order))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRequestAsItIsSent(t *testing.T) {
	direct := New(Config{Base: &http.Transport{}})
	proxied := New(Config{Base: &http.Transport{}, Proxy: &url.URL{Scheme: "http", Host: "p:1", User: url.UserPassword("u", "p")}})
	const authorization = "Proxy-Authorization: Basic dTpw\r\n"
	for _, r := range []struct {
		why   string
		tr    *Transport
		req   http.Request
		order string
		want  string
	}{
		{"the least", direct, http.Request{URL: at("http://a.example")}, "", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"octets of the target as they are", direct, http.Request{URL: &url.URL{Scheme: "http", Host: "a", Opaque: "/a|b\\%zz\xff", RawQuery: "q={}"}}, "", "GET /a|b\\%zz\xff?q={} HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"an empty query", direct, http.Request{URL: &url.URL{Scheme: "http", Host: "a", Opaque: "/x", ForceQuery: true}}, "", "GET /x? HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"a path that begins with an authority", direct, http.Request{URL: &url.URL{Scheme: "http", Host: "a", Opaque: "//a//x"}}, "", "GET http://a//x HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"an origin as a whole", direct, http.Request{Method: "OPTIONS", URL: &url.URL{Scheme: "http", Host: "a", Opaque: "*"}}, "", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"an origin as a whole, to a proxy (RFC 9112 §3.2.4)", proxied, http.Request{Method: "OPTIONS", URL: &url.URL{Scheme: "http", Host: "a", Opaque: "*"}}, "", "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n" + authorization + "\r\n"},
		{"a path, to a proxy", proxied, http.Request{URL: at("http://a.example/x?y")}, "", "GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\n" + authorization + "\r\n"},
		{"an opaque path, to a proxy", proxied, http.Request{URL: &url.URL{Scheme: "http", Host: "a", Opaque: "//a/x"}}, "", "GET http://a/x HTTP/1.1\r\nHost: a\r\n" + authorization + "\r\n"},
		{"credentials of the caller's are not the proxy's", proxied, http.Request{URL: at("http://a/"), Header: http.Header{"Proxy-Authorization": {"Basic x"}, "proxy-authorization": {"y"}}}, "", "GET http://a/ HTTP/1.1\r\nHost: a\r\n" + authorization + "\r\n"},
		{"where a body is expected", direct, http.Request{Method: "POST", URL: at("http://a/")}, "", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"},
		{"where a body is expected", direct, http.Request{Method: "PUT", URL: at("http://a/"), Body: http.NoBody}, "", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"},
		{"where it was said that there is none", direct, http.Request{Method: "DELETE", URL: at("http://a/"), Header: http.Header{"Content-Length": {"0"}}}, "", "DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"},
		{"a length, whatever the fields say", direct, http.Request{Method: "POST", URL: at("http://a/"), ContentLength: 5, Body: io.NopCloser(nil), Header: http.Header{"Content-Length": {"7"}, "content-length": {"8"}, "TRANSFER-ENCODING": {"chunked"}, "Host": {"b"}}}, "", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"},
		{"no length", direct, http.Request{Method: "POST", URL: at("http://a/"), ContentLength: -1, Body: io.NopCloser(nil), Trailer: http.Header{"B": nil, "A": nil}}, "", "POST / HTTP/1.1\r\nHost: a\r\nTrailer: A, B\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"a close", direct, http.Request{URL: at("http://a/"), Close: true}, "", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
		{"trailers are taken, by the next one alone (RFC 9110 §10.1.4)", direct, http.Request{URL: at("http://a/"), Header: http.Header{"Te": {"trailers"}}}, "GET / HTTP/1.1\r\nconnection: x\r\nTE: x\r\n", "GET / HTTP/1.1\r\nconnection: TE\r\nTE: trailers\r\nHost: a\r\n\r\n"},
		{"no agent", direct, http.Request{URL: at("http://a/"), Header: http.Header{"User-Agent": {""}}}, "", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"another host", direct, http.Request{URL: at("http://a/"), Host: "b:1"}, "", "GET / HTTP/1.1\r\nHost: b:1\r\n\r\n"},
		{
			"spelling and order of a section; what it does not name follows", direct,
			http.Request{URL: at("http://a/"), Header: http.Header{"Accept": {"x", "y"}, "B-C": {"z"}, "Via": {"v"}}},
			"GET / HTTP/1.1\r\nb-C: old\r\naccept: old\r\nHOST: old\r\nGone: old\r\nACCEPT: old\r\n",
			"GET / HTTP/1.1\r\nb-C: z\r\naccept: x\r\nHOST: a\r\nACCEPT: y\r\nVia: v\r\n\r\n",
		},
		{
			"names in a section that would be fields of their own", direct,
			http.Request{URL: at("http://a/"), Header: http.Header{"A": {"x"}}},
			"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n : x\r\n\r: y\r\nA : z\r\nContent-Length: 5\r\nHost: evil\r\n\r\nA: body\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nA: x\r\n\r\n",
		},
		{
			"a section whose names are not sent, all of which nobody looks for", direct,
			http.Request{URL: at("http://a/"), Header: http.Header{"Zz": {"x"}}},
			"GET / HTTP/1.1\r\n" + strings.Repeat("aa: x\r\n", 600) + "ZZ: y\r\n", "GET / HTTP/1.1\r\nHost: a\r\nZz: x\r\n\r\n",
		},
	} {
		if got := written(t, r.tr, &r.req, r.order); got != r.want {
			t.Errorf("%s:\n%q, want\n%q", r.why, got, r.want)
		}
	}
}

func at(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// What would be two requests to an origin, or one for another, is refused before
// it hears of it, with the body closed.
func TestRequestThatCannotBeSent(t *testing.T) {
	heard := make(chan string, 100)
	o := newOrigin(t, nil, func(c *peer, _ int64) {
		b, _ := io.ReadAll(c)
		heard <- string(b)
	})
	to := func(change func(*http.Request)) *http.Request {
		req := newRequest(t, "GET", o.url(false), nil)
		change(req)
		return req
	}
	field := func(name, value string) *http.Request {
		return to(func(r *http.Request) { r.Header[name] = []string{"fine", value} })
	}
	for _, r := range []struct {
		why string
		req *http.Request
	}{
		{"a method with a line", to(func(r *http.Request) { r.Method = "GET / HTTP/1.1\r\nX: " })},
		{"a method with a blank", to(func(r *http.Request) { r.Method = "GET /x" })},
		{"a method with NUL", to(func(r *http.Request) { r.Method = "G\x00T" })},
		{"CONNECT, whose answer has no body", to(func(r *http.Request) { r.Method = "CONNECT" })},
		{"a target with a line", to(func(r *http.Request) { r.URL.Opaque = "/ HTTP/1.1\r\nX: y\r\n" })},
		{"a target with LF", to(func(r *http.Request) { r.URL.Opaque = "/\n" })},
		{"a target with a blank", to(func(r *http.Request) { r.URL.Opaque = "/a b" })},
		{"a target with DEL", to(func(r *http.Request) { r.URL.Opaque = "/\x7f" })},
		{"a query with CR", to(func(r *http.Request) { r.URL.RawQuery = "\r" })},
		{"a query with NUL", to(func(r *http.Request) { r.URL.RawQuery = "\x00" })},
		{"a target that is no path", to(func(r *http.Request) { r.URL.Opaque = ".evil.example/" })},
		{"a Host with a line", to(func(r *http.Request) { r.Host = "a\r\nX: y" })},
		{"a Host with a blank", to(func(r *http.Request) { r.Host = "a b" })},
		{"a field name with a line", field("X: y\r\nZ", "v")},
		{"a field name with a colon", field("X:", "v")},
		{"a field name with a blank", field("X ", "v")},
		{"an empty field name", field("", "v")},
		{"a field value with a line", field("X", "y\r\nZ: v")},
		{"a field value with LF", field("X", "y\nZ: v")},
		{"a field value with CR", field("X", "y\rZ: v")},
		{"a field value with NUL", field("X", "\x00")},
		{"a User-Agent with a line", field("User-Agent", "y\r\nZ: v")},
		{"no host", to(func(r *http.Request) { r.URL.Host = "" })},
		{"no URL", to(func(r *http.Request) { r.URL = nil })},
		{"another scheme", to(func(r *http.Request) { r.URL.Scheme = "ftp" })},
		{"a trailer name with a line", to(func(r *http.Request) { r.Trailer = http.Header{"X\r\nY: z": nil}; r.ContentLength = -1 })},
		{"a trailer that is framing", to(func(r *http.Request) { r.Trailer = http.Header{"Content-Length": nil}; r.ContentLength = -1 })},
		{"a length and no body", to(func(r *http.Request) { r.Method, r.ContentLength = "POST", 5 })},
	} {
		tr := newClient(t, nil)
		body := &closings{Reader: strings.NewReader("body!")}
		if r.req.ContentLength <= 0 {
			r.req.Body = body
			r.req.ContentLength = -1
		}
		_, _, err := fetch(tr, r.req)
		var refused *RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", r.why, err)
		}
		if n := body.n.Load(); r.req.Body != nil && n != 1 {
			t.Errorf("%s: the body was closed %d times", r.why, n)
		}
	}
	for o.open.Load() > 0 || len(heard) > 0 {
		select {
		case s := <-heard:
			if s != "" {
				t.Errorf("the origin heard %q", s)
			}
		case <-time.After(time.Millisecond): // the last one was heard, and is still open
		}
	}
}

// However many fields there are, and however a section names others, a request
// is written in time that grows with its length alone.
func TestAdversarialSections(t *testing.T) {
	tr := New(Config{Base: &http.Transport{}})
	many := func(n int, name string) string {
		return "GET / HTTP/1.1\r\n" + strings.Repeat(name+": x\r\n", n) + "\r\n"
	}
	header := func(n int) http.Header {
		h := http.Header{}
		for i := range n {
			h[fmt.Sprintf("X-%05d", i)] = []string{"x"}
		}
		return h
	}
	for _, r := range []struct {
		why   string
		h     http.Header
		order string
	}{
		{"many names, none of which is sent", header(100), many(50_000, "X-99999")},
		{"many names of one that is sent", header(100), many(50_000, "X-00001")},
		{"many fields", header(20_000), many(20_000, "X-00001")},
		{"many values", http.Header{"X": strings.Split(strings.Repeat("x,", 20_000), ",")}, many(20_000, "x")},
		{"no line", header(100), strings.Repeat("x", 1<<20)},
		{"lines without a name", header(100), strings.Repeat(":\n", 1<<19)},
		{"lines without a colon", header(100), strings.Repeat("x\n", 1<<19)},
	} {
		began := time.Now()
		b := written(t, tr, &http.Request{URL: at("http://a/"), Header: r.h}, r.order)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: took %v", r.why, took)
		}
		lines := 0
		for _, v := range r.h {
			lines += len(v)
		}
		if n := bytes.Count([]byte(b), []byte("\r\n")); n != lines+3 {
			t.Errorf("%s: %d lines for %d fields", r.why, n, lines)
		}
	}
}

// A body that is not sent is closed all the same, and once.
func TestBodyIsClosedOnce(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = refused.Close()
	silent := newOrigin(t, nil, func(c *peer, _ int64) { _, _ = io.Copy(io.Discard, c) })
	plain := newOrigin(t, nil, func(c *peer, _ int64) {
		for c.request() != nil {
			c.say(ok("hello"))
		}
	})
	early := newOrigin(t, nil, func(c *peer, _ int64) {
		c.say("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	})
	for _, r := range []struct {
		why, url string
		ended    bool
		works    bool
	}{
		{"it was sent", plain.url(false), false, true},
		{"the connection is refused", "http://" + refused.Addr().String(), false, false},
		{"the connection is refused, over TLS", "https://" + refused.Addr().String(), false, false},
		{"the handshake fails", "https://" + plain.addr, false, false},
		{"the context has ended", plain.url(false), true, false},
		{"the context has ended, over TLS", "https://" + silent.addr, true, false},
		{"an answer before its end", early.url(false), false, true},
	} {
		for _, h2 := range []bool{false, true} {
			tr := newClient(t, func(b *http.Transport) { b.ForceAttemptHTTP2 = h2 })
			body := &closings{Reader: strings.NewReader(strings.Repeat("x", 100_000))}
			req := newRequest(t, "POST", r.url, body)
			ctx, cancel := context.WithCancel(context.Background())
			if r.ended {
				cancel()
			}
			_, _, err := fetch(tr, req.WithContext(ctx))
			if (err == nil) != r.works && r.url != early.url(false) {
				t.Errorf("%s: %v", r.why, err)
			}
			eventually(t, r.why+": the body is closed", func() bool { return body.n.Load() > 0 })
			time.Sleep(time.Millisecond)
			if n := body.n.Load(); n != 1 {
				t.Errorf("%s: the body was closed %d times", r.why, n)
			}
			cancel()
		}
	}
}

// Whoever waits for another to find out what an origin speaks closes its body,
// too, when its time is over.
func TestBodyIsClosedWhileOthersLearn(t *testing.T) {
	silent := newOrigin(t, nil, func(c *peer, _ int64) { _, _ = io.Copy(io.Discard, c) })
	tr := newClient(t, func(b *http.Transport) { b.ForceAttemptHTTP2 = true })
	ctx, cancel := context.WithCancel(context.Background())
	learner := make(chan error)
	go func() {
		_, _, err := fetch(tr, newRequest(t, "GET", "https://"+silent.addr, nil).WithContext(ctx))
		learner <- err
	}()
	eventually(t, "the learner is in its handshake", func() bool { return silent.accepted.Load() == 1 })
	cause := errors.New("the client went away")
	waiting, end := context.WithCancelCause(context.Background())
	body := &closings{Reader: strings.NewReader("x")}
	time.AfterFunc(10*time.Millisecond, func() { end(cause) })
	_, _, err := fetch(tr, newRequest(t, "POST", "https://"+silent.addr, body).WithContext(waiting))
	if !errors.Is(err, cause) || body.n.Load() != 1 {
		t.Errorf("%v; closed %d times", err, body.n.Load())
	}
	cancel()
	if err := <-learner; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
