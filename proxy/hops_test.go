package proxy

import (
	"net/http"
	"strings"
	"testing"

	"heed/internal/audit"
)

// TestMaxForwards: TRACE and OPTIONS end here, or pass one proxy fewer; other
// methods have no such bound (RFC 9110 §7.6.2).
func TestMaxForwards(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\nX-Of: origin\r\n\r\n"))
	r := start(t)
	for _, tt := range []struct {
		why, method string
		field       string
		sent        string // Max-Forwards as the origin has it; "here": it has nothing
	}{
		{"may not go on", "OPTIONS", "Max-Forwards: 0", "here"},
		{"may not go on", "TRACE", "max-forwards: 000", "here"},
		{"may pass one", "TRACE", "Max-Forwards: 1", "0"},
		{"may pass some", "OPTIONS", "Max-Forwards: 10", "9"},
		{"may pass any number", "OPTIONS", "Max-Forwards: 99999999999999999999999", "18446744073709551614"},
		{"no number", "OPTIONS", "Max-Forwards: -1", "-1"},
		{"no field", "TRACE", "X: y", ""},
		{"another method", "GET", "Max-Forwards: 0", "0"},
	} {
		a := r.send(t, request(tt.method, "http://"+host+"/x", tt.field))
		here := a.Header.Get("X-Of") == ""
		if here != (tt.sent == "here") || here && a.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s, %v", tt.method, tt.why, a.Status, a.Header)
			continue
		}
		e := r.entry(t)
		if here {
			if e.Verdict != audit.Answered || e.Reason != "max-forwards" || len(seen) > 0 {
				t.Errorf("%s %s: recorded as %v, %s", tt.method, tt.why, e.Verdict, e.Reason)
			}
			continue
		}
		_, got, _ := strings.Cut(<-seen, "Max-Forwards: ")
		if got, _, _ = strings.Cut(got, "\r\n"); got != tt.sent || e.Verdict != audit.Forwarded {
			t.Errorf("%s %s: the origin got %q, want %q", tt.method, tt.why, got, tt.sent)
		}
	}
}

// TestTraceTellsWhatCame: as it came, without what is secret (RFC 9110 §9.3.8).
func TestTraceTellsWhatCame(t *testing.T) {
	r := start(t)
	a := r.send(t, "TRACE http://a.example/x?y HTTP/1.1\r\nvia: 1.1 one\r\nHost: a.example\r\nCOOKIE: secret\r\nAuthorization: secret\r\n"+
		"Proxy-Authorization: secret\r\nVia: 1.1 two\r\nmax-Forwards: 0\r\n\r\n")
	want := "TRACE http://a.example/x?y HTTP/1.1\r\nvia: 1.1 one\r\nHost: a.example\r\nVia: 1.1 two\r\nmax-Forwards: 0\r\n\r\n"
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "message/http" || a.body != want {
		t.Errorf("%s, %v: %q", a.Status, a.Header, a.body)
	}
	forAll(t, r, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") }, func(t *testing.T, c channel) {
		r.policies.set(c.origin, rules(c.origin, "User-agent: *\nDisallow: /\n")) // it is no request of the origin's
		resp := c.do(t, "TRACE", "/x", nil, "X-Y: z", "Max-Forwards: 0")
		body := whole(t, resp)
		if resp.StatusCode != 200 || !strings.HasPrefix(body, "TRACE ") || !strings.Contains(body, "\r\nX-Y: z\r\n") || !strings.Contains(body, "\r\nHost: "+hostOf(c.origin)+"\r\n") {
			t.Errorf("%s: %q", resp.Status, body)
		}
	})
}
