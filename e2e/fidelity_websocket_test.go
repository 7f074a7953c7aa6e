package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestWebSockets(t *testing.T) { tryAll(t, webSocketProperties) }

// upgrades are the ways of a WebSocket.
func upgrades(w way) string {
	if w.client == http2 {
		return "HTTP/2 has no upgrade, and heed does not offer RFC 8441 in its place: clients then open a connection of HTTP/1.1"
	}
	return ""
}

var webSocketProperties = []property{
	{name: "messages of every kind and size", not: upgrades, holds: func(r *trial) error {
		c, err := r.webSocket(websocket.CompressionDisabled, echoMessages)
		if err != nil {
			return err
		}
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			for _, size := range []int{0, 1, 125, 126, 65535, 65536, 1 << 20} {
				message := bytes.Repeat([]byte("x"), size)
				if kind == websocket.MessageBinary {
					message, _ = io.ReadAll(pattern(int64(size)))
				}
				if err := r.echoed(c, kind, message); err != nil {
					return fmt.Errorf("%v of %d octets: %w", kind, size, err)
				}
			}
		}
		return c.Close(websocket.StatusNormalClosure, "")
	}},
	{name: "messages compressed by the ends", not: upgrades, holds: func(r *trial) error {
		c, err := r.webSocket(websocket.CompressionContextTakeover, echoMessages)
		if err != nil {
			return err
		}
		for range 5 { // each rests on those before
			if err := r.echoed(c, websocket.MessageText, bytes.Repeat([]byte("again and "), 10_000)); err != nil {
				return err
			}
		}
		return c.Close(websocket.StatusNormalClosure, "")
	}},
	{name: "messages of the origin that nobody asked for", not: upgrades, holds: func(r *trial) error {
		c, err := r.webSocket(websocket.CompressionDisabled, func(r *trial, c *websocket.Conn) {
			for range 50 {
				if c.Write(r.ctx, websocket.MessageText, []byte("tick")) != nil {
					return
				}
				if _, m, err := c.Read(r.ctx); err != nil || string(m) != "tock" { // lock-step: none is held back
					r.faultf("the origin read %q, %v", m, err)
					return
				}
			}
			_ = c.Close(websocket.StatusNormalClosure, "")
		})
		if err != nil {
			return err
		}
		for n := range 50 {
			if _, m, err := c.Read(r.ctx); err != nil || string(m) != "tick" {
				return mismatch(err, "message %d is %q", n, m)
			}
			if err := c.Write(r.ctx, websocket.MessageText, []byte("tock")); err != nil {
				return err
			}
		}
		if _, _, err = c.Read(r.ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			return fmt.Errorf("it ended with %w", err)
		}
		return nil
	}},
	{name: "ping and pong both ways", not: upgrades, holds: func(r *trial) error {
		pinged := make(chan struct{})
		c, err := r.webSocket(websocket.CompressionDisabled, func(r *trial, c *websocket.Conn) {
			ctx := c.CloseRead(r.ctx)
			for range 3 {
				if err := c.Ping(ctx); err != nil {
					r.faultf("the origin's ping: %w", err)
				}
			}
			close(pinged)
			<-ctx.Done()
		})
		if err != nil {
			return err
		}
		ctx := c.CloseRead(r.ctx)
		for range 3 {
			if err := c.Ping(ctx); err != nil {
				return fmt.Errorf("the client's ping: %w", err)
			}
		}
		if !r.wait(pinged) {
			return errors.New("the origin's pings are not answered")
		}
		return c.Close(websocket.StatusNormalClosure, "")
	}},
	{name: "close codes of the client", not: upgrades, holds: func(r *trial) error {
		got := make(chan error, 1)
		c, err := r.webSocket(websocket.CompressionDisabled, func(r *trial, c *websocket.Conn) {
			_, _, err := c.Read(r.ctx)
			got <- err
		})
		if err != nil {
			return err
		}
		if err := c.Close(4321, "mine: \u00e9"); err != nil {
			return err
		}
		return isClose(<-got, 4321, "mine: \u00e9")
	}},
	{name: "close codes of the origin", not: upgrades, holds: func(r *trial) error {
		c, err := r.webSocket(websocket.CompressionDisabled, func(_ *trial, c *websocket.Conn) { _ = c.Close(websocket.StatusGoingAway, "later") })
		if err != nil {
			return err
		}
		_, _, err = c.Read(r.ctx)
		return isClose(err, websocket.StatusGoingAway, "later")
	}},
	{name: "an origin that vanishes", not: upgrades, holds: func(r *trial) error {
		c, err := r.webSocket(websocket.CompressionDisabled, func(_ *trial, c *websocket.Conn) { _ = c.CloseNow() })
		if err != nil {
			return err
		}
		if _, _, err = c.Read(r.ctx); err == nil || r.ctx.Err() != nil {
			return mismatch(err, "the client was left alone")
		}
		return nil
	}},
	{name: "a client that vanishes", not: upgrades, holds: func(r *trial) error {
		gone := make(chan struct{})
		c, err := r.webSocket(websocket.CompressionDisabled, func(r *trial, c *websocket.Conn) {
			_, _, _ = c.Read(r.ctx)
			close(gone)
		})
		if err != nil {
			return err
		}
		began := time.Now()
		_ = c.CloseNow()
		if !r.wait(gone) || time.Since(began) > soon {
			return fmt.Errorf("the origin noticed after %v", time.Since(began))
		}
		return nil
	}},
	{name: "a handshake that the origin refuses", not: upgrades, holds: func(r *trial) error {
		o := r.serve1(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Why", "no")
			w.WriteHeader(401)
			_, _ = io.WriteString(w, "refused")
		})
		c, err := r.dial(o)
		if err != nil {
			return err
		}
		for range 2 { // the connection goes on as before
			m, err := c.ask("GET", "/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
			if why, _ := m.get("X-Why"); err != nil || m.status() != 401 || why != "no" || string(m.body) != "refused" {
				return mismatch(err, "%s %q %q", m.line, m.fields, m.body)
			}
		}
		return nil
	}},
	{name: "the client's end of TCP is passed on alone", not: upgrades, holds: func(r *trial) error { return r.halfClosed(true) }},
	{name: "the origin's end of TCP is passed on alone", not: upgrades, holds: func(r *trial) error { return r.halfClosed(false) }},
}

