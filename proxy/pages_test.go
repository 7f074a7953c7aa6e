package proxy

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"heed/internal/audit"
	"heed/policy"
)

// TestOwnPages: what each path of http://heed.internal/ is, through the proxy,
// inside a tunnel, and on the proxy's own address.
func TestOwnPages(t *testing.T) {
	r := start(t)
	for _, tt := range []struct {
		why, method, target string
		status              int
		contentType         string
		says                string
	}{
		{"the start page", "GET", "/", 200, typeHTML, r.ca.Fingerprint()},
		{"its version", "GET", "/", 200, typeHTML, "1.2.3"},
		{"the certificate for people", "GET", "/ca.pem", 200, "application/x-pem-file", "BEGIN CERTIFICATE"},
		{"by its other name", "GET", "/ca.crt", 200, "application/x-pem-file", "BEGIN CERTIFICATE"},
		{"the certificate for devices", "GET", "/ca.der", 200, "application/x-x509-ca-cert", string(r.ca.DER())},
		{"by its other name", "GET", "/ca.cer", 200, "application/x-x509-ca-cert", string(r.ca.DER())},
		{"a problem", "GET", "/problems/disallowed", 200, typeHTML, "http_request_denied"},
		{"a problem that there is not", "GET", "/problems/none", 404, typeText, `"none"`},
		{"a page that there is not", "GET", "/none", 404, typeText, "/none"},
		{"a path that is none", "GET", "//evil.example/x", 404, typeText, "no page"},
		{"/why without a question", "GET", "/why", 404, typeText, "/why?id=ID"},
		{"/why of an unknown id", "GET", "/why?id=<b>", 404, typeText, "o decision"},
		{"/why of what is no URL", "GET", "/why?url=a.example", 404, typeText, "not an absolute URL"},
		{"POST", "POST", "/", 404, typeText, "GET and HEAD"},
		{"DELETE", "DELETE", "/ca.pem", 404, typeText, "GET and HEAD"},
		{"HEAD", "HEAD", "/", 200, typeHTML, ""},
	} {
		for name, w := range map[string]*wire{
			"http://heed.internal": r.dial(t),
			"":                     r.connect(t, "heed.internal:80"),
			"https":                r.secure(t, r.connect(t, "heed.internal:443"), "heed.internal", "http/1.1"),
		} {
			prefix := name
			if name == "https" {
				prefix = ""
			}
			a := w.send(t, tt.method+" "+prefix+tt.target+" HTTP/1.1\r\nHost: heed.internal\r\n\r\n")
			if a.StatusCode != tt.status || a.Header.Get("Content-Type") != tt.contentType || !strings.Contains(a.body, tt.says) {
				t.Errorf("%s, by %q: %s, %s: %.300s", tt.why, name, a.Status, a.Header.Get("Content-Type"), a.body)
			}
			if a.Header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(strings.ToLower(a.body), "<script") {
				t.Errorf("%s, by %q: %v", tt.why, name, a.Header)
			}
			e := r.entry(t)
			for e.Channel == audit.Connect {
				e = r.entry(t)
			}
			if e.Verdict != audit.Answered || e.Status != tt.status || e.Method != tt.method {
				t.Errorf("%s, by %q: recorded as %+v", tt.why, name, e)
			}
			_ = w.Close()
		}
	}
	if len(r.policies.asked) > 0 {
		t.Errorf("robots.txt was asked for: %v", r.policies.asked)
	}
}

