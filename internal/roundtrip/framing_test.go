package roundtrip

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// reciter is an origin that answers each request with the next of its texts, so
// many octets at a time.
func reciter(t *testing.T, c *tls.Config, step int, texts ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		l = tls.NewListener(l, c)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			recite(conn, step, texts)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func recite(conn net.Conn, step int, texts []string) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReader(conn)
	for _, text := range texts {
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		for text != "" {
			n := min(step, len(text))
			if _, err := io.WriteString(conn, text[:n]); err != nil {
				return
			}
			text = text[n:]
		}
	}
}

func TestFraming(t *testing.T) {
	const (
		sized   = "Content-Length: 5\r\n"
		chunked = "Transfer-Encoding: chunked\r\n"
		chunks  = "\r\n5\r\nhello\r\n0\r\n\r\n"
	)
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for _, r := range []struct {
		why   string
		texts []string // the last is what counts
		want  error
	}{
		{"a length", []string{"HTTP/1.1 200 OK\r\n" + sized + "\r\nhello"}, nil},
		{"chunks", []string{"HTTP/1.1 200 OK\r\n" + chunked + chunks}, nil},
		{"both", []string{"HTTP/1.1 200 OK\r\n" + sized + chunked + chunks}, errLengthAndCoding},
		{"both, in other order and letters", []string{"HTTP/1.1 200 OK\r\ntransfer-ENCODING:chunked\r\nX: y\r\ncontent-length:5\r\n" + chunks}, errLengthAndCoding},
		{"both, with a blank before the colon", []string{"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n" + chunked + chunks}, errLengthAndCoding},
		{"both, with bare line feeds", []string{strings.ReplaceAll("HTTP/1.1 200 OK\r\n"+sized+chunked+chunks, "\r\n", "\n")}, errLengthAndCoding},
		{"chunks in HTTP/1.0", []string{"HTTP/1.0 200 OK\r\n" + chunked + chunks}, errCodingInOld},
		{"a length in HTTP/1.0", []string{"HTTP/1.0 200 OK\r\n" + sized + "\r\nhello"}, nil},
		{"both after 103", []string{"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n" + sized + chunked + chunks}, errLengthAndCoding},
		{"one after 103 that has the other", []string{"HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n" + chunked + chunks}, nil},
		{"both in the second response", []string{"HTTP/1.1 200 OK\r\n" + sized + "\r\nhello", "HTTP/1.1 200 OK\r\n" + sized + chunked + chunks}, errLengthAndCoding},
		{"one in each", []string{"HTTP/1.1 200 OK\r\n" + sized + "\r\nhello", "HTTP/1.1 200 OK\r\n" + chunked + chunks}, nil},
		{"in the body", []string{"HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\na\r\n\r\nTransfer-Encoding: chunked\r\n\r\n"}, nil},
		{"a value that names the other", []string{"HTTP/1.1 200 OK\r\n" + sized + "X: Transfer-Encoding: chunked\r\n\r\nhello"}, nil},
		{"a long line", []string{"HTTP/1.1 200 OK\r\n" + sized + "X-" + strings.Repeat("x", 5000) + ": y\r\nTransfer-Encoding: chunked\r\n" + chunks}, errLengthAndCoding},
	} {
		for _, c := range []*tls.Config{nil, {Certificates: server.TLS.Certificates}} {
			for _, step := range []int{1, 1 << 20} {
				scheme := "http"
				if c != nil {
					scheme = "https"
				}
				addr := reciter(t, c, step, r.texts...)
				tr := newTransport(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, TLSHandshakeTimeout: 5 * time.Second})
				var err error
				for range r.texts {
					if err = ask(tr, request(t, scheme+"://"+addr+"/page")); err != nil {
						break
					}
				}
				if !errors.Is(err, r.want) {
					t.Errorf("%s, %s, %d at a time: %v, want %v", r.why, scheme, step, err, r.want)
				}
				tr.CloseIdleConnections()
			}
		}
	}
}

// newTransport returns a Transport with the limits of base.
func newTransport(base *http.Transport) *Transport {
	base.DialContext = new(net.Dialer).DialContext
	return New(Config{Base: base})
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func ask(tr http.RoundTripper, req *http.Request) error {
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func TestHTTP2IsSpokenWhereItIsOffered(t *testing.T) {
	var two atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			two.Add(1)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	tr := newTransport(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true})
	defer tr.CloseIdleConnections()
	for range 2 {
		if err := ask(tr, request(t, server.URL+"/page")); err != nil {
			t.Fatal(err)
		}
	}
	if two.Load() != 2 {
		t.Errorf("%d of 2 requests came in HTTP/2", two.Load())
	}
}

func TestHandshakeIsDueInTime(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	tr := newTransport(&http.Transport{TLSClientConfig: &tls.Config{}, TLSHandshakeTimeout: 100 * time.Millisecond})
	began := time.Now()
	err = ask(tr, request(t, "https://"+silent.Addr().String()+"/page"))
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v, want the time to be over after 100 ms", err, time.Since(began))
	}
}
