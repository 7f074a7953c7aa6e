package serving_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"heed/internal/serving"
)

// TestFraming compares whole answers, octet by octet.
func TestFraming(t *testing.T) {
	write := func(s string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = io.WriteString(w, s) }
	}
	status := func(n int, then ...func(http.ResponseWriter)) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(n)
			for _, f := range then {
				f(w)
			}
		}
	}
	with := func(name, value string, then func(http.ResponseWriter)) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header()[name] = append(w.Header()[name], value)
			then(w)
		}
	}
	nothing := func(http.ResponseWriter) {}
	for _, test := range []struct {
		why, method, version string
		handler              func(http.ResponseWriter)
		want                 string
		open                 bool // the connection goes on
	}{
		{"nothing is an empty 200", "GET", "1.1", nothing, "200 OK\r\nContent-Length: 0\r\n\r\n", true},
		{"nothing, to HEAD, says no length", "HEAD", "1.1", nothing, "200 OK\r\n\r\n", true},
		{"nothing, to HEAD, with the length of GET", "HEAD", "1.1", with("Content-Length", "5", nothing), "200 OK\r\nContent-Length: 5\r\n\r\n", true},
		{"nothing, though a length was said", "GET", "1.1", with("Content-Length", "5", nothing), "200 OK\r\nContent-Length: 5\r\n\r\n", false},
		{"a length", "GET", "1.1", with("Content-Length", "2", write("ok")), "200 OK\r\nContent-Length: 2\r\n\r\nok", true},
		{"no length", "GET", "1.1", write("ok"), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"an empty write is no chunk", "GET", "1.1", write(""), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
		{"no length, 1.0", "GET", "1.0", write("ok"), "200 OK\r\nConnection: close\r\n\r\nok", false},
		{"a length, 1.0", "GET", "1.0", with("Content-Length", "2", write("ok")), "200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", true},
		{"two lengths are none", "GET", "1.1", with("Content-Length", "2", with("Content-Length", "3", write("ok"))), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"a length that is no number", "GET", "1.1", with("Content-Length", "+2", write("ok")), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"a negative length", "GET", "1.1", with("Content-Length", "-2", write("ok")), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"a list of lengths", "GET", "1.1", with("Content-Length", "2, 2", write("ok")), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"a handler's coding is not its to say", "GET", "1.1", with("Transfer-Encoding", "gzip", write("ok")), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"a coding and a length", "GET", "1.1", with("Transfer-Encoding", "chunked", with("Content-Length", "2", write("ok"))), "200 OK\r\nContent-Length: 2\r\n\r\nok", true},
		{"HEAD, written to", "HEAD", "1.1", with("Content-Length", "2", write("ok")), "200 OK\r\nContent-Length: 2\r\n\r\n", true},
		{"HEAD, no length", "HEAD", "1.1", write("ok"), "200 OK\r\n\r\n", true},
		{"HEAD, 1.0, no length", "HEAD", "1.0", write("ok"), "200 OK\r\nConnection: keep-alive\r\n\r\n", true},
		{"204", "GET", "1.1", with("Content-Length", "2", status(204)), "204 No Content\r\n\r\n", true},
		{"204 with a coding", "GET", "1.1", with("Transfer-Encoding", "chunked", status(204)), "204 No Content\r\n\r\n", true},
		{"204, 1.0", "GET", "1.0", status(204), "204 No Content\r\nConnection: keep-alive\r\n\r\n", true},
		{"304 has the length of 200", "GET", "1.1", with("Content-Length", "2", status(304)), "304 Not Modified\r\nContent-Length: 2\r\n\r\n", true},
		{"205", "GET", "1.1", with("Content-Length", "0", status(205)), "205 Reset Content\r\nContent-Length: 0\r\n\r\n", true},
		{"101 ends HTTP", "GET", "1.1", with("Connection", "Upgrade", with("Content-Length", "2", status(101))), "101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n", false},
		{"102 and 103 come first", "GET", "1.1", status(102, status(103, status(200, with("Content-Length", "2", write("ok"))))), "102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"103 has no length", "GET", "1.1", with("Content-Length", "2", with("Link", "<x>", status(103, write("ok")))), "103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nLink: <x>\r\n\r\nok", true},
		{"103 is nothing to 1.0", "GET", "1.0", status(103, with("Content-Length", "2", write("ok"))), "200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", true},
		{"a status of its own", "GET", "1.1", with("Content-Length", "0", status(299)), "299 \r\nContent-Length: 0\r\n\r\n", true},
		{"the first status counts", "GET", "1.1", with("Content-Length", "0", status(404, status(200))), "404 Not Found\r\nContent-Length: 0\r\n\r\n", true},
		{"more than the length", "GET", "1.1", with("Content-Length", "2", write("okay")), "200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		{"less than the length", "GET", "1.1", with("Content-Length", "3", write("ok")), "200 OK\r\nContent-Length: 3\r\n\r\nok", false},
		{"values stay on their lines", "GET", "1.1", with("Content-Length", "0", with("X", "a\r\nSet-Cookie: b\n\x00c", nothing)), "200 OK\r\nContent-Length: 0\r\nX: a  Set-Cookie: b  c\r\n\r\n", true},
		{"names with line ends are left out", "GET", "1.1", with("Content-Length", "0", with("X: y\r\nZ", "a", with("", "b", nothing))), "200 OK\r\nContent-Length: 0\r\n\r\n", true},
		{"a trailer that was declared", "GET", "1.1", with("Trailer", "X, x,X", status(200, write("ok"), with("X", "y\r\nz", nothing))), "200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y  z\r\n\r\n", true},
		{"a trailer that was not", "GET", "1.1", status(200, write("ok"), with("Trailer:X", "y", nothing)), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", true},
		{"trailers that would frame", "GET", "1.1", with("Trailer", "Content-Length", status(200, write("ok"), with("Content-Length", "9", with("Trailer:Transfer-Encoding", "x", with("Trailer:A\r\nB", "x", nothing))))), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		{"a trailer without a body", "GET", "1.1", with("Trailer", "X", nothing), "200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
		{"a trailer behind a length is none", "GET", "1.1", with("Trailer", "X", with("Content-Length", "2", write("ok"))), "200 OK\r\nContent-Length: 2\r\n\r\nok", true},
	} {
		t.Run(test.why, func(t *testing.T) {
			s := start(t, func(w http.ResponseWriter, r *http.Request) {
				raw(w)
				if r.URL.Path == "/" {
					test.handler(w)
				}
			})
			fields := "Host: a\r\n"
			if test.version == "1.0" {
				fields += "Connection: keep-alive\r\n"
			}
			c := s.ask(test.method + " / HTTP/" + test.version + "\r\n" + fields + "\r\n")
			want := "HTTP/" + test.version + " " + test.want
			if test.open {
				c.send("GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				want += "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
			}
			if got := c.rest(); got != want {
				t.Errorf("\n got %q\nwant %q", got, want)
			}
		})
	}
}

// TestWriteSaysWhatBecameOfIt: what a handler is told.
func TestWriteSaysWhatBecameOfIt(t *testing.T) {
	type result struct {
		n   int64
		err error
	}
	for _, test := range []struct {
		why, method string
		status      int
		length      string
		do          func(w http.ResponseWriter) (int64, error)
		want        result
	}{
		{"as long as it is", "GET", 200, "4", writes("okay"), result{4, nil}},
		{"longer", "GET", 200, "2", writes("okay"), result{2, http.ErrContentLength}},
		{"longer, copied", "GET", 200, "2", copies("okay"), result{2, http.ErrContentLength}},
		{"shorter, copied", "GET", 200, "9", copies("okay"), result{4, nil}},
		{"HEAD", "HEAD", 200, "", writes("okay"), result{4, nil}},
		{"HEAD, copied", "HEAD", 200, "", copies("okay"), result{0, nil}},
		{"204", "GET", 204, "", writes("okay"), result{0, http.ErrBodyNotAllowed}},
		{"304", "GET", 304, "", writes("okay"), result{0, http.ErrBodyNotAllowed}},
		{"a source that fails", "GET", 200, "", func(w http.ResponseWriter) (int64, error) {
			return w.(io.ReaderFrom).ReadFrom(io.MultiReader(strings.NewReader("ok"), iotest.ErrReader(errSource)))
		}, result{2, errSource}},
	} {
		t.Run(test.why, func(t *testing.T) {
			results := make(chan result, 1)
			s := start(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.length != "" {
					w.Header()["Content-Length"] = []string{test.length}
				}
				w.WriteHeader(test.status)
				n, err := test.do(w)
				results <- result{n, err}
			})
			s.ask(test.method + " / HTTP/1.1\r\nHost: a\r\n\r\n")
			if got := <-results; got.n != test.want.n || !errors.Is(got.err, test.want.err) {
				t.Errorf("%d, %v; want %d, %v", got.n, got.err, test.want.n, test.want.err)
			}
		})
	}
}

var errSource = errors.New("the source failed")

func writes(s string) func(http.ResponseWriter) (int64, error) {
	return func(w http.ResponseWriter) (int64, error) {
		n, err := io.WriteString(w, s)
		return int64(n), err
	}
}

func copies(s string) func(http.ResponseWriter) (int64, error) {
	return func(w http.ResponseWriter) (int64, error) { return w.(io.ReaderFrom).ReadFrom(strings.NewReader(s)) }
}

// TestBodiesOfAllSizes: written, and copied in pieces of several sizes, with a
// length and without, with header sections up to more than the largest buffer.
func TestBodiesOfAllSizes(t *testing.T) {
	all := pattern(200_000)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		var size, head, piece int
		var how string
		if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d/%d/%s", &size, &head, &piece, &how); err != nil {
			t.Error(err)
		}
		body := all[:size]
		h := w.Header()
		if head > 0 {
			h["X"] = []string{repeat("h", head)}
		}
		if strings.HasPrefix(how, "length") {
			h["Content-Length"] = []string{fmt.Sprint(size)}
		}
		if strings.HasSuffix(how, "copy") {
			if n, err := w.(io.ReaderFrom).ReadFrom(&pieces{body, piece}); n != int64(size) || err != nil {
				t.Errorf("copied %d of %d: %v", n, size, err)
			}
			return
		}
		for len(body) > 0 {
			n, err := w.Write(body[:min(piece, len(body))])
			if err != nil {
				t.Error(err)
				return
			}
			body = body[n:]
		}
	})
	c := s.client()
	for _, size := range []int{0, 1, 15, 16, 255, 256, 4095, 4096, 8174, 8183, 8184, 8190, 8191, 8192, 8193, 16 << 10, 65527, 65528, 65535, 65536, 65537, 200_000} {
		for _, head := range []int{0, 6000, 9000, 70_000} {
			for _, piece := range []int{777, 8183, 1 << 20} {
				for _, how := range []string{"length-write", "length-copy", "chunks-write", "chunks-copy"} {
					target := fmt.Sprintf("/%d/%d/%d/%s", size, head, piece, how)
					c.send(get(target))
					if _, body := c.answer(http.MethodGet); body != string(all[:size]) {
						t.Fatalf("%s: %d octets, not those of the body", target, len(body))
					}
				}
			}
		}
	}
}

// TestBodyBehindAHeaderSectionOfMegabytes: what is made for that is not used for
// chunks, whose size has room for five digits.
func TestBodyBehindAHeaderSectionOfMegabytes(t *testing.T) {
	const size = 3 << 20
	for _, there := range []bool{false, true} { // the body, or nothing of it, when the header section goes
		s := start(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X"] = slices.Repeat([]string{repeat("h", 64<<10)}, 90) // with room behind it for another megabyte
			_, _ = w.(io.ReaderFrom).ReadFrom(ready{&pieces{pattern(size), size}, there})
		})
		if _, body := s.ask(get("/")).answer(http.MethodGet); body != string(pattern(size)) {
			t.Errorf("%d octets, not those of the body", len(body))
		}
	}
}

// pattern is octets of which no two places look alike.
func pattern(n int) []byte {
	b := make([]byte, 0, n+8)
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "%06x\r\n", i)
	}
	return b[:n]
}

