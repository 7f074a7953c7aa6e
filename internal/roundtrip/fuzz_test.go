package roundtrip

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What the look lets through must end where the parser stops, and have one body
// whoever reads it.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.0 200 OK\r\ntransfer-encoding:\r\n\tchunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: y\r\n \r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nX: y\r\n \n\nbody",
		"HTTP/1.1 200 OK\r\n\r\r\n\r\n",
		"HTTP/1.1 200 OK\r\n X: y\r\n\r\n",
		"HTTP/0.9 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"\r\nHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX",
		"HTTP/1.1 200 OK\r\nX: y\r\n ",
	} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 100)
	}
	f.Fuzz(func(t *testing.T, octets []byte, step int) {
		const limit = 1 << 12
		c := &conn{transport: &Transport{base: &http.Transport{MaxResponseHeaderBytes: limit}}}
		source := &stepping{octets, max(1, step%1000)}
		c.reader = bufio.NewReaderSize(source, 64)
		c.Conn = readOnly{Reader: source}
		head, err := c.head()
		if err != nil {
			return
		}
		if len(head) > limit {
			t.Fatalf("%d octets were let through", len(head))
		}
		if len(head) > len(octets) || unspaced(head) != unspaced(octets[:len(head)]) {
			t.Fatalf("%q is not how it came: %q", head, octets)
		}
		section, before := string(head), len(octets)
		resp, err := http.ReadResponse(c.reader, &http.Request{Method: "GET"})
		if err != nil {
			return
		}
		left := c.reader.Buffered() + len(source.octets)
		if before-left != len(section) {
			t.Fatalf("the look ends after %d octets, the parser after %d: %q", len(section), before-left, octets)
		}
		for name := range resp.Header {
			if strings.HasSuffix(name, " ") {
				t.Fatalf("the name %q has a blank behind it: %q", name, octets)
			}
		}
		judge(t, section, resp)
	})
}

// unspaced is a header section without what may change its place in it.
func unspaced(b []byte) string { return strings.NewReplacer(" ", "", ":", "").Replace(string(b)) }

// judge finds faults of framing in another way than the look does.
func judge(t *testing.T, section string, resp *http.Response) {
	t.Helper()
	var length, coding bool
	for i, line := range strings.Split(section, "\n") {
		name, _, isField := strings.Cut(line, ":")
		if i == 0 || !isField || name != "" && strings.ContainsAny(name[:1], " \t") {
			continue
		}
		switch strings.ToLower(strings.TrimRight(name, " \t")) {
		case "content-length":
			length = true
		case "transfer-encoding":
			coding = true
		}
	}
	if length && coding || coding && !resp.ProtoAtLeast(1, 1) {
		t.Fatalf("two readers take different parts for the body: %q", section)
	}
	if coding && len(resp.TransferEncoding) == 0 && resp.StatusCode > 199 {
		t.Fatalf("the parser did not see the coding: %q", section)
	}
}

type stepping struct {
	octets []byte
	step   int
}

func (s *stepping) Read(p []byte) (int, error) {
	if len(s.octets) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.octets)
	s.octets = s.octets[n:]
	return n, nil
}
