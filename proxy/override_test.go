package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dunglas/httpsfv"

	"heed/internal/audit"
	"heed/internal/dial"
	"heed/internal/origin"
	"heed/internal/override"
	"heed/policy"
)

// operator is an override for a host with all its texts.
func operator(host string, a policy.Action, rules string) override.Record {
	r := override.Record{Host: host, Override: policy.Override{
		Action: a, Reason: `they said "no"`, Reference: "ticket 4711", Owner: "lab admin", Expires: time.Date(2999, 4, 1, 0, 0, 0, 0, time.UTC),
	}}
	if a == policy.UseOperatorsRules {
		r.File, r.Rules = "our-robots.txt", policy.Compile([]byte(rules), policy.Options{})
	}
	return r
}

// overriding sets the overrides of a Proxy, whose Policies no one may ask.
func overriding(t testing.TB, records ...override.Record) func(*Config) {
	t.Helper()
	table, err := override.New(records)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Overrides = table
		c.Policies.(*policies).hook = func(context.Context, origin.Origin) (policy.Snapshot, error) {
			return policy.Snapshot{}, errors.New("robots.txt was asked for")
		}
	}
}

const ours = "User-agent: *\nDisallow: /private/\n"

func TestOverridesDecideWithoutAskingRobotsTxt(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		for _, tt := range []struct {
			why    string
			action policy.Action
			target string
			status int
			line   int
		}{
			{"anything may be requested", policy.AllowOrigin, "/private/x", 200, 0},
			{"nothing may be", policy.DisallowOrigin, "/x", 403, 0},
			{"but for robots.txt", policy.DisallowOrigin, "/robots.txt", 200, 0},
			{"and its other spelling", policy.DisallowOrigin, "/%72obots.txt", 200, 0},
			{"as where there is no robots.txt", policy.HoldUnavailable, "/private/x", 200, 0},
			{"the operator's rule allows", policy.UseOperatorsRules, "/x", 200, 0},
			{"the operator's rule disallows", policy.UseOperatorsRules, "/private/x", 403, 2},
			{"a form of the target meets it", policy.UseOperatorsRules, "/%2e/private/x", 403, 2},
		} {
			t.Run(scheme+" "+tt.why, func(t *testing.T) {
				page := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }
				site := newOrigin(t, page)
				if scheme == "https" {
					site = newTLSOrigin(t, true, page)
				}
				r := start(t, overriding(t, operator("127.0.0.1", tt.action, ours)))
				resp, err := r.client(t, scheme == "https").Get(site + tt.target)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != tt.status || (string(body) == "page") != (tt.status == 200) {
					t.Errorf("%d: %s", resp.StatusCode, body)
				}
				channel := audit.Plain
				if scheme == "https" {
					channel = audit.Intercepted
				}
				e := r.entryOf(t, channel)
				used := e.Decision.Reason != policy.ReasonRobotsTxt
				if (e.Decision.Override != nil) != used || e.Decision.Line != tt.line || e.Snapshot != nil || e.RobotsWait != 0 {
					t.Errorf("the entry says %v, of the snapshot %v after %v", e.Decision, e.Snapshot, e.RobotsWait)
				}
				if len(r.policies.asked) > 0 {
					t.Errorf("robots.txt was asked for: %v", r.policies.asked)
				}
			})
		}
	}
}

func TestADenialByAnOverrideShowsItsRecord(t *testing.T) {
	r := start(t, overriding(t, operator("a.example", policy.UseOperatorsRules, ours)))
	const detail = `Disallowed by "Disallow: /private/" (line 2) in the group of "*" (line 1), by the operator's file "our-robots.txt" in place of robots.txt (override for a.example by lab admin until 2999-03-31: "they said \"no\"").`
	a := r.get(t, "http://a.example/private/x", "User-Agent: ExampleBot/1.0", "Accept: application/problem+json")
	var p explanation
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatal(err)
	}
	want := overrideTold{For: "a.example", Action: "file", File: "our-robots.txt", Reason: `they said "no"`, Reference: "ticket 4711", Owner: "lab admin", Expires: "2999-03-31"}
	if p.Override == nil || *p.Override != want || p.Detail != detail || p.Status != 403 || p.Type != "http://heed.internal/problems/override" || p.Rule != "Disallow: /private/" || p.Line != 2 || p.Robots != "" {
		t.Errorf("the problem is %s", a.body)
	}
	e := r.entry(t)
	if e.Verdict != audit.Denied || e.Reason != "override" || e.Err != "" {
		t.Errorf("the entry is %v, %s, %q", e.Verdict, e.Reason, e.Err)
	}

	item, err := httpsfv.UnmarshalItem(a.Header["Robots-Decision"])
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"reason": "rule", "rule": "Disallow: /private/", "override": "a.example", "override-action": "file", "override-file": "our-robots.txt",
		"override-reason": `they said "no"`, "override-reference": "ticket 4711", "override-owner": "lab admin", "override-expires": "2999-03-31",
	} {
		if got, _ := item.Params.Get(name); got != want {
			t.Errorf("in the field %s is %v, want %s", name, got, want)
		}
	}
	if _, there := item.Params.Get("robots"); there {
		t.Error("the field names a robots.txt, and none was asked")
	}

	for accept, says := range map[string][]string{
		"text/plain": {"403 Disallowed by the operator of this proxy\n", detail, "Override:    file for a.example\n", "File:        our-robots.txt\n", `Reason:      they said "no"`, "Reference:   ticket 4711\n", "Owner:       lab admin\n", "Expires:     2999-03-31\n", "ask whoever is named as the owner"},
		"text/html":  {"Disallowed by the operator of this proxy", "file for a.example", "they said &#34;no&#34;", "ticket 4711", "lab admin", "2999-03-31"},
	} {
		page := r.get(t, "http://a.example/private/x", "Accept: "+accept).body
		later := r.get(t, "http://heed.internal/why?id="+r.entryWith(t, "override").ID, "Accept: "+accept).body
		asked := r.get(t, "http://heed.internal/why?url=http://a.example/private/x", "Accept: "+accept).body
		for _, text := range says {
			if !strings.Contains(page, text) || !strings.Contains(later, text) || !strings.Contains(asked, text) {
				t.Errorf("%q is not in all of\n%s\n%s\n%s", text, page, later, asked)
			}
		}
	}
}

