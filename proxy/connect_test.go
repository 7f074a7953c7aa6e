package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
	"heed/policy"
)

// TestBytesSentWithTheConnectAreServed: goproxy drops what its server had read
// too early (https.go:276).
func TestBytesSentWithTheConnectAreServed(t *testing.T) {
	r := start(t)
	o := newOrigin(t, func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, "got "+req.URL.Path) })
	w := r.dial(t)
	a := w.send(t, "CONNECT "+hostOf(o)+" HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\nGET /early HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n")
	if a.StatusCode != 200 {
		t.Fatalf("CONNECT: %s", a.Status)
	}
	if a := w.read(t, "GET"); a.body != "got /early" {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// earlyHello sends a CONNECT and the first part of the handshake in one write.
type earlyHello struct {
	net.Conn
	first string
	r     *bufio.Reader
}

func (c *earlyHello) Write(b []byte) (int, error) {
	n := len(b)
	if c.first != "" {
		b = append([]byte(c.first), b...)
		c.first = ""
	}
	_, err := c.Conn.Write(b)
	return n, err
}

func (c *earlyHello) Read(b []byte) (int, error) {
	if c.r == nil {
		c.r = bufio.NewReader(c.Conn)
		if resp, err := http.ReadResponse(c.r, &http.Request{Method: "CONNECT"}); err != nil || resp.StatusCode != 200 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return c.r.Read(b)
}

func TestHandshakeSentWithTheConnectIsServed(t *testing.T) {
	r := start(t)
	c := tls.Client(&earlyHello{Conn: r.dial(t).Conn, first: "CONNECT heed.internal:443 HTTP/1.1\r\nHost: heed.internal:443\r\n\r\n"},
		&tls.Config{ServerName: "heed.internal", InsecureSkipVerify: true})
	w := &wire{c, bufio.NewReader(c)}
	if a := w.send(t, "GET / HTTP/1.1\r\nHost: heed.internal\r\n\r\n"); a.StatusCode != 200 {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// TestConnectIsRefused: what is refused before anything inside is seen.
func TestConnectIsRefused(t *testing.T) {
	closed := rules("https://closed.example", "User-agent: *\nDisallow: /\n")
	unreachable := &policy.Snapshot{URL: "https://down.example/robots.txt", Access: policy.Unreachable, Checked: time.Now(), RetryAfter: time.Minute, Err: "connection refused"}
	for _, tt := range []struct {
		why       string
		set       func(*Config)
		authority string
		status    int
		reason    string
		phrase    string
		says      string
	}{
		{"a port that may not be tunnelled to", func(c *Config) { c.ConnectPort = func(p string) bool { return p != "22" } }, "a.example:22", 403, "port-refused", "Port may not be tunnelled to", "connect_ports"},
		{"https is denied", modeIs(Deny), "a.example:443", 403, "https-denied", "https is denied by configuration", "https.mode"},
		{"a client that may not", func(c *Config) { c.AllowClient = func(netip.Addr) bool { return false } }, "a.example:443", 403, "client-refused", "Client may not use this proxy", "127.0.0.1"},
		{"an origin that is closed as a whole", modeIs(Tunnel), "closed.example:443", 403, "disallowed", "Disallowed by robots.txt (line 2: Disallow: /)", "origin as a whole"},
		{"an origin whose robots.txt is unreachable", modeIs(Tunnel), "down.example:443", 503, "robots-unreachable", "robots.txt is unreachable", "onnection refused"},
		{"an origin that cannot be connected to", modeIs(Tunnel), "127.0.0.1:1", 502, "connection-refused", "Origin refused the connection", "refused"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := start(t, tt.set)
			r.policies.set("https://closed.example", closed)
			r.policies.set("https://down.example", unreachable)
			w := r.dial(t)
			// what the client has sent already must not cost it the answer
			a := w.send(t, "CONNECT "+tt.authority+" HTTP/1.1\r\nHost: "+tt.authority+"\r\n\r\n"+strings.Repeat("early octets ", 10_000))
			if a.StatusCode != tt.status || a.Status != a.Status[:4]+tt.phrase {
				t.Errorf("%s, want %d %s", a.Status, tt.status, tt.phrase)
			}
			if !strings.Contains(a.body, tt.says) || a.err != nil {
				t.Errorf("%v: the body does not say %q: %s", a.err, tt.says, a.body)
			}
			if a.Header.Get("Proxy-Status") == "" || a.Header.Get("Date") == "" || !a.Close {
				t.Errorf("the fields are %v, close %v", a.Header, a.Close)
			}
			if _, err := w.r.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
			_ = w.Close()
			e := r.entry(t)
			if e.Channel != audit.Connect || e.Reason != tt.reason || e.Status != tt.status || e.Verdict == audit.Answered || e.BytesOut == 0 {
				t.Errorf("recorded as %+v", e)
			}
		})
	}
}

// TestBehindARefusedConnectNothingIsARequest: what a client sends at once is for
// the other end of the tunnel, whatever the CONNECT is refused for.
func TestBehindARefusedConnectNothingIsARequest(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t, func(c *Config) { c.ConnectPort = func(port string) bool { return port != "25" } })
	for _, tt := range []struct {
		authority string
		status    int
	}{
		{"a..example:443", 400},
		{"a.example", 400},
		{"a.example:25", 403},
	} {
		w := r.dial(t)
		a := w.send(t, "CONNECT "+tt.authority+" HTTP/1.1\r\nHost: a\r\n\r\n"+request("GET", "http://"+host+"/"))
		rest, err := io.ReadAll(w.r)
		if a.StatusCode != tt.status || !a.Close || len(rest) > 0 || err != nil || len(seen) > 0 {
			t.Errorf("%s: %s, close %t, and behind it %.20q, %v; %d requests", tt.authority, a.Status, a.Close, rest, err, len(seen))
		}
	}
}

// TestSilentClientIsClosed: a tunnel in which nothing is said, or half of a
// handshake, ends at the handshake timeout (B15).
func TestSilentClientIsClosed(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeouts.TLSHandshake = 50 * time.Millisecond })
	for _, tt := range []struct{ why, octets string }{
		{"silence", ""},
		{"half a handshake", "\x16\x03\x01\x02\x00\x01"},
		{"a handshake that is none", "\x16SSH-2.0-OpenSSH_9.2\r\n"},
	} {
		w := r.connect(t, "a.example:443")
		_, _ = io.WriteString(w, tt.octets)
		began := time.Now()
		_, _ = io.ReadAll(w.r)
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s: closed after %v", tt.why, d)
		}
		if e := r.entry(t); e.Channel != audit.Connect || e.Verdict != audit.Answered {
			t.Errorf("%s: recorded as %+v", tt.why, e)
		}
	}
	eventually(t, "no tunnel is left", func() bool { return r.proxy.Tunnels() == 0 })
}

