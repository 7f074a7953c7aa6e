package proxy

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"heed/internal/audit"
)

// TestTruncatedAnswerNeverEndsAsWhole: goproxy ends an answer whose origin died
// as if it were whole (http.go:106).
func TestTruncatedAnswerNeverEndsAsWhole(t *testing.T) {
	for _, tt := range []struct{ why, octets string }{
		{"a chunk that is cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor"},
		{"chunks without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"},
		{"a length that is not reached", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"},
		{"a chunk of no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			host, _ := script(t, write(tt.octets))
			r := start(t)
			for _, channel := range []struct {
				name string
				wire func() *wire
				url  string
			}{
				{"plain", func() *wire { return r.dial(t) }, "http://" + host},
				{"plain inside CONNECT", func() *wire { return r.connect(t, host) }, ""},
			} {
				a := channel.wire().send(t, "GET "+channel.url+"/ HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
				if a.err == nil {
					t.Errorf("%s: the client read %q as if it were whole", channel.name, a.body)
				}
				if sent := "helloworld"; !strings.HasPrefix(sent, a.body) || a.body == "" {
					t.Errorf("%s: the client read %q", channel.name, a.body)
				}
			}
			if e := r.entryOf(t, audit.Plain); e.Verdict != audit.Forwarded || !strings.Contains(e.Err, "reading the origin's answer") {
				t.Errorf("recorded as %v, cause %q", e.Verdict, e.Err)
			}
		})
	}
}

// TestTruncatedAnswerOverTLS: the same for a client of HTTP/1.1 and of HTTP/2
// inside TLS; there the stream is reset and the connection lives on.
func TestTruncatedAnswerOverTLS(t *testing.T) {
	r := start(t)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/whole" {
			return
		}
		_, _ = io.WriteString(w, "hello")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, func(t *testing.T, c channel) {
		resp := c.do(t, "GET", "/", nil)
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("the client read %q as if it were whole", body)
		}
		if resp := c.do(t, "GET", "/whole", nil); resp.StatusCode != 200 {
			t.Errorf("the next request: %s", resp.Status)
		}
	})
}

// TestTruncatedAnswerToAnOldClient: where the end of the connection is the end
// of the answer, only a reset shows that it is not whole.
func TestTruncatedAnswerToAnOldClient(t *testing.T) {
	host, _ := script(t, write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor"))
	secure := newTLSOrigin(t, false, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	r := start(t)
	intercepted := r.secure(t, r.connect(t, hostOf(secure)), "127.0.0.1")
	for name, w := range map[string]*wire{"plain": r.dial(t), "plain inside CONNECT": r.connect(t, host), "intercepted": intercepted} {
		target, host := "http://"+host+"/", host
		if name == "intercepted" { // TLS has an end of its own, which must not come
			target, host = "/", hostOf(secure)
		}
		_, _ = io.WriteString(w, "GET "+target+" HTTP/1.0\r\nHost: "+host+"\r\n\r\n")
		if all, err := io.ReadAll(w.r); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: the client read %q with %v, want a reset", name, all, err)
		}
	}
}

// TestAnswerThatEndsWithTheConnectionIsWhole: an origin of HTTP/1.0 has no other
// way to say so.
func TestAnswerThatEndsWithTheConnectionIsWhole(t *testing.T) {
	host, _ := script(t, write("HTTP/1.0 200 OK\r\n\r\nhello"))
	r := start(t)
	if a := r.get(t, "http://"+host+"/"); a.err != nil || a.body != "hello" || a.Header.Get("Via") == "" {
		t.Errorf("%s, %v: %q", a.Status, a.err, a.body)
	}
}

// TestAnswersThatMakeNoSense are not passed on (502).
func TestAnswersThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct{ why, octets, cause string }{
		{"101 that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "101"},
		{"a status below 100", "HTTP/1.1 012 What\r\nContent-Length: 0\r\n\r\n", "012"},
		{"status 000", "HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n", "000"},
		{"a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "malformed"},
		{"HTTP/2 in HTTP/1.1", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/2.0"},
		{"HTTP/0.9", "HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/0.9"},
		{"no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n", "malformed"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "Content-Length"},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"},
		{"an endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", "header"},
		{"1xx without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n", 1000), "interim"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			host, _ := script(t, write(tt.octets))
			r := start(t)
			a := r.get(t, "http://"+host+"/")
			if a.StatusCode != 502 || !strings.Contains(a.Header.Get("Proxy-Status"), "error=http_protocol_error") || !strings.Contains(a.body, tt.cause) {
				t.Errorf("%s, Proxy-Status: %q: %s", a.Status, a.Header.Get("Proxy-Status"), a.body)
			}
			if e := r.entry(t); e.Verdict != audit.Forwarded || e.Reason != "bad-response" || e.Err == "" {
				t.Errorf("recorded as %v, %s: %q", e.Verdict, e.Reason, e.Err)
			}
		})
	}
}

// TestUnaskedUpgradeLeavesNoConnection: what an origin switched to is closed.
func TestUnaskedUpgradeLeavesNoConnection(t *testing.T) {
	closed := make(chan struct{})
	host, _ := script(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		_, _ = io.ReadAll(c)
		close(closed)
	})
	r := start(t)
	if a := r.get(t, "http://"+host+"/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAM"); a.StatusCode != 502 {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	<-closed
}

// TestAnswerWithUpgradeFieldIsAnAnswer: goproxy takes any answer with these
// fields for a WebSocket (B12).
func TestAnswerWithUpgradeFieldIsAnAnswer(t *testing.T) {
	for _, status := range []string{"200 OK", "426 Upgrade Required"} {
		host, _ := script(t, write("HTTP/1.1 "+status+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\nbody"))
		r := start(t)
		w := r.dial(t)
		for range 2 { // what the client sends after a refused upgrade is a request (B13)
			a := w.send(t, request("GET", "http://"+host+"/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"))
			if a.Status != status || a.body != "body" || a.err != nil {
				t.Errorf("%s: %s, %v: %q", status, a.Status, a.err, a.body)
			}
		}
		if r.proxy.Tunnels() != 0 {
			t.Errorf("%s: a connection was taken over", status)
		}
	}
}