// entryWith returns the next exchange that was recorded with a reason.
func (r *rig) entryWith(t testing.TB, reason string) *audit.Entry {
	t.Helper()
	for {
		if e := r.entry(t); e.Reason == reason {
			return e
		}
	}
}

func TestAPermissionByAnOverrideIsExplainedToo(t *testing.T) {
	r := start(t, overriding(t, operator("a.example", policy.AllowOrigin, "")))
	page := r.get(t, "http://heed.internal/why?url=https://a.example/private/x").body
	for _, text := range []string{"200 Allowed\n", `Allowed by the operator, whatever robots.txt says (override for a.example by lab admin until 2999-03-31: "they said \"no\"").`, "Override:    allow for a.example\n", "Reference:   ticket 4711\n"} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not in\n%s", text, page)
		}
	}
}

func TestOverridesOpenNothingButRobotsTxt(t *testing.T) {
	r := start(t, overriding(t, operator("127.0.0.1", policy.AllowOrigin, ""), operator("169.254.169.254", policy.HoldUnavailable, "")), dialing(dial.Config{Allow: []netip.Prefix{}}),
		func(c *Config) { c.ConnectPort = func(port string) bool { return port != "25" } })
	for url, reason := range map[string]string{"http://127.0.0.1:9/": "address-prohibited", "http://169.254.169.254/": "address-prohibited"} {
		if a := r.get(t, url); a.StatusCode != 403 {
			t.Errorf("%s: %s", url, a.Status)
		}
		if e := r.entry(t); e.Reason != reason || e.Verdict != audit.Denied {
			t.Errorf("%s: %s, %v", url, e.Reason, e.Verdict)
		}
	}
	if a := r.send(t, "CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: x\r\n\r\n"); a.StatusCode != 403 || !strings.Contains(a.body, "connect_ports") {
		t.Errorf("a port that is closed: %s", a.body)
	}
}

func TestATunnelThatIsNotReadIsDecidedByTheOverride(t *testing.T) {
	r := start(t, modeIs(Tunnel), overriding(t, operator("a.example", policy.DisallowOrigin, "")))
	a := r.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if want := `403 Disallowed by the operator of this proxy (they said "no")`; a.Status != want {
		t.Errorf("it is answered %s, want %s", a.Status, want)
	}
	if !strings.Contains(a.body, "The tunnel is not read") {
		t.Errorf("it does not say that the origin as a whole was decided on: %s", a.body)
	}
}

func TestAnOverrideEndsBetweenTwoExchanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := operator("a.example", policy.AllowOrigin, "")
		record.Expires = time.Now().Add(time.Hour)
		table, err := override.New([]override.Record{record})
		if err != nil {
			t.Fatal(err)
		}
		all := new(policies)
		all.set("http://a.example", rules("http://a.example", "User-agent: *\nDisallow: /\n"))
		p := New(Config{Policies: all, Overrides: table})
		ask := func() policy.Decision {
			x := &exchange{in: httptest.NewRequest(http.MethodGet, "http://a.example/x", nil), origin: origin.Origin{Scheme: "http", Host: "a.example", Port: "80"}, target: "/x", entry: new(audit.Entry)}
			if err := p.decide(x); err != nil {
				t.Error(err)
			}
			return x.entry.Decision
		}
		if d := ask(); !d.Allowed || d.Override == nil {
			t.Errorf("at first: %v", d)
		}
		time.Sleep(time.Hour - 1)
		if d := ask(); !d.Allowed || d.Override == nil {
			t.Errorf("in the last nanosecond: %v", d)
		}
		time.Sleep(1)
		if d := ask(); d.Allowed || d.Override != nil || d.Line != 2 {
			t.Errorf("after its end: %v", d)
		}
	})
}
