package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/internal/audit"
	"heed/internal/origin"
)

// TestMalformedTargets: each is refused with the fault named, nothing is asked
// of anybody, and the connection goes on, but behind a CONNECT.
func TestMalformedTargets(t *testing.T) {
	r := start(t)
	w := r.dial(t)
	for _, tt := range []struct{ why, line, says string }{
		{"a scheme that is not fetched", "GET ftp://a.example/x", `scheme "ftp"`},
		{"a file", "GET file:///etc/passwd", `scheme "file"`},
		{"a WebSocket's scheme", "GET ws://a.example/x", `scheme "ws"`},
		{"gopher", "GET gopher://a.example/x", `scheme "gopher"`},
		{"an opaque URI", "GET http:a.example/x", "not an absolute URL"},
		{"no host", "GET http:///x", "host is empty"},
		{"userinfo", "GET http://user:s3cret@a.example/x", "userinfo"},
		{"a host behind an @", "GET http://a.example@b.example/x", "userinfo"},
		{"port 0", "GET http://a.example:0/x", `port "0"`},
		{"a port that is too large", "GET http://a.example:65616/x", `port "65616"`},
		{"an address in octal", "GET http://0177.0.0.1/x", "four decimal parts"},
		{"an address as one number", "GET http://2130706433/x", "four decimal parts"},
		{"an address in hexadecimal", "GET http://0x7f000001/x", "four decimal parts"},
		{"a short address", "GET http://127.1/x", "four decimal parts"},
		{"a label that is too long", "GET http://" + strings.Repeat("a", 64) + ".example/", "63"},
		{"a fragment", "GET http://a.example/x#y", "%23"},
		{"a path on the proxy's own port", "GET /x", "this is a proxy"},
		{"an asterisk", "GET *", "not an absolute URL"},
		{"HTTP/2's preface", "PRI *", "not an absolute URL"},
		{"CONNECT without a port", "CONNECT a.example", "no port"},
		{"CONNECT with an empty port", "CONNECT a.example:", "no port"},
		{"CONNECT to an address without a port", "CONNECT [::1]", "no port"},
		{"CONNECT with a path", "CONNECT a.example:443/x", "HOST:PORT"},
		{"CONNECT with a query", "CONNECT a.example:443?x", "HOST:PORT"},
		{"CONNECT with userinfo", "CONNECT user:s3cret@a.example:443", "userinfo"},
		{"CONNECT to port 0", "CONNECT a.example:0", `port "0"`},
		{"CONNECT to a number", "CONNECT 127.1:443", "four decimal parts"},
	} {
		a := w.send(t, tt.line+" HTTP/1.1\r\nHost: a.example\r\n\r\n")
		connect := strings.HasPrefix(tt.line, "CONNECT ")
		if connect {
			w = r.dial(t)
		}
		if a.StatusCode != 400 || a.Close != connect || !strings.Contains(a.Header.Get("Proxy-Status"), "error=http_request_error") {
			t.Errorf("%s: %s, close %v, Proxy-Status: %s", tt.why, a.Status, a.Close, a.Header.Get("Proxy-Status"))
		}
		if !strings.Contains(a.body, tt.says) {
			t.Errorf("%s: the body does not say %q: %s", tt.why, tt.says, a.body)
		}
		e := r.entry(t)
		if e.Verdict != audit.Denied || e.Reason != "bad-request" || e.Status != 400 || e.Origin != "" {
			t.Errorf("%s: recorded as %+v", tt.why, e)
		}
		if strings.Contains(a.body+a.Header.Get("Proxy-Status")+e.Target+e.Err, "s3cret") {
			t.Errorf("%s: the secret is shown: %s, %+v", tt.why, a.body, e)
		}
	}
	for _, body := range []string{"Content-Length: 4\r\n\r\nbody", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		if a := r.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"+body); a.StatusCode != 400 || !strings.Contains(a.body, "body") {
			t.Errorf("CONNECT with a body: %s: %s", a.Status, a.body)
		}
	}
	if a := r.send(t, request("GET", "http://a.example/"+strings.Repeat("x", 20<<10))); a.StatusCode != 414 || !strings.Contains(a.body, "limits.url") {
		t.Errorf("a target of 20 KiB: %s: %s", a.Status, a.body)
	}
	if len(r.policies.asked) > 0 {
		t.Errorf("robots.txt was asked for: %v", r.policies.asked)
	}
}