// TestOwnPagesOnTheProxysAddress: a browser that is pointed at the proxy gets
// them, and robots.txt is not asked of anybody.
func TestOwnPagesOnTheProxysAddress(t *testing.T) {
	r := start(t)
	a := r.send(t, "GET /ca.pem HTTP/1.1\r\nHost: "+r.addr+"\r\n\r\n")
	block, _ := pem.Decode([]byte(a.body))
	if a.StatusCode != 200 || block == nil {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.Equal(r.ca.Certificate()) {
		t.Errorf("it is not the CA's certificate: %v", err)
	}
	if e := r.entry(t); e.Verdict != audit.Answered || e.Origin != "http://heed.internal" || e.Target != "/ca.pem" {
		t.Errorf("recorded as %+v", e)
	}
	if len(r.policies.asked) > 0 {
		t.Errorf("robots.txt was asked for: %v", r.policies.asked)
	}
}

// why asks for an explanation as JSON.
func (r *rig) why(t *testing.T, query url.Values) map[string]any {
	t.Helper()
	a := r.get(t, "http://heed.internal/why?"+query.Encode(), "Accept: application/json")
	if a.StatusCode != 200 {
		t.Fatalf("/why?%s: %s: %s", query.Encode(), a.Status, a.body)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return got
}

// TestWhyByID says of each recorded exchange what was answered then.
func TestWhyByID(t *testing.T) {
	r, denied := closedSite(t)
	r.policies.set("http://down.example", &policy.Snapshot{URL: "http://down.example/robots.txt", Access: policy.Unreachable, Err: "status 503"})
	r.policies.set("http://127.0.0.1:1", rules("http://127.0.0.1:1", ""))
	open := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		why, octets string
		want        map[string]any
	}{
		{"denied by a rule", request("GET", denied, exampleBot), map[string]any{"status": 403.0, "decision": "disallowed", "rule": "Disallow: /private/", "line": 6.0, "url": denied, "type": "http://heed.internal/problems/disallowed"}},
		{"unreachable", request("GET", "http://down.example/x"), map[string]any{"status": 503.0, "decision": "unreachable", "detail": "Status 503."}},
		{"forwarded", request("GET", open+"/x"), map[string]any{"status": 200.0, "title": "Allowed", "decision": "allowed", "url": open + "/x", "type": nil}},
		{"not answered by its origin", request("GET", "http://127.0.0.1:1/x"), map[string]any{"status": 502.0, "decision": "allowed", "type": "http://heed.internal/problems/connection-refused"}},
		{"malformed", request("GET", "ftp://a.example/"), map[string]any{"status": 400.0, "decision": nil, "url": nil, "type": "http://heed.internal/problems/bad-request"}},
		{"a page of heed's own", request("GET", "http://heed.internal/"), map[string]any{"status": 200.0, "title": "Page of heed's own", "decision": nil}},
		{"a tunnel", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", map[string]any{"status": 200.0, "title": "Tunnel", "decision": nil, "url": "https://a.example", "note": nil}},
	} {
		r.send(t, tt.octets)
		e := r.entry(t)
		got := r.why(t, url.Values{"id": {e.ID}})
		r.entry(t) // of the question itself
		tt.want["id"] = e.ID
		for name, value := range tt.want {
			if got[name] != value {
				t.Errorf("%s: %s is %v, want %v", tt.why, name, got[name], value)
			}
		}
	}
}

// TestWhyByURL says what would be decided now, for a product token or a whole
// User-Agent, and asks nothing but robots.txt.
func TestWhyByURL(t *testing.T) {
	r, closed := closedSite(t)
	for _, tt := range []struct {
		why, url, agent string
		want            map[string]any
	}{
		{"by a token", closed, "ExampleBot", map[string]any{"decision": "disallowed", "rule": "Disallow: /private/", "status": 403.0, "id": nil, "instance": nil}},
		{"by a User-Agent", closed, "Mozilla/5.0 (compatible; ExampleBot/0.1)", map[string]any{"decision": "disallowed", "rule": "Disallow: /private/"}},
		{"by another", closed, "OtherBot", map[string]any{"decision": "allowed", "title": "Allowed"}},
		{"by nobody", closed, "", map[string]any{"decision": "allowed"}},
		{"of a form", "http://a.example//private/x", "ExampleBot", map[string]any{"decision": "disallowed", "form": "/private/x"}},
		{"of robots.txt", "http://a.example/robots.txt", "ExampleBot", map[string]any{"decision": "allowed"}},
	} {
		q := url.Values{"url": {tt.url}}
		if tt.agent != "" {
			q.Set("agent", tt.agent)
		}
		got := r.why(t, q)
		for name, value := range tt.want {
			if got[name] != value {
				t.Errorf("%s: %s is %v, want %v", tt.why, name, got[name], value)
			}
		}
	}
}

// TestProblemPagesExist: the type of every answer leads to one.
func TestProblemPagesExist(t *testing.T) {
	r := start(t)
	for _, k := range kinds {
		a := r.get(t, problemPages+k.name)
		if a.StatusCode != 200 || !strings.Contains(a.body, html.EscapeString(k.title)) || !strings.Contains(a.body, k.signal) {
			t.Errorf("%s: %s: %s", problemPages+k.name, a.Status, a.body)
		}
	}
}
