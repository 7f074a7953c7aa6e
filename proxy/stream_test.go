package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
)

// TestStreamsAreFlushedAtOnce: goproxy holds back what is not an event stream
// (http.go:100).
func TestStreamsAreFlushedAtOnce(t *testing.T) {
	r := start(t)
	next := make(chan struct{})
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for _, part := range []string{"one", "two", "end"} {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
			select {
			case <-next:
			case <-req.Context().Done():
				return
			}
		}
	}, func(t *testing.T, c channel) {
		for _, target := range []string{"/events", "/plain"} {
			resp := c.do(t, "GET", target, nil)
			for _, part := range []string{"one", "two", "end"} {
				got := make([]byte, 3)
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != part {
					t.Fatalf("%s: %q, %v; want %q before the origin goes on", target, got, err, part)
				}
				next <- struct{}{}
			}
			if rest := whole(t, resp); rest != "" {
				t.Errorf("%s: %q follows", target, rest)
			}
		}
	})
}

// TestEarlyHintsArrive: goproxy drops 103.
func TestEarlyHintsArrive(t *testing.T) {
	r := start(t)
	forAll(t, r, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Link", "</b.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "page")
	}, func(t *testing.T, c channel) {
		var hints []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, http.StatusText(code)+" "+h.Get("Link"))
			return nil
		}}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", c.origin+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body := whole(t, resp); body != "page" || resp.StatusCode != 200 || resp.Header.Get("Link") != "" {
			t.Errorf("%s, %v: %s", resp.Status, resp.Header, body)
		}
		if got := strings.Join(hints, "|"); got != "Early Hints </a.css>; rel=preload|Early Hints </b.css>; rel=preload" {
			t.Errorf("the hints are %q", got)
		}
	})
}

// TestOldClientsGetNoInterimAnswer: HTTP/1.0 has no 1xx (RFC 9110 §15.2).
func TestOldClientsGetNoInterimAnswer(t *testing.T) {
	host, _ := script(t, write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"))
	r := start(t)
	w := r.dial(t)
	_, _ = io.WriteString(w, "GET http://"+host+"/ HTTP/1.0\r\n\r\n")
	all, err := io.ReadAll(w.r)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.0 200 OK\r\n") || !strings.HasSuffix(string(all), "\r\n\r\npage") {
		t.Errorf("%v: %q", err, all)
	}
}

// TestInterimAnswersAfterTheEnd: an origin that goes on with 1xx answers while
// heed gives it up must not meet the header of heed's own answer: two
// goroutines in one map end the process.
func TestInterimAnswersAfterTheEnd(t *testing.T) {
	host, _ := script(t, func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-A: 1\r\nX-B: 2\r\n\r\n"); err != nil {
				return
			}
		}
	})
	r := start(t, func(c *Config) {
		c.Timeouts.ResponseHeader = time.Millisecond
		c.Limits.Header = 256 << 10
	})
	for range 20 {
		if a := r.get(t, "http://"+host+"/"); a.StatusCode != 504 && a.StatusCode != 502 {
			t.Errorf("%s: %s", a.Status, a.body)
		}
	}
}

// TestExpectContinue: the client is asked for its body once, when the origin
// wants it, and never where the request is denied.
func TestExpectContinue(t *testing.T) {
	host, _ := script(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		body := make([]byte, 4)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"+string(body))
	})
	r := start(t)
	r.policies.set("http://closed.example", rules("http://closed.example", "User-agent: *\nDisallow: /\n"))
	const fields = "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n"

	w := r.dial(t)
	_, _ = io.WriteString(w, "POST http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n"+fields)
	var interim []string
	for {
		resp, err := http.ReadResponse(w.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode >= 200 {
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "body" {
				t.Errorf("%s: %q, %v", resp.Status, body, err)
			}
			break
		}
		interim = append(interim, resp.Status)
		if resp.StatusCode == 100 {
			_, _ = io.WriteString(w, "body")
		}
	}
	if n := strings.Count(strings.Join(interim, "|"), "100"); n != 1 {
		t.Errorf("interim answers: %q, want 100 once", interim)
	}

	w = r.dial(t)
	began := time.Now()
	_, _ = io.WriteString(w, "POST http://closed.example/ HTTP/1.1\r\nHost: closed.example\r\n"+fields)
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 403 {
		t.Errorf("a denied request with Expect: %s, want 403 and no 100", resp.Status)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the denial took %v: heed waited for a body that it had not asked for", d)
	}
}

// TestClientGoneEndsTheRequest: nobody waits for the answer any more, and the
// origin learns of it within a second, or soon after on a busy machine.
func TestClientGoneEndsTheRequest(t *testing.T) {
	r := start(t)
	asked, gone, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/body" {
			w.(http.Flusher).Flush() // now the client has the header
		} else {
			asked <- struct{}{}
		}
		<-req.Context().Done()
		gone <- struct{}{}
		<-release // an answer that ends now could still be read as a whole one
	}, func(t *testing.T, c channel) {
		for _, target := range []string{"/header", "/body"} {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			req, err := http.NewRequestWithContext(ctx, "GET", c.origin+target, nil)
			if err != nil {
				t.Fatal(err)
			}
			if target == "/header" {
				go func() {
					<-asked
					cancel()
				}()
			}
			if resp, err := c.RoundTrip(req); err == nil {
				cancel()
				_, _ = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			began := time.Now()
			select {
			case <-gone:
			case <-time.After(patience):
				t.Fatalf("%s: the origin never learned of it", target)
			}
			if d := time.Since(began); d > 5*time.Second {
				t.Errorf("%s: the origin learned of it after %v", target, d)
			}
			if e := r.entryOf(t, c.as); e.Verdict != audit.Forwarded || e.Reason != kindClientGone.name {
				t.Errorf("%s: recorded as %v, %s: %s", target, e.Verdict, e.Reason, e.Err)
			}
			release <- struct{}{}
		}
	})
}
