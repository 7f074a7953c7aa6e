package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestConnections(t *testing.T) { tryAll(t, connectionProperties) }

var connectionProperties = []property{
	{name: "a hundred requests take one connection on either side", holds: func(r *trial) error {
		conns := &distinct{}
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			conns.add(req.RemoteAddr)
			_, _ = io.Copy(w, req.Body)
		})
		tr := r.client()
		dialled := countDials(tr)
		for n := range 100 {
			method, body := "GET", io.Reader(nil)
			if n%3 == 1 {
				method, body = "POST", strings.NewReader("with a length")
			}
			if n%3 == 2 {
				method, body = "POST", io.MultiReader(strings.NewReader("in chunks"))
			}
			resp, err := r.send(tr, r.request(method, o, "/", body))
			if err != nil {
				return err
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				return err
			}
		}
		if n := conns.count(); n != 1 {
			return fmt.Errorf("heed used %d connections to the origin", n)
		}
		if n := dialled.Load(); n > 1 {
			return fmt.Errorf("the client needed %d connections to heed", n)
		}
		return nil
	}},
	{name: "HTTP/2 is spoken where it is offered", not: func(w way) string {
		if !w.overTLS() || w.origin != http2 {
			return "it is agreed on inside TLS alone"
		}
		return ""
	}, holds: func(r *trial) error {
		// an origin that takes either, as most do
		var proto atomic.Value
		o := r.serve1(func(_ http.ResponseWriter, req *http.Request) { proto.Store(req.Proto) })
		_, err := r.do("GET", o, "/", nil)
		if got := proto.Load(); got != "HTTP/2.0" {
			return mismatch(err, "the origin was spoken to in %v", got)
		}
		return err
	}},
	{name: "answers without a body keep both connections", not: octetsCount, holds: func(r *trial) error {
		conns := &distinct{}
		o := r.script(func(c *wire, m message) bool {
			conns.add(c.RemoteAddr().String())
			status := strings.Fields(m.line)[1][1:]
			return c.writeAll("HTTP/1.1 "+strings.ReplaceAll(status, "_", " ")+"\r\n"+
				map[bool]string{true: "Content-Length: 0\r\n", false: ""}[strings.HasPrefix(status, "2") && !strings.HasPrefix(status, "204")]+"\r\n") == nil
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		for range 3 {
			for _, one := range []struct {
				method string
				status int
			}{{"GET", 204}, {"GET", 304}, {"HEAD", 200}, {"GET", 200}, {"HEAD", 404}, {"POST", 201}} {
				m, err := c.ask(one.method, fmt.Sprintf("/%d_X", one.status))
				if err != nil || m.status() != one.status {
					return mismatch(err, "%s, %d: %s", one.method, one.status, m.line)
				}
				if connection, has := m.get("Connection"); has && strings.EqualFold(connection, "close") {
					return fmt.Errorf("%s, %d: the client's connection is closed", one.method, one.status)
				}
			}
		}
		if n := conns.count(); n != 1 {
			return fmt.Errorf("heed used %d connections to the origin", n)
		}
		return nil
	}},
	{name: "pipelined requests are answered in their order", not: clientHTTP1, holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "0") {
				time.Sleep(20 * time.Millisecond) // those behind it are quicker
			}
			_, _ = io.WriteString(w, req.URL.Path)
			_, _ = io.Copy(w, req.Body)
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		var all strings.Builder
		for n := range 30 {
			if n%2 == 0 {
				all.WriteString(c.head("GET", fmt.Sprintf("/%d", n)))
			} else {
				all.WriteString(c.head("POST", fmt.Sprintf("/%d", n), "Content-Length: 4") + "body")
			}
		}
		if err := c.writeAll(all.String()); err != nil {
			return err
		}
		for n := range 30 {
			want := fmt.Sprintf("/%d", n) + map[bool]string{true: "", false: "body"}[n%2 == 0]
			m, err := c.read("GET")
			if err != nil || string(m.body) != want {
				return mismatch(err, "answer %d is %s %q", n, m.line, m.body)
			}
		}
		return nil
	}},
	{name: "a client's close is not the origin's", not: octetsCount, holds: func(r *trial) error {
		conns := &distinct{}
		o := r.script(func(c *wire, m message) bool {
			conns.add(c.RemoteAddr().String())
			if connection, has := m.get("Connection"); has {
				r.faultf("the origin got Connection: %s", connection)
			}
			return saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")(c, m)
		})
		for range 3 {
			c, err := r.dial(o)
			if err != nil {
				return err
			}
			m, err := c.ask("GET", "/", "Connection: close")
			if err != nil || m.status() != 200 {
				return mismatch(err, "%s", m.line)
			}
			if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
				return mismatch(err, "the client asked for a close, and got %q", rest)
			}
		}
		if n := conns.count(); n != 1 {
			return fmt.Errorf("heed used %d connections to the origin", n)
		}
		return nil
	}},
	{name: "an origin's close is not the client's", not: octetsCount, holds: func(r *trial) error {
		conns := &distinct{}
		o := r.script(func(c *wire, m message) bool {
			conns.add(c.RemoteAddr().String())
			saying("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")(c, m)
			return false
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		for range 3 {
			if m, err := c.ask("GET", "/"); err != nil || m.status() != 200 {
				return mismatch(err, "%s", m.line)
			}
		}
		if n := conns.count(); n != 3 {
			return fmt.Errorf("heed used %d connections to an origin that closes each", n)
		}
		return nil
	}},
	{name: "a client that goes away while it waits", holds: func(r *trial) error { return r.gone("/wait") }},
	{name: "a client that goes away while it downloads", holds: func(r *trial) error { return r.gone("/download") }},
	{name: "a client that goes away within a slow answer", holds: func(r *trial) error { return r.gone("/slow") }},
	{name: "a client that goes away while it uploads", holds: func(r *trial) error { return r.gone("/upload") }},
	{name: "requests of one connection are of many at the origin", not: func(w way) string {
		if w.client != http2 {
			return "an HTTP/1.1 connection carries one exchange at a time"
		}
		return ""
	}, holds: func(r *trial) error {
		// all at once: none waits for another
		const many = 20
		var there atomic.Int32
		all := make(chan struct{})
		o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/warm" {
				return
			}
			if there.Add(1) == many {
				close(all)
			}
			select {
			case <-all:
			case <-req.Context().Done():
			}
		})
		tr := r.client()
		if _, err := r.send(tr, r.request("GET", o, "/warm", nil)); err != nil {
			return err
		}
		errs := make(chan error, many)
		for n := range many {
			req := r.request("GET", o, fmt.Sprintf("/%d", n), nil)
			go func() {
				_, err := r.send(tr, req)
				errs <- err
			}()
		}
		var err error
		for range many {
			err = errors.Join(err, <-errs)
		}
		return err
	}},
}