// TestSpellingsOfOneOriginHaveOnePolicy: decided on the parsed target, not on
// what is written (A6).
func TestSpellingsOfOneOriginHaveOnePolicy(t *testing.T) {
	r := start(t)
	r.policies.set("http://closed.example", rules("http://closed.example", "User-agent: *\nDisallow: /\n"))
	for _, url := range []string{
		"http://closed.example/x", "HTTP://closed.example/x", "http://CLOSED.example/x", "http://closed.example./x", "http://closed.example:80/x",
		"http://closed.example:0080/x", "http://closed.example:/x", "http://closed.example", "http://closed.example?x",
	} {
		if a := r.get(t, url); a.StatusCode != 403 {
			t.Errorf("%s: %s", url, a.Status)
		}
	}
	for _, o := range r.policies.asked {
		if o != (origin.Origin{Scheme: "http", Host: "closed.example", Port: "80"}) {
			t.Errorf("the robots.txt of %v was asked for", o)
		}
	}
}

// TestEmptyPathIsASlash: RFC 9112 §3.2.1.
func TestEmptyPathIsASlash(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t)
	for target, want := range map[string]string{"": "/", "?": "/?", "?q=1": "/?q=1"} {
		r.send(t, request("GET", "http://"+host+target))
		if line, _, _ := strings.Cut(<-seen, " HTTP"); line != "GET "+want {
			t.Errorf("%q was sent as %q", target, line)
		}
	}
}

