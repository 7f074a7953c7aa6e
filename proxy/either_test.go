package proxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"heed/internal/audit"
)

// secureClient is told of the proxy by an https URL.
func (r *rig) secureClient(t testing.TB) *http.Client {
	t.Helper()
	c := r.client(t, false)
	c.Transport.(*http.Transport).Proxy = http.ProxyURL(&url.URL{Scheme: "https", Host: r.addr})
	return c
}

func TestProxyPortSpeaksTLSToClientsThatDo(t *testing.T) {
	r := start(t)
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	plain, secure := newOrigin(t, hello), newTLSOrigin(t, true, hello)
	for _, o := range []string{plain, secure} {
		r.policies.set(o, rules(o, "User-agent: *\nDisallow: /private/\n"))
	}
	client := r.secureClient(t)
	for _, row := range []struct {
		target string
		status int
		why    string
	}{
		{plain + "/", 200, "a request in absolute form"},
		{plain + "/private/x", 403, "the same rules hold"},
		{secure + "/", 200, "a CONNECT, TLS inside TLS"},
		{secure + "/private/x", 403, "the same rules hold inside"},
	} {
		resp, err := client.Get(row.target)
		if err != nil {
			t.Fatalf("%s: %v", row.why, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != row.status {
			t.Errorf("%s: got %d, want %d", row.why, resp.StatusCode, row.status)
		}
	}
}

// wget2 before 2.0 opens TLS with the proxy under the origin's name and sends
// the absolute form inside.
func TestProxyPortSpeaksTLSUnderTheOriginsName(t *testing.T) {
	r := start(t)
	o := newTLSOrigin(t, false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	c, err := tls.Dial("tcp", r.addr, &tls.Config{RootCAs: roots, ServerName: "a.example"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, "GET "+o+"/x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "hello" {
		t.Errorf("body %q, %v", body, err)
	}
	if e := r.entry(t); e.Verdict != audit.Forwarded || e.Origin != o {
		t.Errorf("recorded %s to %s", e.Verdict, e.Origin)
	}
}
