package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestBodies sends bodies both ways, of which heed must hold but a little.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	t.Run("of", func(t *testing.T) { s.tryOn(t, bodyProperties) })
	if peak, limit := s.heed.peak(t), memoryLimit(); peak > limit {
		t.Errorf("heed has held %d MiB while bodies of 1 GiB went through it, more than %d", peak>>20, limit>>20)
	} else {
		t.Logf("heed has held %d MiB at most", peak>>20)
	}
}

// memoryLimit is what heed may hold at most while bodies go through it.
func memoryLimit() int64 {
	if os.Getenv("HEED_E2E_RACE") == "1" {
		return 1 << 30 // the race detector holds several times as much
	}
	return 128 << 20
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak is the most memory that h has ever held.
func (h *heed) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.Cmd.Process.Pid))
	if err != nil {
		if runtime.GOOS != "linux" {
			t.Skip("this system does not tell what a process has held")
		}
		t.Fatal(err)
	}
	m := peakLine.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

const gib = 1 << 30

// sizes of bodies: about the sizes of buffers, and more than any.
var sizes = []int64{0, 1, 1 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 10 << 20}

var bodyProperties = []property{
	{name: "uploads with a length", holds: func(r *trial) error { return r.upload(true, sizes...) }},
	{name: "uploads in chunks", holds: func(r *trial) error { return r.upload(false, sizes...) }},
	{name: "downloads with a length", holds: func(r *trial) error { return r.download(true, sizes...) }},
	{name: "downloads in chunks", holds: func(r *trial) error { return r.download(false, sizes...) }},
	{name: "downloads that end with the connection", not: originHTTP1, holds: func(r *trial) error {
		for _, size := range sizes {
			o := r.script(func(c *wire, _ message) bool {
				_ = c.writeAll("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
				_, _ = io.Copy(c, pattern(size))
				return false
			})
			resp, err := r.do("GET", o, "/", nil)
			if err == nil {
				err = same(resp.Body, size)
			}
			if err != nil {
				return fmt.Errorf("%d octets: %w", size, err)
			}
		}
		return nil
	}},
	{name: "downloads that end with the connection of HTTP/1.0", not: originHTTP1, holds: func(r *trial) error {
		o := r.script(func(c *wire, _ message) bool {
			_ = c.writeAll("HTTP/1.0 200 OK\r\n\r\n")
			_, _ = io.Copy(c, pattern(100_000))
			return false
		})
		resp, err := r.do("GET", o, "/", nil)
		if err != nil {
			return err
		}
		return same(resp.Body, 100_000)
	}},
	{name: "an upload of 1 GiB", not: notEach(way{plain, http11, http11}, way{intercepted, http2, http2}), holds: func(r *trial) error {
		return r.upload(r.way.client == http2, gib)
	}},
	{name: "a download of 1 GiB", not: notEach(way{plain, http11, http11}, way{intercepted, http11, http2}), holds: func(r *trial) error {
		return r.download(r.way.client != http2, gib)
	}},
	{name: "coded bodies are not touched", holds: func(r *trial) error {
		for coding, body := range codings {
			for _, asked := range []string{"", "identity", coding, "gzip, br, zstd"} {
				o := r.serve(func(w http.ResponseWriter, req *http.Request) {
					if got := req.Header.Get("Accept-Encoding"); got != asked {
						r.faultf("the origin got Accept-Encoding: %q, want %q", got, asked)
					}
					w.Header().Set("Content-Encoding", coding)
					_, _ = io.WriteString(w, body)
				})
				req := r.request("GET", o, "/", nil)
				if asked != "" {
					req.Header.Set("Accept-Encoding", asked)
				}
				resp, err := r.send(r.client(), req)
				if err != nil {
					return err
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || string(got) != body || resp.Header.Get("Content-Encoding") != coding || resp.ContentLength != int64(len(body)) {
					return mismatch(err, "%s: %v, %d octets, %q", coding, resp.Header, resp.ContentLength, got)
				}
			}
		}
		return nil
	}},
	{name: "coded bodies of requests are not touched", holds: func(r *trial) error {
		for coding, body := range codings {
			o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
				got, err := io.ReadAll(req.Body)
				if err != nil || string(got) != body || req.Header.Get("Content-Encoding") != coding {
					r.faultf("the origin got %v, %q, %v", req.Header, got, err)
				}
			})
			if _, err := r.do("POST", o, "/", strings.NewReader(body), "Content-Encoding: "+coding); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "trailers of a request", holds: func(r *trial) error {
		o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
			if _, announced := req.Trailer["X-Sum"]; !announced {
				r.faultf("the trailer was not announced: %v", req.Trailer)
			}
			if body, err := io.ReadAll(req.Body); err != nil || string(body) != "body" {
				r.faultf("the origin got %q, %v", body, err)
			}
			if got := req.Trailer; got.Get("X-Sum") != "42" || got.Get("X-Other") != "o" {
				r.faultf("the origin got the trailers %v", got)
			}
		})
		req := r.request("POST", o, "/", io.MultiReader(strings.NewReader("body")))
		req.Trailer = http.Header{"X-Sum": {"42"}, "X-Other": {"o"}}
		_, err := r.send(r.client(), req)
		return err
	}},
	{name: "trailers of an answer", holds: func(r *trial) error { return r.trailers("x") }},
	{name: "trailers behind no body", holds: func(r *trial) error { return r.trailers("") }},
	{name: "trailers behind a long body", holds: func(r *trial) error { return r.trailers(strings.Repeat("x", 200_000)) }},
	{name: "an answer that is cut in a chunk", not: originHTTP1, holds: func(r *trial) error {
		return r.cut("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor")
	}},
	{name: "an answer that is cut between chunks", not: originHTTP1, holds: func(r *trial) error {
		return r.cut("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	}},
	{name: "an answer that is cut before its length", not: originHTTP1, holds: func(r *trial) error {
		return r.cut("Content-Length: 100\r\n\r\nhello")
	}},
	{name: "an upload that is cut before its length", not: clientHTTP1, holds: func(r *trial) error {
		return r.cutUpload("Content-Length: 100\r\n\r\nhello")
	}},
	{name: "an upload that is cut in a chunk", not: clientHTTP1, holds: func(r *trial) error {
		return r.cutUpload("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor")
	}},
	{name: "an upload that is cut between chunks", not: clientHTTP1, holds: func(r *trial) error {
		return r.cutUpload("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	}},
	{name: "an answer whose origin gives up", holds: func(r *trial) error { // by RST_STREAM in HTTP/2
		o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		return r.isCut(o)
	}},
}

// notEach rules all ways out but some.
func notEach(but ...way) func(way) string {
	return func(w way) string {
		for _, b := range but {
			if w == b {
				return ""
			}
		}
		return "1 GiB takes a second or more; the rows above try smaller bodies on all ways"
	}
}

// upload sends bodies and has the origin compare them.
func (r *trial) upload(length bool, sizes ...int64) error {
	var size int64
	o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
		if want := map[bool]int64{true: size, false: -1}[length]; req.ContentLength != want && size > 0 {
			r.faultf("the origin was told of %d octets, want %d", req.ContentLength, want)
		}
		if err := same(req.Body, size); err != nil {
			r.faultf("an upload of %d octets: %w", size, err)
		}
	})
	tr := r.client()
	for _, size = range sizes {
		req := r.request("POST", o, "/", pattern(size))
		if req.ContentLength = -1; length {
			req.ContentLength = size
		}
		resp, err := r.send(tr, req)
		if err != nil {
			return fmt.Errorf("%d octets: %w", size, err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
			return mismatch(err, "%d octets: %s %q", size, resp.Status, body)
		}
	}
	return nil
}

// download has the client compare what the origin sends.
func (r *trial) download(length bool, sizes ...int64) error {
	var size int64
	o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
		if length {
			w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		}
		w.(http.Flusher).Flush() // or net/http counts the small ones
		_, _ = io.Copy(struct{ io.Writer }{w}, pattern(size))
	})
	tr := r.client()
	for _, size = range sizes {
		resp, err := r.send(tr, r.request("GET", o, "/", nil))
		if err != nil {
			return fmt.Errorf("%d octets: %w", size, err)
		}
		if want := map[bool]int64{true: size, false: -1}[length]; resp.ContentLength != want && size > 0 {
			return fmt.Errorf("the client was told of %d octets, want %d", resp.ContentLength, want)
		}
		if err := same(resp.Body, size); err != nil {
			return fmt.Errorf("%d octets: %w", size, err)
		}
	}
	return nil
}

func (r *trial) trailers(body string) error {
	o := r.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum, X-Never")
		_, _ = io.WriteString(w, body)
		w.Header().Set("X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"X-Late", "late")
	})
	resp, err := r.do("GET", o, "/", nil, "Te: trailers")
	if err != nil {
		return err
	}
	if _, announced := resp.Trailer["X-Sum"]; !announced {
		r.faultf("the trailer was not announced: %v, %v", resp.Header, resp.Trailer)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != body {
		return mismatch(err, "%d octets of %d", len(got), len(body))
	}
	if got := resp.Trailer; got.Get("X-Sum") != "42" || got.Get("X-Late") != "late" || got.Get("X-Never") != "" {
		return fmt.Errorf("the client got the trailers %v", got)
	}
	return nil
}

// cutUpload has the client hang up within a body, and wants the origin to see
// that it is not whole.
func (r *trial) cutUpload(octets string) error {
	ended := make(chan struct{})
	o := r.serve(func(_ http.ResponseWriter, req *http.Request) {
		defer close(ended)
		if body, err := io.ReadAll(req.Body); err == nil {
			r.faultf("the origin took %q for the whole", body)
		}
	})
	c, err := r.dial(o)
	if err != nil {
		return err
	}
	head := strings.TrimSuffix(c.head("POST", "/"), "\r\n")
	if err := c.writeAll(head + octets); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // let some of it arrive
	c.Close()
	if !r.wait(ended) {
		return errors.New("the origin waits for the rest")
	}
	return nil
}

func (r *trial) cut(octets string) error {
	return r.isCut(r.script(func(c *wire, _ message) bool {
		_ = c.writeAll("HTTP/1.1 200 OK\r\n" + octets)
		return false
	}))
}

// isCut wants the client to see that an answer is not whole.
func (r *trial) isCut(o string) error {
	resp, err := r.do("GET", o, "/", nil)
	if err != nil {
		return fmt.Errorf("what did come was to be shown: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		return fmt.Errorf("the client took %q for the whole", body)
	}
	if !bytes.HasPrefix(body, []byte("hello")) {
		return fmt.Errorf("the client got %q", body)
	}
	return nil
}