// gone has the client go away in the middle, and the origin notice within a
// second.
func (r *trial) gone(where string) error {
	there, noticed := make(chan struct{}, 1), make(chan struct{})
	o := r.serve(func(w http.ResponseWriter, req *http.Request) {
		defer close(noticed)
		switch where {
		case "/wait":
			there <- struct{}{}
			<-req.Context().Done()
		case "/slow":
			_, _ = io.WriteString(w, "some")
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		case "/download":
			for {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		case "/upload":
			there <- struct{}{}
			_, _ = io.Copy(io.Discard, req.Body) // until it breaks off
		}
	})
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	method, body := "GET", io.Reader(nil)
	if where == "/upload" {
		method, body = "POST", io.MultiReader(strings.NewReader("some"), waiting{ctx})
	}
	req := r.request(method, o, where, body).WithContext(ctx)
	if where == "/wait" || where == "/upload" {
		go func() {
			<-there
			cancel()
		}()
	}
	resp, err := r.client().RoundTrip(req)
	if err == nil {
		some := make([]byte, 4)
		if _, err := io.ReadFull(resp.Body, some); err != nil {
			return fmt.Errorf("before it went away the client read %w", err)
		}
		cancel()
		resp.Body.Close()
	}
	began := time.Now()
	select {
	case <-noticed:
	case <-r.ctx.Done():
		return errors.New("the origin did not notice")
	}
	if d := time.Since(began); d > soon {
		return fmt.Errorf("the origin noticed after %v", d)
	}
	return nil
}

// waiting is the rest of a body that does not come before a context ends.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}
