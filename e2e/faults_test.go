package e2e

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func get(t *testing.T, h *heed, url string) rawAnswer {
	t.Helper()
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return send(t, h.Proxy, "GET", "GET "+url+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
}

// TestAccessResults: what the status of robots.txt makes of a page, RFC 9309
// §2.3.1.
func TestAccessResults(t *testing.T) {
	status := map[string]int{"unavailable.example": 404, "gone.example": 410, "unauthorized.example": 401, "unreachable.example": 503, "busy.example": 429}
	o := newOrigin(t, nil, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status[r.Host]) },
	})
	h := startHeed(t, nil, o.connectTo()...)
	for host, code := range status {
		a := get(t, h, "http://"+host+"/page")
		want := 200
		if code == 503 || code == 429 {
			want = 503
		}
		if a.status != want {
			t.Errorf("robots.txt answers %d: %s, want %d: %s", code, a.reason, want, a.body)
		}
		if want == 200 {
			continue
		}
		if seconds, err := strconv.Atoi(a.fields.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("robots.txt answers %d: Retry-After: %q, want seconds", code, a.fields.Get("Retry-After"))
		}
		for _, word := range []string{host + "/robots.txt", strconv.Itoa(code)} {
			if !strings.Contains(string(a.body), word) {
				t.Errorf("robots.txt answers %d: the body does not name %q: %s", code, word, a.body)
			}
		}
		if a.fields.Get("Proxy-Status") == "" {
			t.Errorf("robots.txt answers %d: no Proxy-Status", code)
		}
	}
	for _, r := range o.requests("/page") {
		if status[r.host] == 503 || status[r.host] == 429 {
			t.Errorf("an unreachable robots.txt is a complete disallow, and yet: %+v", r)
		}
	}
}

// TestOriginDown: the origin that gave its robots.txt and then failed is named
// with what it did, and so is one that cannot be talked to at all.
func TestOriginDown(t *testing.T) {
	o := newOrigin(t, nil, map[string]http.HandlerFunc{
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		},
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := closed.Addr().String()
	closed.Close()
	h := startHeed(t, nil, append([]string{"--connect-to", "down.example:80:" + refusing}, o.connectTo()...)...)

	a := get(t, h, "http://cut.example/cut")
	if a.status != 502 {
		t.Errorf("a connection that the origin cut: %s, want 502: %s", a.reason, a.body)
	}
	if ps := a.fields.Get("Proxy-Status"); !strings.Contains(ps, "error=") {
		t.Errorf("a connection that the origin cut: Proxy-Status: %q", ps)
	}
	a = get(t, h, "http://down.example/x")
	if a.status != 502 || a.fields.Get("Retry-After") == "" {
		t.Errorf("an origin that is down: %s, Retry-After: %q; want 502: %s", a.reason, a.fields.Get("Retry-After"), a.body)
	}
	if ps := a.fields.Get("Proxy-Status"); !strings.Contains(ps, "error=") || !strings.Contains(ps, "refused") {
		t.Errorf("an origin that is down: Proxy-Status: %q, want the cause in it", ps)
	}
	if !strings.Contains(string(a.body), "refused") {
		t.Errorf("an origin that is down: the body does not say so: %s", a.body)
	}
	a = get(t, h, "https://unverified.example/x")
	if a.status != 502 || !strings.Contains(a.fields.Get("Proxy-Status"), "tls_certificate_error") || !strings.Contains(string(a.body), "certificate") {
		t.Errorf("an origin whose certificate nobody vouches for: %s, Proxy-Status: %q: %s", a.reason, a.fields.Get("Proxy-Status"), a.body)
	}
}

// TestOriginHangs: an origin that keeps its answer for itself is given up.
func TestOriginHangs(t *testing.T) {
	release := make(chan struct{})
	o := newOrigin(t, nil, map[string]http.HandlerFunc{
		"/hang": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
	})
	defer close(release)
	config := writeConfig(t, "timeouts:\n  response_header: 1s\n")
	h := startHeed(t, nil, append([]string{"--config", config}, o.connectTo()...)...)
	a := get(t, h, "http://hang.example/hang")
	if a.status != 504 || !strings.Contains(a.fields.Get("Proxy-Status"), "error=http_response_timeout") {
		t.Errorf("%s, Proxy-Status: %q, want 504 and error=http_response_timeout: %s", a.reason, a.fields.Get("Proxy-Status"), a.body)
	}
}

// TestSpecialAddresses: without --allow-address nothing on this machine is
// reached, by name or by number. (An address that --connect-to itself writes
// out is the operator's word; a name in it is resolved and checked.)
func TestSpecialAddresses(t *testing.T) {
	o := newOrigin(t, nil, nil)
	_, port, _ := net.SplitHostPort(o.httpAddr)
	h := startHeed(t, nil, "--connect-to", "inside.example:80:localhost:"+port)
	for _, url := range []string{"http://" + o.httpAddr + "/x", "http://inside.example/x", "http://localhost:1/x", "http://[::1]:1/x", "http://169.254.169.254/x"} {
		a := get(t, h, url)
		if a.status < 400 || !strings.Contains(a.fields.Get("Proxy-Status"), "destination_ip_prohibited") {
			t.Errorf("%s: %s, Proxy-Status: %q: %s", url, a.reason, a.fields.Get("Proxy-Status"), a.body)
		}
	}
	if got := o.requests(""); len(got) > 0 {
		t.Errorf("requests reached the origin: %+v", got)
	}
}

// TestOwnListeners: heed does not fetch from itself, not even where its
// address is allowed.
func TestOwnListeners(t *testing.T) {
	o := newOrigin(t, nil, nil)
	h := startHeed(t, nil, o.connectTo()...)
	_, proxyPort, _ := net.SplitHostPort(h.Proxy)
	_, adminPort, _ := net.SplitHostPort(h.Admin)
	for _, port := range []string{proxyPort, adminPort} {
		if a := get(t, h, "http://127.0.0.1:"+port+"/metrics"); a.status < 400 {
			t.Errorf("port %s: %s, want a refusal: %.300s", port, a.reason, a.body)
		}
	}
}
