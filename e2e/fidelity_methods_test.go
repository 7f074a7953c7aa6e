package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestMethodsAndStatuses(t *testing.T) { tryAll(t, methodProperties) }

// methods are the registered ones, less CONNECT, which is the proxy's, and PRI,
// which is how HTTP/2 begins; and some that are not.
var methods = []string{
	"ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "GET", "HEAD", "LABEL", "LINK", "LOCK",
	"MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "OPTIONS", "ORDERPATCH", "PATCH",
	"POST", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH", "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK",
	"UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
	"UNHEARD-OF", "get", "X!#$%&'*+.^_`|~9",
}

var methodProperties = []property{
	{name: "every method without a body", holds: func(r *trial) error { return r.methods("") }},
	{name: "every method with a body", holds: func(r *trial) error { return r.methods("body of the request") }},
	{name: "every status but those that ask for fewer requests", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			status, _ := strconv.Atoi(req.URL.Path[1:])
			w.Header().Set("X-Status", req.URL.Path[1:])
			w.WriteHeader(status)
		})
		tr := r.client()
		for status := 200; status < 600; status++ {
			if status == 429 || status == 503 {
				continue // they are passed on and heeded: pace_word_test.go
			}
			resp, err := r.send(tr, r.request("GET", o, "/"+strconv.Itoa(status), nil))
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || len(body) > 0 || resp.StatusCode != status || resp.Header.Get("X-Status") != strconv.Itoa(status) {
				return mismatch(err, "%d came as %s, %q", status, resp.Status, body)
			}
		}
		return nil
	}},
	{name: "HEAD has the fields of GET and no body", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "12345")
			w.Header().Set("Content-Type", "text/x")
			w.Header().Set("ETag", `"x"`)
		})
		return r.bodyless("HEAD", o, "/", 200, "Content-Length: 12345", "Content-Type: text/x", `Etag: "x"`)
	}},
	{name: "204 has fields and no body", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"x"`)
			w.WriteHeader(204)
		})
		return r.bodyless("GET", o, "/", 204, `Etag: "x"`)
	}},
	{name: "204 loses a length that it must not have", not: originHTTP1, holds: func(r *trial) error {
		// RFC 9110 §8.6. Clients of HTTP/2 take such a length for an answer that is cut.
		o := r.script(saying("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nETag: \"x\"\r\n\r\n"))
		tr := r.client()
		for range 2 {
			resp, err := r.send(tr, r.request("GET", o, "/", nil))
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			if _, has := resp.Header["Content-Length"]; err != nil || len(body) > 0 || resp.StatusCode != 204 || has || resp.Header.Get("Etag") != `"x"` {
				return mismatch(err, "%s, %v, %q", resp.Status, resp.Header, body)
			}
		}
		return nil
	}},
	{name: "304 has fields and no body", not: func(w way) string {
		if w.client == http2 {
			return "Go's client of HTTP/2 takes the length of a 304 for that of a body that is missing, with heed or without"
		}
		return originHTTP1(w)
	}, holds: func(r *trial) error {
		// its length is that which a 200 would have (RFC 9110 §8.6)
		o := r.script(saying("HTTP/1.1 304 Not Modified\r\nContent-Length: 12345\r\nContent-Type: text/x\r\nETag: \"x\"\r\nVary: Accept\r\n\r\n"))
		return r.bodyless("GET", o, "/", 304, "Content-Length: 12345", "Content-Type: text/x", `Etag: "x"`, "Vary: Accept")
	}},
	{name: "304 with few fields", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("If-None-Match") != `"x"` || req.Header.Get("If-Modified-Since") == "" {
				r.faultf("the origin got %v", req.Header)
			}
			w.Header().Set("ETag", `"x"`)
			w.WriteHeader(304)
		})
		return r.bodyless("GET", o, "/", 304, `Etag: "x"`)
	}},
	{name: "a range", holds: func(r *trial) error {
		return r.ranged("bytes=2-4", 206, "234", "Content-Range: bytes 2-4/10", "Content-Length: 3")
	}},
	{name: "a range from the end", holds: func(r *trial) error {
		return r.ranged("bytes=-1", 206, "9", "Content-Range: bytes 9-9/10", "Content-Length: 1")
	}},
	{name: "a range that is not there", holds: func(r *trial) error {
		return r.ranged("bytes=10-", 416, "invalid range: failed to overlap\n", "Content-Range: bytes */10")
	}},
	{name: "several ranges", holds: func(r *trial) error {
		const parts = "--B\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--B\r\nContent-Range: bytes 9-9/10\r\n\r\n9\r\n--B--\r\n"
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			if got := req.Header.Get("Range"); got != "bytes=0-0,9-9" {
				r.faultf("the origin got Range: %q", got)
			}
			w.Header().Set("Content-Type", "multipart/byteranges; boundary=B")
			w.WriteHeader(206)
			_, _ = io.WriteString(w, parts)
		})
		resp, err := r.do("GET", o, "/", nil, "Range: bytes=0-0,9-9")
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != parts || resp.StatusCode != 206 || resp.Header.Get("Content-Type") != "multipart/byteranges; boundary=B" {
			return mismatch(err, "%s, %v: %q", resp.Status, resp.Header, body)
		}
		return nil
	}},
	{name: "nothing is invented of an answer", not: originHTTP1, holds: func(r *trial) error {
		o := r.script(saying("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"))
		resp, err := r.do("GET", o, "/", nil)
		if err != nil {
			return err
		}
		delete(resp.Header, "Via") // the one field that is added
		if want := (http.Header{"Content-Length": {"6"}}); fmt.Sprint(resp.Header) != fmt.Sprint(want) {
			return fmt.Errorf("the client got %v, want %v", resp.Header, want)
		}
		return nil
	}},
	{name: "nothing is invented of a request", holds: func(r *trial) error {
		o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
			delete(req.Header, "Via")
			if len(req.Header) > 0 || len(req.TransferEncoding) > 0 || req.ContentLength != 0 {
				r.faultf("the origin got %v, %v, a length of %d", req.Header, req.TransferEncoding, req.ContentLength)
			}
		})
		req := r.request("GET", o, "/", nil)
		req.Header = http.Header{"User-Agent": {""}} // net/http leaves it out
		_, err := r.send(r.client(), req)
		return err
	}},
	{name: "OPTIONS for the origin as a whole", not: octetsCount, holds: func(r *trial) error {
		// RFC 9112 §3.2.4: without a path it is for the origin, not for a page of
		// it, and inside a tunnel it has an asterisk to begin with
		target := ""
		if r.channel == tunnelled || r.channel == intercepted {
			target = "*"
		}
		o := r.script(func(c *wire, m message) bool {
			if m.line != "OPTIONS * HTTP/1.1" {
				r.faultf("the origin got %q", m.line)
			}
			return c.writeAll("HTTP/1.1 204 No Content\r\nAllow: GET\r\n\r\n") == nil
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		m, err := c.ask("OPTIONS", target)
		if allow, _ := m.get("Allow"); allow != "GET" {
			err = errors.Join(err, fmt.Errorf("answered %s, %q", m.line, m.fields))
		}
		return err
	}},
}

// methods tries each method on one connection.
func (r *trial) methods(body string) error {
	o := r.serve(func(w http.ResponseWriter, req *http.Request) {
		got, err := io.ReadAll(req.Body)
		if err != nil || string(got) != body {
			r.faultf("the origin got %s with %q, %v", req.Method, got, err)
		}
		if body == "" && (req.ContentLength != 0 || len(req.TransferEncoding) > 0) {
			r.faultf("the origin got %s with a length of %d and %v: there was no body", req.Method, req.ContentLength, req.TransferEncoding)
		}
		w.Header().Set("X-Method", req.Method)
		_, _ = io.WriteString(w, "body of "+req.Method)
	})
	tr := r.client()
	for _, method := range methods {
		var sent io.Reader
		if body != "" {
			sent = strings.NewReader(body)
		}
		resp, err := r.send(tr, r.request(method, o, "/", sent))
		if err != nil {
			return err
		}
		want := "body of " + method
		if method == "HEAD" {
			want = ""
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != want || resp.StatusCode != 200 || resp.Header.Get("X-Method") != method {
			return mismatch(err, "%s: %s, %v, %q", method, resp.Status, resp.Header, got)
		}
	}
	return nil
}

// bodyless asks twice, so that the connection is used again, and wants exactly
// these fields, beside those of net/http's own origins.
func (r *trial) bodyless(method, o, path string, status int, fields ...string) error {
	tr := r.client()
	for range 2 {
		resp, err := r.send(tr, r.request(method, o, path, nil, `If-None-Match: "x"`, "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT"))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || len(body) > 0 || resp.StatusCode != status {
			return mismatch(err, "%s: %q", resp.Status, body)
		}
		var got []string
		for name, values := range resp.Header {
			if name != "Via" && name != "Date" {
				got = append(got, name+": "+strings.Join(values, "|"))
			}
		}
		slices.Sort(got)
		slices.Sort(fields)
		if !slices.Equal(got, fields) {
			return fmt.Errorf("the client got %q, want %q", got, fields)
		}
	}
	return nil
}

func (r *trial) ranged(what string, status int, body string, fields ...string) error {
	o := r.serve(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, req, "x.txt", lastModified, strings.NewReader("0123456789"))
	})
	resp, err := r.do("GET", o, "/", nil, "Range: "+what, `If-Range: "x"`)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != body || resp.StatusCode != status {
		return mismatch(err, "%s: %q", resp.Status, got)
	}
	for _, f := range fields {
		name, want, _ := strings.Cut(f, ": ")
		if got := resp.Header.Get(name); got != want {
			return fmt.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	return nil
}
