package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/ca"
	"heed/internal/dial"
	"heed/internal/origin"
	"heed/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// rig is a Proxy on loopback with a CA and a dialer of its own.
type rig struct {
	proxy    *Proxy
	addr     string
	ca       *ca.CA
	policies *policies
	log      *buffer
	entries  chan *audit.Entry
	serving  chan error
}

// start serves a Proxy until the test ends; set may change its Config.
func start(t testing.TB, set ...func(*Config)) *rig {
	t.Helper()
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := dial.New(dial.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{ca: authority, policies: new(policies), log: new(buffer), entries: make(chan *audit.Entry, 10_000), serving: make(chan error, 1)}
	c := Config{
		Policies:  r.policies,
		Leaves:    ca.NewIssuer(authority, 0),
		Dial:      dialer.DialContext,
		Authority: Authority{PEM: authority.PEM(), DER: authority.DER(), Fingerprint: authority.Fingerprint()},
		Roots:     originRoots(),
		Record:    func(e *audit.Entry) { r.entries <- e.Clone() },
		Log:       zerolog.New(r.log),
		Version:   "1.2.3",
	}
	for _, f := range set {
		f(&c)
	}
	r.proxy = New(c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	go func() { r.serving <- r.proxy.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // whatever is open is cut off
		_ = r.proxy.Shutdown(ctx)
		if err := <-r.serving; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// entry returns the next exchange that was recorded.
func (r *rig) entry(t testing.TB) *audit.Entry {
	t.Helper()
	select {
	case e := <-r.entries:
		return e
	case <-time.After(patience):
		t.Fatal("no exchange was recorded")
		return nil
	}
}

// entryOf returns the next exchange recorded of a channel.
func (r *rig) entryOf(t testing.TB, c audit.Channel) *audit.Entry {
	t.Helper()
	for {
		if e := r.entry(t); e.Channel == c {
			return e
		}
	}
}

// client returns a client that is told of the proxy and trusts its CA.
func (r *rig) client(t testing.TB, h2 bool) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	tr := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: r.addr}),
		TLSClientConfig:    &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2:  h2,
		DisableCompression: true,
	}
	if !h2 {
		tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// policies is a fake of Policies. What it was not told of has no rules.
type policies struct {
	mu    sync.Mutex
	by    map[string]*policy.Snapshot // by origin
	asked []origin.Origin
	hook  func(context.Context, origin.Origin) (policy.Snapshot, error)
}

// Remembered has what it was told of, unless there is a hook.
func (p *policies) Remembered(o origin.Origin, _ time.Time) (policy.Snapshot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.by[o.String()]
	if p.hook != nil || s == nil {
		return policy.Snapshot{}, false
	}
	p.asked = append(p.asked, o)
	return *s, true
}

func (p *policies) Snapshot(ctx context.Context, o origin.Origin) (policy.Snapshot, error) {
	p.mu.Lock()
	p.asked = append(p.asked, o)
	s, known := p.by[o.String()]
	hook := p.hook
	p.mu.Unlock()
	switch {
	case hook != nil:
		return hook(ctx, o)
	case known && s == nil:
		return policy.Snapshot{}, nil
	case known:
		return *s, nil
	}
	return *rules(o.String(), ""), nil
}

// Await asks for as long as the fetch may take.
func (p *policies) Await(ctx context.Context, o origin.Origin, patience Patience) (policy.Snapshot, Held, error) {
	return awaitUnpaced(ctx, p, o, patience)
}

// awaitUnpaced is Await where no fetch waits for its turn.
func awaitUnpaced(ctx context.Context, p Policies, o origin.Origin, patience Patience) (policy.Snapshot, Held, error) {
	ctx, cancel := context.WithTimeout(ctx, patience.Wait)
	defer cancel()
	s, err := p.Snapshot(ctx, o)
	return s, Held{}, err
}

// set says what the robots.txt of an origin is.
func (p *policies) set(origin string, s *policy.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]*policy.Snapshot{}
	}
	p.by[origin] = s
}

