package serving_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test in which the header time is 10 s and the idle time 30 s, in
// no time. Deadlines may be a second early.
func bubble(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, startIn(t, 4096, handler)) })
}

// after expects that something took so long, or up to a second less.
func after(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(began); took > want || took < want-time.Second {
		t.Errorf("it took %s, want %s", took, want)
	}
}

// trickle sends an octet a second, until the server no longer takes them.
func trickle(c *client, octets string) (sent <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, o := range octets {
			if _, err := io.WriteString(c.Conn, string(o)); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	return done
}

func TestConnectionThatWaitsIsClosed(t *testing.T) {
	bubble(t, echo, func(t *testing.T, s *server) {
		c := s.client() // a new one, which was opened for a request
		began := time.Now()
		c.ends()
		after(t, began, 10*time.Second)

		c = s.client()
		time.Sleep(6 * time.Second) // of the same 10
		began = time.Now()
		c.send("GET / HTTP/1.1\r\n")
		c.ends()
		after(t, began, 4*time.Second)

		c = s.ask(get("/")) // one that goes on
		c.says(http.StatusOK, "GET / ")
		for range 5 {
			time.Sleep(28 * time.Second)
			c.send(get("/"))
			c.says(http.StatusOK, "GET / ")
		}
		began = time.Now()
		c.ends()
		after(t, began, 30*time.Second)

		c = s.ask(post("/", "x")) // one that sends a line end behind a body
		c.says(http.StatusOK, "POST / x")
		c.send("\r\n")
		began = time.Now()
		c.ends()
		after(t, began, 30*time.Second)
	})
}

// TestDeadlineIsSetAgainBehindAWatchedExchange, though it was set a moment ago:
// watching has taken it away.
func TestDeadlineIsSetAgainBehindAWatchedExchange(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(200 * time.Millisecond) // it is watched by then
		text(w, http.StatusOK, "late")
	}, func(t *testing.T, s *server) {
		c := s.ask(get("/"))
		c.says(http.StatusOK, "late")
		c.send(get("/")) // at once: the time between requests runs since a moment
		c.says(http.StatusOK, "late")
		began := time.Now()
		c.ends()
		after(t, began, 30*time.Second)
	})
}

// TestSlowHeaderSectionIsGivenUp: it has its time in all, however it comes.
func TestSlowHeaderSectionIsGivenUp(t *testing.T) {
	bubble(t, echo, func(t *testing.T, s *server) {
		for _, before := range []string{"", get("/")} {
			c := s.ask(before)
			if before != "" {
				c.says(http.StatusOK, "GET / ")
			}
			began := time.Now()
			sent := trickle(c, "GET / HTTP/1.1\r\nHost: a\r\n"+repeat("X: y\r\n", 50))
			_, _ = io.ReadAll(c.r)
			after(t, began, 10*time.Second)
			<-sent
		}
	})
}

// TestClientThatDoesNotReadIsGivenUp: each part must be taken within the idle
// time, and one who does so may take for ever.
func TestClientThatDoesNotReadIsGivenUp(t *testing.T) {
	for _, how := range []string{"write", "copy"} {
		var ended chan error // of the bubble
		bubble(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Length"] = []string{"1000000"}
			if how == "copy" {
				_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader(repeat("x", 1_000_000)))
				ended <- err
				return
			}
			_, err := io.WriteString(w, repeat("x", 1_000_000))
			ended <- err
		}, func(t *testing.T, s *server) {
			ended = make(chan error, 1)
			s.ask(get("/"))
			began := time.Now()
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: ended with %v", how, err)
			}
			after(t, began, 30*time.Second)

			c := s.ask(get("/"))
			began = time.Now()
			var total int
			for buf := make([]byte, 4096); ; {
				n, err := c.r.Read(buf)
				if total += n; err != nil || total >= 1_000_000 {
					break
				}
				time.Sleep(time.Second)
			}
			if err := <-ended; err != nil || total < 1_000_000 || time.Since(began) < 100*time.Second {
				t.Errorf("%s: %d octets in %s: %v", how, total, time.Since(began), err)
			}
		})
	}
}

// TestBodyThatStalls is given up when its next part does not come; one that comes
// slowly is not.
func TestBodyThatStalls(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			text(w, http.StatusRequestTimeout, string(b))
			return
		}
		text(w, http.StatusOK, string(b))
	}, func(t *testing.T, s *server) {
		const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
		c := s.ask(head)
		for range 10 {
			time.Sleep(28 * time.Second)
			c.send("x")
		}
		c.says(http.StatusOK, "xxxxxxxxxx")

		c.send(head + "xx")
		began := time.Now()
		resp, body := c.answer(http.MethodPost)
		after(t, began, 30*time.Second)
		if resp.StatusCode != http.StatusRequestTimeout || body != "xx" || !resp.Close {
			t.Errorf("answered %d %q, close %t", resp.StatusCode, body, resp.Close)
		}
		c.ends()
	})
}

