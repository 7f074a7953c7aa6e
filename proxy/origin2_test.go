package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/internal/audit"
)

// h2Origin speaks HTTP/2 frame by frame.
type h2Origin struct {
	*http2.Framer
	conn     int64 // which connection this is
	requests *atomic.Int64
}

// newH2Origin has answer called for each request, on the goroutine that reads the
// connection, which is closed when it returns false. It returns its host:port,
// and how many requests there were.
func newH2Origin(t *testing.T, answer func(o *h2Origin, id uint32) bool) (string, *atomic.Int64) {
	t.Helper()
	model := httptest.NewTLSServer(nil)
	certificates := model.TLS.Certificates
	model.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	var count, requests atomic.Int64
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o := &h2Origin{Framer: http2.NewFramer(c, c), conn: count.Add(1), requests: &requests}
			conns.Go(func() { defer c.Close(); o.serve(c, answer) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); conns.Wait() })
	return l.Addr().String(), &requests
}

func (o *h2Origin) serve(c net.Conn, answer func(o *h2Origin, id uint32) bool) {
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	o.AllowIllegalWrites = true
	o.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = o.WriteSettings()
	for {
		frame, err := o.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = o.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = o.WritePing(true, f.Data)
			}
		case *http2.MetaHeadersFrame:
			o.requests.Add(1)
			if !answer(o, f.StreamID) {
				return
			}
		}
	}
}

// head sends the header section of an answer.
func (o *h2Origin) head(id uint32, end bool, fields ...string) {
	_ = o.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(fields...), EndStream: end, EndHeaders: true})
}

// hello is a whole answer.
func (o *h2Origin) hello(id uint32) {
	o.head(id, false, ":status", "200", "content-length", "5")
	_ = o.WriteData(id, true, []byte("hello"))
}

// resets answers each request with a reset.
func resets(code http2.ErrCode) func(*h2Origin, uint32) bool {
	return func(o *h2Origin, id uint32) bool { return o.WriteRSTStream(id, code) == nil }
}

// heads answers each request with a header section alone.
func heads(fields ...string) func(*h2Origin, uint32) bool {
	return func(o *h2Origin, id uint32) bool { o.head(id, true, fields...); return true }
}

// TestFaultsOfOriginsInHTTP2: the client is told of each, whatever it speaks, and
// what net/http would take for an answer does not get there.
func TestFaultsOfOriginsInHTTP2(t *testing.T) {
	const terminated, unreadable = "connection_terminated", "http_protocol_error"
	for _, tt := range []struct {
		why    string
		method string
		answer func(*h2Origin, uint32) bool
		status int
		signal string
	}{
		{"a reset", "GET", resets(http2.ErrCodeInternal), 502, terminated},
		{"a reset without an error", "GET", resets(http2.ErrCodeNo), 502, terminated},
		{"a reset of a request with a body", "POST", resets(http2.ErrCodeCancel), 502, terminated},
		{"not taken, and the body is gone", "POST", resets(http2.ErrCodeRefusedStream), 502, terminated},
		{"a farewell, and the end", "GET", func(o *h2Origin, id uint32) bool { _ = o.WriteGoAway(id, http2.ErrCodeInternal, nil); return false }, 502, terminated},
		{"a farewell for bad behaviour", "GET", func(o *h2Origin, _ uint32) bool { return o.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil) == nil }, 502, terminated},
		{"a body that is not taken", "POST", func(*h2Origin, uint32) bool { return true }, 504, "http_response_timeout"},
		{"no answer", "GET", func(*h2Origin, uint32) bool { return true }, 504, "http_response_timeout"},
		{"a switch of protocols", "GET", heads(":status", "101"), 502, unreadable},
		{"one that is not the end", "GET", func(o *h2Origin, id uint32) bool { o.head(id, false, ":status", "101"); return true }, 502, unreadable},
		{"a status of four digits", "GET", heads(":status", "1000"), 502, unreadable},
		{"two lengths", "GET", heads(":status", "200", "content-length", "0", "content-length", "5"), 502, unreadable},
		{"a length that is no number", "GET", heads(":status", "200", "content-length", "x"), 502, unreadable},
		{"a field that is of HTTP/1.1", "GET", heads(":status", "200", "X-Upper", "1"), 502, unreadable},
	} {
		for _, h2 := range []bool{false, true} {
			host, requests := newH2Origin(t, tt.answer)
			r := start(t, func(c *Config) { c.Timeouts.ResponseHeader = idleOfTest })
			body := io.Reader(strings.NewReader(strings.Repeat("x", 1<<20)))
			if tt.method == http.MethodGet {
				body = nil
			}
			req, _ := http.NewRequestWithContext(t.Context(), tt.method, "https://"+host+"/", body)
			req.GetBody = nil
			began := time.Now()
			resp, err := r.client(t, h2).Do(req)
			if err != nil {
				t.Errorf("%s (HTTP/2 before: %t): %v", tt.why, h2, err)
				continue
			}
			_ = resp.Body.Close()
			e := r.entryOf(t, audit.Intercepted)
			if status := resp.Header.Get("Proxy-Status"); resp.StatusCode != tt.status || e.Status != tt.status || !strings.Contains(status, "error="+tt.signal) || strings.Contains(status, "GetBody") {
				t.Errorf("%s (HTTP/2 before: %t): %s, %s; recorded %d %s", tt.why, h2, resp.Status, status, e.Status, e.Reason)
			}
			if took := time.Since(began); took > longIdle || requests.Load() != 1 {
				t.Errorf("%s (HTTP/2 before: %t): it took %s and %d requests", tt.why, h2, took, requests.Load())
			}
		}
	}
}

