package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// rawConn is a kept-alive connection on which requests are written octet by
// octet, as no client library would.
type rawConn struct {
	addr string
	conn net.Conn
	r    *bufio.Reader
}

// rawAnswer is a response with its body read.
type rawAnswer struct {
	status int
	reason string
	fields http.Header
	body   []byte
	close  bool // the server ends the connection after it
}

// exchange writes request and reads the answer to it. It connects when there
// is no connection, and anew when the kept one had been closed meanwhile.
func (c *rawConn) exchange(method string, request []byte) (rawAnswer, error) {
	kept := c.conn != nil
	a, err := c.once(method, request)
	if err != nil && kept {
		c.drop()
		a, err = c.once(method, request)
	}
	if err != nil || a.close {
		c.drop()
	}
	return a, err
}

func (c *rawConn) once(method string, request []byte) (rawAnswer, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return rawAnswer{}, err
		}
		c.conn, c.r = conn, bufio.NewReader(conn)
	}
	if err := c.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return rawAnswer{}, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return rawAnswer{}, err
	}
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return rawAnswer{}, err
	}
	defer resp.Body.Close()
	if method == http.MethodConnect && resp.StatusCode == 200 {
		return rawAnswer{status: 200, reason: resp.Status, fields: resp.Header}, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return rawAnswer{}, fmt.Errorf("reading the body: %w", err)
	}
	return rawAnswer{resp.StatusCode, resp.Status, resp.Header, body, resp.Close}, nil
}

func (c *rawConn) drop() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// send opens a connection, writes one request and returns the answer to it.
func send(t testing.TB, addr, method, request string) rawAnswer {
	t.Helper()
	c := &rawConn{addr: addr}
	defer c.drop()
	a, err := c.once(method, []byte(request))
	if err != nil {
		t.Fatalf("%.200q: %v", request, err)
	}
	return a
}