// rules is a robots.txt that was fetched a while ago.
func rules(origin, body string) *policy.Snapshot {
	fetched := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return &policy.Snapshot{
		URL: origin + "/robots.txt", Access: policy.Successful, Status: 200, Size: len(body),
		Rules: policy.Compile([]byte(body), policy.Options{}), Fetched: fetched, Checked: fetched,
	}
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newOrigin serves h over plain HTTP and returns its origin.
func newOrigin(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// newTLSOrigin serves h over TLS and returns its origin.
func newTLSOrigin(t testing.TB, h2 bool, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = h2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// originCertificate is that of the origins of newTLSOrigin.
var originCertificate = sync.OnceValue(func() *x509.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.Certificate()
})

// originRoots is who vouches for them.
func originRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(originCertificate())
	return pool
}

// modeIs sets what is done with TLS inside a CONNECT.
func modeIs(m Mode) func(*Config) {
	return func(c *Config) { c.Mode = func(origin.Origin, *agent.Client) (Mode, string) { return m, "" } }
}

// script is an origin that reads the header of a request and then does what
// answer says with the connection, which is closed when it returns. It returns
// its host:port, and the octets of each header.
func script(t testing.TB, answer func(net.Conn)) (string, <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 100)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				header, err := readHeader(c)
				if err == nil {
					seen <- header
					answer(c)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Wait()
	})
	return l.Addr().String(), seen
}

// readHeader takes a header off a connection and nothing more.
func readHeader(c net.Conn) (string, error) {
	var header []byte
	b := make([]byte, 1)
	for !bytes.HasSuffix(header, []byte("\r\n\r\n")) {
		if _, err := io.ReadFull(c, b); err != nil {
			return "", err
		}
		header = append(header, b[0])
	}
	return string(header), nil
}

// write answers with these octets.
func write(octets string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, octets) }
}

// wire is a connection to the proxy on which a test writes octets.
type wire struct {
	net.Conn
	r *bufio.Reader
}

// dial connects to the proxy.
func (r *rig) dial(t testing.TB) *wire {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return &wire{c, bufio.NewReader(c)}
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body string
	err  error // how the body ended, nil if whole
}

// send writes octets and reads the final answer. A 1xx answer before it is
// passed over.
func (w *wire) send(t testing.TB, octets string) answer {
	t.Helper()
	if _, err := io.WriteString(w, octets); err != nil {
		t.Fatalf("writing %.100q: %v", octets, err)
	}
	method, _, _ := strings.Cut(octets, " ")
	return w.read(t, method)
}

func (w *wire) read(t testing.TB, method string) answer {
	t.Helper()
	for {
		resp, err := http.ReadResponse(w.r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("reading the answer: %v", err)
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		if method == http.MethodConnect && resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusSwitchingProtocols {
			return answer{Response: resp}
		}
		body, err := io.ReadAll(resp.Body)
		return answer{resp, string(body), err}
	}
}

// send is one exchange on a connection of its own.
func (r *rig) send(t testing.TB, octets string) answer {
	t.Helper()
	w := r.dial(t)
	defer w.Close()
	return w.send(t, octets)
}

// get asks for a URL in absolute form with further field lines.
func (r *rig) get(t testing.TB, url string, fields ...string) answer {
	t.Helper()
	return r.send(t, request("GET", url, fields...))
}

// request writes a request in absolute form.
func request(method, url string, fields ...string) string {
	_, host, _ := strings.Cut(url, "://")
	if end := strings.IndexAny(host, "/?"); end >= 0 {
		host = host[:end]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, url, host)
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n"
}

// connect opens a tunnel.
func (r *rig) connect(t testing.TB, authority string) *wire {
	t.Helper()
	w := r.dial(t)
	if a := w.send(t, "CONNECT "+authority+" HTTP/1.1\r\nHost: "+authority+"\r\n\r\n"); a.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT %s: %s: %s", authority, a.Status, a.body)
	}
	return w
}

// secure speaks TLS inside a tunnel, as a client that trusts the proxy's CA.
func (r *rig) secure(t testing.TB, w *wire, name string, protocols ...string) *wire {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	c := tls.Client(w.Conn, &tls.Config{ServerName: name, RootCAs: roots, NextProtos: protocols})
	if err := c.HandshakeContext(t.Context()); err != nil {
		t.Fatalf("TLS inside the tunnel: %v", err)
	}
	return &wire{c, bufio.NewReader(c)}
}

// hostOf returns the host:port of an origin.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
