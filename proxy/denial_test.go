package proxy

import (
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

// TestDeniedRequestReachesNobody: no connection is opened, whatever the method,
// a condition or a range (E7, E13).
func TestDeniedRequestReachesNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := "http://" + l.Addr().String()
	r := start(t)
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /\n"))
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PURGE", "get", "PROPFIND"} {
		if a := r.send(t, request(method, o+"/x", "Range: bytes=0-1", `If-None-Match: "x"`, "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0")); a.StatusCode != 403 {
			t.Errorf("%s: %s", method, a.Status)
		}
	}
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Millisecond))
	if c, err := l.Accept(); err == nil {
		t.Errorf("the origin was connected to from %s", c.RemoteAddr())
	}
}

// TestAnEntryHasNothingOfTheOneBefore: they are used over and over.
func TestAnEntryHasNothingOfTheOneBefore(t *testing.T) {
	r := start(t)
	r.policies.set("http://a.example", rules("http://a.example", "User-agent: *\nDisallow: /\n"))
	w := r.dial(t)
	for range 20 {
		w.send(t, request("GET", "http://a.example/x", exampleBot))
		if e := r.entry(t); e.Decision.Line != 2 || e.Snapshot == nil || len(e.Tokens.Main) != 1 {
			t.Fatalf("of a denial: %+v", e)
		}
		w.send(t, request("GET", "http://"+Host+"/ca.pem"))
		e := r.entry(t)
		if e.Decision != (policy.Decision{}) || e.Snapshot != nil || len(e.Tokens.Main) != 0 || e.Err != "" || e.RobotsWait != 0 || e.Verdict != audit.Answered {
			t.Fatalf("of a page of heed's own, after a denial: %+v", e)
		}
	}
}

// TestRobotsTxtIsAlwaysAllowed, exactly that target, and nobody is asked
// (RFC 9309 §2.2.2).
func TestRobotsTxtIsAlwaysAllowed(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "of the origin") })
	r := start(t)
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /\n"))
	if a := r.get(t, o+"/robots.txt"); a.StatusCode != 200 || a.body != "of the origin" {
		t.Errorf("/robots.txt: %s: %s", a.Status, a.body)
	}
	if len(r.policies.asked) > 0 {
		t.Errorf("the policy was asked about /robots.txt")
	}
	for _, target := range []string{"/Robots.txt", "/robots.txt?x", "/x/../robots.txt", "//robots.txt", "/robots.txt/", "/robots.txt%20"} {
		if a := r.get(t, o+target); a.StatusCode != 403 {
			t.Errorf("%s: %s", target, a.Status)
		}
	}
}

// TestFormsOfAPath: what an origin may take for /private is denied as well, and
// what it may not is forwarded (part C of the catalogue).
func TestFormsOfAPath(t *testing.T) {
	r := start(t)
	forAll(t, r, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, c channel) {
		r.policies.set(c.origin, rules(c.origin, "User-agent: *\nDisallow: /private\nDisallow: /go?to=https://x.example\n"))
		for target, status := range map[string]int{
			"/./private/x": 403, "/pub/../private": 403, "//private": 403, "/%2e/private": 403, "/pub%2f..%2fprivate": 403, "/%70rivate": 403,
			"/go?to=https%3A%2F%2Fx.example": 403, "/private?": 403,
			"/PRIVATE": 200, "/pub/private": 200, "/%2570rivate": 200, "/priv%61": 200, "/?private": 200,
		} {
			if resp := c.do(t, "GET", target, nil); resp.StatusCode != status {
				t.Errorf("%s: %s, want %d", target, resp.Status, status)
			}
		}
	})
}

// TestEachUserAgentFieldCounts, and on a kept connection each request's own
// (D2, D8).
func TestEachUserAgentFieldCounts(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	r := start(t)
	r.policies.set(o, rules(o, "User-agent: GoodBot\nAllow: /\n\nUser-agent: BadBot\nDisallow: /\n"))
	w := r.dial(t)
	for _, tt := range []struct {
		why    string
		fields []string
		status int
	}{
		{"none", nil, 200},
		{"a bad one", []string{"User-Agent: BadBot/1.0"}, 403},
		{"a good one on the same connection", []string{"User-Agent: GoodBot/1.0"}, 200},
		{"in other letters", []string{"user-agent: BADBOT/1.0"}, 403},
		{"a good and a bad one", []string{"User-Agent: GoodBot/1.0", "User-Agent: BadBot/1.0"}, 403},
		{"a bad name beside a good one", []string{"User-Agent: GoodBot/1.0 (compatible; BadBot/1.0)"}, 403},
		{"a name that begins like it", []string{"User-Agent: BadBotter/1.0"}, 200},
	} {
		if a := w.send(t, request("GET", o+"/x", tt.fields...)); a.StatusCode != tt.status {
			t.Errorf("%s: %s, want %d", tt.why, a.Status, tt.status)
		}
	}
}

