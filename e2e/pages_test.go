package e2e

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestOwnPages: http://heed.internal/ through the proxy says what heed is,
// hands out its CA's certificate as PEM and as DER, and says why.
func TestOwnPages(t *testing.T) {
	o := newOrigin(t, map[string]string{openHost: "User-agent: *\n" + rule + "\n"}, nil)
	h := startHeed(t, nil, o.connectTo()...)
	client := h.client(t)
	read := func(target, accept string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}

	resp, start := read("http://heed.internal/", "text/html")
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("the start page: %s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	if strings.Contains(strings.ToLower(start), "<script") {
		t.Error("the start page holds a script")
	}
	want := heedCommand(t, nil, "ca", "export", "--state-dir", h.StateDir)
	block, _ := pem.Decode(want)
	forms := 0
	for _, m := range regexp.MustCompile(`href="([^"]+\.(?:pem|crt|cer|der))"`).FindAllStringSubmatch(start, -1) {
		u, err := (&url.URL{Scheme: "http", Host: "heed.internal", Path: "/"}).Parse(m[1])
		if err != nil {
			t.Fatal(err)
		}
		resp, body := read(u.String(), "*/*")
		der := []byte(body)
		if b, _ := pem.Decode(der); b != nil {
			der = b.Bytes
		}
		if _, err := x509.ParseCertificate(der); err != nil || string(der) != string(block.Bytes) {
			t.Errorf("%s: %s, %s is not the CA's certificate: %v", u, resp.Status, resp.Header.Get("Content-Type"), err)
		}
		forms++
	}
	if forms < 2 {
		t.Errorf("the start page links %d forms of the certificate, want PEM and DER:\n%s", forms, start)
	}

	resp, denial := read("http://"+openHost+"/private/x", "text/html")
	if resp.StatusCode != 403 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || !strings.Contains(denial, rule) {
		t.Errorf("a denial as HTML: %s, %s\n%s", resp.Status, resp.Header.Get("Content-Type"), denial)
	}
	if strings.Contains(strings.ToLower(denial), "<script") {
		t.Error("the denial holds a script")
	}
	id, _ := decisionOf(t, resp.Header).Params.Get("id")
	for _, query := range []url.Values{
		{"id": {id.(string)}},
		{"url": {"http://" + openHost + "/private/x"}, "agent": {"ExampleBot"}},
	} {
		if resp, why := read("http://heed.internal/why?"+query.Encode(), "text/plain"); resp.StatusCode != 200 || !strings.Contains(why, rule) {
			t.Errorf("/why?%s: %s\n%s", query.Encode(), resp.Status, why)
		}
	}
	resp, problem := read("http://"+openHost+"/private/x", "application/json")
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/problem+json") || !strings.Contains(problem, rule) {
		t.Errorf("a denial as problem details: %s\n%s", got, problem)
	}
	if resp, missing := read("http://heed.internal/nothing-here", "text/plain"); resp.StatusCode != 404 {
		t.Errorf("a page that heed has not: %s\n%s", resp.Status, missing)
	}
	if got := o.requests("/private/"); len(got) > 0 {
		t.Errorf("requests reached the origin: %+v", got)
	}
}

// TestNothingSecretIsLogged: what a client sends to be let in somewhere is in
// no line of the log.
func TestNothingSecretIsLogged(t *testing.T) {
	o := newOrigin(t, nil, nil)
	h := startHeed(t, nil, o.connectTo()...)
	secrets := []string{"c00kie-s3cret", "b3arer-s3cret", "pr0xy-s3cret"}
	send(t, h.Proxy, "GET", "GET http://open.example/logged HTTP/1.1\r\nHost: open.example\r\n"+
		"Cookie: sid="+secrets[0]+"\r\nAuthorization: Bearer "+secrets[1]+"\r\nProxy-Authorization: Basic "+secrets[2]+"\r\n\r\n")
	if len(o.requests("/logged")) == 0 {
		t.Fatal("the request did not reach the origin")
	}
	h.stop(t)
	if !strings.Contains(h.Log.String(), "/logged") {
		t.Errorf("the log has no line of the exchange:\n%s", h.Log.String())
	}
	for _, secret := range secrets {
		if strings.Contains(h.Log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
