package dial

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/armon/go-socks5"
)

// httpProxy is an HTTP proxy on loopback. It has its own idea of where names
// lead to, and notes what it is asked.
type httpProxy struct {
	*httptest.Server
	hosts map[string]string // name to host:port
	auth  string            // USER:PASSWORD that it wants; "" for none
	own   func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string // METHOD target
	via   []string // of the CONNECTs
}

func newHTTPProxy(t *testing.T, secure bool, hosts map[string]string) *httpProxy {
	t.Helper()
	p := &httpProxy{hosts: hosts}
	p.Server = httptest.NewUnstartedServer(p)
	if secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *httpProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI)
	if r.Method == http.MethodConnect {
		p.via = append(p.via, r.Header.Get("Via")+r.UserAgent())
	}
	p.mu.Unlock()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.auth))
	switch {
	case p.auth != "" && r.Header.Get("Proxy-Authorization") != want:
		w.Header().Set("Proxy-Authenticate", `Basic realm="lab"`)
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
	case p.own != nil && p.own(w, r):
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	default:
		p.forward(w, r)
	}
}

func (p *httpProxy) connect(w http.ResponseWriter, r *http.Request) {
	origin, err := net.Dial("tcp", p.hosts[r.Host])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = origin.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(origin, client)
		_ = origin.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, origin)
	_ = client.Close()
	_ = origin.Close()
}

func (p *httpProxy) forward(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", p.hosts[r.URL.Host]
	path, query, _ := strings.Cut(strings.TrimPrefix(r.RequestURI, "http://"+r.URL.Host), "?")
	if out.URL.RawQuery = query; !strings.HasPrefix(path, "//") {
		out.URL.Opaque = path // the octets as they came
	}
	out.Header.Del("Proxy-Authorization")
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// questions returns what the proxy was asked so far, and forgets it.
func (p *httpProxy) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

func (p *httpProxy) at(t *testing.T, user string) *url.URL {
	t.Helper()
	scheme, rest, _ := strings.Cut(p.URL, "://")
	return mustProxy(t, scheme+"://"+user+rest)
}

func mustProxy(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := ParseProxy(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// socksNames resolves for the SOCKS server as httpProxy.hosts does.
type socksNames map[string]net.IP

func (n socksNames) Resolve(ctx context.Context, name string) (context.Context, net.IP, error) {
	if ip, ok := n[name]; ok {
		return ctx, ip, nil
	}
	return ctx, nil, errors.New("no such host")
}

func newSOCKS(t *testing.T, c *socks5.Config) string {
	t.Helper()
	c.Logger = log.New(io.Discard, "", 0)
	s, err := socks5.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { _ = s.ServeConn(c) })
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done; conns.Wait() })
	return l.Addr().String()
}

func TestEveryKindOfProxyConnectsToANameThatItResolves(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.1:0")
	hosts := map[string]string{"inside.example:" + port(addr): addr.String()}
	names := socksNames{"inside.example": net.IPv4(127, 0, 0, 1)}
	plain, secure := newHTTPProxy(t, false, hosts), newHTTPProxy(t, true, hosts)
	locked := newHTTPProxy(t, false, hosts)
	locked.auth = "lab:p@ss"
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	open := newSOCKS(t, &socks5.Config{Resolver: names})
	closed := newSOCKS(t, &socks5.Config{Resolver: names, Credentials: socks5.StaticCredentials{"lab": "p@ss"}})
	for _, r := range []struct {
		why   string
		proxy *url.URL
	}{
		{"http", plain.at(t, "")},
		{"https", secure.at(t, "")},
		{"http with credentials", locked.at(t, "lab:p%40ss@")},
		{"socks5", mustProxy(t, "socks5://"+open)},
		{"socks5h is socks5", mustProxy(t, "socks5h://"+open)},
		{"socks5 with credentials", mustProxy(t, "socks5://lab:p%40ss@"+closed)},
	} {
		t.Run(r.why, func(t *testing.T) {
			before := accepted.Load()
			d := newDialer(t, Config{Proxy: r.proxy, Roots: roots, Via: "heed-1234", Resolver: noResolver(t)})
			mustReach(t, d, "inside.example:"+port(addr))
			if accepted.Load() != before+1 {
				t.Error("the target was not reached")
			}
			if got, err := d.Lookup(t.Context(), "inside.example:80"); got != nil || err != nil {
				t.Errorf("Lookup of what the proxy resolves: %v, %v; want nothing", got, err)
			}
			if got, err := d.Lookup(t.Context(), "192.0.2.1:80"); len(got) != 1 || err != nil {
				t.Errorf("Lookup of an address: %v, %v", got, err)
			}
		})
	}
	if want := []string{"CONNECT inside.example:" + port(addr)}; !slices.Equal(plain.questions(), want) || plain.via[0] != "1.1 heed-1234" {
		t.Errorf("the proxy was told %q", plain.via)
	}
}