// TestUnreadBodyHasItsTimeInAll: nobody wants it, so it may not come octet by
// octet for ever.
func TestUnreadBodyHasItsTimeInAll(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") }, func(t *testing.T, s *server) {
		c := s.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
		c.says(http.StatusOK, "ok")
		began := time.Now()
		sent := trickle(c, repeat("x", 1000))
		_, _ = io.ReadAll(c.r)
		<-sent
		if took := time.Since(began); took < 29*time.Second || took > 32*time.Second { // and it lingers
			t.Errorf("it took %s", took)
		}
	})
}

// TestShortIdleTime: a limit of less than a second is kept, too, and what moves
// goes on.
func TestShortIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startIn(t, 4096, echo, 200*time.Millisecond)
		c := s.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n")
		for range 20 {
			time.Sleep(150 * time.Millisecond)
			c.send("x")
		}
		c.says(http.StatusOK, "POST / xxxxxxxxxxxxxxxxxxxx")
		for range 5 {
			time.Sleep(150 * time.Millisecond)
			c.send(get("/"))
			c.says(http.StatusOK, "GET / ")
		}
		began := time.Now()
		c.ends()
		if took := time.Since(began); took < 170*time.Millisecond || took > 200*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

// TestNoTimeIsNoLimit: with times of 0.
func TestNoTimeIsNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startIn(t, 4096, echo, 0)
		c := s.client()
		for range 2 {
			time.Sleep(time.Hour)
			c.send("POST / HTTP/1.1\r\n")
			time.Sleep(time.Hour)
			c.send("Host: a\r\nContent-Length: 1\r\n\r\n")
			time.Sleep(time.Hour)
			c.send("x")
			c.says(http.StatusOK, "POST / x")
		}
		_ = c.Close()
	})
}

// TestClientThatGoesAwayEndsTheContext within a second, and not before.
func TestClientThatGoesAwayEndsTheContext(t *testing.T) {
	for _, test := range []struct {
		why, request, later string
		leave               func(c *client)
	}{
		{"closed", get("/"), "", func(c *client) { _ = c.Close() }},
		{"closed in one direction", get("/"), "", (*client).closeWrite},
		{"reset", get("/"), "", func(c *client) { _ = c.Conn.(interface{ SetLinger(int) error }).SetLinger(0); _ = c.Close() }},
		{"closed behind a body that was read", post("/read", "hello"), "", func(c *client) { _ = c.Close() }},
		{"closed behind chunks that were read", chunked("/read", "1\r\nx\r\n0\r\n\r\n"), "", func(c *client) { _ = c.Close() }},
		{"closed behind a part of a body", "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello", "", func(c *client) { _ = c.Close() }},
		{"closed behind a request that came with it", get("/") + get("/2"), "", func(c *client) { _ = c.Close() }},
		{"closed behind a request that came later", get("/"), get("/2"), func(c *client) { _ = c.Close() }},
	} {
		var left chan time.Duration // of the bubble
		bubble(t, func(_ http.ResponseWriter, r *http.Request) {
			began := time.Now()
			if r.URL.Path == "/read" {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			<-r.Context().Done()
			left <- time.Since(began)
			panic(http.ErrAbortHandler)
		}, func(t *testing.T, s *server) {
			left = make(chan time.Duration, 2)
			c := s.ask(test.request)
			time.Sleep(50 * time.Second) // longer than any limit, of which there is none for an answer
			c.send(test.later)
			time.Sleep(50 * time.Second)
			select {
			case d := <-left:
				t.Errorf("%s: ended after %s", test.why, d)
				return
			default:
			}
			test.leave(c)
			if d := <-left; d < 99*time.Second || d > 101*time.Second {
				t.Errorf("%s: ended after %s", test.why, d)
			}
		})
	}
}

// TestBodyIsReadWhileTheClientIsWatched: the watch waits for its end, and leaves
// what follows to the next request.
func TestBodyIsReadWhileTheClientIsWatched(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		time.Sleep(5 * time.Second)
		if err := r.Context().Err(); err != nil {
			t.Errorf("ended: %v", err)
		}
		text(w, http.StatusOK, string(b))
	}, func(t *testing.T, s *server) {
		c := s.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
		for range 10 {
			time.Sleep(time.Second)
			c.send("x")
		}
		time.Sleep(time.Second)
		c.send(post("/", "hello") + post("/", "again"))
		c.says(http.StatusOK, "xxxxxxxxxx")
		c.says(http.StatusOK, "hello")
		c.says(http.StatusOK, "again")
	})
}
