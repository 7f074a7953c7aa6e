package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// serve starts an origin of net/http that speaks the way's version, and
// returns its authority. It has no robots.txt.
func (r *trial) serve(h http.HandlerFunc) string {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(r.origin != http2)
	protocols.SetHTTP2(r.origin != http11)
	s := &http.Server{
		Protocols:         protocols,
		ReadHeaderTimeout: patience,
		ErrorLog:          log.New(io.Discard, "", 0), // handlers that abort are what some trials want
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/robots.txt" {
				http.NotFound(w, req)
				return
			}
			if got := req.ProtoMajor == 2; got != (r.origin == http2) {
				r.faultf("the origin was spoken to in %s", req.Proto)
			}
			h(w, req)
		}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, originConn{}, c)
		},
	}
	l := r.listen(map[version][]string{http11: {"http/1.1"}, http2: {"h2"}, both: {"h2", "http/1.1"}}[r.origin]...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // ErrServerClosed
	}()
	r.t.Cleanup(func() { s.Close(); <-done })
	return authorityOf(l)
}

// originConn is where a handler of serve finds its connection.
type originConn struct{}

// listen opens a port on which TLS is spoken where the way has it.
func (r *trial) listen(protocols ...string) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	if !r.overTLS() {
		return l
	}
	return tls.NewListener(l, &tls.Config{GetCertificate: r.root.Certificate, NextProtos: protocols})
}

// authorityOf is a listener's port under a name.
func authorityOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "o.example:" + port
}

// script starts an origin that is played octet by octet, in HTTP/1.1, and
// returns its authority. For each request but that for robots.txt, which it
// does not have, its head is read and play goes on; the connection is kept as
// long as play returns true.
func (r *trial) script(play func(c *wire, m message) bool) string {
	l := r.listen("http/1.1")
	var mu sync.Mutex
	open, over := map[net.Conn]bool{}, false
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if open[c] = true; over {
				c.Close()
			}
			mu.Unlock()
			conns.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				r.play(&wire{Conn: c, r: bufio.NewReader(c)}, play)
			})
		}
	})
	r.t.Cleanup(func() {
		l.Close()
		mu.Lock()
		over = true
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		conns.Wait()
	})
	return authorityOf(l)
}

func (r *trial) play(c *wire, play func(c *wire, m message) bool) {
	for {
		m, err := c.readHead()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			return // a connection that was opened ahead and never used ends in many ways
		case strings.HasPrefix(m.line, "GET /robots.txt "):
			if c.writeAll("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") != nil {
				return
			}
		case !play(c, m):
			return
		}
	}
}

// saying plays the same octets whatever is asked, and keeps the connection.
func saying(octets string) func(*wire, message) bool {
	return func(c *wire, m message) bool {
		if _, err := c.readBody(m, false); err != nil {
			return false
		}
		return c.writeAll(octets) == nil
	}
}

// distinct counts what is not the same; it is safe for concurrent use.
type distinct struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (d *distinct) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[what] = true
}

func (d *distinct) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.seen)
}