// noResolver fails the test when it is asked.
func noResolver(t *testing.T) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a resolver was asked")
		return nil, errors.New("a resolver was asked")
	}}
}

func TestTheEndOfOneDirectionGoesThroughAProxy(t *testing.T) {
	addr, _ := listen(t, "127.0.0.1:0")
	p := newHTTPProxy(t, false, map[string]string{"a.example:80": addr.String()})
	s := newSOCKS(t, &socks5.Config{Resolver: socksNames{"a.example": net.IPv4(127, 0, 0, 1)}})
	for _, proxy := range []*url.URL{p.at(t, ""), mustProxy(t, "socks5://"+s)} {
		to := "a.example:80"
		if proxy.Scheme == "socks5" {
			to = "a.example:" + port(addr)
		}
		c, err := newDialer(t, Config{Proxy: proxy}).DialContext(t.Context(), "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.(interface{ CloseWrite() error }); !ok {
			t.Errorf("%s: %T cannot be closed in one direction", proxy, c)
		}
		_ = c.Close()
	}
}

func TestLiteralSpecialAddressesAreRefusedThoughAProxyWouldConnect(t *testing.T) {
	p := newHTTPProxy(t, false, nil)
	own := netip.MustParseAddrPort("203.0.113.7:3128")
	d := newDialer(t, Config{Proxy: p.at(t, ""), Allow: prefixes("192.0.2.0/24"), Deny: []netip.AddrPort{own}})
	tr := d.Transport(&http.Transport{})
	defer tr.CloseIdleConnections()
	for _, r := range []struct{ why, host, says string }{
		{"private", "10.0.0.1:80", "10.0.0.0/8 is private"},
		{"metadata", "169.254.169.254:80", "a cloud's metadata service"},
		{"IPv4 in IPv6 form", "[::ffff:10.0.0.1]:80", "10.0.0.0/8 is private"},
		{"unique local", "[fd00::1]:80", "unique local"},
		{"loopback, which never goes there", "127.0.0.1:1", "127.0.0.0/8 is loopback"},
		{"localhost, neither", "localhost:1", "is loopback"},
		{"below localhost", "a.localhost:1", "is loopback"},
		{"no address at all", "0.0.0.0:1", "unspecified"},
		{"heed's own", own.String(), "heed's own listener"},
	} {
		if r.host == "a.localhost:1" && !resolvesLocalhost() {
			continue // below, the name is at least not given to the proxy
		}
		if e := mustRefuse(t, d, r.host); !strings.Contains(e.Error(), r.says) {
			t.Errorf("%s: %v", r.why, e)
		}
		for _, scheme := range []string{"http", "https"} {
			_, err := tr.RoundTrip(request(t, scheme+"://"+r.host+"/"))
			var refused *ProhibitedError
			if !errors.As(err, &refused) {
				t.Errorf("%s, %s: %v", r.why, scheme, err)
			}
		}
	}
	if asked := p.questions(); len(asked) > 0 {
		t.Errorf("the proxy was asked %q", asked)
	}
	// What is allowed goes to the proxy.
	if _, err := d.DialContext(t.Context(), "tcp", "192.0.2.1:443"); err == nil || !slices.Equal(p.questions(), []string{"CONNECT 192.0.2.1:443"}) {
		t.Errorf("an address that is allowed did not reach the proxy: %v", err)
	}
}

func resolvesLocalhost() bool {
	_, err := net.LookupHost("a.localhost")
	return err == nil
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestDirectTargetsAreDialledWithEveryCheck(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.3:0")
	p := newHTTPProxy(t, false, nil)
	s := serveNames(t, func(name string) []string {
		if name == "evil.lab.example" {
			return []string{"10.0.0.1"}
		}
		return []string{"127.0.0.3"}
	})
	d := newDialer(t, Config{
		Proxy: p.at(t, ""), Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver(),
		Direct:    func(host, _ string) bool { return strings.HasSuffix(host, ".lab.example") },
		ConnectTo: []ConnectTo{{FromHost: "moved.example", ToHost: "127.0.0.3", ToPort: port(addr)}},
	})
	mustReach(t, d, "a.lab.example:"+port(addr))
	mustReach(t, d, addr.String())      // loopback
	mustReach(t, d, "moved.example:80") // by a rule to loopback
	mustRefuse(t, d, "evil.lab.example:80")
	if asked := p.questions(); len(asked) > 0 || accepted.Load() != 3 {
		t.Errorf("the proxy was asked %q, the target reached %d times", asked, accepted.Load())
	}
}

func TestAConnectToRuleDoesNotLeadPastTheProxy(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+r.RequestURI) }))
	defer origin.Close()
	p := newHTTPProxy(t, false, map[string]string{"staging.example:8080": origin.Listener.Addr().String()})
	d := newDialer(t, Config{Proxy: p.at(t, ""), ConnectTo: []ConnectTo{{FromHost: "a.example", ToHost: "staging.example", ToPort: "8080"}}})
	tr := d.Transport(&http.Transport{})
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(request(t, "http://a.example/x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "a.example/x" {
		t.Errorf("the origin saw %s", body)
	}
	if want := []string{"CONNECT staging.example:8080"}; !slices.Equal(p.questions(), want) {
		t.Errorf("the proxy was not asked %q", want)
	}
}

