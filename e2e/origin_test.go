package e2e

import (
	"context"
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

// seen is one request as it reached an origin.
type seen struct {
	scheme, host, method, target, agent string
	at                                  time.Time // when it came
	began                               time.Time // when the first came of its connection
	ended                               bool      // whoever sent it had gone before it was read: it may have come earlier
}

// origin is a local server for http and https that serves every host name and
// keeps a log of what it was asked: the witness.
type origin struct {
	httpAddr, httpsAddr string
	rootFile            string // PEM of the root that its certificates come from

	mu     sync.Mutex
	robots map[string]string // by host name; a host without one answers 404
	pages  map[string]http.HandlerFunc
	log    []seen
}

// newOrigin starts an origin that is closed when the test ends. Pages answers
// a path; a path that is not in it gets the host and target as text.
func newOrigin(t testing.TB, robots map[string]string, pages map[string]http.HandlerFunc) *origin {
	t.Helper()
	return newOriginOf(t, robots, pages, "h2", "http/1.1")
}

// newOriginOf is newOrigin with the versions that are spoken inside TLS.
func newOriginOf(t testing.TB, robots map[string]string, pages map[string]http.HandlerFunc, versions ...string) *origin {
	t.Helper()
	o := &origin{robots: robots, pages: pages}
	root := newTestRoot(t)
	o.rootFile = filepath.Join(t.TempDir(), "test-root.pem")
	if err := os.WriteFile(o.rootFile, root.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	o.httpAddr = serveOrigin(t, o.handler("http"), nil)
	o.httpsAddr = serveOrigin(t, o.handler("https"), &tls.Config{
		GetCertificate: root.Certificate,
		NextProtos:     versions,
	})
	return o
}

func serveOrigin(t testing.TB, h http.Handler, c *tls.Config) string {
	t.Helper()
	l, err := stamping.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{
		Handler: h, TLSConfig: c, ReadHeaderTimeout: time.Minute,
		ErrorLog:    log.New(io.Discard, "", 0), // a refused handshake is what some tests want
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c == nil {
			_ = s.Serve(arrivals{l}) // ErrServerClosed
		} else {
			_ = s.ServeTLS(arrivals{l}, "", "") // ErrServerClosed
		}
	}()
	t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}

type connKey struct{}

// arrivalOf is when a request came, which is when the last was read of its
// connection, and when the first came of that. In HTTP/2 more may have been read
// since.
func arrivalOf(r *http.Request) (at, began time.Time, ended bool) {
	conn := r.Context().Value(connKey{})
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c := conn.(*stampedConn)
	return *c.last.Load(), *c.first.Load(), c.ended.Load()
}

func (o *origin) handler(scheme string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, began, ended := arrivalOf(r)
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		o.mu.Lock()
		o.log = append(o.log, seen{scheme, r.Host, r.Method, r.RequestURI, r.UserAgent(), at, began, ended})
		robots, ok := o.robots[host]
		page := o.pages[r.URL.Path]
		o.mu.Unlock()
		switch {
		case page != nil:
			page(w, r)
		case r.RequestURI == "/robots.txt" && ok:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(robots)) // the asker may be gone
		case r.RequestURI == "/robots.txt":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(scheme + " " + host + " " + r.RequestURI)) // the asker may be gone
		}
	})
}

// requests returns the log's entries whose target begins with prefix.
func (o *origin) requests(prefix string) []seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []seen
	for _, s := range o.log {
		if strings.HasPrefix(s.target, prefix) {
			found = append(found, s)
		}
	}
	return found
}

// connectTo is what leads every host name to this origin.
func (o *origin) connectTo() []string {
	return []string{
		"--connect-to", ":80:" + o.httpAddr,
		"--connect-to", ":443:" + o.httpsAddr,
		"--allow-address", "127.0.0.0/8",
	}
}

// newTestRoot makes a root that origins' certificates come from.
func newTestRoot(t testing.TB) *root.Root {
	t.Helper()
	r, err := root.New()
	if err != nil {
		t.Fatal(err)
	}
	return r
}
