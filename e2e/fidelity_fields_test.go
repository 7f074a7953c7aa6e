package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) { tryAll(t, fieldProperties) }

var fieldProperties = []property{
	{name: "case and order of a request's fields", not: octetsCount, holds: func(r *trial) error {
		return r.requestFields("GET",
			"x-lower: 1", "HOST: {host}", "User-Agent: ExampleBot/1.0", "X-UPPER: 2", "Accept-Language: de", "accept: */*", "X-mIxEd: 3",
			"Cookie: a=1", "A: 4", "DNT: 1", "sec-ch-ua: x", "Referer: http://a.example/")
	}},
	{name: "case and order of a request's fields with a body", not: octetsCount, holds: func(r *trial) error {
		return r.requestFields("POST", "Host: {host}", "content-type: text/x", "user-agent: ExampleBot/1.0", "content-length: 0", "X-Last: 1")
	}},
	{name: "repeated fields of a request stay in their places", not: octetsCount, holds: func(r *trial) error {
		return r.requestFields("GET", "Host: {host}", "X-A: 1", "User-Agent: ExampleBot/1.0", "x-a: 2", "X-B: 3", "X-A: 1", "X-A: 4, 5", "X-b: 6")
	}},
	{name: "case and order of an answer's fields", not: octetsCount, holds: func(r *trial) error {
		return r.answerFields("200 OK", "server: x", "CONTENT-TYPE: text/x", "X-Z: 1", "x-a: 2", "ETag: \"x\"", "Date: Thu, 01 Jan 2026 00:00:00 GMT", "content-length: 2", "WWW-Authenticate: Basic", "P3P: x")
	}},
	{name: "repeated fields of an answer stay in their places", not: octetsCount, holds: func(r *trial) error {
		return r.answerFields("200 OK", "Set-Cookie: a=1", "Content-Length: 2", "set-cookie: b=2; Path=/", "Link: </a>", "Set-Cookie: a=1", "X: ", "Link: </b>, </c>")
	}},
	{name: "fields of an answer without a body", not: octetsCount, holds: func(r *trial) error {
		return r.answerFields("304 Not Modified", "x-b: 2", "etag: \"x\"", "X-A: 1", "Content-Length: 7", "content-type: text/x")
	}},
	{name: "a reason phrase", not: octetsCount, holds: func(r *trial) error {
		return errors.Join(r.answerFields("200 Fine, thank you", "Content-Length: 2"), r.answerFields("404 Nicht da: \xfc", "Content-Length: 2"))
	}},
	{name: "an empty reason phrase", not: octetsCount, holds: func(r *trial) error { return r.answerFields("200 ", "Content-Length: 2") }},
	{name: "a status that nobody registered", not: octetsCount, holds: func(r *trial) error { return r.answerFields("799 Odd", "Content-Length: 2") }},
	{name: "octets of values", holds: func(r *trial) error {
		const utf8, latin1, odd = "caf\xc3\xa9", "caf\xe9", "a\tb  c\"\\,;=\xff\x80"
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			for name, want := range map[string]string{"X-Utf8": utf8, "X-Latin1": latin1, "X-Odd": odd} {
				if got := req.Header[name]; !slices.Equal(got, []string{want}) {
					r.faultf("the origin got %s: %q, want %q", name, got, want)
				}
				w.Header()[name] = []string{want}
			}
		})
		resp, err := r.do("GET", o, "/", nil, "X-Utf8: "+utf8, "X-Latin1: "+latin1, "X-Odd: "+odd)
		if err != nil {
			return err
		}
		for name, want := range map[string]string{"X-Utf8": utf8, "X-Latin1": latin1, "X-Odd": odd} {
			if got := resp.Header[name]; !slices.Equal(got, []string{want}) {
				return fmt.Errorf("the client got %s: %q, want %q", name, got, want)
			}
		}
		return nil
	}},
	{name: "repeated and empty fields", holds: func(r *trial) error {
		sent := map[string][]string{"X-Twice": {"1", "2, 3", "1"}, "X-Empty": {""}, "X-Empties": {"", "", "x", ""}, "X-Dot.ted": {"1"}, "X_under": {"1"}}
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			for name, want := range sent {
				if got := req.Header[http.CanonicalHeaderKey(name)]; !slices.Equal(got, want) {
					r.faultf("the origin got %s: %q, want %q", name, got, want)
				}
				w.Header()[name] = want
			}
			w.Header()["Set-Cookie"] = []string{"a=1", "b=2; Path=/", "c=3; Expires=Thu, 01 Jan 2026 00:00:00 GMT"}
		})
		var fields []string
		for name, values := range sent {
			for _, v := range values {
				fields = append(fields, name+": "+v)
			}
		}
		resp, err := r.do("GET", o, "/", nil, fields...)
		if err != nil {
			return err
		}
		for name, want := range sent {
			if got := resp.Header[http.CanonicalHeaderKey(name)]; !slices.Equal(got, want) {
				return fmt.Errorf("the client got %s: %q, want %q", name, got, want)
			}
		}
		if got := resp.Header["Set-Cookie"]; len(got) != 3 || got[1] != "b=2; Path=/" {
			return fmt.Errorf("the client got Set-Cookie: %q", got)
		}
		return nil
	}},
	{name: "a cookie is one field again", not: func(w way) string {
		if w.client != http2 {
			return "only clients of HTTP/2 send a cookie in crumbs (RFC 9113 §8.2.3)"
		}
		return ""
	}, holds: func(r *trial) error {
		o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
			if got := req.Header["Cookie"]; !slices.Equal(got, []string{"a=1; b=2; c=3"}) {
				r.faultf("the origin got Cookie: %q", got)
			}
		})
		_, err := r.do("GET", o, "/", nil, "Cookie: a=1; b=2; c=3")
		return err
	}},
	{name: "a long field", holds: func(r *trial) error {
		long := strings.Repeat("x", 30<<10)
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-Long", req.Header.Get("X-Long"))
		})
		resp, err := r.do("GET", o, "/", nil, "X-Long: "+long)
		if err == nil && resp.Header.Get("X-Long") != long {
			err = fmt.Errorf("%s: %d octets of %d came back", resp.Status, len(resp.Header.Get("X-Long")), len(long))
		}
		return err
	}},
	{name: "many fields", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			for name, values := range req.Header {
				if strings.HasPrefix(name, "X-Field") {
					w.Header()[name] = values
				}
			}
		})
		var fields []string
		for n := range 200 {
			fields = append(fields, fmt.Sprintf("X-Field%d: %d", n, n))
		}
		resp, err := r.do("GET", o, "/", nil, fields...)
		for n := range 200 {
			if err == nil && resp.Header.Get(fmt.Sprintf("X-Field%d", n)) != fmt.Sprint(n) {
				err = fmt.Errorf("%s: field %d is %q", resp.Status, n, resp.Header.Get(fmt.Sprintf("X-Field%d", n)))
			}
		}
		return err
	}},
	{name: "hop-by-hop fields of a request end here", not: octetsCount, holds: func(r *trial) error {
		got := make(chan message, 1)
		o := r.script(func(c *wire, m message) bool {
			got <- m
			return saying("HTTP/1.1 204 No Content\r\n\r\n")(c, m)
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		if _, err := c.ask("GET", "/", "Connection: X-Named, keep-alive", "X-Named: 1", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive",
			"Proxy-Authorization: Basic x", "TE: gzip", "Upgrade: h2c", "X-Stays: 1"); err != nil {
			return err
		}
		if left := (<-got).without("Via", "Host"); !slices.Equal(left, []string{"X-Stays: 1"}) {
			return fmt.Errorf("the origin got %q", left)
		}
		return nil
	}},
	{name: "hop-by-hop fields of an answer end here", not: octetsCount, holds: func(r *trial) error {
		o := r.script(saying("HTTP/1.1 200 OK\r\nConnection: X-Named, keep-alive\r\nX-Named: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n" +
			"Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Stays: 1\r\nContent-Length: 0\r\n\r\n"))
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		m, err := c.ask("GET", "/")
		if left := m.without("Via", "Content-Length"); err == nil && !slices.Equal(left, []string{"X-Stays: 1"}) {
			err = fmt.Errorf("the client got %q", left)
		}
		return err
	}},
	{name: "fields in several lines are refused", not: clientHTTP1, holds: func(r *trial) error {
		// RFC 9112 §5.2: a server may reject obs-fold, and what one reads as a fold another reads as a field
		o := r.serve(func(http.ResponseWriter, *http.Request) { r.faultf("it reached the origin") })
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		m, err := c.ask("GET", "/", "X-Folded: a", " b: c")
		if err == nil && m.status() != 400 {
			err = fmt.Errorf("answered %s", m.line)
		}
		return err
	}},
	{name: "fields of an answer in several lines become one", not: originHTTP1, holds: func(r *trial) error {
		// RFC 9112 §5.2: a proxy must reject the answer or replace the fold with blanks
		o := r.script(saying("HTTP/1.1 200 OK\r\nX-Folded: a\r\n  b: c\r\nContent-Length: 0\r\n\r\n"))
		resp, err := r.do("GET", o, "/", nil)
		if err == nil && resp.StatusCode != 502 && resp.Header.Get("X-Folded") != "a b: c" {
			err = fmt.Errorf("%s, %v", resp.Status, resp.Header)
		}
		return err
	}},
}

// requestFields sends a request with exactly these fields, and wants the origin
// to get them as they are, with Via as the one addition.
func (r *trial) requestFields(method string, fields ...string) error {
	got := make(chan message, 1)
	o := r.script(func(c *wire, m message) bool {
		got <- m
		return saying("HTTP/1.1 204 No Content\r\n\r\n")(c, m)
	})
	c, err := r.dial(o)
	if err != nil {
		return err
	}
	for i, f := range fields {
		fields[i] = strings.ReplaceAll(f, "{host}", o)
	}
	m, err := c.ask(method, "/page", fields...)
	if err != nil || m.status() != 204 {
		return mismatch(err, "%s", m.line)
	}
	sent := <-got
	if via := sent.without("Via"); len(sent.fields) != len(fields)+1 || !slices.Equal(via, fields) {
		return fmt.Errorf("the origin got\n%q, want, beside Via,\n%q", sent.fields, fields)
	}
	return nil
}

// answerFields has the origin answer with exactly these fields.
func (r *trial) answerFields(status string, fields ...string) error {
	octets := "HTTP/1.1 " + status + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
	if !strings.HasPrefix(status, "304") {
		octets += "ok"
	}
	o := r.script(saying(octets))
	c, err := r.dial(o)
	if err != nil {
		return err
	}
	m, err := c.ask("GET", "/page")
	if err != nil {
		return err
	}
	if m.line != "HTTP/1.1 "+status {
		return fmt.Errorf("the client got %q, want %q", m.line, status)
	}
	if left := m.without("Via"); len(m.fields) != len(fields)+1 || !slices.Equal(left, fields) {
		return fmt.Errorf("the client got\n%q, want, beside Via,\n%q", m.fields, fields)
	}
	return nil
}
