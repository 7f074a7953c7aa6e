package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestInterimAnswers(t *testing.T) { tryAll(t, interimProperties) }

var interimProperties = []property{
	{name: "103 before the final answer", holds: func(r *trial) error {
		return r.interim("103 Early Hints|Link: </a>; rel=preload")
	}},
	{name: "102 before the final answer", holds: func(r *trial) error { return r.interim("102 Processing") }},
	{name: "several 1xx before the final answer", holds: func(r *trial) error {
		return r.interim("102 Processing", "103 Early Hints|Link: </a>; rel=preload|Link: </b>; rel=preload", "102 Processing", "103 Early Hints|X-Last: 1", "199 ")
	}},
	{name: "1xx octet by octet", not: octetsCount, holds: func(r *trial) error {
		const hints = "HTTP/1.1 103 Look ahead\r\nlink: </a>\r\nX-B: 1\r\nx-a: 2\r\nLINK: </b>\r\n\r\n"
		o := r.script(saying(hints + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		if err := c.writeAll(c.head("GET", "/")); err != nil {
			return err
		}
		m, err := c.readHead()
		if err != nil {
			return err
		}
		if got := m.line + "\r\n" + strings.Join(m.without("Via"), "\r\n") + "\r\n\r\n"; got != hints {
			return fmt.Errorf("the client got %q, want %q", got, hints)
		}
		_, err = c.read("GET")
		return err
	}},
	{name: "an interim answer comes before the origin goes on", holds: func(r *trial) error {
		came := make(chan struct{})
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			select {
			case <-came:
			case <-req.Context().Done():
				r.faultf("it did not come while the origin waited for that")
			}
		})
		req := r.request("GET", o, "/", nil)
		trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { close(came); return nil }}
		_, err := r.send(r.client(), req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		return err
	}},
	{name: "100 is the origin's to say", not: expectIsSeen, holds: func(r *trial) error {
		asked, says := make(chan struct{}), make(chan struct{})
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			if got := req.Header.Get("Expect"); got != "100-continue" && r.origin != http2 { // whose server keeps it
				r.faultf("the origin got Expect: %q", got)
			}
			close(asked)
			<-says
			body, err := io.ReadAll(req.Body) // at the first read net/http says 100
			if err != nil || string(body) != "body" {
				r.faultf("the origin got %q, %v", body, err)
			}
			_, _ = io.WriteString(w, "taken")
		})
		req := r.request("POST", o, "/", strings.NewReader("body"), "Expect: 100-continue")
		var continued bool
		trace := &httptrace.ClientTrace{Got100Continue: func() {
			select {
			case <-says:
				continued = true
			default:
				r.faultf("the client was told to continue before the origin had said so")
			}
		}}
		go func() {
			select {
			case <-asked:
			case <-r.ctx.Done():
			}
			time.Sleep(20 * time.Millisecond) // whoever does not wait has gone on by now
			close(says)
		}()
		resp, err := r.send(r.client(), req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "taken" || !continued {
			return mismatch(err, "%s %q, told to continue: %v", resp.Status, body, continued)
		}
		return nil
	}},
	{name: "417 instead of 100", not: expectIsSeen, holds: func(r *trial) error { return r.refusesBody(417) }},
	{name: "403 instead of 100", not: expectIsSeen, holds: func(r *trial) error { return r.refusesBody(403) }},
	{name: "200 instead of 100", not: expectIsSeen, holds: func(r *trial) error { return r.refusesBody(200) }},
	{name: "a body that is asked for", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, req *http.Request) { _, _ = io.Copy(w, req.Body) })
		req := r.request("POST", o, "/", strings.NewReader("body"), "Expect: 100-continue")
		asked := false
		trace := &httptrace.ClientTrace{Got100Continue: func() { asked = true }}
		resp, err := r.send(r.client(), req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err != nil {
			return err
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "body" || !asked {
			return mismatch(err, "%s %q, asked: %v", resp.Status, body, asked)
		}
		return nil
	}},
	{name: "an origin that knows no 100", not: originHTTP1, holds: func(r *trial) error {
		// RFC 9110 §10.1.1: who waits for it must not do so for ever
		o := r.script(func(c *wire, m message) bool {
			m, err := c.readBody(m, false)
			if err != nil || string(m.body) != "body" {
				r.faultf("the origin got %q, %v", m.body, err)
			}
			return c.writeAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == nil
		})
		resp, err := r.do("POST", o, "/", strings.NewReader("body"), "Expect: 100-continue")
		if err == nil && resp.StatusCode != 200 {
			err = fmt.Errorf("%s", resp.Status)
		}
		return err
	}},
	{name: "100 once, to the octet", not: octetsCount, holds: func(r *trial) error {
		o := r.script(func(c *wire, m message) bool {
			if c.writeAll("HTTP/1.1 100 Continue\r\n\r\n") != nil {
				return false
			}
			m, err := c.readBody(m, false)
			if err != nil || string(m.body) != "body" {
				r.faultf("the origin got %q, %v", m.body, err)
			}
			return c.writeAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == nil
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		for range 2 { // and the connection is of use afterwards
			if err := c.writeAll(c.head("POST", "/", "Expect: 100-continue", "Content-Length: 4")); err != nil {
				return err
			}
			if m, err := c.readHead(); err != nil || m.line != "HTTP/1.1 100 Continue" || len(m.fields) > 0 {
				return mismatch(err, "the client got %s %q", m.line, m.fields)
			}
			if err := c.writeAll("body"); err != nil {
				return err
			}
			if m, err := c.readHead(); err != nil || m.status() != 200 {
				return mismatch(err, "behind it the client got %s", m.line)
			}
		}
		return nil
	}},
	{name: "a 100 that nobody asked for is passed over", not: originHTTP1, holds: func(r *trial) error {
		o := r.script(saying("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		resp, err := r.do("GET", o, "/", nil)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "ok" {
			return mismatch(err, "%s %q", resp.Status, body)
		}
		return nil
	}},
	{name: "no 1xx", old: "it has none (RFC 9110 §15.2)", not: originHTTP1, holds: func(r *trial) error {
		o := r.script(saying("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		if err := c.writeAll(c.head("GET", "/")); err != nil {
			return err
		}
		m, err := c.readHead()
		if err == nil && m.status() != 200 {
			err = fmt.Errorf("the client got %s", m.line)
		}
		return err
	}},
}

// expectIsSeen are the ways on which heed learns that a client waits for 100.
func expectIsSeen(w way) string {
	if w.client == http2 {
		return "net/http's server of HTTP/2 keeps Expect to itself and says 100 when heed reads the body: for a client it is as if heed were the origin"
	}
	return ""
}

// interim has the origin send 1xx answers, each a status and fields with bars
// between.
func (r *trial) interim(answers ...string) error {
	o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
		for _, a := range answers {
			parts := strings.Split(a, "|")
			for _, f := range parts[1:] {
				name, value, _ := strings.Cut(f, ": ")
				w.Header().Add(name, value)
			}
			var status int
			_, _ = fmt.Sscan(parts[0], &status)
			w.WriteHeader(status)
			clear(w.Header())
		}
		_, _ = io.WriteString(w, "page")
	})
	var got []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		one := fmt.Sprintf("%d %s", code, http.StatusText(code))
		for name, values := range h {
			if name == "Via" {
				continue
			}
			for _, v := range values {
				one += "|" + name + ": " + v
			}
		}
		got = append(got, one)
		return nil
	}}
	req := r.request("GET", o, "/", nil)
	resp, err := r.send(r.client(), req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return err
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "page" {
		return mismatch(err, "the page is %q", body)
	}
	if !slices.Equal(got, answers) {
		return fmt.Errorf("the client got %q, want %q", got, answers)
	}
	if resp.Header.Get("Link") != "" {
		return errors.New("the final answer has fields of an interim one")
	}
	return nil
}

// refusesBody has the origin answer without asking for the body: it is never
// sent, and the client is free to go on.
func (r *trial) refusesBody(status int) error {
	o := r.serve(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == "GET" {
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no")
	})
	tr := r.client()
	trace := &httptrace.ClientTrace{Got100Continue: func() { r.faultf("the client was told to continue") }}
	for range 20 { // what goes wrong here does so now and then
		req := r.request("POST", o, "/", strings.NewReader("body"), "Expect: 100-continue")
		resp, err := r.send(tr, req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err != nil {
			return err
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "no" || resp.StatusCode != status {
			return mismatch(err, "%s %q", resp.Status, body)
		}
		if resp, err = r.send(tr, r.request("GET", o, "/", nil)); err != nil || resp.StatusCode != 200 {
			return mismatch(err, "the next request: %v", resp)
		}
	}
	return nil
}