// TestClientThatDoesNotTrustHeed is told apart in the log, with its origin.
func TestClientThatDoesNotTrustHeed(t *testing.T) {
	r := start(t)
	c := tls.Client(r.connect(t, "a.example:443").Conn, &tls.Config{ServerName: "a.example"})
	if err := c.HandshakeContext(t.Context()); err == nil {
		t.Fatal("a client without heed's CA trusts it")
	}
	if e := r.entry(t); !strings.Contains(e.Err, "TLS with the client") || e.BytesOut != 0 {
		t.Errorf("recorded as %+v", e)
	}
	if log := r.log.String(); !strings.Contains(log, `"level":"warn"`) || !strings.Contains(log, "https://a.example") || !strings.Contains(log, "heed ca export") {
		t.Errorf("the log says\n%s", log)
	}
}

// TestTLSOnPort80: the scheme is what is spoken (B16).
func TestTLSOnPort80(t *testing.T) {
	r := start(t)
	w := r.secure(t, r.connect(t, "heed.internal:80"), "heed.internal")
	if a := w.send(t, "GET / HTTP/1.1\r\nHost: heed.internal:80\r\n\r\n"); a.StatusCode != 200 {
		t.Errorf("TLS on port 80: %s: %s", a.Status, a.body)
	}
	for _, mode := range []Mode{Tunnel, Deny} {
		r := start(t, modeIs(mode))
		w := r.connect(t, "a.example:80")
		_, _ = io.WriteString(w, "\x16\x03\x01\x00\x01\x00")
		if rest, _ := io.ReadAll(w.r); len(rest) > 0 {
			t.Errorf("%v: TLS to port 80 is answered %q", mode, rest)
		}
		if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != "https-denied" || !strings.Contains(e.Err, "port 80") {
			t.Errorf("%v: recorded as %v, %s: %s", mode, e.Verdict, e.Reason, e.Err)
		}
	}
}

// TestPlainHTTPInAnyTunnelIsDecidedPerRequest: in every mode, and whatever the
// port.
func TestPlainHTTPInAnyTunnelIsDecidedPerRequest(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	for _, mode := range []Mode{Intercept, Tunnel} {
		r := start(t, modeIs(mode))
		r.policies.set(o, rules(o, "User-agent: *\nDisallow: /private/\n"))
		w := r.connect(t, hostOf(o))
		for _, tt := range []struct {
			target string
			status int
		}{{"/open", 200}, {"/private/x", 403}, {"/open", 200}} {
			if a := w.send(t, "GET "+tt.target+" HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n"); a.StatusCode != tt.status {
				t.Errorf("%v: %s: %s: %s", mode, tt.target, a.Status, a.body)
			}
		}
	}
	r := start(t, modeIs(Deny))
	w := r.connect(t, "heed.internal:80")
	if a := w.send(t, "GET / HTTP/1.1\r\nHost: heed.internal\r\n\r\n"); a.StatusCode != 200 {
		t.Errorf("plain HTTP to port 80 where https is denied: %s", a.Status)
	}
}

// TestOldClientInATunnelNeedsNoHost: the authority is that of the CONNECT (A3).
func TestOldClientInATunnelNeedsNoHost(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"))
	r := start(t)
	w := r.connect(t, host)
	_, _ = io.WriteString(w, "GET /x HTTP/1.0\r\n\r\n")
	if all, err := io.ReadAll(w.r); err != nil || !strings.HasSuffix(string(all), "\r\n\r\npage") {
		t.Errorf("%v: %q", err, all)
	}
	if sent := <-seen; !strings.Contains(sent, "\r\nHost: "+host+"\r\n") {
		t.Errorf("the origin was sent\n%s", sent)
	}
}

// TestModesHaveWords: those of the configuration.
func TestModesHaveWords(t *testing.T) {
	for mode, want := range map[Mode]string{Intercept: "intercept", Tunnel: "tunnel", Deny: "deny", Mode(9): "deny"} {
		if got := mode.String(); got != want {
			t.Errorf("mode %d is %q, want %q", mode, got, want)
		}
	}
}