// TestDeniedBodyIsBounded: goproxy reads gigabytes of it (E18).
func TestDeniedBodyIsBounded(t *testing.T) {
	r := start(t)
	r.policies.set("http://a.example", rules("http://a.example", "User-agent: *\nDisallow: /\n"))
	for _, fields := range []string{"Content-Length: 10000000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n"} {
		w := r.dial(t)
		_, _ = io.WriteString(w, "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"+fields)
		taken := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(w.Conn, endless{})
			taken <- n
		}()
		a := w.read(t, "POST")
		if a.StatusCode != 403 || !a.Close {
			t.Errorf("%s, close %v", a.Status, a.Close)
		}
		select {
		case n := <-taken:
			if n > 64<<20 { // what the buffers of both ends of a socket take
				t.Errorf("%d octets of the body were taken", n)
			}
		case <-time.After(patience):
			t.Error("the body is still being taken")
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestConnectionLivesOnAfterADenial whose body was small, and the body is not
// taken for a request.
func TestConnectionLivesOnAfterADenial(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	r := start(t)
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /private\n"))
	w := r.dial(t)
	smuggled := request("GET", o+"/smuggled")
	for range 2 {
		a := w.send(t, "POST "+o+"/private HTTP/1.1\r\nHost: "+hostOf(o)+"\r\nContent-Length: 200\r\n\r\n"+smuggled+strings.Repeat(" ", 200-len(smuggled)))
		if a.StatusCode != 403 || a.Close {
			t.Fatalf("%s, close %v", a.Status, a.Close)
		}
		if a := w.send(t, request("GET", o+"/open")); a.StatusCode != 200 || a.body != "page" {
			t.Errorf("the next request: %s: %s", a.Status, a.body)
		}
	}
	for range 4 {
		if e := r.entry(t); e.Target == "/smuggled" {
			t.Error("the body was taken for a request")
		}
	}
}

// TestPipelinedRequestsAreEachDecided (E1).
func TestPipelinedRequestsAreEachDecided(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, req.URL.Path) })
	r := start(t)
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /private\n"))
	w := r.dial(t)
	_, _ = io.WriteString(w, request("GET", o+"/1")+request("GET", o+"/private")+request("GET", o+"/2"))
	for _, status := range []int{200, 403, 200} {
		if a := w.read(t, "GET"); a.StatusCode != status {
			t.Errorf("%s, want %d", a.Status, status)
		}
	}
}

// TestClientsThatMayNot get nothing, heed's own pages neither.
func TestClientsThatMayNot(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	r := start(t, func(c *Config) { c.AllowClient = func(netip.Addr) bool { return false } })
	for _, octets := range []string{request("GET", o+"/"), request("GET", "http://heed.internal/"), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"} {
		if a := r.send(t, octets); a.StatusCode != 403 || !strings.Contains(a.body, "127.0.0.1") {
			t.Errorf("%q: %s: %s", octets, a.Status, a.body)
		}
		if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != "client-refused" {
			t.Errorf("%q: recorded as %+v", octets, e)
		}
	}
	if len(r.policies.asked) > 0 {
		t.Errorf("robots.txt was asked for: %v", r.policies.asked)
	}
}

// TestCredentialsAreNotRecorded: neither in the log nor in an entry.
func TestCredentialsAreNotRecorded(t *testing.T) {
	r := start(t, func(c *Config) {
		line, record := audit.Log(c.Log), c.Record
		c.Record = func(e *audit.Entry) { line(e); record(e) }
	})
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Set-Cookie", "sid=s3cret") })
	r.policies.set("http://closed.example", rules("http://closed.example", "User-agent: *\nDisallow: /\n"))
	fields := []string{"Authorization: Bearer s3cret", "Proxy-Authorization: Basic s3cret", "Cookie: sid=s3cret", "X-Api-Key: s3cret", "Referer: http://user:s3cret@a.example/"}
	for _, octets := range []string{
		request("GET", o+"/x", fields...),
		request("GET", "http://closed.example/x", fields...),
		"GET http://user:s3cret@a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET http://user:s3cret@a.example/" + strings.Repeat("x", 20<<10) + " HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"CONNECT user:s3cret@a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"CONNECT user:s3cret@a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET http:user:s3cret@a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET ftp://user:s3cret@a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: a.example\r\nCookie: s3cret\r\nX Y: s3cret\r\n\r\n",
	} {
		a := r.send(t, octets)
		e := r.entry(t)
		if strings.Contains(e.Target+e.Err+e.Origin+a.body+a.Header.Get("Proxy-Status"), "s3cret") {
			t.Errorf("%.200q: %+v, %s", octets, e, a.body)
		}
	}
	log := r.log.String()
	if strings.Count(log, `"message":"exchange"`) != 9 {
		t.Errorf("not every exchange is in the log:\n%s", log)
	}
	if strings.Contains(log, "s3cret") {
		t.Errorf("the log holds the secret:\n%s", log)
	}
}

func TestRedactUserinfo(t *testing.T) {
	for in, want := range map[string]string{
		"http://a.example/x@y":        "http://a.example/x@y",
		"http://u:p@a.example/x@y":    "http://…@a.example/x@y",
		"http://u:p@q@a.example":      "http://…@a.example",
		"u:p@a.example:443":           "…@a.example:443",
		"a.example:443":               "a.example:443",
		"http:u:p@a.example/":         "…@a.example/",
		"/x?u=http://u:p@a.example/":  "/x?u=http://…@a.example/",
		"":                            "",
		"http://u:p@a.example?x#@":    "http://…@a.example?x#@",
		"GET http://u:p@a.example/ x": "GET http://…@a.example/ x",
	} {
		if got := redactUserinfo(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
