package proxy

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"heed/internal/audit"
	"heed/policy"
)

// cautious is a robots.txt that was compiled for every dialect.
func cautious(origin, body string) *policy.Snapshot {
	s := rules(origin, body)
	s.Rules, s.Cautious = policy.Compile([]byte(body), policy.Options{Cautious: true}), true
	return s
}

// refused is a robots.txt that was answered with 403 itself.
func refused(origin string) *policy.Snapshot {
	return &policy.Snapshot{URL: origin + "/robots.txt", Access: policy.Unavailable, Status: 403, Cautious: true}
}

// orphan is a rule before any group: RFC 9309 ignores it, robotstxt does not.
const orphan = "Disallow: /private\n"

// TestDenialByADialectNamesIt in every form of the answer.
func TestDenialByADialectNamesIt(t *testing.T) {
	r := start(t, modeIs(Tunnel), func(c *Config) {
		line, record := audit.Log(c.Log), c.Record
		c.Record = func(e *audit.Entry) { line(e); record(e) }
	})
	r.policies.set("http://a.example", cautious("http://a.example", orphan))
	r.policies.set("https://a.example", cautious("https://a.example", "Disallow: /\n"))
	for accept, says := range map[string]string{
		"text/plain":       "\nDialect:     robotstxt\n",
		"application/json": `"dialect":"robotstxt"`,
		"text/html":        "<th scope=\"row\">Dialect</th><td>robotstxt</td>",
	} {
		a := r.get(t, "http://a.example/private/x", exampleBot, "Accept: "+accept)
		if a.StatusCode != 403 || !strings.Contains(a.body, says) || !strings.Contains(a.body, " as robotstxt reads it.") || !strings.Contains(a.body, "policy.cautious: false") {
			t.Errorf("%s: %s: %s", accept, a.Status, a.body)
		}
		if verdict, params := decision(t, a.Header); verdict != "disallowed" || params["dialect"] != "robotstxt" || params["line"] != int64(1) {
			t.Errorf("Robots-Decision: %s", a.Header.Get("Robots-Decision"))
		}
		if _, _, details := proxyStatus(t, a.Header); !strings.Contains(details, "as robotstxt reads it") {
			t.Errorf("Proxy-Status: %s", a.Header.Get("Proxy-Status"))
		}
		e := r.entry(t)
		if e.Verdict != audit.Denied || e.Reason != "disallowed" || e.Decision.Dialect != "robotstxt" {
			t.Errorf("recorded as %+v", e)
		}
		for _, q := range []url.Values{{"id": {e.ID}}, {"url": {"http://a.example/private/x"}}} {
			if got := r.why(t, q); got["dialect"] != "robotstxt" || got["decision"] != "disallowed" || got["remedy"] != cautiousRemedy {
				t.Errorf("/why?%s: %v", q.Encode(), got)
			}
			r.entry(t)
		}
	}
	if log := r.log.String(); strings.Count(log, `"dialect":"robotstxt"`) != 3 {
		t.Errorf("the log does not name the dialect three times:\n%s", log)
	}
	a := r.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
	if want := "403 Disallowed by robots.txt (dialect robotstxt, line 1: Disallow: /)"; a.Status != want {
		t.Errorf("CONNECT: %s, want %s", a.Status, want)
	}
}

// TestNoDialectIsNamedWhereRFC9309Decides: neither for a denial nor for what is
// forwarded, cautious or not.
func TestNoDialectIsNamedWhereRFC9309Decides(t *testing.T) {
	r := start(t)
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	for _, s := range []*policy.Snapshot{cautious(o, "User-agent: *\nDisallow: /private\n"), rules(o, "User-agent: *\nDisallow: /private\n")} {
		r.policies.set(o, s)
		for target, status := range map[string]int{"/private": 403, "/open": 200} {
			a := r.get(t, o+target, "Accept: application/json")
			if a.StatusCode != status || strings.Contains(a.body, "dialect") || strings.Contains(a.Header.Get("Robots-Decision"), "dialect") {
				t.Errorf("%s: %s, %v: %s", target, a.Status, a.Header, a.body)
			}
			if e := r.entry(t); e.Decision.Dialect != "" {
				t.Errorf("%s: recorded as %+v", target, e)
			}
		}
	}
}

