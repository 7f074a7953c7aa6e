package serving_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"heed/internal/serving"
)

// TestTLS: a watch that ends leaves the connection as it was, in the middle of a
// record, too; and a client that goes away is noticed.
func TestTLS(t *testing.T) {
	gone := make(chan time.Duration, 1)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			t.Error("the request does not know of TLS")
		}
		began := time.Now()
		if r.URL.Path == "/wait" {
			<-r.Context().Done()
			gone <- time.Since(began)
			return
		}
		time.Sleep(150 * time.Millisecond)
		if err := r.Context().Err(); err != nil {
			t.Errorf("ended: %v", err)
		}
		echo(w, r)
	}
	c, cut := startTLS(t, handler)
	for range 3 {
		c.send(post("/", "hello"))
		c.says(http.StatusOK, "POST / hello")
	}
	c.send(get("/1"))
	cut.cut(t, func() { c.send(get("/2")) }) // a part of its record comes while the first is answered
	c.says(http.StatusOK, "GET /1 ")
	cut.rest(t)
	c.says(http.StatusOK, "GET /2 ")
	c.send(get("/wait"))
	time.Sleep(150 * time.Millisecond)
	_ = c.Close()
	if d := <-gone; d > 3*time.Second {
		t.Errorf("noticed after %s", d)
	}
}

// cutConn can hold the second half of what is written.
type cutConn struct {
	net.Conn
	cutting bool
	held    []byte
}

func (c *cutConn) Write(b []byte) (int, error) {
	if !c.cutting {
		return c.Conn.Write(b)
	}
	c.held = append(c.held, b[len(b)/2:]...)
	if _, err := c.Conn.Write(b[:len(b)/2]); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *cutConn) cut(t *testing.T, send func()) {
	t.Helper()
	c.cutting = true
	send()
	c.cutting = false
}

func (c *cutConn) rest(t *testing.T) {
	t.Helper()
	if _, err := c.Conn.Write(c.held); err != nil {
		t.Fatal(err)
	}
}

// startTLS serves one connection inside TLS.
func startTLS(t *testing.T, handler http.HandlerFunc) (*client, *cutConn) {
	t.Helper()
	other := httptest.NewUnstartedServer(nil) // for its certificate
	other.StartTLS()
	t.Cleanup(other.Close)
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = nc.Write([]byte("go")) // the handshake is not to come early
		inner := serving.New(serving.Config{
			Handler: handler, Malformed: malformed, IdleTimeout: 5 * time.Second,
			Socket: func(c net.Conn) net.Conn { return c.(*tls.Conn).NetConn() },
		})
		secure := tls.Server(nc, &tls.Config{Certificates: other.TLS.Certificates, MinVersion: tls.VersionTLS12})
		inner.ServeConn(context.Background(), secure, func(r *http.Request) { r.TLS = new(secure.ConnectionState()) })
	})
	c := s.ask("CONNECT a:1 HTTP/1.1\r\n\r\n")
	if _, err := io.ReadFull(c.r, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(other.Certificate())
	cut := &cutConn{Conn: c}
	secure := tls.Client(cut, &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &client{Conn: secure, t: t, r: bufio.NewReader(secure)}, cut
}
