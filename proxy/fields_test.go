package proxy

import (
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
)

// TestHopByHopFieldsEndHere: those that Connection names, and those that speak
// to a neighbour alone, both ways (RFC 9110 §7.6.1).
func TestHopByHopFieldsEndHere(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 103 Early Hints\r\nConnection: X-Hint\r\nX-Hint: 1\r\nKeep-Alive: timeout=5\r\nLink: </x>\r\n\r\n"+
		"HTTP/1.1 200 OK\r\nConnection: X-Answer, keep-alive\r\nX-Answer: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nProxy-Authentication-Info: x\r\n"+
		"Proxy-Connection: close\r\nUpgrade: h2c\r\nTE: x\r\nX-Kept: 1\r\nAlt-Svc: h3=\":443\"\r\nContent-Length: 2\r\n\r\nok"))
	r := start(t)
	w := r.dial(t)
	_, _ = io.WriteString(w, request("GET", "http://"+host+"/", "Connection: close, X-Named", "X-Named: 1", "x-kept: 1", "Keep-Alive: 5", "Proxy-Connection: keep-alive",
		"Proxy-Authorization: Basic dTpw", "TE: trailers, deflate;q=0.5", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"))
	hint, err := http.ReadResponse(w.r, nil)
	if err != nil || hint.StatusCode != 103 || len(hint.Header) != 1 || hint.Header.Get("Link") != "</x>" {
		t.Fatalf("%v, %v", hint, err)
	}
	a := w.read(t, "GET")
	sent := <-seen
	for _, name := range []string{"X-Named", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Upgrade"} {
		if strings.Contains(strings.ToLower(sent), "\r\n"+strings.ToLower(name)+":") {
			t.Errorf("%s went on to the origin:\n%s", name, sent)
		}
	}
	if _, options, _ := strings.Cut(sent, "\r\nConnection: "); !strings.HasPrefix(options, "TE\r\n") || strings.Count(sent, "Connection: ") != 1 { // RFC 9110 §10.1.4
		t.Errorf("Connection names another field than TE:\n%s", sent)
	}
	for _, line := range []string{"x-kept: 1", "TE: trailers"} {
		if !strings.Contains(sent, "\r\n"+line+"\r\n") {
			t.Errorf("%q did not go on to the origin:\n%s", line, sent)
		}
	}
	for _, name := range []string{"X-Answer", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Connection", "Upgrade", "TE", "Alt-Svc"} {
		if v, there := a.Header[textproto.CanonicalMIMEHeaderKey(name)]; there {
			t.Errorf("%s: %q went on to the client", name, v)
		}
	}
	if a.StatusCode != 200 || a.Header.Get("X-Kept") != "1" || a.body != "ok" {
		t.Errorf("%s, %v: %s", a.Status, a.Header, a.body)
	}
}

// TestClientsConnectionCloseStaysHere: goproxy hands it on.
func TestClientsConnectionCloseStaysHere(t *testing.T) {
	conns := make(chan string, 2)
	o := newOrigin(t, func(_ http.ResponseWriter, req *http.Request) { conns <- req.RemoteAddr })
	r := start(t)
	for range 2 {
		r.get(t, o+"/", "Connection: close")
	}
	if one, two := <-conns, <-conns; one != two {
		t.Errorf("two requests came over %s and %s: the connection to the origin was closed with the client's", one, two)
	}
}

// TestViaIsAddedBothWays: at the end of those before (RFC 9110 §7.6.3).
func TestViaIsAddedBothWays(t *testing.T) {
	r := start(t)
	via := make(chan []string, 1)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		via <- req.Header["Via"]
		w.Header().Set("Via", "1.1 near-the-origin")
	}, func(t *testing.T, c channel) {
		resp := c.do(t, "GET", "/", nil, "Via: 1.0 near-the-client")
		whole(t, resp)
		sent, got := <-via, resp.Header["Via"]
		if len(sent) != 2 || sent[0] != "1.0 near-the-client" || !strings.HasSuffix(sent[1], " "+r.proxy.Via) {
			t.Errorf("the origin got Via: %q", sent)
		}
		if len(got) != 2 || got[0] != "1.1 near-the-origin" || !strings.HasSuffix(got[1], " "+r.proxy.Via) {
			t.Errorf("the client got Via: %q", got)
		}
	})
}

// TestHostIsTheTargets: the Host of an absolute-form request counts for
// nothing (RFC 9112 §3.2.2).
func TestHostIsTheTargets(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t)
	r.policies.set("http://closed.example", rules("http://closed.example", "User-agent: *\nDisallow: /\n"))
	if a := r.send(t, "GET http://"+host+"/x HTTP/1.1\r\nHost: closed.example\r\n\r\n"); a.StatusCode != 204 {
		t.Errorf("an open target under a closed Host: %s: %s", a.Status, a.body)
	}
	if sent := <-seen; !strings.Contains(sent, "\r\nHost: "+host+"\r\n") || strings.Contains(sent, "closed.example") {
		t.Errorf("the origin was sent\n%s", sent)
	}
	if a := r.send(t, "GET http://closed.example/x HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.StatusCode != 403 {
		t.Errorf("a closed target under an open Host: %s: %s", a.Status, a.body)
	}
}

