package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestStreams(t *testing.T) { tryAll(t, streamProperties) }

var streamProperties = []property{
	{name: "each event comes before the next is sent", holds: func(r *trial) error { return r.events("text/event-stream", 0) }},
	{name: "each part of a stream without a name comes before the next", holds: func(r *trial) error { return r.events("", 0) }},
	{name: "each part of a body with a length comes before the next", holds: func(r *trial) error { return r.events("", events*len(event)) }},
	{name: "events that end with the connection", not: originHTTP1, holds: func(r *trial) error {
		next := make(chan struct{})
		o := r.script(func(c *wire, _ message) bool {
			_ = c.writeAll("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
			for range events {
				if c.writeAll(event) != nil || !r.wait(next) {
					return false
				}
			}
			return false
		})
		return r.follow(o, next)
	}},
	{name: "a long poll shows its head at once", holds: func(r *trial) error {
		for _, length := range []string{"", "4"} {
			shown := make(chan struct{})
			o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				w.(http.Flusher).Flush()
				if r.wait(shown) {
					_, _ = io.WriteString(w, "poll")
				}
			})
			resp, err := r.do("GET", o, "/", nil)
			if err != nil {
				return fmt.Errorf("length %q: %w", length, err)
			}
			close(shown)
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "poll" {
				return mismatch(err, "length %q: %q", length, body)
			}
		}
		return nil
	}},
	{name: "each part of an upload comes before the next", holds: func(r *trial) error {
		for _, length := range []int64{-1, int64(events * len(event))} {
			next := make(chan struct{})
			o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
				part := make([]byte, len(event))
				for n := range events {
					if _, err := io.ReadFull(req.Body, part); err != nil || string(part) != event {
						r.faultf("part %d came as %q, %v", n, part, err)
						return
					}
					if n == events-1 {
						return
					}
					select {
					case next <- struct{}{}:
					case <-r.ctx.Done():
						return
					}
				}
			})
			body, w := io.Pipe()
			go func() {
				defer w.Close()
				for n := range events {
					if _, err := io.WriteString(w, event); err != nil {
						return
					}
					if n < events-1 && !r.wait(next) { // the last part goes with the end
						return
					}
				}
			}()
			req := r.request("POST", o, "/", body)
			req.ContentLength = length
			if _, err := r.send(r.client(), req); err != nil {
				return fmt.Errorf("length %d: %w", length, err)
			}
		}
		return nil
	}},
	{name: "both directions at once", holds: func(r *trial) error {
		// RFC 9110 §7.5: an answer may begin while the request still comes
		for _, part := range []int64{100, 64 << 10} {
			if err := r.echoes(part); err != nil {
				return fmt.Errorf("parts of %d octets: %w", part, err)
			}
		}
		return nil
	}},
	{name: "a large upload while the answer has begun", holds: func(r *trial) error {
		const size = 10 << 20
		o := r.serve(func(w http.ResponseWriter, req *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
			_, _ = io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			if err := same(req.Body, size); err != nil {
				r.faultf("the upload: %w", err)
			}
			_, _ = io.WriteString(w, "done")
		})
		begun := make(chan struct{})
		resp, err := r.do("POST", o, "/", io.MultiReader(&held{r, begun, pattern(size)}))
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
			return fmt.Errorf("the beginning of the answer: %w", err)
		}
		close(begun)
		if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "done" {
			return mismatch(err, "the rest of the answer is %q", rest)
		}
		return nil
	}},
	{name: "413 before the upload has ended", holds: func(r *trial) error {
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(413)
			_, _ = io.WriteString(w, "too large")
		})
		for _, size := range []int64{100 << 10, 20 << 20} {
			req := r.request("POST", o, "/", pattern(size))
			req.ContentLength = size
			resp, err := r.send(r.client(), req)
			if err != nil {
				return fmt.Errorf("%d octets: %w", size, err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 413 || string(body) != "too large" {
				return mismatch(err, "%d octets: %s %q", size, resp.Status, body)
			}
		}
		return nil
	}},
	{name: "events are not held back", holds: func(r *trial) error {
		const many = 100
		next := make(chan struct{})
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range many {
				fmt.Fprintf(w, "data: %d\n\n", time.Now().UnixNano())
				w.(http.Flusher).Flush()
				if !r.wait(next) {
					return
				}
			}
		})
		resp, err := r.do("GET", o, "/", nil)
		if err != nil {
			return err
		}
		var took []time.Duration
		buf := make([]byte, 100)
		for range many {
			n, err := resp.Body.Read(buf)
			if err != nil {
				return err
			}
			sent, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(string(buf[:n]), "data: ")), 10, 64)
			if err != nil {
				return fmt.Errorf("an event came in parts: %w", err)
			}
			took = append(took, time.Duration(time.Now().UnixNano()-sent))
			next <- struct{}{}
		}
		slices.Sort(took)
		quarter := took[many/4]
		r.t.Logf("a quarter of the events took less than %v", quarter)
		// Alone it is a quarter of a millisecond. What holds events back, a timer
		// or Nagle's algorithm, does so for 40 ms, or until the next. A busy machine
		// holds back some, and not nearly all.
		if quarter > 20*time.Millisecond {
			return fmt.Errorf("three quarters of the events took %v or more", quarter)
		}
		return nil
	}},
}

const (
	events = 20
	event  = "data: x\n\n"
)

// wait waits for a signal, and reports whether it came.
func (r *trial) wait(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// events has the origin send each event only when the one before has come.
func (r *trial) events(contentType string, length int) error {
	next := make(chan struct{})
	o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		if length > 0 {
			w.Header().Set("Content-Length", strconv.Itoa(length))
		}
		for range events {
			_, _ = io.WriteString(w, event)
			w.(http.Flusher).Flush()
			if !r.wait(next) {
				return
			}
		}
	})
	return r.follow(o, next)
}

// follow reads events, and says so after each.
func (r *trial) follow(o string, next chan<- struct{}) error {
	resp, err := r.do("GET", o, "/", nil)
	if err != nil {
		return err
	}
	part := make([]byte, len(event))
	for n := range events {
		if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != event {
			return mismatch(err, "event %d came as %q", n, part)
		}
		select {
		case next <- struct{}{}:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		return mismatch(err, "%q follows", rest)
	}
	return nil
}

// echoes sends a part, reads it back, and only then sends the next.
func (r *trial) echoes(part int64) error {
	o := r.serve(func(w http.ResponseWriter, req *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
		w.(http.Flusher).Flush()
		for {
			if _, err := io.CopyN(w, req.Body, part); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	body, up := io.Pipe()
	defer up.Close()
	resp, err := r.do("POST", o, "/", body)
	if err != nil {
		return err
	}
	for n := range events {
		sent := make(chan error, 1)
		go func() {
			_, err := io.Copy(up, pattern(part))
			sent <- err
		}()
		if err := same(io.LimitReader(resp.Body, part), part); err != nil {
			return fmt.Errorf("part %d: %w", n, err)
		}
		if err := <-sent; err != nil {
			return err
		}
	}
	up.Close()
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		return mismatch(err, "%d octets follow", len(rest))
	}
	return nil
}

// held is a body that begins when it may.
type held struct {
	r    *trial
	may  <-chan struct{}
	body io.Reader
}

func (h *held) Read(b []byte) (int, error) {
	if !h.r.wait(h.may) {
		return 0, h.r.ctx.Err()
	}
	return h.body.Read(b)
}
