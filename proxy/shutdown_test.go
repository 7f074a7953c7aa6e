package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
)

// shutdown ends a rig, with so much time, and returns how.
func (r *rig) shutdown(t *testing.T, patience time.Duration) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		ended <- r.proxy.Shutdown(ctx)
	}()
	return ended
}

func await(t *testing.T, what string, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatalf("%s does not end", what)
		return nil
	}
}

// TestShutdownDrains: exchanges on every channel, WebSockets and unread tunnels
// come to their end, nothing new is taken, and all are recorded. goproxy's
// hijacked connections are unknown to Shutdown (https.go:338).
func TestShutdownDrains(t *testing.T) {
	r := start(t)
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	channels := newChannels(t, r, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begun ")
		w.(http.Flusher).Flush()
		asked <- struct{}{}
		<-answer
		_, _ = io.WriteString(w, "and ended")
	})
	var responses []*http.Response
	for _, c := range channels {
		responses = append(responses, c.do(t, "GET", "/", nil))
		<-asked
	}
	ended := r.shutdown(t, patience)
	eventually(t, "the listener is closed", func() bool {
		c, err := net.Dial("tcp", r.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	select {
	case err := <-ended:
		t.Fatalf("Shutdown returned %v while exchanges are under way", err)
	default:
	}
	close(answer)
	for i, c := range channels {
		if body := whole(t, responses[i]); body != "begun and ended" {
			t.Errorf("%s: %q", c.name, body)
		}
		c.RoundTripper = nil
	}
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	forwarded := 0
	for len(r.entries) > 0 {
		if e := <-r.entries; e.Verdict == audit.Forwarded {
			forwarded++
		}
	}
	if forwarded != len(channels) {
		t.Errorf("%d exchanges were recorded when Shutdown returned, want %d", forwarded, len(channels))
	}
}

func TestShutdownDrainsTunnels(t *testing.T) {
	r := start(t, modeIs(Tunnel))
	release := make(chan struct{})
	w := pipe(t, r, func(c net.Conn) {
		<-release
		_, _ = io.WriteString(c, "all that there is")
	})
	eventually(t, "the tunnel is relayed", func() bool { return r.proxy.Tunnels() == 1 })
	ended := r.shutdown(t, patience)
	select {
	case err := <-ended:
		t.Fatalf("Shutdown returned %v while a tunnel is open", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	if all, err := io.ReadAll(w.r); err != nil || string(all) != "all that there is" {
		t.Errorf("%q, %v", all, err)
	}
	_ = w.Close()
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if len(r.entries) != 1 {
		t.Errorf("%d exchanges were recorded when Shutdown returned, want 1", len(r.entries))
	}
}

// TestShutdownCutsOff what has not ended in time, and that is recorded too.
func TestShutdownCutsOff(t *testing.T) {
	asked := make(chan struct{}, 10)
	hang := func(_ http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		<-req.Context().Done()
	}
	for _, mode := range []Mode{Intercept, Tunnel} {
		r := start(t, modeIs(mode))
		failed := make(chan error, 10)
		clients := 0
		if mode == Intercept {
			for _, c := range newChannels(t, r, hang) {
				clients++
				go func() {
					req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), "GET", c.origin+"/", nil)
					if err == nil {
						var resp *http.Response
						if resp, err = c.RoundTrip(req); err == nil {
							_ = resp.Body.Close()
						}
					}
					failed <- err
				}()
				<-asked
			}
		} else {
			clients++
			w := pipe(t, r, func(c net.Conn) { _, _ = io.ReadAll(c) })
			eventually(t, "the tunnel is relayed", func() bool { return r.proxy.Tunnels() == 1 })
			go func() {
				_, err := w.r.ReadByte()
				failed <- err
			}()
		}
		err := await(t, "Shutdown", r.shutdown(t, 50*time.Millisecond))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: Shutdown: %v", mode, err)
		}
		for range clients {
			if err := await(t, "a client", failed); err == nil {
				t.Errorf("%v: an answer came", mode)
			}
		}
		forwarded := 0
		for len(r.entries) > 0 {
			e := <-r.entries
			if e.Verdict != audit.Forwarded {
				continue
			}
			forwarded++
			if mode == Intercept && !strings.Contains(e.Err, "told to end") {
				t.Errorf("the cause of what heed cut off is %q", e.Err)
			}
		}
		if forwarded != clients {
			t.Errorf("%v: %d exchanges were recorded when Shutdown returned, want %d", mode, forwarded, clients)
		}
		if n := r.proxy.Tunnels(); n != 0 {
			t.Errorf("%v: %d connections are left", mode, n)
		}
	}
}

// TestShutdownEndsIdleConnections at once: kept ones, of clients and of
// tunnels, are no work.
func TestShutdownEndsIdleConnections(t *testing.T) {
	r := start(t)
	for _, c := range newChannels(t, r, func(http.ResponseWriter, *http.Request) {}) {
		whole(t, c.do(t, "GET", "/", nil))
	}
	began := time.Now()
	if err := await(t, "Shutdown", r.shutdown(t, patience)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if d := time.Since(began); d > patience/4 {
		t.Errorf("Shutdown took %v", d)
	}
}

// TestServeReturnsTheListenersError, and ends what is inside tunnels: else the
// process would go on with a port that nobody serves.
func TestServeReturnsTheListenersError(t *testing.T) {
	p := New(Config{})
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(brokenListener{}) }()
	if err := await(t, "Serve", ended); !errors.Is(err, errBroken) {
		t.Errorf("Serve: %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

var errBroken = errors.New("the network is down")

type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errBroken }
func (brokenListener) Close() error              { return nil }
func (brokenListener) Addr() net.Addr            { return feedAddr{} }

// TestServeAfterShutdown returns at once and closes the listener.
func TestServeAfterShutdown(t *testing.T) {
	p := New(Config{})
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(l) }()
	if err := await(t, "Serve", ended); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener is open")
	}
}

// TestDeliverAfterTheEndCloses: a tunnel that was accepted while heed ended.
func TestDeliverAfterTheEndCloses(t *testing.T) {
	f := newFeed()
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	defer b.Close()
	f.deliver(a)
	_ = b.SetDeadline(time.Now().Add(patience))
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v", err)
	}
	if _, err := f.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
}
