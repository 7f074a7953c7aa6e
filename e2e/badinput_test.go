package e2e

import (
	"strings"
	"testing"
)

// TestBadInput puts requests on the wire that no client should send. Each gets
// an answer of the 400 class that names the fault, and nothing is forwarded.
func TestBadInput(t *testing.T) {
	o := newOrigin(t, nil, nil)
	h := startHeed(t, []string{"SSL_CERT_FILE=" + o.rootFile}, o.connectTo()...)
	get := func(target string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: open.example\r\n\r\n"
	}
	tests := []struct {
		why     string
		request string
		status  int
		names   string // what the body says of the fault
	}{
		{"an absolute-form target has a host", get("http:///x"), 400, "host"},
		{"a port is a number", get("http://open.example:abc/"), 400, "port"},
		{"a port is at most 65535", get("http://open.example:65616/"), 400, "port"},
		{"port 0 cannot be connected to", get("http://open.example:0/"), 400, "port"},
		{"a percent sign has two hex digits behind it", get("http://open.example/%zz"), 400, "%zz"},
		{"a target ends at the first blank", get("http://open.example/a b"), 400, ""},
		{"credentials do not belong into a URL", get("http://user:pass@open.example/"), 400, "user"},
		{"a raw # is no part of a target", get("http://open.example/a#b"), 400, "#"},
		{"the schemes are http and https", get("ftp://open.example/x"), 400, "ftp"},
		{"a file is nothing to fetch by proxy", get("file:///etc/passwd"), 400, "file"},
		{"a WebSocket handshake has scheme http", get("ws://open.example/x"), 400, "ws"},
		{"an opaque URI names no authority", get("http:open.example/x"), 400, ""},
		{"a path alone names no origin", get("/x"), 400, "proxy"},
		{"the name is longer than DNS allows", get("http://" + strings.Repeat("a", 64) + ".example/"), 400, ""},
		{"a blank in Host", "GET http://open.example/ HTTP/1.1\r\nHost: open .example\r\n\r\n", 400, "Host"},
		{"two Host fields", "GET http://open.example/ HTTP/1.1\r\nHost: open.example\r\nHost: open.example\r\n\r\n", 400, "Host"},
		{"no Host field", "GET http://open.example/ HTTP/1.1\r\n\r\n", 400, "Host"},
		{"CONNECT without a port", "CONNECT open.example HTTP/1.1\r\nHost: open.example\r\n\r\n", 400, "port"},
		{"CONNECT with an empty port", "CONNECT open.example: HTTP/1.1\r\nHost: open.example\r\n\r\n", 400, "port"},
		{"CONNECT with a port beyond 65535", "CONNECT open.example:99999 HTTP/1.1\r\nHost: open.example\r\n\r\n", 400, "port"},
		{"CONNECT with a path", "CONNECT open.example:443/x HTTP/1.1\r\nHost: open.example\r\n\r\n", 400, ""},
		{"a method of no name", "G@T http://open.example/ HTTP/1.1\r\nHost: open.example\r\n\r\n", 400, ""},
		{"HTTP/2 in a request line", "GET http://open.example/ HTTP/2.0\r\nHost: open.example\r\n\r\n", 505, ""},
		{"fields of 80 KiB", "GET http://open.example/ HTTP/1.1\r\nHost: open.example\r\nX-Long: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431, ""},
		{"a target of 20 KiB", get("http://open.example/" + strings.Repeat("x", 20<<10)), 414, "long"},
		{"a field name with a blank", "GET http://open.example/ HTTP/1.1\r\nHost: open.example\r\nX Y: z\r\n\r\n", 400, "header"},
		{"two lengths", "POST http://open.example/ HTTP/1.1\r\nHost: open.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400, ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			method, _, _ := strings.Cut(tt.request, " ")
			a := send(t, h.Proxy, method, tt.request)
			if a.status != tt.status {
				t.Errorf("%.120q: %s, want %d: %s", tt.request, a.reason, tt.status, a.body)
			}
			if said := a.reason + " " + string(a.body); !strings.Contains(strings.ToLower(said), strings.ToLower(tt.names)) {
				t.Errorf("%.120q: the answer does not name %q: %s", tt.request, tt.names, said)
			}
			if len(strings.TrimSpace(string(a.body))) == 0 {
				t.Errorf("%.120q: the answer says nothing", tt.request)
			}
		})
	}
	if got := o.requests(""); len(got) > 0 {
		t.Errorf("requests reached the origin: %+v", got)
	}
}

// TestTargetCountsNotHost: RFC 9112 §3.2.2 has a proxy replace a Host that
// differs from an absolute-form target; robots.txt is the target's.
func TestTargetCountsNotHost(t *testing.T) {
	o := newOrigin(t, map[string]string{
		"open.example":   "",
		"closed.example": "User-agent: *\nDisallow: /\n",
	}, nil)
	h := startHeed(t, nil, o.connectTo()...)

	a := send(t, h.Proxy, "GET", "GET http://closed.example/x1 HTTP/1.1\r\nHost: open.example\r\n\r\n")
	if a.status != 403 && a.status != 400 {
		t.Errorf("a closed target under an open Host: %s, want 403 or 400", a.reason)
	}
	if got := o.requests("/x1"); len(got) > 0 {
		t.Errorf("it reached the origin: %+v", got)
	}
	a = send(t, h.Proxy, "GET", "GET http://open.example/x2 HTTP/1.1\r\nHost: closed.example\r\n\r\n")
	if a.status != 200 && a.status != 400 {
		t.Errorf("an open target under a closed Host: %s, want 200 or 400: %s", a.reason, a.body)
	}
	for _, r := range o.requests("/x2") {
		if r.host != "open.example" {
			t.Errorf("it was forwarded with Host: %s, want the target's", r.host)
		}
	}
}

// TestTunnelIsForItsAuthority: a request inside an intercepted tunnel is for
// the authority of the CONNECT, whatever its Host and target say.
func TestTunnelIsForItsAuthority(t *testing.T) {
	o := newOrigin(t, map[string]string{"closed.example": "User-agent: *\nDisallow: /\n"}, nil)
	h := startHeed(t, nil, o.connectTo()...)
	for _, inner := range []string{
		"GET /y HTTP/1.1\r\nHost: closed.example\r\n\r\n",
		"GET http://closed.example/y HTTP/1.1\r\nHost: closed.example\r\n\r\n",
		"GET http://closed.example/y HTTP/1.1\r\nHost: open.example\r\n\r\n",
	} {
		c := &rawConn{addr: h.Proxy}
		a, err := c.once("CONNECT", []byte("CONNECT open.example:80 HTTP/1.1\r\nHost: open.example:80\r\n\r\n"))
		if err != nil || a.status != 200 {
			t.Fatalf("CONNECT open.example:80: %s, %v", a.reason, err)
		}
		a, err = c.once("GET", []byte(inner))
		c.drop()
		if err != nil || a.status != 400 {
			t.Errorf("%q in a tunnel to open.example:80: %s, %v; want 400", inner, a.reason, err)
		}
	}
	if got := o.requests("/y"); len(got) > 0 {
		t.Errorf("requests reached the origin: %+v", got)
	}
}
