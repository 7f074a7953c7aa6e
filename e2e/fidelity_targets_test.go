package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) { tryAll(t, targetProperties) }

var targetProperties = []property{
	{name: "a target is sent octet by octet", not: octetsCount, holds: func(r *trial) error {
		got := make(chan message, 1)
		o := r.script(func(c *wire, m message) bool {
			got <- m
			return saying("HTTP/1.1 204 No Content\r\n\r\n")(c, m)
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		for _, target := range targets {
			m, err := c.ask("GET", target)
			if err != nil || m.status() != 204 {
				return mismatch(err, "%.100q: %s", target, m.line)
			}
			want := "GET " + target + " HTTP/1.1"
			if strings.HasPrefix(target, "//") { // as an origin-form it would be read as an authority by some
				want = "GET " + r.url(o, target) + " HTTP/1.1"
			}
			if m := <-got; m.line != want {
				r.faultf("%.100q was sent as %.100q", target, m.line)
			}
		}
		return nil
	}},
	{name: "a target of HTTP/2 is sent octet by octet", not: func(w way) string {
		if w.client != http2 && w.origin != http2 {
			return "the row above has it"
		}
		return ""
	}, holds: func(r *trial) error {
		got := make(chan string, 1)
		o := r.serve(func(_ http.ResponseWriter, req *http.Request) { got <- req.RequestURI })
		tr := r.client()
		for _, target := range targets {
			if strings.HasPrefix(target, "//") {
				continue // neither end can be made to send it: net/http takes it for an authority
			}
			req := r.request("GET", o, "/", nil)
			req.URL.Opaque = target
			if r.channel == secure {
				req.URL.Opaque = r.url(o, target)
			}
			resp, err := r.send(tr, req)
			if err != nil {
				return fmt.Errorf("%.100q: %w", target, err)
			}
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
				return fmt.Errorf("%.100q: %s: %.300s", target, resp.Status, body)
			}
			if sent := <-got; sent != target {
				r.faultf("%.100q was sent as %.100q", target, sent)
			}
		}
		return nil
	}},
}

// targets are written in ways in which some program takes offence.
var targets = []string{
	"/", "/a|b", `/a\b`, "/{x}?q={y|z}", "//a", "///a//b", "/a//b/", "/%7ejoe", "/%7Ejoe/~joe", "/a%2fb%2Fc", "/%2e%2e/%2E", "/x?", "/x??",
	"/x?a=1&&b==2?c", "/?", "/a;p=1/b,c", "/;", "/../a/./b", "/..", "/.", "/a/..;/b", "/a:b@c", "/x?u=http://a.example//b", "/*", "/a+b%20c",
	"/%00", "/%ff", "/caf\xc3\xa9", "/\xff", `/"<>^` + "`", "/[a]", "/'!$&()*+,=", "/x?a[]=1&b=%5B%5D", "/" + strings.Repeat("x", 10_000),
}
