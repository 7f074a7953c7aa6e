package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/agent"
	"heed/internal/dial"
	"heed/internal/origin"
)

// upstream is a proxy that hands every CONNECT to the function, which returns
// the connection that it is relayed to.
func upstream(t *testing.T, connect func(w http.ResponseWriter, r *http.Request) net.Conn) (proxy *url.URL, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.RequestURI)
		mu.Unlock()
		to := connect(w, r)
		if to == nil {
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, c)
			_ = to.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(c, to)
		_ = c.Close()
		_ = to.Close()
	}))
	t.Cleanup(s.Close)
	at, err := dial.ParseProxy(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at, func() []string { mu.Lock(); defer mu.Unlock(); return seen }
}

// over sends a Proxy's connections through an upstream proxy.
func over(t *testing.T, at *url.URL, via string) func(*Config) {
	d, err := dial.New(dial.Config{Proxy: at, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Via, c.Dial = via, d.DialContext
		c.Transport = func(base *http.Transport) http.RoundTripper { return d.Transport(base) }
	}
}

func tunnelling(c *Config) {
	c.Mode = func(origin.Origin, *agent.Client) (Mode, string) { return Tunnel, "" }
}

// TestUnreadTunnelsAndWebSocketsGoThroughTheUpstreamProxyByCONNECT: octet for
// octet, both ways.
func TestUnreadTunnelsAndWebSocketsGoThroughTheUpstreamProxyByCONNECT(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(c, "echo "+line)
	}))
	defer origin.Close()
	at, asked := upstream(t, func(_ http.ResponseWriter, _ *http.Request) net.Conn {
		c, err := net.Dial("tcp", origin.Listener.Addr().String())
		if err != nil {
			t.Error(err)
		}
		return c
	})
	r := start(t, over(t, at, "heed-one"), tunnelling)
	for _, c := range []struct{ why, head, then, status, echo string }{
		{"a WebSocket", "GET http://a.example/ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "hello\n", "HTTP/1.1 101", "echo hello\n"},
		{"an unread tunnel", "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", "\x16hello\n", "HTTP/1.1 200", "HTTP/1.1 400 Bad Request"},
	} {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(conn, c.head)
		in := bufio.NewReader(conn)
		head := ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := in.ReadString('\n')
			if head += line; err != nil {
				t.Fatalf("%s: %q, %v", c.why, head, err)
			}
		}
		_, _ = io.WriteString(conn, c.then)
		rest, _ := io.ReadAll(in)
		if !strings.HasPrefix(head, c.status) || !strings.HasPrefix(string(rest), c.echo) {
			t.Errorf("%s: %q, then %q", c.why, head, rest)
		}
		_ = conn.Close()
	}
	if got := strings.Join(asked(), ", "); got != "CONNECT a.example:80, CONNECT b.example:443" {
		t.Errorf("the upstream proxy was asked %s", got)
	}
}

// TestALoopThroughTheUpstreamProxyEndsAtTheFirstRound: nothing of a tunnel is
// read, so that only the Via of the CONNECT can tell.
func TestALoopThroughTheUpstreamProxyEndsAtTheFirstRound(t *testing.T) {
	var heed string // where the loop leads back to
	at, asked := upstream(t, func(w http.ResponseWriter, r *http.Request) net.Conn {
		c, err := net.Dial("tcp", heed)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nVia: %s, 1.1 other\r\n\r\n", r.Host, r.Host, r.Header.Get("Via"))
		resp, err := http.ReadResponse(bufio.NewReader(c), r)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		return nil
	})
	r := start(t, over(t, at, "heed-one"), tunnelling)
	heed = r.addr
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 502 || !strings.Contains(string(body), "it answered CONNECT to a.example:443 with 508") || len(asked()) != 1 {
		t.Errorf("%d after %d rounds: %s", resp.StatusCode, len(asked()), body)
	}
}