// pieces is a reader that gives out as much at once.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.b)
	p.b = p.b[n:]
	return n, nil
}

// ready is a body that knows whether something has come.
type ready struct {
	io.Reader
	is bool
}

func (r ready) Ready() bool { return r.is }

// TestHeaderSectionIsNotHeldBackForABody: it goes first where nothing of the body
// has come, and parts of that go as they come.
func TestHeaderSectionIsNotHeldBackForABody(t *testing.T) {
	for _, length := range []string{"", "4"} {
		for _, knows := range []bool{true, false} {
			if length != "" && !knows {
				continue // of a known length, a body that does not know is expected to be there
			}
			source, sink := io.Pipe()
			s := start(t, func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header()["Content-Length"] = []string{length}
				}
				var body io.Reader = source
				if knows {
					body = ready{source, false}
				}
				_, _ = w.(io.ReaderFrom).ReadFrom(body)
			})
			c := s.ask(get("/"))
			resp, err := http.ReadResponse(c.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"ab", "cd"} {
				_, _ = io.WriteString(sink, part)
				b := make([]byte, 2)
				if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != part {
					t.Errorf("%q, %v", b, err)
				}
			}
			_ = sink.Close()
			_ = resp.Body.Close()
		}
	}
}

// TestLike: the order, the spelling, the phrase and the lines of another answer.
func TestLike(t *testing.T) {
	for _, test := range []struct {
		why     string
		status  int
		h       http.Header
		section string
		want    string
	}{
		{
			"order and case", 200,
			http.Header{"Content-Length": {"0"}, "Etag": {"x"}, "Server": {"s"}},
			"HTTP/1.1 200 OK\r\nserver: s\r\nETAG: x\r\ncontent-length: 0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nserver: s\r\nETAG: x\r\ncontent-length: 0\r\n\r\n",
		},
		{
			"values are the map's, what is new is behind", 200,
			http.Header{"Content-Length": {"0"}, "Via": {"v"}, "Etag": {"new"}},
			"HTTP/1.1 200 OK\r\nEtag: old\r\nServer: gone\r\n\r\n",
			"HTTP/1.1 200 OK\r\nEtag: new\r\nContent-Length: 0\r\nVia: v\r\n\r\n",
		},
		{
			"the phrase", 404,
			http.Header{"Content-Length": {"0"}},
			"HTTP/1.0 404 Nicht  da\xe4\r\n\r\n",
			"HTTP/1.1 404 Nicht  da\xe4\r\nContent-Length: 0\r\n\r\n",
		},
		{
			"no phrase", 404,
			http.Header{"Content-Length": {"0"}},
			"HTTP/1.1 404\r\n\r\n",
			"HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n",
		},
		{
			"the phrase of another status", 403,
			http.Header{"Content-Length": {"0"}},
			"HTTP/1.1 404 Gone fishing\r\n\r\n",
			"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
		},
		{
			"a phrase with a bare CR", 200,
			http.Header{"Content-Length": {"0"}},
			"HTTP/1.1 200 O\rK\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		},
		{
			"lines of one name stay apart, in their places", 200,
			http.Header{"Content-Length": {"0"}, "Set-Cookie": {"a", "b", "c"}},
			"HTTP/1.1 200 OK\r\nset-cookie: \r\nContent-Length: \r\nSet-Cookie: \r\n\r\n",
			"HTTP/1.1 200 OK\r\nset-cookie: a\r\nContent-Length: 0\r\nSet-Cookie: b\r\nSet-Cookie: c\r\n\r\n",
		},
		{
			"octets of eight bits", 200,
			http.Header{"Content-Length": {"0"}, "X": {"\xe4\xf6"}},
			"HTTP/1.1 200 OK\r\nx: \r\n\r\n",
			"HTTP/1.1 200 OK\r\nx: \xe4\xf6\r\nContent-Length: 0\r\n\r\n",
		},
		{
			"what belongs to the connection is our own, in its place", 200,
			http.Header{},
			"HTTP/1.1 200 OK\r\nX: \r\ntransfer-encoding: chunked\r\nY: \r\nconnection: keep-alive\r\n\r\n",
			"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
		},
		{
			"no section", 200,
			http.Header{"Content-Length": {"0"}, "B": {"b"}, "A": {"a"}},
			"",
			"HTTP/1.1 200 OK\r\nA: a\r\nB: b\r\nContent-Length: 0\r\n\r\n",
		},
	} {
		t.Run(test.why, func(t *testing.T) {
			s := start(t, func(w http.ResponseWriter, _ *http.Request) {
				test.h["Date"] = nil
				var section []byte
				if test.section != "" {
					section = []byte(test.section)
				}
				w.(*serving.Response).Like(test.h, section)
				w.WriteHeader(test.status)
				clear(section) // it is the caller's again
			})
			c := s.ask(get("/"))
			got := make([]byte, len(test.want))
			if _, err := io.ReadFull(c.r, got); err != nil || string(got) != test.want {
				t.Errorf("\n got %q %v\nwant %q", got, err, test.want)
			}
			_ = c.Close()
		})
	}
}

// TestDate is added where the key is absent.
func TestDate(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/none":
			w.Header()["Date"] = nil
		case "/own":
			w.Header()["Date"] = []string{"today"}
		}
	})
	c := s.ask(get("/") + get("/none") + get("/own"))
	resp, _ := c.answer(http.MethodGet)
	if _, err := http.ParseTime(resp.Header.Get("Date")); err != nil {
		t.Error(err)
	}
	resp, _ = c.answer(http.MethodGet)
	if _, there := resp.Header["Date"]; there {
		t.Error("a Date where there was to be none")
	}
	if resp, _ = c.answer(http.MethodGet); resp.Header.Get("Date") != "today" {
		t.Errorf("Date: %q", resp.Header.Get("Date"))
	}
}

// TestSectionOfARequest is as it came.
func TestSectionOfARequest(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusOK, string(w.(*serving.Response).Section()))
	})
	for _, section := range []string{
		"GET / HTTP/1.1\r\nhOST: a\r\nX:  y \r\nx:\tz\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\r\n\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + repeat("x", 10_000) + "\r\n\r\n",
	} {
		s.ask(section).says(http.StatusOK, section)
	}
}

// TestWritingBehindTheEnd fails, and reaches no other answer.
func TestWritingBehindTheEnd(t *testing.T) {
	late := make(chan http.ResponseWriter, 1)
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusOK, "ok")
		select {
		case late <- w:
		default:
		}
	})
	c := s.ask(get("/"))
	c.says(http.StatusOK, "ok")
	c.send(get("/")) // its answer shows that the first one is over
	c.says(http.StatusOK, "ok")
	w := <-late
	if _, err := io.WriteString(w, repeat("late", 100_000)); err == nil {
		t.Error("writing succeeded")
	}
	if err := http.NewResponseController(w).Flush(); err == nil {
		t.Error("flushing succeeded")
	}
	if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
		t.Error("taking it over succeeded")
	}
	c.send(get("/"))
	c.says(http.StatusOK, "ok")
}
