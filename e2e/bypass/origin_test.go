package bypass

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/e2e/root"
)

// origin serves every host name, by http and by https, and keeps all octets that
// reach it.
type origin struct {
	plain, secure string // host:port
	roots         string // a file with the root of its certificates

	mu      sync.Mutex
	robots  map[string]string // by host; a host without one answers 404
	pages   map[string]http.HandlerFunc
	streams []*stream
}

// stream is what came on a connection.
type stream struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{robots: map[string]string{}, pages: map[string]http.HandlerFunc{}}
	issuer, err := root.New()
	if err != nil {
		t.Fatal(err)
	}
	o.roots = filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(o.roots, issuer.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	o.plain = o.listen(t, nil)
	o.secure = o.listen(t, &tls.Config{GetCertificate: issuer.Certificate, NextProtos: []string{"http/1.1"}})
	return o
}

func (o *origin) listen(t *testing.T, c *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if c != nil {
		l = tls.NewListener(l, c)
	}
	s := &http.Server{Handler: o, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(tapped{l, o}) }() // ErrServerClosed
	t.Cleanup(func() { s.Close(); <-done })
	return addr
}

// tapped keeps what is read of the connections of a listener.
type tapped struct {
	net.Listener
	o *origin
}

func (l tapped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s := &stream{}
	l.o.mu.Lock()
	l.o.streams = append(l.o.streams, s)
	l.o.mu.Unlock()
	return tap{c, s}, nil
}

type tap struct {
	net.Conn
	s *stream
}

func (t tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.s.mu.Lock()
	t.s.got.Write(p[:n])
	t.s.mu.Unlock()
	return n, err
}

// ServeHTTP answers a page that is what was asked for.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	o.mu.Lock()
	robots, known := o.robots[host]
	page := o.pages[r.URL.Path]
	o.mu.Unlock()
	switch {
	case page != nil:
		page(w, r)
	case r.RequestURI == "/robots.txt" && known:
		_, _ = io.WriteString(w, robots) // the asker may be gone
	case r.RequestURI == "/robots.txt":
		http.NotFound(w, r)
	default:
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "reached "+r.RequestURI) // the asker may be gone
	}
}

// serve gives a host a robots.txt.
func (o *origin) serve(host, robots string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.robots[host] = robots
}

// saw tells whether text stands in what came on any connection.
func (o *origin) saw(text string) bool { return len(o.around(text)) > 0 }

// around is the request that has text in it, as it came; empty if there is none.
func (o *origin) around(text string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		s.mu.Lock()
		got := s.got.String()
		s.mu.Unlock()
		at := strings.Index(got, text)
		if at < 0 {
			continue
		}
		begin := strings.LastIndex(got[:at], "\r\n\r\n")
		if begin < 0 {
			begin = -4
		}
		end := strings.Index(got[at:], "\r\n\r\n")
		if end < 0 {
			end = len(got) - at
		}
		return got[begin+4 : at+end]
	}
	return ""
}