// TestRefusedRobotsTxtIsARestrictionToADialect: a kind of its own, which says
// what was refused and how to go on.
func TestRefusedRobotsTxtIsARestrictionToADialect(t *testing.T) {
	r := start(t)
	forAll(t, r, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, c channel) {
		r.policies.set(c.origin, refused(c.origin))
		resp := c.do(t, "GET", "/x", nil, "Accept: application/json")
		var got map[string]any
		if err := json.Unmarshal([]byte(whole(t, resp)), &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"type":     "http://heed.internal/problems/robots-restricted",
			"title":    "robots.txt itself is refused",
			"status":   403.0,
			"detail":   "robots.txt itself is refused with status 403, which is a complete restriction as rerp reads it.",
			"decision": "disallowed",
			"dialect":  "rerp",
			"access":   "unavailable",
			"remedy":   cautiousRemedy,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if verdict, params := decision(t, resp.Header); resp.StatusCode != 403 || verdict != "disallowed" || params["reason"] != "restricted" || params["dialect"] != "rerp" {
			t.Errorf("%s, Robots-Decision: %s", resp.Status, resp.Header.Get("Robots-Decision"))
		}
		e := r.entryOf(t, c.as)
		for e.Target != "/x" { // what the channels before have left
			e = r.entryOf(t, c.as)
		}
		if e.Verdict != audit.Denied || e.Reason != "robots-restricted" || e.Err == "" {
			t.Errorf("recorded as %+v", e)
		}
		if why := r.why(t, url.Values{"id": {e.ID}}); why["type"] != got["type"] || why["detail"] != got["detail"] {
			t.Errorf("/why: %v", why)
		}
		if resp := c.do(t, "GET", "/robots.txt", nil); resp.StatusCode != 200 {
			t.Errorf("robots.txt itself: %s", resp.Status)
		}
	})
	s := refused("http://open.example")
	s.Cautious = false
	r.policies.set("http://open.example", s)
	if got := r.why(t, url.Values{"url": {"http://open.example/x"}}); got["decision"] != "allowed" {
		t.Errorf("without caution: %v", got)
	}
	s.Refusals = true
	if got := r.why(t, url.Values{"url": {"http://open.example/x"}}); got["decision"] != "disallowed" || got["dialect"] != nil || got["remedy"] != refusedRemedy {
		t.Errorf("where refusals count: %v", got)
	}
}

// TestEveryReasonThatDisallowsDenies, those included that are not known here,
// and none passes for a rule of the site's owner that is not there.
func TestEveryReasonThatDisallowsDenies(t *testing.T) {
	p := New(Config{})
	kindOf := map[policy.Reason]*kind{
		policy.ReasonRule:        kindDisallowed,
		policy.ReasonUnreachable: kindUnreachable,
		policy.ReasonRestricted:  kindRestricted,
	}
	for reason := range policy.Reason(255) {
		want := kindOf[reason]
		if want == nil {
			want = kindDenied
		}
		d := policy.Decision{Reason: reason}
		for _, s := range []*policy.Snapshot{nil, rules("http://a.example", "")} {
			e := &audit.Entry{ID: "x", Origin: "http://a.example", Target: "/x", Decision: d, Snapshot: s}
			pr := problemOfEntry(e)
			if pr == nil || pr.kind != want || pr.kind.status < 400 {
				t.Fatalf("%s: %+v, want %s", reason, pr, want.name)
			}
			out := p.explain(e, pr)
			if out.Detail == "" || out.Decision == "allowed" || want == kindDenied && (out.Detail != new(texts).sentence(d.String()) || out.Remedy != "") {
				t.Errorf("%s: %+v", reason, out)
			}
			e.Reason, e.Err = pr.kind.name, pr.Error()
			if again := problemOfEntry(e); again == nil || again.kind != want || again.Error() != pr.Error() {
				t.Errorf("%s: looked up, it is %+v, want %+v", reason, again, pr)
			}
		}
	}
}

func TestDenialByTheOperatorIsNotTheSites(t *testing.T) {
	e := &audit.Entry{Origin: "http://a.example", Target: "/x", Decision: policy.Decision{Reason: policy.ReasonOverride}}
	pr := denialOf(e)
	if pr.kind != kindDenied || errors.Unwrap(pr).Error() != "disallowed by the operator, whatever robots.txt says" {
		t.Errorf("%s: %v", pr.kind.name, pr)
	}
}
