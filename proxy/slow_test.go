package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/internal/audit"
)

// idleOfTest is the idle time of these tests, longIdle what is far more, and moving
// what is so much less that a busy machine makes no idle time of it.
const (
	idleOfTest = 800 * time.Millisecond
	longIdle   = 10 * idleOfTest
	moving     = idleOfTest / 4
)

func shortIdle(c *Config) { c.Timeouts.Idle = idleOfTest }

// TestSlowClientsOfHTTP2AreGivenUp: in HTTP/2 as in HTTP/1.1 each part of an
// answer must be taken, and each part of a body must come, within the idle time;
// the origin's connection is not held for longer. One who moves now and then may
// take for ever.
func TestSlowClientsOfHTTP2AreGivenUp(t *testing.T) {
	const large = 8 << 20
	size := map[string]int{http.MethodGet: large, http.MethodPost: 2}
	for _, tt := range []struct {
		why    string
		method string
		do     func(f *h2Client) // with the header section sent
		status int
		reason string
	}{
		{"no window for the stream", http.MethodGet, func(f *h2Client) { f.until(http2.FrameRSTStream) }, 200, "client-gone"},
		{"no octet is taken", http.MethodGet, func(*h2Client) {}, 200, "client-gone"},
		{"a body that stalls", http.MethodPost, func(f *h2Client) {
			_ = f.WriteData(1, false, []byte("x"))
			f.until(http2.FrameRSTStream)
		}, 408, "body-timeout"},
		{"a window now and then", http.MethodGet, func(f *h2Client) {
			for got, given := 0, 65_535; got < large; got += f.data() {
				if got == given {
					time.Sleep(moving)
					_ = f.WriteWindowUpdate(0, large/6)
					_ = f.WriteWindowUpdate(1, large/6)
					given += large / 6
				}
			}
		}, 200, "allowed"},
		{"a body that comes now and then", http.MethodPost, func(f *h2Client) {
			for range 6 {
				time.Sleep(moving)
				_ = f.WriteData(1, false, []byte("x"))
			}
			_ = f.WriteData(1, true, nil)
			f.until(http2.FrameData)
		}, 200, "allowed"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			gone := make(chan struct{})
			o := newTLSOrigin(t, false, func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return
				}
				w.Header().Set("Content-Length", strconv.Itoa(size[r.Method]))
				_, _ = io.WriteString(w, strings.Repeat("x", size[r.Method]))
			})
			r := start(t, shortIdle)
			f := newH2Client(t, r, hostOf(o))
			began := time.Now()
			f.ask(tt.method, hostOf(o))
			over := make(chan struct{})
			go func() { defer close(over); tt.do(f) }()
			e := r.entryOf(t, audit.Intercepted)
			if took := time.Since(began); took > longIdle {
				t.Errorf("it took %s", took)
			}
			if e.Status != tt.status || e.Reason != tt.reason || e.Verdict != audit.Forwarded || (e.Err == "") != (tt.reason == "allowed") {
				t.Errorf("status %d, reason %s, %s, %q", e.Status, e.Reason, e.Verdict, e.Err)
			}
			if whole := e.BytesOut == int64(size[tt.method]); whole != (tt.reason == "allowed") {
				t.Errorf("%d octets were sent", e.BytesOut)
			}
			<-gone
			<-over
		})
	}
}

// TestConnectionsOfHTTP2ThatWaitAreClosed: there is no exchange on them.
func TestConnectionsOfHTTP2ThatWaitAreClosed(t *testing.T) {
	o := newTLSOrigin(t, false, func(http.ResponseWriter, *http.Request) {})
	r := start(t, shortIdle)
	for why, do := range map[string]func(f *h2Client){
		"nothing is asked": func(*h2Client) {},
		"a header section that is not whole": func(f *h2Client) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}}) // :method: GET
		},
		"nothing more is asked": func(f *h2Client) { f.ask(http.MethodGet, hostOf(o)); f.until(http2.FrameHeaders) },
	} {
		f := newH2Client(t, r, hostOf(o))
		do(f)
		began := time.Now()
		for {
			if _, err := f.ReadFrame(); err != nil {
				break
			}
		}
		if took := time.Since(began); took > longIdle {
			t.Errorf("%s: it took %s", why, took)
		}
	}
}