// serve1 is serve for what takes HTTP/1.1 even where the origin has HTTP/2.
func (r *trial) serve1(h http.HandlerFunc) string {
	of := r.way
	if of.origin == http2 {
		of.origin = both
	}
	return (&trial{stand: r.stand, way: of, t: r.t, ctx: r.ctx}).serve(h)
}

// webSocket opens one to an origin that then does as it is told.
func (r *trial) webSocket(mode websocket.CompressionMode, do func(*trial, *websocket.Conn)) (*websocket.Conn, error) {
	o := r.serve1(func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{"chat"}, CompressionMode: mode, CompressionThreshold: 1, InsecureSkipVerify: true})
		if err != nil {
			r.faultf("accepting: %w", err)
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(2 << 20)
		do(r, c)
	})
	tr := r.client()
	url := r.request("GET", o, "/socket", nil).URL
	c, resp, err := websocket.Dial(r.ctx, url.Scheme+"://"+o+"/socket", &websocket.DialOptions{
		HTTPClient:      &http.Client{Transport: absolute{r, tr, o}},
		Subprotocols:    []string{"chat"},
		CompressionMode: mode, CompressionThreshold: 1,
	})
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { c.CloseNow() })
	c.SetReadLimit(2 << 20)
	if c.Subprotocol() != "chat" {
		return nil, fmt.Errorf("the subprotocol is %q", c.Subprotocol())
	}
	extension := resp.Header.Get("Sec-WebSocket-Extensions")
	if compressed := strings.Contains(extension, "permessage-deflate"); compressed != (mode != websocket.CompressionDisabled) {
		return nil, fmt.Errorf("the extensions are %q", extension)
	}
	return c, nil
}

// absolute gives requests the form that the way's channel has.
type absolute struct {
	r         *trial
	tr        *http.Transport
	authority string
}

func (a absolute) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL = a.r.request(req.Method, a.authority, req.URL.Path, nil).URL
	return a.tr.RoundTrip(req)
}

func echoMessages(r *trial, c *websocket.Conn) {
	for {
		kind, message, err := c.Read(r.ctx)
		if err != nil || c.Write(r.ctx, kind, message) != nil {
			return
		}
	}
}

func (r *trial) echoed(c *websocket.Conn, kind websocket.MessageType, message []byte) error {
	if err := c.Write(r.ctx, kind, message); err != nil {
		return err
	}
	got, body, err := c.Read(r.ctx)
	if err != nil || got != kind || !bytes.Equal(body, message) {
		return mismatch(err, "%v of %d octets came back", got, len(body))
	}
	return nil
}

func isClose(err error, code websocket.StatusCode, reason string) error {
	var c websocket.CloseError
	if !errors.As(err, &c) || c.Code != code || c.Reason != reason {
		return mismatch(err, "it was to end with %d %q", code, reason)
	}
	return nil
}

// halfClosed ends one direction of an upgraded connection, in which the other
// goes on.
func (r *trial) halfClosed(byClient bool) error {
	o := r.script(func(c *wire, _ message) bool {
		_ = c.writeAll("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		if err := r.halfClose(c, !byClient); err != nil {
			r.faultf("the origin: %w", err)
		}
		return false
	})
	c, err := r.dial(o)
	if err != nil {
		return err
	}
	if err := c.writeAll(c.head("GET", "/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")); err != nil {
		return err
	}
	if m, err := c.readHead(); err != nil || m.status() != 101 {
		return mismatch(err, "%s", m.line)
	}
	if err := r.halfClose(c, byClient); err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	return nil
}

// halfClose is one end: who closes first sends "one" and reads "two" after it,
// the other reads to the end and then sends.
func (r *trial) halfClose(c *wire, first bool) error {
	if first {
		if err := c.writeAll("one"); err != nil {
			return err
		}
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			return err
		}
	}
	want := map[bool]string{true: "two", false: "one"}[first]
	if got, err := io.ReadAll(c.r); err != nil || string(got) != want {
		return mismatch(err, "got %q, want %q", got, want)
	}
	if first {
		return nil
	}
	time.Sleep(20 * time.Millisecond) // whoever ends both directions has done so by now
	return c.writeAll("two")
}
