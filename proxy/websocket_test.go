package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"heed/internal/audit"
)

// echo sends back what comes, and hangs up on "bye".
func echo(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{"chat"}})
		if err != nil {
			t.Errorf("the origin could not accept: %v", err)
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			kind, message, err := c.Read(req.Context())
			if err != nil || string(message) == "bye" {
				return
			}
			if err := c.Write(req.Context(), kind, message); err != nil {
				return
			}
		}
	}
}

// TestWebSocketBothWays: on every channel that has HTTP/1.1, decided like any
// request, counted, and closed at both ends.
func TestWebSocketBothWays(t *testing.T) {
	r := start(t)
	for _, c := range newChannels(t, r, echo(t)) {
		if c.name == "intercepted HTTP/2" {
			continue // coder/websocket speaks HTTP/1.1 alone
		}
		t.Run(c.name, func(t *testing.T) {
			r.policies.set(c.origin, rules(c.origin, "User-agent: *\nDisallow: /private/\n"))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: c.RoundTripper}, Subprotocols: []string{"chat"}}
			conn, resp, err := websocket.Dial(ctx, c.origin+"/socket", options)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			if conn.Subprotocol() != "chat" || resp.Header.Get("Via") == "" {
				t.Errorf("subprotocol %q, %v", conn.Subprotocol(), resp.Header)
			}
			for _, message := range []string{"one", strings.Repeat("x", 20_000)} {
				if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
					t.Fatal(err)
				}
				if _, got, err := conn.Read(ctx); err != nil || string(got) != message {
					t.Fatalf("%d octets came back, %v", len(got), err)
				}
			}
			if err := conn.Write(ctx, websocket.MessageText, []byte("bye")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("the origin hung up, and the client's connection is still open: %v", err)
			}
			_ = conn.CloseNow()
			if e := r.entryOf(t, c.as); e.Verdict != audit.Forwarded || e.Status != 101 || e.BytesIn < 20_000 || e.BytesOut < 20_000 {
				t.Errorf("recorded as %+v", e)
			}
			if _, resp, err := websocket.Dial(ctx, c.origin+"/private/socket", options); err == nil || resp == nil || resp.StatusCode != 403 {
				t.Errorf("a disallowed one: %v, %v", resp, err)
			}
			if e := r.entryOf(t, c.as); e.Verdict != audit.Denied || e.Reason != "disallowed" {
				t.Errorf("the disallowed one was recorded as %+v", e)
			}
		})
	}
}

const handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

// TestFrameSentWithTheHandshakeIsForwarded: in the same segment.
func TestFrameSentWithTheHandshakeIsForwarded(t *testing.T) {
	got := make(chan string, 1)
	host, _ := script(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframe of the origin")
		b := make([]byte, len("frame of the client"))
		_, _ = io.ReadFull(c, b)
		got <- string(b)
	})
	r := start(t)
	w := r.dial(t)
	_, _ = io.WriteString(w, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n"+handshake+"frame of the client")
	if a := w.read(t, "GET"); a.StatusCode != 101 {
		t.Fatalf("%s", a.Status)
	}
	b := make([]byte, len("frame of the origin"))
	if _, err := io.ReadFull(w.r, b); err != nil || string(b) != "frame of the origin" {
		t.Errorf("the client read %q, %v", b, err)
	}
	if b := <-got; b != "frame of the client" {
		t.Errorf("the origin read %q", b)
	}
}

// TestWebSocketEndsWithEitherSide: goproxy leaves the client's socket open when
// the origin hangs up (http.go:92).
func TestWebSocketEndsWithEitherSide(t *testing.T) {
	ended := make(chan struct{}, 1)
	host, _ := script(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		br := bufio.NewReader(c)
		if line, err := br.ReadString('\n'); err == nil && line == "bye\n" {
			return
		}
		ended <- struct{}{}
	})
	r := start(t)
	open := func() *wire {
		w := r.dial(t)
		if a := w.send(t, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n"+handshake); a.StatusCode != 101 {
			t.Fatalf("%s", a.Status)
		}
		return w
	}
	w := open()
	_, _ = io.WriteString(w, "bye\n")
	_ = w.SetReadDeadline(time.Now().Add(patience))
	if _, err := w.r.ReadByte(); err != io.EOF {
		t.Errorf("the origin hung up, and the client read %v", err)
	}
	_ = w.Close()
	w = open()
	_ = w.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the client went away, and the origin never learned of it")
	}
	eventually(t, "no connection is left", func() bool { return r.proxy.Tunnels() == 0 })
}

// TestWebSocketGoesOnInOneDirection: goproxy ends both when one has ended
// (websocket.go:94). The other lasts for longer than the idle time, in which it
// moves.
func TestWebSocketGoesOnInOneDirection(t *testing.T) {
	const idle = time.Second
	for _, first := range []string{"client", "origin"} {
		t.Run(first+" first", func(t *testing.T) {
			passed, ended := make(chan struct{}), make(chan struct{})
			play := func(name string, c net.Conn, br io.Reader) {
				if name == first {
					_, _ = io.WriteString(c, "one")
					_ = closeWrite(c)
				}
				got, err := io.ReadAll(br)
				if want := map[bool]string{true: "two", false: "one"}[name == first]; err != nil || string(got) != want {
					t.Errorf("the %s got %q, %v; want %q", name, got, err, want)
				}
				if name != first {
					for _, octet := range "two" {
						time.Sleep(idle * 2 / 5)
						_, _ = io.WriteString(c, string(octet))
					}
				}
			}
			host, _ := script(t, func(c net.Conn) {
				defer close(ended)
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				<-passed
				play("origin", c, c)
			})
			r := start(t, func(c *Config) { c.Timeouts.Idle = idle })
			w := r.dial(t)
			if a := w.send(t, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n"+handshake); a.StatusCode != 101 {
				t.Fatalf("%s", a.Status)
			}
			close(passed)
			play("client", w.Conn, w.r)
			_ = w.Close()
			<-ended
			eventually(t, "no connection is left", func() bool { return r.proxy.Tunnels() == 0 })
		})
	}
}

// TestWebSocketOfWhichHalfIsLeftIsNotKeptForEver: an end may be all there is to
// hear of a peer that is gone.
func TestWebSocketOfWhichHalfIsLeftIsNotKeptForEver(t *testing.T) {
	for _, first := range []string{"client", "origin"} {
		t.Run(first+" first", func(t *testing.T) {
			release := make(chan struct{})
			host, _ := script(t, func(c net.Conn) {
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				if first == "origin" {
					_ = closeWrite(c)
				}
				<-release
			})
			defer close(release)
			r := start(t, func(c *Config) { c.Timeouts.Idle = 50 * time.Millisecond })
			w := r.dial(t)
			if a := w.send(t, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n"+handshake); a.StatusCode != 101 {
				t.Fatalf("%s", a.Status)
			}
			if first == "client" {
				_ = closeWrite(w.Conn)
			}
			eventually(t, "no connection is left", func() bool { return r.proxy.Tunnels() == 0 })
		})
	}
}
