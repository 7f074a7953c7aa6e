package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"heed/internal/agent"
	"heed/internal/audit"
)

// The benchmarks send one request after the other on a kept connection, so
// that the time is that of a whole exchange: the system calls of the client
// and of the origin, which share the processors, are in it.

func BenchmarkForwarded(b *testing.B) {
	for _, size := range []int{0, 10 << 10, 1 << 20} {
		body := []byte(strings.Repeat("x", size))
		origin := newOrigin(b, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(size))
			_, _ = w.Write(body)
		})
		b.Run("length "+strconv.Itoa(size), func(b *testing.B) {
			exchangeOften(b, request("GET", origin+"/page?q=1", exampleBot), 200)
		})
	}
	chunked := newOrigin(b, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "page")
		w.(http.Flusher).Flush()
	})
	b.Run("chunked", func(b *testing.B) { exchangeOften(b, request("GET", chunked+"/page?q=1", exampleBot), 200) })
}

func BenchmarkDenied(b *testing.B) {
	for _, accept := range []string{"*/*", "text/html", "application/json"} {
		b.Run(accept, func(b *testing.B) {
			exchangeOften(b, request("GET", "http://a.example/private/x?q=1", exampleBot, "Accept: "+accept), 403)
		})
	}
}

func exchangeOften(b *testing.B, octets string, status int) {
	r := start(b, func(c *Config) { c.Record = func(*audit.Entry) {} })
	r.policies.set("http://a.example", rules("http://a.example", robots))
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	br := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(c, octets); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil || resp.StatusCode != status {
			b.Fatal(resp, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDenial is what it costs to put a denial into words, which is most of
// what heed itself does for one.
func BenchmarkDenial(b *testing.B) {
	for _, accept := range []string{"*/*", "text/html", "application/json"} {
		b.Run(accept, func(b *testing.B) {
			p := New(Config{Policies: new(policies)})
			s := rules("http://a.example", robots)
			r := httptest.NewRequest("GET", "http://a.example/private/x?q=1", nil)
			r.Header.Set("Accept", accept)
			x := &exchange{in: r, entry: newEntry(new(clientConn), r)}
			x.entry.Origin, x.entry.Target = "http://a.example", "/private/x?q=1"
			x.entry.Tokens = agent.Tokens([]string{exampleBot})
			x.entry.Consult(s)
			x.entry.Decision = s.Decide(x.entry.Tokens, x.entry.Target)
			b.ReportAllocs()
			for b.Loop() {
				resp := p.deny(x)
				if resp.StatusCode != 403 {
					b.Fatal(resp.Status)
				}
				_ = resp.Body.Close()
			}
		})
	}
}

// BenchmarkInterceptedConnection is a new connection each time: CONNECT,
// handshake, one request. The client's part of it all is in the figures.
func BenchmarkInterceptedConnection(b *testing.B) {
	for _, resumed := range []bool{false, true} {
		name := "whole handshake"
		if resumed {
			name = "resumed session"
		}
		b.Run(name, func(b *testing.B) {
			r := start(b, func(c *Config) { c.Record = func(*audit.Entry) {} })
			c := &tls.Config{ServerName: Host, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
			if resumed {
				c.ClientSessionCache = tls.NewLRUClientSessionCache(0)
			}
			head := "CONNECT " + Host + ":443 HTTP/1.1\r\nHost: " + Host + ":443\r\n\r\n"
			b.ReportAllocs()
			for b.Loop() {
				below, err := net.Dial("tcp", r.addr)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.WriteString(below, head); err != nil {
					b.Fatal(err)
				}
				if _, err := readHeader(below); err != nil {
					b.Fatal(err)
				}
				secure := tls.Client(below, c)
				if _, err := io.WriteString(secure, "GET /health HTTP/1.1\r\nHost: "+Host+"\r\n\r\n"); err != nil {
					b.Fatal(err)
				}
				if _, err := secure.Read(make([]byte, 4096)); err != nil {
					b.Fatal(err)
				}
				_ = secure.Close()
			}
		})
	}
}
