package proxy

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// net/http answers a request that it cannot read by itself: a bare "400 Bad
// Request" in one Write, before there is a handler, and then it closes the
// connection. clientConn knows such an answer and writes one that names the
// fault in its place.

// Read reads from the client, and remembers the beginning of a request.
func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.head.add(b, b[:n])
	return n, err
}

// Write writes to the client.
func (c *clientConn) Write(b []byte) (int, error) {
	if c.head.closed.Load() {
		return c.Conn.Write(b)
	}
	status, text, ok := bareAnswer(b)
	if !ok {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(c.proxy.malformed(c, status, text)); err != nil {
		return 0, err
	}
	linger(c.Conn)
	return len(b), nil
}

// followHead begins anew with each request on a connection.
func followHead(c net.Conn, s http.ConnState) {
	if s != http.StateIdle {
		return
	}
	switch c := c.(type) {
	case *clientConn:
		c.head.open()
	case *secureConn:
		c.head.open()
	}
}

// bareAnswer takes one of net/http's own error answers apart: the status, and
// what it says of the fault, which is mostly nothing.
func bareAnswer(b []byte) (status int, text string, ok bool) {
	const version, fields = "HTTP/1.1 ", "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	line, body, found := strings.Cut(string(b[:min(len(b), 512)]), fields)
	if !found || !strings.HasPrefix(line, version) || len(line) < len(version)+3 {
		return 0, "", false
	}
	status, err := strconv.Atoi(line[len(version) : len(version)+3])
	if err != nil || status < 400 {
		return 0, "", false
	}
	_, text, _ = strings.Cut(body, ": ")
	return status, text, true
}

// malformed records a request that net/http could not read, as a denial like
// any other, and returns what to answer.
func (p *Proxy) malformed(c *clientConn, status int, text string) []byte {
	octets, line := c.head.read()
	r := requestOf(octets)
	r.RemoteAddr = c.RemoteAddr().String()
	x := &exchange{tunnel: c.tunnel, in: r.WithContext(context.Background()), entry: newEntry(c, r), w: new(responseWriter), body: new(countedBody)}
	x.err = p.problemOfHead(octets, line, status, text)
	defer p.record(x)
	resp := p.deny(x)
	resp.Close = true
	resp.Header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	var b bytes.Buffer
	if err := resp.Write(&b); err != nil {
		p.Log.Error().Err(err).Msg("writing an answer to a malformed request") // a buffer takes anything
	}
	x.entry.Status, x.entry.BytesOut = resp.StatusCode, resp.ContentLength
	return b.Bytes()
}
