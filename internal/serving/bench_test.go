package serving_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"

	"heed/internal/serving"
)

// BenchmarkExchange answers small requests on one connection: nearly all of what
// it allocates is net/http's parser's, and the context's.
func BenchmarkExchange(b *testing.B) {
	body := []byte("hello\n")
	benchmark(b, []byte("GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"),
		func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Content-Length"] = []string{"6"}
			h["Content-Type"] = []string{"text/plain"}
			_, _ = w.Write(body)
		})
}

// BenchmarkChunked answers in chunks, written one by one and copied, and reads a
// body in chunks.
func BenchmarkChunked(b *testing.B) {
	part := bytes.Repeat([]byte("x"), 1000)
	request := []byte("POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	b.Run("Write", func(b *testing.B) {
		benchmark(b, request, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for range 20 {
				_, _ = w.Write(part)
			}
		})
	})
	b.Run("ReadFrom", func(b *testing.B) {
		all := bytes.Repeat(part, 20)
		benchmark(b, request, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = w.(io.ReaderFrom).ReadFrom(bytes.NewReader(all))
		})
	})
}

// benchmark has a request answered over and over; the answer must be as long
// each time.
func benchmark(b *testing.B, request []byte, handler http.HandlerFunc) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := serving.New(serving.Config{Handler: handler, Malformed: func(net.Conn, *serving.Fault) []byte { return nil }})
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	length := answerLength(b, c, request)
	answer := make([]byte, length)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(length))
}

// answerLength is how many octets the answer to a request has.
func answerLength(b *testing.B, c net.Conn, request []byte) int {
	b.Helper()
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	answer, buf := []byte(nil), make([]byte, 64<<10)
	for !bytes.HasSuffix(answer, []byte("hello\n")) && !bytes.HasSuffix(answer, []byte("\r\n0\r\n\r\n")) {
		n, err := c.Read(buf)
		if err != nil {
			b.Fatal(err)
		}
		answer = append(answer, buf[:n]...)
	}
	return len(answer)
}