// scripted is a proxy that reads a request and answers with octets.
func scripted(t *testing.T, answer string) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if answer != "silence" {
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, answer)
			} else {
				_, _ = io.Copy(io.Discard, c)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return mustProxy(t, "http://"+l.Addr().String())
}

func TestWhatAProxySaysIsNeverTheTargetsWord(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	notTLS := scripted(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
	notTLS.Scheme = "https"
	untrusted := newHTTPProxy(t, true, nil)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	socks := newSOCKS(t, &socks5.Config{Resolver: socksNames{"down.example": net.IPv4(127, 0, 0, 1)}, Credentials: socks5.StaticCredentials{"lab": "secret"}})
	_, closedPort, _ := net.SplitHostPort(gone.Addr().String())
	for _, r := range []struct {
		why      string
		proxy    *url.URL
		target   string
		answered bool
		timeout  bool
		says     string // in place of PROXY stands the proxy
	}{
		{"nobody listens", mustProxy(t, "http://"+gone.Addr().String()), "a.example:443", false, false, "upstream proxy PROXY: dial tcp"},
		{"it is not to be found", mustProxy(t, "http://proxy.invalid:3128"), "a.example:443", false, false, "lookup proxy.invalid"},
		{"403", scripted(t, "HTTP/1.1 403 Forbidden\r\n\r\n"), "a.example:443", true, false, "upstream proxy PROXY: it answered CONNECT to a.example:443 with 403 Forbidden"},
		{"404, which of an origin would be permission", scripted(t, "HTTP/1.0 404 Nope\r\nContent-Length: 3\r\n\r\nno!"), "a.example:443", true, false, "with 404 Nope"},
		{"502", scripted(t, "HTTP/1.1 502 Bad Gateway\r\n\r\n"), "a.example:443", true, false, "with 502 Bad Gateway"},
		{"504", scripted(t, "HTTP/1.1 504 Gateway Timeout\r\n\r\n"), "a.example:443", true, true, "with 504 Gateway Timeout"},
		{"407 without credentials", scripted(t, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), "a.example:443", false, false, "it asks for credentials (407)"},
		{"it hangs up", scripted(t, ""), "a.example:443", false, false, "it closed the connection without an answer"},
		{"no HTTP", scripted(t, "SSH-2.0-OpenSSH_9.2\r\n"), "a.example:443", false, false, "its answer cannot be read"},
		{"an endless header", scripted(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", answerLimit)), "a.example:443", false, false, "more than 65536 octets"},
		{"an interim answer and no other", scripted(t, "HTTP/1.1 100 Continue\r\n\r\n"), "a.example:443", false, false, "with the status 100"},
		{"silence", scripted(t, "silence"), "a.example:443", true, true, "asking it to CONNECT to a.example:443"},
		{"no TLS where there should be", notTLS, "a.example:443", false, false, "TLS with it"},
		{"a certificate that nobody knows", untrusted.at(t, ""), "a.example:443", false, false, "TLS with it: tls: failed to verify certificate"},
		{"SOCKS: wrong password", mustProxy(t, "socks5://lab:wrong@"+socks), "a.example:443", false, false, "authentication failed"},
		{"SOCKS: no credentials", mustProxy(t, "socks5://"+socks), "a.example:443", false, false, "no acceptable authentication methods"},
		{"SOCKS: no such name", mustProxy(t, "socks5://lab:secret@"+socks), "a.example:443", true, false, "asked for a.example:443 it answered: host unreachable"},
		{"SOCKS: the target refuses", mustProxy(t, "socks5://lab:secret@"+socks), "down.example:" + closedPort, true, false, "it answered: connection refused"},
		{"SOCKS to an HTTP proxy", func() *url.URL { u := scripted(t, "HTTP/1.1 400 Bad Request\r\n\r\n"); u.Scheme = "socks5"; return u }(), "a.example:443", false, true, "asking it for a.example:443"},
	} {
		t.Run(r.why, func(t *testing.T) {
			d := newDialer(t, Config{Proxy: r.proxy, Timeout: 500 * time.Millisecond})
			_, err := d.DialContext(t.Context(), "tcp", r.target)
			var fault *ProxyError
			if !errors.As(err, &fault) {
				t.Fatalf("err = %v (%T), want a ProxyError", err, err)
			}
			says := strings.ReplaceAll(r.says, "PROXY", r.proxy.Scheme+"://"+r.proxy.Host)
			if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "wrong") {
				t.Errorf("it says %v\nwant %s", err, says)
			}
			if fault.Answered != r.answered || fault.Timeout() != r.timeout {
				t.Errorf("answered %t, timeout %t; want %t, %t: %v", fault.Answered, fault.Timeout(), r.answered, r.timeout, err)
			}
		})
	}
}

func TestWhoLeavesDoesNotWaitForTheProxy(t *testing.T) {
	for _, proxy := range []*url.URL{scripted(t, "silence"), func() *url.URL { u := scripted(t, "silence"); u.Scheme = "socks5"; return u }()} {
		d := newDialer(t, Config{Proxy: proxy})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		_, err := d.DialContext(ctx, "tcp", "a.example:443")
		if !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
			t.Errorf("%s: %v after %v", proxy.Scheme, err, time.Since(start))
		}
		cancel()
	}
}

func TestHeedsOwnListenerIsNoUpstreamProxy(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.1:0")
	for _, r := range []struct {
		proxy string
		known bool // without resolving
	}{
		{"http://" + addr.String(), true},
		{"http://localhost:" + port(addr), true},
		{"socks5://heed.example:" + port(addr), false},
	} {
		s := serveNames(t, answers("127.0.0.1"))
		d := newDialer(t, Config{Proxy: mustProxy(t, r.proxy), Deny: []netip.AddrPort{addr}, Resolver: s.resolver()})
		if d.ProxyIsOwn() != r.known {
			t.Errorf("%s: ProxyIsOwn is %t", r.proxy, !r.known)
		}
		_, err := d.DialContext(t.Context(), "tcp", "a.example:443")
		var fault *ProxyError
		if !errors.As(err, &fault) || prohibited(err) || !strings.Contains(err.Error(), ownListener) {
			t.Errorf("%s: %v; want a fault of the proxy, and none of the target's address", r.proxy, err)
		}
	}
	if accepted.Load() != 0 {
		t.Error("heed asked itself")
	}
}

func TestTheProxyMayBeAtASpecialAddress(t *testing.T) {
	p := newHTTPProxy(t, false, nil)
	_, err := newDialer(t, Config{Proxy: p.at(t, "")}).DialContext(t.Context(), "tcp", "a.example:443")
	var fault *ProxyError
	if !errors.As(err, &fault) || !fault.Answered || errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the proxy on loopback was not asked: %v", err)
	}
}

