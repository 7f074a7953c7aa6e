package serving_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"heed/internal/serving"
)

// TestHijack: the connection is the handler's, with all that the client has sent,
// whether that came with the request, or while the client was watched.
func TestHijack(t *testing.T) {
	for _, test := range []struct {
		why, with, later string
		wait             time.Duration
	}{
		{"nothing came early", "", "", 0},
		{"octets with the request", "early", "", 0},
		{"octets while nobody looked", "", "later", 20 * time.Millisecond},
		{"octets that the watch read", "", "later", 250 * time.Millisecond},
		{"both", "early", "later", 250 * time.Millisecond},
		{"as many as there is room for, and more", repeat("e", 3000), repeat("l", 10_000), 250 * time.Millisecond},
	} {
		t.Run(test.why, func(t *testing.T) {
			entered, conns := make(chan struct{}), make(chan net.Conn, 1)
			s := start(t, func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				time.Sleep(test.wait)
				c, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				conns <- c
				if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrHijacked) {
					t.Errorf("taken over twice: %v", err)
				}
				if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrHijacked) {
					t.Errorf("written: %v", err)
				}
				w.WriteHeader(http.StatusTeapot)
				go talk(t, c, rw)
			}, func(c *serving.Config) { c.IdleTimeout = 100 * time.Millisecond }) // of which nothing must be left
			c := s.ask("CONNECT a:1 HTTP/1.1\r\n\r\n" + test.with)
			<-entered
			c.send(test.later)
			taken := <-conns
			time.Sleep(200 * time.Millisecond)
			c.send("|")
			c.closeWrite()
			if got, want := c.rest(), test.with+test.later+"|"; got != want {
				t.Errorf("%d octets came back, want %d", len(got), len(want))
			}
			_ = taken.Close()
		})
	}
}

// talk sends back what comes.
func talk(t *testing.T, c net.Conn, rw *bufio.ReadWriter) {
	defer func() { _ = c.Close() }()
	b, err := io.ReadAll(rw)
	if err != nil {
		t.Errorf("read %d octets, and then %v", len(b), err)
	}
	_, _ = rw.Write(b)
	_ = rw.Flush()
}

// TestHijackSendsWhatWasWritten before it hands the connection over.
func TestHijackSendsWhatWasWritten(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		raw(w)["Upgrade"] = []string{"x"}
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "hello")
		_ = c.Close()
	})
	if got, want := s.ask(get("/")).rest(), "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTakenOverConnectionsAreNotTheServers: neither Shutdown nor Close has to do
// with them, though their handlers are still at work.
func TestTakenOverConnectionsAreNotTheServers(t *testing.T) {
	taken, leave := make(chan net.Conn, 1), make(chan struct{})
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
		}
		taken <- c
		<-leave
		panic("a panic does not close it either")
	})
	c := s.ask(get("/"))
	theirs := <-taken
	if n := s.Conns(); n != 0 {
		t.Errorf("%d connections", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(leave)
	time.Sleep(20 * time.Millisecond)
	go func() { _, _ = io.WriteString(theirs, "still here"); _ = theirs.Close() }()
	if got := c.rest(); got != "still here" {
		t.Errorf("got %q", got)
	}
}

// TestBufferOfATakenOverConnectionIsItsOwn: other connections do not get it.
func TestBufferOfATakenOverConnectionIsItsOwn(t *testing.T) {
	readers := make(chan *bufio.ReadWriter, 100)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			echo(w, r)
			return
		}
		_, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		readers <- rw
	})
	for range 20 {
		c := s.ask("CONNECT a:1 HTTP/1.1\r\n\r\nearly")
		rw := <-readers
		other := s.ask(post("/", repeat("x", 4000)))
		other.says(http.StatusOK, "POST / "+repeat("x", 4000))
		_ = other.Close()
		if b, err := rw.Reader.Peek(5); string(b) != "early" {
			t.Fatalf("early octets became %q, %v", b, err)
		}
		_ = c.Close()
	}
}
