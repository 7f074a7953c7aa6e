package serving_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heed/internal/serving"
)

// TestShutdown closes what waits at once, and what is under way behind its answer,
// which says so.
func TestShutdown(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(entered)
			<-leave
		}
		text(w, http.StatusOK, "ok")
	})
	fresh, waiting, ended := s.client(), s.ask(get("/")), s.ask(post("/", "x"))
	waiting.says(http.StatusOK, "ok")
	ended.says(http.StatusOK, "ok")
	ended.send("\r\n") // an empty line is no request
	busy := s.ask(get("/slow") + get("/never"))
	<-entered
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returned %v with an exchange under way", err)
	}
	for _, c := range []*client{fresh, waiting} {
		c.ends()
	}
	_, _ = io.ReadAll(ended.r) // what it has sent may have it reset
	s.has(1)                   // that of the exchange
	if c, err := s.dial(); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(t.Context()) }()
	close(leave)
	if resp, body := busy.answer(http.MethodGet); body != "ok" || !resp.Close {
		t.Errorf("answered %q, close %t", body, resp.Close)
	}
	busy.ends()
	if err := <-done; err != nil {
		t.Error(err)
	}
	ours, theirs := net.Pipe()
	s.ServeConn(t.Context(), theirs, nil)
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that comes later: %v", err)
	}
}

// TestClose breaks off what is under way, and its context ends, though nobody
// reads from the client.
func TestClose(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	c := s.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
	<-entered
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.ends()
}

// TestShutdownAmongRequests: each request has a whole answer, or none because its
// connection was closed while it waited.
func TestShutdownAmongRequests(t *testing.T) {
	for range 20 {
		s := start(t, echo)
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for {
					c, err := s.dial()
					if err != nil {
						return
					}
					for {
						_, err := io.WriteString(c, get("/x"))
						if err != nil {
							break
						}
						b := make([]byte, 500)
						n, err := c.Read(b)
						if n > 0 && !strings.HasSuffix(string(b[:n]), "GET /x ") {
							t.Errorf("a part of an answer: %q", b[:n])
						}
						if n == 0 || err != nil {
							break
						}
					}
					_ = c.Close()
				}
			})
		}
		time.Sleep(2 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		clients.Wait()
	}
}

// TestPanicBreaksTheAnswerOff, and is told, but for http.ErrAbortHandler; the
// server goes on.
func TestPanicBreaksTheAnswerOff(t *testing.T) {
	var told atomic.Int32
	var handler atomic.Pointer[http.HandlerFunc]
	s := start(t, func(w http.ResponseWriter, r *http.Request) { (*handler.Load())(w, r) }, func(c *serving.Config) {
		c.Panicked = func(v any, stack []byte) {
			if v == nil || !strings.Contains(string(stack), "server_test.go") {
				t.Errorf("told of %v at %s", v, stack)
			}
			told.Add(1)
		}
	})
	for _, test := range []struct {
		why     string
		handler http.HandlerFunc
		told    int32
		got     string // begins so
	}{
		{"before anything", func(http.ResponseWriter, *http.Request) { panic("x") }, 1, ""},
		{"abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, ""},
		{"behind what was sent", func(w http.ResponseWriter, _ *http.Request) {
			raw(w)
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "not sent")
			panic("x")
		}, 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"},
		{"a status that is none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) }, 1, ""},
		{"a status that is none either", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) }, 1, ""},
	} {
		told.Store(0)
		handler.Store(&test.handler)
		if got := s.ask(get("/")).rest(); got != test.got {
			t.Errorf("%s: got %q, want %q", test.why, got, test.got)
		}
		if n := told.Load(); n != test.told {
			t.Errorf("%s: told %d times, want %d", test.why, n, test.told)
		}
	}
	ok := http.HandlerFunc(echo)
	handler.Store(&ok)
	s.ask(get("/")).says(http.StatusOK, "GET / ")
}

// TestHandlerThatExitsItsGoroutine leaves no connection open.
func TestHandlerThatExitsItsGoroutine(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
	s.ask(post("/", "x")).ends()
}

// TestPanicOutsideAHandler: in what says what is wrong with a request, or in what
// a request is told.
func TestPanicOutsideAHandler(t *testing.T) {
	var told atomic.Int32
	s := start(t, echo, func(c *serving.Config) {
		c.Panicked = func(any, []byte) { told.Add(1) }
		c.Malformed = func(net.Conn, *serving.Fault) []byte { panic("malformed") }
	})
	s.ask("rubbish\r\n\r\n").ends()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeConn(t.Context(), theirs, func(*http.Request) { panic("ready") })
	}()
	_, _ = io.WriteString(ours, get("/"))
	<-done
	if n := told.Load(); n != 2 {
		t.Errorf("told %d times", n)
	}
	s.has(0)
}

// TestRefusal arrives though the client goes on sending, and does not read at
// once; nothing behind it is looked at.
func TestRefusal(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler was asked") }, func(c *serving.Config) { c.HeaderLimit = 1000 })
	c := s.ask("GET / HTTP/1.1\r\nX: " + repeat("x", 100<<10) + "\r\n\r\n" + smuggled)
	time.Sleep(20 * time.Millisecond)
	if resp, body := c.answer(http.MethodGet); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || body != "line 15, " {
		t.Errorf("answered %d %q", resp.StatusCode, body)
	}
	c.closeWrite()
	c.ends()
}

// TestLastAnswerArrivesAmongPipelinedRequests: they are not answered, and closing
// on them does not reset the connection.
func TestLastAnswerArrivesAmongPipelinedRequests(t *testing.T) {
	s := start(t, echo)
	for range 50 {
		c := s.ask(get("/", "Connection: close\r\n") + repeat(get("/more"), 200))
		c.says(http.StatusOK, "GET / ")
		c.closeWrite()
		c.ends()
	}
}

// TestCutRequestIsNotAnswered: its client has gone away.
func TestCutRequestIsNotAnswered(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler was asked") })
	for _, part := range []string{"", "G", "GET / HTTP/1.1", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r", "\r\n", "\r"} {
		c := s.ask(part)
		c.closeWrite()
		if got := c.rest(); got != "" && strings.HasPrefix(got, "HTTP/1.1 2") {
			t.Errorf("%q was answered with %q", part, got)
		}
	}
}

// faulty is a listener that has no connection for once.
type faulty struct {
	net.Listener
	errs []error
}

func (f *faulty) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: err}
	}
	return f.Listener.Accept()
}

// TestServeGoesOnWhenDescriptorsHaveRunOut, and ends with what does not pass.
func TestServeGoesOnWhenDescriptorsHaveRunOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int32
	serve(t, &faulty{l, []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED}}, echo, []func(*serving.Config){func(c *serving.Config) {
		c.Errors = func(error) { told.Add(1) }
	}})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, get("/", "Connection: close\r\n"))
	if b, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(b), "GET / ") {
		t.Errorf("%q, %v", b, err)
	}
	_ = c.Close()
	if n := told.Load(); n != 3 {
		t.Errorf("told %d times", n)
	}

	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serving.New(serving.Config{Handler: http.HandlerFunc(echo), Malformed: malformed})
	if err := s.Serve(&faulty{l, []error{syscall.EBADF}}); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Serve returned %v", err)
	}
	_ = s.Close()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve returned %v behind Close", err)
	}
}