func TestAProxyIsNamedOnceAndWithoutCredentials(t *testing.T) {
	d := newDialer(t, Config{Proxy: mustProxy(t, "http://lab:hunter2@Proxy.Example.:3128")})
	if got := d.Proxy(); got != "http://proxy.example:3128" {
		t.Errorf("it is called %s", got)
	}
	if got := newDialer(t, Config{}).Proxy(); got != "" {
		t.Errorf("none is called %s", got)
	}
}

func FuzzParseProxy(f *testing.F) {
	for _, s := range []string{"http://a.example:3128", "https://u:p%40@[::1]:1", "socks5h://u:p@h:1080", "http://u:hunter2@", "u:hunter2@h:1", "http://u:1/hunter2@h:1", "://", "http://h:1?x", "http://\x00@h:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseProxy(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "proxy ") {
				t.Fatalf("ParseProxy(%q): %v", s, err)
			}
			return
		}
		again, err := ParseProxy(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q prints as %q, which reads as %v, %v", s, u, again, err)
		}
		if _, err := New(Config{Proxy: u}); err != nil {
			t.Fatalf("New takes not what ParseProxy returns: %v", err)
		}
	})
}

func FuzzConnectAnswer(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 403 \r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\x00"} {
		f.Add([]byte(s))
	}
	req := &http.Request{Method: http.MethodConnect}
	f.Add([]byte("HTTP/0.0 000\n\n"))
	f.Fuzz(func(t *testing.T, octets []byte) {
		rest := strings.NewReader(string(octets))
		status, phrase, err := readConnectAnswer(rest, req)
		if err == nil && (status < 200 || status > 599 || len(phrase) > phraseLimit) {
			t.Fatalf("%q is %d %q", octets, status, phrase)
		}
		read := octets[:len(octets)-rest.Len()]
		if err == nil && !bytes.HasSuffix(read, []byte("\n")) {
			t.Fatalf("of %q was read %q, which ends behind the header", octets, read)
		}
	})
}