// TestAnswersWithoutABodyInHTTP2: a length may be told all the same, of what a
// GET would have got (RFC 9110 §8.6).
func TestAnswersWithoutABodyInHTTP2(t *testing.T) {
	for _, status := range []string{"204", "304"} {
		host, _ := newH2Origin(t, heads(":status", status, "content-length", "77", "etag", `"x"`))
		r := start(t)
		f := newH2Client(t, r, host)
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		f.ask(http.MethodGet, host)
		var got string
		for ended := false; !ended; {
			frame, err := f.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			switch frame := frame.(type) {
			case *http2.MetaHeadersFrame:
				got, ended = frame.PseudoValue("status"), frame.StreamEnded()
			case *http2.DataFrame:
				ended = frame.StreamEnded()
			case *http2.RSTStreamFrame:
				t.Fatalf("%s: reset, %v", status, frame.ErrCode)
			}
		}
		if e := r.entryOf(t, audit.Intercepted); got != status || e.Err != "" {
			t.Errorf("%s, want %s; recorded %q", got, status, e.Err)
		}
	}
}

// TestOriginThatIsGoneWithoutAWord: it is asked again on a connection of its own,
// where the request may be repeated, and the client waits no longer than for an
// answer.
func TestOriginThatIsGoneWithoutAWord(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		gone := make(chan struct{})
		host, requests := newH2Origin(t, func(o *h2Origin, id uint32) bool {
			if o.conn == 1 && o.requests.Load() > 1 {
				<-gone
				return false
			}
			o.hello(id)
			return true
		})
		r := start(t, func(c *Config) { c.Timeouts.ResponseHeader = 2 * time.Second })
		client := r.client(t, false)
		want := map[string][]int{http.MethodGet: {200, 200, 200}, http.MethodPost: {200, 502, 200}}[method]
		for i, status := range want {
			req, _ := http.NewRequestWithContext(t.Context(), method, "https://"+host+"/", nil)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != status || status == 200 && !bytes.Equal(body, []byte("hello")) {
				t.Errorf("%s %d: %s, want %d: %s", method, i, resp.Status, status, body)
			}
		}
		if n := requests.Load(); n != 3 && method == http.MethodPost || n != 4 && method == http.MethodGet {
			t.Errorf("%s: %d requests", method, n)
		}
		close(gone)
	}
}

// TestOriginThatClosesUnderManyRequests: what may be repeated is asked again,
// whatever net/http calls the end of a connection.
func TestOriginThatClosesUnderManyRequests(t *testing.T) {
	host, _ := newH2Origin(t, func(o *h2Origin, id uint32) bool {
		if o.conn == 1 && id > 1 {
			return false
		}
		o.hello(id)
		return true
	})
	r := start(t)
	client := r.client(t, true)
	ask := func() {
		resp, err := client.Get("https://" + host + "/")
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != "hello" || err != nil {
			t.Errorf("%s: %.200q, %v", resp.Status, body, err)
		}
	}
	ask()
	var all sync.WaitGroup
	for range 30 {
		all.Go(ask)
	}
	all.Wait()
}
