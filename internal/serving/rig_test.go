package serving_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"heed/internal/serving"
	"heed/internal/testnet"
)

// server is a Server that listens.
type server struct {
	*serving.Server
	t    *testing.T
	dial func() (net.Conn, error)
}

// start serves on a loopback port until the test is over.
func start(t *testing.T, handler http.HandlerFunc, change ...func(*serving.Config)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, l, handler, change)
	s.dial = func() (net.Conn, error) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			err = c.SetDeadline(time.Now().Add(20 * time.Second)) // what hangs is to fail
		}
		return c, err
	}
	return s
}

// startIn serves in a bubble of testing/synctest, where the timeouts are 10 s for
// a header section and 30 s for all else, or what is given.
func startIn(t *testing.T, window int, handler http.HandlerFunc, times ...time.Duration) *server {
	t.Helper()
	n := testnet.New(testnet.Config{Window: window})
	l, err := n.Listen("192.0.2.1:80")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, l, handler, []func(*serving.Config){func(c *serving.Config) {
		c.HeaderTimeout, c.IdleTimeout = 10*time.Second, 30*time.Second
		if len(times) > 0 {
			c.HeaderTimeout, c.IdleTimeout = times[0], times[0]
		}
	}})
	s.dial = func() (net.Conn, error) { return n.DialContext(context.Background(), "tcp", "192.0.2.1:80") }
	return s
}

func serve(t *testing.T, l net.Listener, handler http.HandlerFunc, change []func(*serving.Config)) *server {
	t.Helper()
	config := serving.Config{Handler: handler, Malformed: malformed}
	for _, f := range change {
		f(&config)
	}
	s := serving.New(config)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("connections are left: %v", err)
		}
	})
	return &server{Server: s, t: t}
}

// malformed says what is wrong with a request on one line.
func malformed(_ net.Conn, f *serving.Fault) []byte {
	says := fmt.Sprintf("line %d, %s", f.Line, f.Text)
	return fmt.Appendf(nil, "HTTP/1.1 %d Fault\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", f.Status, len(says), says)
}

// client is the other end of a connection.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// has waits until the server has n connections open: its client sees the end of
// one before the server has put it away.
func (s *server) has(n int) {
	s.t.Helper()
	for until := time.Now().Add(20 * time.Second); s.Conns() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatalf("%d connections are open, want %d", s.Conns(), n)
		}
	}
}

func (s *server) client() *client {
	s.t.Helper()
	c, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return &client{Conn: c, t: s.t, r: bufio.NewReader(c)}
}

// ask is a new connection on which octets were sent.
func (s *server) ask(octets string) *client {
	s.t.Helper()
	c := s.client()
	c.send(octets)
	return c
}

func (c *client) send(octets string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, octets); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
}

func (c *client) closeWrite() {
	c.t.Helper()
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the next answer, to a request of a method.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading an answer: %v", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("reading the body of an answer: %v (after %q)", err, b)
	}
	_ = resp.Body.Close()
	return resp, string(b)
}

// says expects an answer with a status and a body.
func (c *client) says(status int, body string) {
	c.t.Helper()
	if resp, b := c.answer(http.MethodGet); resp.StatusCode != status || b != body {
		c.t.Fatalf("answered %d %q, want %d %q", resp.StatusCode, b, status, body)
	}
}

// rest is everything up to the end of the connection, which must be an orderly
// one.
func (c *client) rest() string {
	c.t.Helper()
	b, err := io.ReadAll(c.r)
	if err != nil {
		c.t.Fatalf("reading on: %v (after %q)", err, b)
	}
	return string(b)
}

// ends expects the end of the connection and nothing before it.
func (c *client) ends() {
	c.t.Helper()
	if b := c.rest(); b != "" {
		c.t.Fatalf("the connection goes on: %q", b)
	}
}

// raw answers in a fixed way, so that all that is in the answer can be compared:
// no Date.
func raw(w http.ResponseWriter) http.Header {
	h := w.Header()
	h["Date"] = nil
	return h
}

// text answers with a text and its length.
func text(w http.ResponseWriter, status int, s string) {
	h := raw(w)
	h["Content-Length"] = []string{fmt.Sprint(len(s))}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s)
}

// echo answers with the method, the target and the body.
func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		text(w, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	text(w, http.StatusOK, r.Method+" "+r.RequestURI+" "+string(b))
}

// get is a request for a target, with more lines of fields, each with CR LF.
func get(target string, fields ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: a.example\r\n" + strings.Join(fields, "") + "\r\n"
}

// post is one with a body that has a length.
func post(target, body string, fields ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a.example\r\n%sContent-Length: %d\r\n\r\n%s", target, strings.Join(fields, ""), len(body), body)
}

// chunked is a POST of chunks as they are given.
func chunked(target, chunks string, fields ...string) string {
	return "POST " + target + " HTTP/1.1\r\nHost: a.example\r\n" + strings.Join(fields, "") + "Transfer-Encoding: chunked\r\n\r\n" + chunks
}

func repeat(s string, n int) string { return string(bytes.Repeat([]byte(s), n)) }