// TestFormsOfAnHTTP10Client: no Host, no keep-alive, and the answer without
// chunks.
func TestFormsOfAnHTTP10Client(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	r := start(t)
	w := r.dial(t)
	_, _ = io.WriteString(w, "GET http://"+host+"/ HTTP/1.0\r\n\r\n")
	all, err := io.ReadAll(w.r)
	if err != nil || !strings.HasSuffix(string(all), "\r\n\r\nabc") || strings.Contains(string(all), "chunked") {
		t.Errorf("%v: %q", err, all)
	}
	if sent := <-seen; !strings.Contains(sent, "\r\nVia: 1.0 ") || !strings.HasPrefix(sent, "GET / HTTP/1.1\r\n") {
		t.Errorf("the origin was sent\n%s", sent)
	}
}

// TestOldClientHasNeitherUpgradeNorExpect: HTTP/1.0 has neither, and a proxy may
// not take them up for it (RFC 9110 §7.8, §10.1.1).
func TestOldClientHasNeitherUpgradeNorExpect(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t)
	r.send(t, "POST http://"+host+"/ HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nExpect: 100-continue\r\nContent-Length: 2\r\nX: y\r\n\r\nok")
	sent := <-seen
	for _, name := range []string{"Connection", "Upgrade", "Expect"} {
		if strings.Contains(sent, "\r\n"+name+":") {
			t.Errorf("%s went on to the origin:\n%s", name, sent)
		}
	}
}

// TestAgentThatStaysHereIsNobody: whoever has Connection name the User-Agent
// would be decided on as somebody of whom the origin is not told.
func TestAgentThatStaysHereIsNobody(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t)
	r.policies.set("http://"+host, rules("http://"+host, "User-agent: goodbot\nAllow: /\nUser-agent: *\nDisallow: /\n"))
	if a := r.get(t, "http://"+host+"/", "User-Agent: goodbot/1.0", "Connection: keep-alive, user-agent"); a.StatusCode != 403 {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if a := r.get(t, "http://"+host+"/", "User-Agent: goodbot/1.0", "Connection: keep-alive"); a.StatusCode != 204 || !strings.Contains(<-seen, "goodbot") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// TestLoopIsDetected: a request that has this instance's name in Via has been
// here before.
func TestLoopIsDetected(t *testing.T) {
	r, other := start(t), start(t)
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	a := r.get(t, o+"/", "Via: 1.0 fred, 1.1 "+r.proxy.Via+" (heed)")
	if a.StatusCode != 508 || !strings.Contains(a.Header.Get("Proxy-Status"), "error=proxy_loop_detected") {
		t.Errorf("its own Via: %s, Proxy-Status: %q", a.Status, a.Header.Get("Proxy-Status"))
	}
	if e := r.entry(t); e.Reason != "loop" {
		t.Errorf("recorded as %s", e.Reason)
	}
	if a := r.get(t, o+"/", "Via: 1.1 "+other.proxy.Via); a.StatusCode != 200 {
		t.Errorf("another heed's Via: %s: %s", a.Status, a.body)
	}
	w := r.dial(t)
	if a := w.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nVia: 1.1 "+r.proxy.Via+"\r\n\r\n"); a.StatusCode != 508 {
		t.Errorf("its own Via at CONNECT: %s", a.Status)
	}
}

// TestEnvironmentsProxyIsNotUsed: goproxy sends CONNECT through HTTPS_PROXY
// and requests through HTTP_PROXY of its environment.
func TestEnvironmentsProxyIsNotUsed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used := make(chan struct{}, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			used <- struct{}{}
			_ = c.Close()
		}
	}()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://"+l.Addr().String())
	}
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	for _, mode := range []Mode{Intercept, Tunnel} {
		r := start(t, modeIs(mode))
		for _, o := range []string{newOrigin(t, hello), newTLSOrigin(t, false, hello)} {
			c := r.client(t, false)
			c.Transport.(*http.Transport).TLSClientConfig.RootCAs.AddCert(originCertificate())
			resp, err := c.Get(o + "/")
			if err != nil {
				t.Fatalf("%v, %s: %v", mode, o, err)
			}
			if body := whole(t, resp); body != "hello" {
				t.Errorf("%v, %s: %s: %s", mode, o, resp.Status, body)
			}
			_ = resp.Body.Close()
		}
	}
	if len(used) > 0 {
		t.Errorf("the environment's proxy was used %d times", len(used))
	}
}
