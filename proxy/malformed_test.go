package proxy

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
)

// unreadable are requests that net/http's server would answer by itself, with a
// bare "400 Bad Request" or its like.
var unreadable = []struct {
	why    string
	octets string
	status int
	says   string
	reason string
}{
	{"a bracket that is not closed", "GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, `missing ']' in host`, "bad-request"},
	{"a name in brackets", "GET http://[a.example]/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, `invalid host`, "bad-request"},
	{"a fragment in the authority", "GET http://a.example#y HTTP/1.1\r\nHost: x\r\n\r\n", 400, `host name`, "bad-request"},
	{"a backslash in the authority", "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, `userinfo`, "bad-request"},
	{"a port that is no number", "GET http://a.example:abc/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, `invalid port \":abc\"`, "bad-request"},
	{"CONNECT with a port that is no number", "CONNECT a.example:abc HTTP/1.1\r\nHost: x\r\n\r\n", 400, `\":abc\"`, "bad-request"},
	{"a % without digits", "GET http://a.example/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, `%zz`, "bad-request"},
	{"a control octet in the target", "GET http://a.example/\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400, `control character`, "bad-request"},
	{"a blank in the target", "GET http://a.example/a b HTTP/1.1\r\nHost: x\r\n\r\n", 400, `write it as %20`, "bad-request"},
	{"a target that is no URL", "GET a.example HTTP/1.1\r\nHost: x\r\n\r\n", 400, `a.example`, "bad-request"},
	{"no version", "GET http://a.example/\r\nHost: x\r\n\r\n", 400, `METHOD URL HTTP/1.1`, "bad-request"},
	{"a version that is none", "GET http://a.example/ HTTPS/1.1\r\nHost: x\r\n\r\n", 400, `HTTPS/1.1`, "bad-request"},
	{"a method that is none", "G@T http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, `G@T`, "bad-request"},
	{"not HTTP at all", "EHLO a.example\r\n\r\n", 400, `EHLO a.example`, "bad-request"},
	{"a field name with a blank", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nX Y: z\r\n\r\n", 400, `X Y`, "bad-request"},
	{"a blank before the colon", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nX-Y : z\r\n\r\n", 400, `X-Y `, "bad-request"},
	{"a field line without a colon", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nrubbish\r\n\r\n", 400, `line 3`, "bad-request"},
	{"a field without a name", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n: z\r\n\r\n", 400, `field name`, "bad-request"},
	{"a folded first line", "GET http://a.example/ HTTP/1.1\r\n Host: x\r\n\r\n", 400, `begins with a blank`, "bad-request"},
	{"NUL in a value", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nX-Y: a\x00b\r\n\r\n", 400, `X-Y`, "bad-request"},
	{"two Host fields", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, `two Host fields`, "bad-request"},
	{"no Host field", "GET http://a.example/ HTTP/1.1\r\n\r\n", 400, `issing required Host`, "bad-request"},
	{"a Host that is none", "GET http://a.example/ HTTP/1.1\r\nHost: a b\r\n\r\n", 400, `alformed Host`, "bad-request"},
	{"two lengths", "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400, `two Content-Length fields`, "bad-request"},
	{"a length with a sign", "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nxxxxx", 400, `Content-Length \"+5\"`, "bad-request"},
	{"a coding that is not chunked", "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, `Transfer-Encoding`, "transfer-coding"},
	{"HTTP/2 in a request line", "GET http://a.example/ HTTP/2.0\r\nHost: x\r\n\r\n", 505, `version`, "http-version"},
	{"fields of 80 KiB", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431, `limits.header`, "header-too-large"},
	{"a target of 100 KiB", "GET http://a.example/" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 414, `limits.url`, "uri-too-long"},
}

// TestUnreadableRequestsAreNamed: on the proxy's own port, in a tunnel, and
// inside TLS in a tunnel. Each is recorded as a denial.
func TestUnreadableRequestsAreNamed(t *testing.T) {
	r := start(t)
	for _, o := range []string{"http://a.example", "https://a.example"} {
		r.policies.set(o, rules(o, "User-agent: *\nDisallow: /first\n"))
	}
	for _, channel := range []struct {
		name  string
		as    audit.Channel
		wire  func() *wire
		first string
	}{
		{"the proxy's own port", audit.Plain, func() *wire { return r.dial(t) }, "http://a.example/first"},
		{"plain inside CONNECT", audit.Tunnel, func() *wire { return r.connect(t, "a.example:80") }, "/first"},
		{"intercepted", audit.Tunnel, func() *wire { return r.secure(t, r.connect(t, "a.example:443"), "a.example", "http/1.1") }, "/first"},
	} {
		for _, tt := range unreadable {
			t.Run(channel.name+"/"+tt.why, func(t *testing.T) {
				w := channel.wire()
				defer w.Close()
				// a first request shows that a kept connection is looked after too
				if a := w.send(t, "GET "+channel.first+" HTTP/1.1\r\nHost: a.example\r\n\r\n"); a.StatusCode != 403 {
					t.Fatalf("the first: %s", a.Status)
				}
				a := w.send(t, tt.octets)
				if a.StatusCode != tt.status || !a.Close || a.Header.Get("Date") == "" || a.Header.Get("Content-Type") != typeText {
					t.Errorf("%s, want %d; close %v, %v", a.Status, tt.status, a.Close, a.Header)
				}
				if ps := a.Header.Get("Proxy-Status"); !strings.Contains(ps, "error=http_request_error;details=") || !strings.Contains(ps, tt.says) {
					t.Errorf("Proxy-Status: %s, want %s in it", ps, tt.says)
				}
				if a.err != nil || !strings.Contains(a.body, strings.ReplaceAll(tt.says, `\"`, `"`)) || !strings.Contains(a.body, "/why?id=") {
					t.Errorf("%v: the body is %s", a.err, a.body)
				}
				for {
					e := r.entry(t)
					if e.Reason != tt.reason {
						continue // the CONNECT
					}
					if e.Verdict != audit.Denied || e.Status != tt.status || e.Err == "" || !e.Client.IsValid() || e.BytesOut != int64(len(a.body)) {
						t.Errorf("recorded as %+v", e)
					}
					if (channel.as == audit.Plain) != (e.Channel == audit.Plain || e.Channel == audit.Connect) {
						t.Errorf("recorded as of the channel %v", e.Channel)
					}
					break
				}
			})
		}
	}
}

// TestUnreadableRequestShowsNoCredentials: neither the answer nor the log.
func TestUnreadableRequestShowsNoCredentials(t *testing.T) {
	for _, octets := range []string{
		"GET http://user:s3cret@a.example:abc/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT user:s3cret@a.example:abc HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://user:s3cret@a.example/\r\nHost: x\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret\r\nrubbish\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret\x01\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nHost: x\r\nCookie : s3cret\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nHost: x\r\nCookie s3cret\r\n\r\n",
	} {
		r := start(t)
		a := r.send(t, octets)
		if a.StatusCode != 400 {
			t.Errorf("%q: %s", octets, a.Status)
		}
		e := r.entry(t)
		if strings.Contains(a.body+a.Header.Get("Proxy-Status")+e.Target+e.Err+r.log.String(), "s3cret") {
			t.Errorf("%q: the secret is in %s or %+v", octets, a.body, e)
		}
	}
}

// TestUnreadableRequestWithABodyIsAnswered: closed at once, the answer would be
// lost to a reset.
func TestUnreadableRequestWithABodyIsAnswered(t *testing.T) {
	r := start(t)
	for range 20 {
		a := r.send(t, "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n"+strings.Repeat("body ", 20_000))
		if a.StatusCode != 400 || a.err != nil {
			t.Fatalf("%s, %v: %s", a.Status, a.err, a.body)
		}
	}
}

// TestBareAnswersOfAnOriginPassUnchanged, though they look like net/http's own.
func TestBareAnswersOfAnOriginPassUnchanged(t *testing.T) {
	const bare = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	host, _ := script(t, write(bare))
	r := start(t)
	if a := r.get(t, "http://"+host+"/"); a.StatusCode != 400 || a.body != "400 Bad Request" || a.Header.Get("Proxy-Status") != "" {
		t.Errorf("%s, %v: %s", a.Status, a.Header, a.body)
	}
	host, _ = script(t, write("HTTP/1.1 200 OK\r\nContent-Length: 117\r\n\r\n"+bare))
	if a := r.get(t, "http://"+host+"/"); a.body != bare {
		t.Errorf("a body like a bare answer arrived as %q", a.body)
	}
}

// FuzzFaultOf: whatever comes, there are words for it, bounded and without a
// value of a field.
func FuzzFaultOf(f *testing.F) {
	for _, tt := range unreadable {
		f.Add([]byte(tt.octets[:min(len(tt.octets), 4<<10)]))
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		fault := faultOf(octets, "")
		if fault == "" || len(fault) > 3*maxShown+200 {
			t.Errorf("the fault of %q is %q", octets, fault)
		}
		r := requestOf(octets)
		if len(r.RequestURI) > 3*maxShown+10 || strings.ContainsFunc(r.RequestURI, isControl) || r.Method != "" && !isToken(r.Method) {
			t.Errorf("%q becomes %q %q", octets, r.Method, r.RequestURI)
		}
	})
}

// TestClientConnPassesTheEndOn: net/http ends one direction where an answer
// must arrive.
func TestClientConnPassesTheEndOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := clientListener{l}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*clientConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = client.SetDeadline(time.Now().Add(patience))
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v", err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if err := (&clientConn{Conn: a}).CloseWrite(); err == nil {
		t.Error("a pipe has no half, and CloseWrite says nothing")
	}
}