// TestFaultsOfABodyAreTheClients: whatever the protocols, the origin is not to
// blame for a body that does not come, or cannot be read.
func TestFaultsOfABodyAreTheClients(t *testing.T) {
	const chunked, sized = "Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 10\r\n\r\n"
	for _, h2 := range []bool{false, true} {
		o := newTLSOrigin(t, h2, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		r := start(t, shortIdle)
		for _, tt := range []struct {
			why, octets string
			leaves      bool
			status      int
			reason      string
		}{
			{"a part that does not come", sized + "abc", false, 408, "body-timeout"},
			{"a chunk that does not come", chunked + "3\r\nabc\r\n", false, 408, "body-timeout"},
			{"a chunk without a size", chunked + "3\r\nabc\r\nZZ\r\n", false, 400, "bad-body"},
			{"the client leaves", sized + "abc", true, 502, "client-gone"},
		} {
			host := hostOf(o)
			name, _, _ := strings.Cut(host, ":")
			w := r.secure(t, r.connect(t, host), name, "http/1.1")
			_, _ = fmt.Fprintf(w, "POST / HTTP/1.1\r\nHost: %s\r\n%s", host, tt.octets)
			if tt.leaves {
				_ = w.Close()
			} else if a := w.read(t, http.MethodPost); a.StatusCode != tt.status || !strings.Contains(a.body, "/why?id=") {
				t.Errorf("%s (HTTP/2 behind: %t): %s\n%s", tt.why, h2, a.Status, a.body)
			}
			if e := r.entryOf(t, audit.Intercepted); e.Status != tt.status || e.Reason != tt.reason || e.Verdict != audit.Forwarded || e.Err == "" {
				t.Errorf("%s (HTTP/2 behind: %t): status %d, reason %s, %s, %q", tt.why, h2, e.Status, e.Reason, e.Verdict, e.Err)
			}
			_ = w.Close()
		}
	}
}

// TestUploadThatIsTakenSlowly: an origin may take as long as it likes, so long as
// it goes on; and so may the client.
func TestUploadThatIsTakenSlowly(t *testing.T) {
	const size, parts = 200 << 10, 6
	got := make(chan int64, 1)
	o := newTLSOrigin(t, true, func(_ http.ResponseWriter, r *http.Request) {
		var n int64
		for {
			m, err := io.CopyN(io.Discard, r.Body, size/parts)
			n += m
			if err != nil {
				got <- n
				return
			}
			time.Sleep(moving)
		}
	})
	r := start(t, func(c *Config) { c.Timeouts.ResponseHeader = idleOfTest })
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", size-1)), slowReader{idleOfTest * 3 / 2}, strings.NewReader("x"))
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, o, body)
	resp, err := r.client(t, false).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if n := <-got; resp.StatusCode != 200 || n != size {
		t.Errorf("%s, %d octets arrived, want %d", resp.Status, n, size)
	}
}

// slowReader has nothing, and takes its time.
type slowReader struct{ time.Duration }

func (s slowReader) Read([]byte) (int, error) { time.Sleep(s.Duration); return 0, io.EOF }

// TestQuietStreamOfHTTP2LivesOn: events may be long in coming, for as long as both
// ends are there.
func TestQuietStreamOfHTTP2LivesOn(t *testing.T) {
	o := newTLSOrigin(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "data: x\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(idleOfTest * 3 / 2)
		}
	})
	r := start(t, shortIdle, func(c *Config) { c.Timeouts.ResponseHeader = idleOfTest })
	resp, err := r.client(t, true).Get(o)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(body) != "data: x\n\ndata: x\n\n" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

// h2Client speaks HTTP/2 frame by frame, through a tunnel that is intercepted.
type h2Client struct {
	*http2.Framer
}

func newH2Client(t *testing.T, r *rig, host string) *h2Client {
	t.Helper()
	name, _, _ := net.SplitHostPort(host)
	w := r.secure(t, r.connect(t, host), name, "h2")
	t.Cleanup(func() { _ = w.Close() })
	_, _ = io.WriteString(w, http2.ClientPreface)
	f := &h2Client{http2.NewFramer(w, w.r)}
	_ = f.WriteSettings()
	return f
}

// ask sends the header section of a request, which has a body if it is a POST.
func (f *h2Client) ask(method, authority string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, EndStream: method == http.MethodGet, EndHeaders: true,
		BlockFragment: block(":method", method, ":scheme", "https", ":path", "/", ":authority", authority),
	})
}

// block is a header block of names and values.
func block(fields ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into memory
	}
	return b.Bytes()
}

// until reads frames up to one of a type, or the end.
func (f *h2Client) until(kind http2.FrameType) {
	for {
		if frame, err := f.ReadFrame(); err != nil || frame.Header().Type == kind {
			return
		}
	}
}

// data returns how long the next part of the body is, and at the end that it is
// endless.
func (f *h2Client) data() int {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return 1 << 30
		}
		if d, ok := frame.(*http2.DataFrame); ok {
			return len(d.Data())
		}
	}
}