// TestTunnelIsForItsAuthority: inside a tunnel to one authority no other is
// asked for, by Host, by the target or by SNI (B6).
func TestTunnelIsForItsAuthority(t *testing.T) {
	r := start(t)
	plain := func(authority string) *wire { return r.connect(t, authority) }
	secure := func(sni string) func(string) *wire {
		return func(authority string) *wire { return r.secure(t, r.connect(t, authority), sni, "http/1.1") }
	}
	for _, tt := range []struct {
		why     string
		open    func(string) *wire
		to      string
		request string
		says    string
	}{
		{"another Host", plain, "a.example:80", "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "the authority must be that of the CONNECT"},
		{"another port", plain, "a.example:80", "GET / HTTP/1.1\r\nHost: a.example:81\r\n\r\n", "the authority must be that of the CONNECT"},
		{"another target", plain, "a.example:80", "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "the authority must be that of the CONNECT"},
		{"another scheme", plain, "a.example:80", "GET https://a.example:80/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "names https inside a tunnel that carries http"},
		{"no Host", plain, "a.example:80", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "host is empty"},
		{"a Host with userinfo", plain, "a.example:80", "GET / HTTP/1.1\r\nHost: user:s3cret@a.example\r\n\r\n", "alformed Host"},
		{"another Host in TLS", secure("a.example"), "a.example:443", "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "the authority must be that of the CONNECT"},
		{"another target in TLS", secure("a.example"), "a.example:443", "GET https://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "the authority must be that of the CONNECT"},
		{"another scheme in TLS", secure("a.example"), "a.example:443", "GET http://a.example:443/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "names http inside a tunnel that carries https"},
		{"another SNI", secure("b.example"), "a.example:443", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "TLS server name"},
		{"another SNI and Host", secure("b.example"), "a.example:443", "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "TLS server name"},
	} {
		w := tt.open(tt.to)
		a := w.send(t, tt.request)
		if a.StatusCode != 400 || !strings.Contains(a.body, tt.says) || strings.Contains(a.body, "s3cret") {
			t.Errorf("%s: %s: %s", tt.why, a.Status, a.body)
		}
		_ = w.Close()
	}
	for _, o := range r.policies.asked { // its own is asked for ahead of the request
		if o.String() != "https://a.example" {
			t.Errorf("the robots.txt of %s was asked for", o)
		}
	}
	for why, fields := range map[string]string{
		"its own name": "a.example", "in other letters": "A.EXAMPLE", "with a dot": "a.example.", "with the port": "a.example:443",
	} {
		r.policies.set("https://a.example", rules("https://a.example", "User-agent: *\nDisallow: /\n"))
		w := secure("a.example")("a.example:443")
		if a := w.send(t, "GET /x HTTP/1.1\r\nHost: "+fields+"\r\n\r\n"); a.StatusCode != 403 {
			t.Errorf("%s: %s, want the denial by robots.txt: %s", why, a.Status, a.body)
		}
		if a := w.send(t, "GET https://a.example/x HTTP/1.1\r\nHost: "+fields+"\r\n\r\n"); a.StatusCode != 403 {
			t.Errorf("%s, in absolute form: %s: %s", why, a.Status, a.body)
		}
		_ = w.Close()
	}
}

// TestNestedConnect: a tunnel in a tunnel would be looked into by nobody (B8).
func TestNestedConnect(t *testing.T) {
	r := start(t)
	for name, w := range map[string]*wire{
		"plain": r.connect(t, "a.example:80"),
		"TLS":   r.secure(t, r.connect(t, "a.example:443"), "a.example", "http/1.1"),
	} {
		if a := w.send(t, "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n"); a.StatusCode != 405 || !strings.Contains(a.body, "CONNECT inside a tunnel") {
			t.Errorf("%s: %s: %s", name, a.Status, a.body)
		}
	}
	c := r.secure(t, r.connect(t, "a.example:443"), "a.example", "h2")
	if status := h2Status(t, c, ":method", "CONNECT", ":authority", "b.example:443"); status != "405" {
		t.Errorf("HTTP/2: %s", status)
	}
}

// TestPseudoFieldsOfHTTP2 are checked like a Host and a target (B9).
func TestPseudoFieldsOfHTTP2(t *testing.T) {
	r := start(t)
	r.policies.set("https://a.example", rules("https://a.example", "User-agent: *\nDisallow: /\n"))
	for _, tt := range []struct {
		why    string
		fields []string
		status string
	}{
		{"its own authority", []string{":method", "GET", ":scheme", "https", ":path", "/x", ":authority", "a.example"}, "403"},
		{"another authority", []string{":method", "GET", ":scheme", "https", ":path", "/x", ":authority", "b.example"}, "400"},
		{"another host", []string{":method", "GET", ":scheme", "https", ":path", "/x", "host", "b.example"}, "400"},
		{"no authority", []string{":method", "GET", ":scheme", "https", ":path", "/x"}, "400"},
		{"an absolute path", []string{":method", "GET", ":scheme", "https", ":path", "https://b.example/x", ":authority", "a.example"}, "400"},
		{"a fragment", []string{":method", "GET", ":scheme", "https", ":path", "/x#y", ":authority", "a.example"}, "400"},
		{"a path without a slash", []string{":method", "GET", ":scheme", "https", ":path", "x", ":authority", "a.example"}, "RST_STREAM"},
		{"an extended CONNECT", []string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/x", ":authority", "a.example"}, "RST_STREAM"},
	} {
		w := r.secure(t, r.connect(t, "a.example:443"), "a.example", "h2")
		if status := h2Status(t, w, tt.fields...); status != tt.status {
			t.Errorf("%s: %s, want %s", tt.why, status, tt.status)
		}
		_ = w.Close()
	}
}

// h2Status sends one request of HTTP/2, in fields as they are, and returns its
// status, or what kind of frame came in its place.
func h2Status(t *testing.T, w *wire, fields ...string) string {
	t.Helper()
	_, _ = io.WriteString(w, http2.ClientPreface)
	f := http2.NewFramer(w, w.r)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(fields...), EndStream: true, EndHeaders: true})
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return frame.Header().Type.String()
		}
	}
}

// TestDNSRebinding: a web site whose name is pointed at this machine cannot read
// heed's own pages.
func TestDNSRebinding(t *testing.T) {
	r := start(t)
	for host, status := range map[string]int{
		"evil.example": 400, "localhost.evil.example": 400, "127.0.0.1.evil.example": 400,
		"127.0.0.1": 200, "127.0.0.1:3128": 200, "localhost:3128": 200, "[::1]:3128": 200, "heed.internal": 200,
	} {
		if a := r.send(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.StatusCode != status {
			t.Errorf("Host: %s: %s, want %d", host, a.Status, status)
		}
	}
}

// TestOptionsForTheProxyIsAnsweredHere: on the proxy's own port an asterisk
// names nothing that could be forwarded.
func TestOptionsForTheProxyIsAnsweredHere(t *testing.T) {
	w := start(t).dial(t)
	for range 2 {
		if a := w.send(t, "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n"); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", a.Status, a.body)
		}
	}
}

// TestOptionsForAnOriginAsAWhole: without a path, and with an asterisk inside a
// tunnel, it is for no page (RFC 9112 §3.2.4). goproxy ends a tunnel at such a
// request (https.go:401).
func TestOptionsForAnOriginAsAWhole(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\nAllow: GET\r\n\r\n"))
	r := start(t)
	for _, tt := range []struct {
		why, target, sent string
		wire              func() *wire
	}{
		{"without a path", "http://" + host, "*", func() *wire { return r.dial(t) }},
		{"with one", "http://" + host + "/", "/", func() *wire { return r.dial(t) }},
		{"with a query", "http://" + host + "?q", "/?q", func() *wire { return r.dial(t) }},
		{"inside a tunnel", "*", "*", func() *wire { return r.connect(t, host) }},
		{"with a path inside a tunnel", "/*", "/*", func() *wire { return r.connect(t, host) }},
	} {
		w := tt.wire()
		if a := w.send(t, "OPTIONS "+tt.target+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.StatusCode != 204 || a.Header.Get("Allow") != "GET" {
			t.Errorf("%s: %s: %s", tt.why, a.Status, a.body)
			continue
		}
		if line, _, _ := strings.Cut(<-seen, "\r\n"); line != "OPTIONS "+tt.sent+" HTTP/1.1" {
			t.Errorf("%s: the origin was sent %q", tt.why, line)
		}
	}
	r.policies.set("http://"+host, rules("http://"+host, "User-agent: *\nDisallow: /\n"))
	if a := r.connect(t, host).send(t, "OPTIONS * HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.StatusCode != 403 {
		t.Errorf("of a closed origin: %s: %s", a.Status, a.body)
	}
	if a := r.connect(t, host).send(t, "GET * HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.StatusCode != 400 {
		t.Errorf("an asterisk is for OPTIONS alone: %s: %s", a.Status, a.body)
	}
}

func FuzzReadAbsolute(f *testing.F) {
	for _, raw := range []string{"http://a.example/x", "https://[::1]:8443//x?y", "HTTP://A.example.", "http://a@b/", "http://a.example\\b", "http:///", "://", "http://a.example?#"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		x := new(exchange)
		if x.readAbsolute(raw) != nil {
			return
		}
		u := outURL(x.origin, x.target)
		if got := u.RequestURI(); got != x.target && got != x.origin.Scheme+"://"+x.origin.Authority()+x.target {
			t.Errorf("%q would be sent as %q, want %q", raw, got, x.target)
		}
		if strings.ContainsAny(x.target, " \r\n#") || x.target[0] != '/' {
			t.Errorf("%q has the target %q", raw, x.target)
		}
		again := new(exchange)
		if err := again.readAbsolute(x.origin.String() + x.target); err != nil || again.origin != x.origin || again.target != x.target {
			t.Errorf("%q reads as %v %q, and that as %v %q: %v", raw, x.origin, x.target, again.origin, again.target, err)
		}
	})
}
