package roundtrip

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

func upgrade(t *testing.T, tr *Transport, url string) io.ReadWriteCloser {
	t.Helper()
	req := newRequest(t, "GET", url, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := tr.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(err)
	}
	return resp.Body.(io.ReadWriteCloser)
}

func TestUpgrade(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, early := range []string{"", "early", strings.Repeat("early", 10_000)} {
			o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
				c.request()
				c.say(switched + early)
				b, _ := io.ReadAll(c.in) // up to the half-close
				c.say(string(b) + "!")
				_ = c.Conn.Close()
			})
			tr := newClient(t, func(b *http.Transport) { b.ResponseHeaderTimeout = 400 * time.Millisecond })
			conn := upgrade(t, tr, o.url(secure))
			time.Sleep(420 * time.Millisecond) // which is no matter now
			if _, err := io.WriteString(conn, "hello"); err != nil {
				t.Fatal(err)
			}
			if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(conn)
			if string(b) != early+"hello!" || err != nil {
				t.Errorf("TLS %t, %d octets early: %d octets, %v", secure, len(early), len(b), err)
			}
			if err := conn.Close(); err != nil && !secure {
				t.Error(err)
			}
			if err := conn.Close(); err != nil {
				t.Errorf("a second time: %v", err)
			}
			if kept(t, tr) != 0 {
				t.Error("it was kept")
			}
		}
	}
}

// A WebSocket is read by one goroutine, written by another, and closed by
// whoever is first.
func TestUpgradedConnectionIsClosedWhileItIsUsed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for range 20 {
			o := newOrigin(t, tlsIf(secure), func(c *peer, _ int64) {
				c.request()
				c.say(switched + "early")
				_, _ = io.Copy(c, c.in)
			})
			conn := upgrade(t, newClient(t, nil), o.url(secure))
			done := make(chan struct{}, 2)
			go func() { _, _ = io.Copy(io.Discard, conn); done <- struct{}{} }()
			go func() {
				for {
					if _, err := io.WriteString(conn, "hello"); err != nil {
						done <- struct{}{}
						return
					}
				}
			}()
			time.Sleep(time.Millisecond)
			_ = conn.Close()
			for range 2 {
				select {
				case <-done:
				case <-time.After(patience):
					t.Fatal("somebody still waits")
				}
			}
			eventually(t, "the connection is closed", func() bool { return o.open.Load() == 0 })
		}
	}
}

func TestUpgradeThatIsNone(t *testing.T) {
	gone := make(chan struct{})
	defer close(gone)
	o := newOrigin(t, nil, func(c *peer, _ int64) {
		_, _ = http.ReadRequest(c.in)
		c.say(switched)
		<-gone
	})
	tr := newClient(t, nil)
	// Unasked it is for the caller to look at, who closes it.
	resp, err := tr.RoundTrip(newRequest(t, "GET", o.url(false), nil))
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	// What was still to be sent would be taken for the new protocol's.
	client, toOrigin := io.Pipe()
	_, err = tr.RoundTrip(newRequest(t, "POST", o.url(false), client))
	if !errors.Is(err, errEarlySwitch) {
		t.Error(err)
	}
	_ = toOrigin.Close()
	// With the context both directions end.
	ctx, cancel := context.WithCancel(context.Background())
	resp, err = tr.RoundTrip(newRequest(t, "GET", o.url(false), nil).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("nothing was read")
	}
	_ = resp.Body.Close()
}
