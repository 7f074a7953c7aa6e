package roundtrip

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what must happen, and does so at once unless there is a fault.
const patience = 10 * time.Second

// authority is what signs for 127.0.0.1, and for example.com.
var authority = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return s
})

func roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(authority().Certificate())
	return pool
}

func serverTLS() *tls.Config { return &tls.Config{Certificates: authority().TLS.Certificates} }

// origin is one on real TCP whose connections each go to a function.
type origin struct {
	addr     string
	accepted atomic.Int64
	open     atomic.Int64
}

// newOrigin gives each connection to serve, with its number from 1 on. It is
// closed when serve returns.
func newOrigin(t testing.TB, c *tls.Config, serve func(c *peer, n int64)) *origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{addr: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			n := o.accepted.Add(1)
			o.open.Add(1)
			all.Go(func() {
				defer o.open.Add(-1)
				defer raw.Close()
				_ = raw.SetDeadline(time.Now().Add(patience))
				p := &peer{raw: raw, joined: &joined{Conn: raw}}
				p.Conn = p.joined
				if c != nil {
					p.Conn = tls.Server(p.joined, c)
				}
				p.in = bufio.NewReader(p.Conn)
				serve(p, n)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return o
}

func (o *origin) url(secure bool) string {
	if secure {
		return "https://" + o.addr + "/"
	}
	return "http://" + o.addr + "/"
}

// peer is the origin's end of a connection.
type peer struct {
	net.Conn
	raw    net.Conn
	joined *joined
	in     *bufio.Reader
}

// request reads a request and its body; nil is the end.
func (p *peer) request() *http.Request {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return r
}

// say writes texts, each by itself, which are sent in one go.
func (p *peer) say(texts ...string) {
	p.joined.hold()
	for _, s := range texts {
		_, _ = io.WriteString(p.Conn, s)
	}
	p.joined.flush()
}

// joined is a connection that can send several writes as one.
type joined struct {
	net.Conn
	mu   sync.Mutex
	held *bytes.Buffer
}

func (j *joined) hold() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held = new(bytes.Buffer)
}

func (j *joined) flush() {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.Conn.Write(j.held.Bytes())
	j.held = nil
}

func (j *joined) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held != nil {
		return j.held.Write(b)
	}
	return j.Conn.Write(b)
}

// ok is an answer with a body.
func ok(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// newClient returns a Transport that trusts authority. change may be nil.
func newClient(t testing.TB, change func(*http.Transport)) *Transport {
	t.Helper()
	base := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots()},
		TLSHandshakeTimeout: patience,
		MaxIdleConnsPerHost: 8,
		DialContext:         new(net.Dialer).DialContext,
		DisableCompression:  true,
	}
	if change != nil {
		change(base)
	}
	tr := New(Config{Base: base})
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// fetch makes a request and returns the body of its answer.
func fetch(tr http.RoundTripper, req *http.Request) (status int, body string, err error) {
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func newRequest(t testing.TB, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// eventually waits for something that another goroutine does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal("not in time: " + what)
		}
	}
}

// closings counts how often a body is closed.
type closings struct {
	io.Reader
	n atomic.Int64
}

func (c *closings) Close() error { c.n.Add(1); return nil }

func tlsIf(secure bool) *tls.Config {
	if secure {
		return serverTLS()
	}
	return nil
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

func netipAddr(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}) }

// readOnly is a connection of which only Read is used.
type readOnly struct {
	net.Conn
	io.Reader
}

func (r readOnly) Read(p []byte) (int, error) { return r.Reader.Read(p) }
