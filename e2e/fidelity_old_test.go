package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestOldClients(t *testing.T) { tryAll(t, oldProperties) }

var oldProperties = []property{
	{name: "an answer without a length ends with the connection", old: "it has no chunks", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			for range 10 {
				_, _ = io.WriteString(w, "part ")
				w.(http.Flusher).Flush()
			}
		})
		m, err := r.askOld(o, "GET", "Connection: keep-alive")
		if _, coded := m.get("Transfer-Encoding"); err == nil && (coded || string(m.body) != strings.Repeat("part ", 10)) {
			err = fmt.Errorf("%q %q", m.fields, m.body)
		}
		return err
	}},
	{name: "an answer with a length", old: "a connection is kept only where it is asked for", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		for range 3 {
			m, err := c.ask("GET", "/", "Connection: keep-alive")
			if connection, _ := m.get("Connection"); err != nil || string(m.body) != "page" || !strings.EqualFold(connection, "keep-alive") {
				return mismatch(err, "%s %q %q", m.line, m.fields, m.body)
			}
		}
		m, err := c.ask("GET", "/")
		if err != nil || string(m.body) != "page" {
			return mismatch(err, "%s %q %q", m.line, m.fields, m.body)
		}
		if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
			return mismatch(err, "a connection that was not to be kept goes on with %q", rest)
		}
		return nil
	}},
	{name: "an answer that is cut", old: "only a reset tells that it is not whole", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "some of it")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		m, err := r.askOld(o, "GET")
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) { // inside TLS it is the missing farewell, too
			return fmt.Errorf("the client read %q as the whole: %w", m.body, err)
		}
		return nil
	}},
	{name: "an upload", old: "it has no chunks, so that it has a length", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, req *http.Request) { _, _ = io.Copy(w, req.Body) })
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		if err := c.writeAll(c.head("POST", "/", "Content-Length: 4") + "body"); err != nil {
			return err
		}
		m, err := c.read("POST")
		if err == nil && string(m.body) != "body" {
			err = fmt.Errorf("%s %q", m.line, m.body)
		}
		return err
	}},
	{name: "trailers are left out", old: "it has none", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "page")
			w.Header().Set("X-Sum", "42")
		})
		m, err := r.askOld(o, "GET")
		if err == nil && (string(m.body) != "page" || m.status() != 200) {
			err = fmt.Errorf("%s %q %q", m.line, m.fields, m.body)
		}
		return err
	}},
	{name: "HEAD", old: "its fields alone tell what GET would bring", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "12345") })
		m, err := r.askOld(o, "HEAD")
		if length, _ := m.get("Content-Length"); err == nil && length != "12345" {
			err = fmt.Errorf("%s %q", m.line, m.fields)
		}
		return err
	}},
	{name: "a request of HTTP/1.1 at the origin", old: "each hop has its own version (RFC 9110 §6.2)", not: originHTTP1, holds: func(r *trial) error {
		got := make(chan message, 1)
		o := r.script(func(c *wire, m message) bool {
			got <- m
			return saying("HTTP/1.1 204 No Content\r\n\r\n")(c, m)
		})
		if _, err := r.askOld(o, "GET"); err != nil {
			return err
		}
		m := <-got
		via, _ := m.get("Via")
		if !strings.HasSuffix(m.line, " HTTP/1.1") || !strings.HasPrefix(via, "1.0 ") {
			return fmt.Errorf("the origin got %s, Via: %s", m.line, via)
		}
		return nil
	}},
}

func (r *trial) askOld(o, method string, fields ...string) (message, error) {
	c, err := r.dial(o)
	if err != nil {
		return message{}, err
	}
	return c.ask(method, "/", fields...)
}
