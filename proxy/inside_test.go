package proxy

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// goproxy's own loop inside a tunnel (https.go:401) knows no time limits, does
// not hear Connection: close, and hangs up without an answer where an origin
// fails. Its other traps are shown where the stage is that they are in.

// insides are the ways into a tunnel to an origin.
func insides(t *testing.T, r *rig, plain, secure string) map[string]*wire {
	t.Helper()
	return map[string]*wire{
		"plain":       r.connect(t, plain),
		"intercepted": r.secure(t, r.connect(t, secure), "127.0.0.1", "http/1.1"),
	}
}

func TestRequestThatDoesNotEndInsideATunnelIsClosed(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeouts.ClientHeader = 500 * time.Millisecond })
	for name, w := range insides(t, r, "127.0.0.1:80", "127.0.0.1:443") {
		_, _ = io.WriteString(w, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:")
		began := time.Now()
		if _, err := io.ReadAll(w.r); time.Since(began) > 5*time.Second {
			t.Errorf("%s: closed after %v, %v", name, time.Since(began), err)
		}
	}
	eventually(t, "no tunnel is left", func() bool { return r.proxy.Tunnels() == 0 })
}

func TestIdleConnectionInsideATunnelIsClosed(t *testing.T) {
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	plain, secure := hostOf(newOrigin(t, hello)), hostOf(newTLSOrigin(t, false, hello))
	r := start(t, func(c *Config) { c.Timeouts.Idle = 500 * time.Millisecond })
	for name, w := range insides(t, r, plain, secure) {
		host := map[string]string{"plain": plain, "intercepted": secure}[name]
		if a := w.send(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.body != "hello" {
			t.Errorf("%s: %s: %s", name, a.Status, a.body)
		}
		began := time.Now()
		if rest, err := io.ReadAll(w.r); time.Since(began) > 5*time.Second || len(rest) > 0 {
			t.Errorf("%s: closed after %v with %q, %v", name, time.Since(began), rest, err)
		}
	}
	eventually(t, "no tunnel is left", func() bool { return r.proxy.Tunnels() == 0 })
}

func TestConnectionCloseInsideATunnelCloses(t *testing.T) {
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	plain, secure := hostOf(newOrigin(t, hello)), hostOf(newTLSOrigin(t, false, hello))
	r := start(t)
	for name, w := range insides(t, r, plain, secure) {
		host := map[string]string{"plain": plain, "intercepted": secure}[name]
		a := w.send(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		if a.body != "hello" || !a.Close {
			t.Errorf("%s: %s, close: %v: %s", name, a.Status, a.Close, a.body)
		}
		if rest, err := io.ReadAll(w.r); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q follows, %v", name, rest, err)
		}
	}
}

func TestOriginsFaultInsideATunnelIsAnswered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	r := start(t)
	for name, w := range insides(t, r, closed, closed) {
		for range 2 { // and the tunnel lives on
			a := w.send(t, "GET / HTTP/1.1\r\nHost: "+closed+"\r\n\r\n")
			if a.StatusCode != 502 || !strings.Contains(a.Header.Get("Proxy-Status"), "error=connection_refused") {
				t.Errorf("%s: %s, Proxy-Status: %q: %s", name, a.Status, a.Header.Get("Proxy-Status"), a.body)
			}
		}
	}
}
