package proxy

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dunglas/httpsfv"

	"heed/internal/audit"
	"heed/policy"
)

const robots = `User-agent: *
Disallow:

User-agent: ExampleBot
Allow: /
Disallow: /private/
`

// closedSite is a rig with an origin whose robots.txt is robots.
func closedSite(t testing.TB) (*rig, string) {
	r := start(t)
	r.policies.set("http://a.example", rules("http://a.example", robots))
	return r, "http://a.example/private/x?q=1"
}

const exampleBot = "User-Agent: Mozilla/5.0 (compatible; ExampleBot/0.1; +https://a.example/bot)"

// decision reads a Robots-Decision as RFC 9651 has it.
func decision(t testing.TB, h http.Header) (string, map[string]any) {
	t.Helper()
	item, err := httpsfv.UnmarshalItem(h["Robots-Decision"])
	if err != nil {
		t.Fatalf("Robots-Decision: %q: %v", h["Robots-Decision"], err)
	}
	params := map[string]any{}
	for _, name := range item.Params.Names() {
		params[name], _ = item.Params.Get(name)
	}
	token, ok := item.Value.(httpsfv.Token)
	if !ok {
		t.Errorf("Robots-Decision: %q is no token", h["Robots-Decision"])
	}
	return string(token), params
}

// proxyStatus reads a Proxy-Status as RFC 9209 has it.
func proxyStatus(t testing.TB, h http.Header) (name, signal, details string) {
	t.Helper()
	list, err := httpsfv.UnmarshalList(h["Proxy-Status"])
	if err != nil || len(list) != 1 {
		t.Fatalf("Proxy-Status: %q: %v", h["Proxy-Status"], err)
	}
	item := list[0].(httpsfv.Item)
	e, _ := item.Params.Get("error")
	d, _ := item.Params.Get("details")
	details, _ = d.(string)
	return string(item.Value.(httpsfv.Token)), string(e.(httpsfv.Token)), details
}

func TestDecisionField(t *testing.T) {
	r, url := closedSite(t)
	a := r.get(t, url, exampleBot)
	verdict, params := decision(t, a.Header)
	e := r.entry(t)
	want := map[string]any{
		"reason": "rule", "agent": "examplebot", "group": "ExampleBot", "rule": "Disallow: /private/", "line": int64(6),
		"robots": "http://a.example/robots.txt", "id": e.ID,
	}
	if verdict != "disallowed" || len(params) != len(want) {
		t.Errorf("Robots-Decision: %s", a.Header.Get("Robots-Decision"))
	}
	for name, value := range want {
		if params[name] != value {
			t.Errorf("%s is %v, want %v", name, params[name], value)
		}
	}
	if name, signal, details := proxyStatus(t, a.Header); name != "heed" || signal != "http_request_denied" || !strings.Contains(details, "Disallow: /private/") {
		t.Errorf("Proxy-Status: %s", a.Header.Get("Proxy-Status"))
	}
	if a.StatusCode != 403 || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Retry-After") != "" || a.Header.Get("Via") != "" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
}

// TestDecisionFieldOfAForm names the form of the target that met the rule.
func TestDecisionFieldOfAForm(t *testing.T) {
	r, _ := closedSite(t)
	a := r.get(t, "http://a.example/open/%2e%2e//private/x", exampleBot)
	if verdict, params := decision(t, a.Header); verdict != "disallowed" || params["form"] != "/private/x" {
		t.Errorf("Robots-Decision: %s", a.Header.Get("Robots-Decision"))
	}
	if !strings.Contains(a.body, "Met by:") {
		t.Errorf("the text does not name the form: %s", a.body)
	}
}

// TestText is the whole of it: what a person with curl sees.
func TestText(t *testing.T) {
	r, url := closedSite(t)
	a := r.get(t, url, exampleBot)
	e := r.entry(t)
	want := `403 Disallowed by robots.txt

Disallowed by "Disallow: /private/" (line 6) in the group of "ExampleBot" (line 4).

URL:         http://a.example/private/x?q=1
Agent:       examplebot
Group:       ExampleBot
Rule:        Disallow: /private/ (line 6)
robots.txt:  http://a.example/robots.txt
Access:      successful
Fetched:     2026-03-04T05:06:07Z
Decision id: ` + e.ID + `
Look it up:  http://heed.internal/why?id=` + e.ID + `

The site's owner does not want this client to request this address. Leave it out, or ask the owner for permission.
`
	if a.body != want {
		t.Errorf("the text is\n%s, want\n%s", a.body, want)
	}
}

// TestProblemDetails has every member (RFC 9457).
func TestProblemDetails(t *testing.T) {
	r, url := closedSite(t)
	a := r.get(t, url, exampleBot, "Accept: application/problem+json")
	e := r.entry(t)
	var got map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	want := map[string]any{
		"type":     "http://heed.internal/problems/disallowed",
		"title":    "Disallowed by robots.txt",
		"status":   403.0,
		"detail":   `Disallowed by "Disallow: /private/" (line 6) in the group of "ExampleBot" (line 4).`,
		"instance": "http://heed.internal/why?id=" + e.ID,
		"id":       e.ID,
		"decision": "disallowed",
		"url":      "http://a.example/private/x?q=1",
		"agent":    "examplebot",
		"group":    "ExampleBot",
		"rule":     "Disallow: /private/",
		"line":     6.0,
		"robots":   "http://a.example/robots.txt",
		"access":   "successful",
		"fetched":  "2026-03-04T05:06:07Z",
		"remedy":   remedies[kindDisallowed],
	}
	tokens, _ := got["tokens"].([]any)
	delete(got, "tokens")
	if len(tokens) != 1 || tokens[0] != "examplebot" && tokens[0] != "ExampleBot" {
		t.Errorf("tokens are %v", tokens)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
		delete(got, name)
	}
	for name, value := range got {
		t.Errorf("%s is %v, want none", name, value)
	}
}

func TestHTML(t *testing.T) {
	r, url := closedSite(t)
	r.policies.set("http://a.example", rules("http://a.example", "User-agent: *\nDisallow: /<script>alert(1)</script>&\"'\nDisallow: /private/<img/src=x>\n"))
	for _, url := range []string{url + "<script>", "http://a.example/<script>alert(1)</script>&\"'", "http://a.example/private/<img/src=x>\"onload="} {
		a := r.get(t, url, "Accept: text/html")
		if a.StatusCode != 403 && a.StatusCode != 200 && a.StatusCode != 502 || a.Header.Get("Content-Type") != typeHTML {
			t.Errorf("%s: %s, %v", url, a.Status, a.Header)
		}
		for _, hostile := range []string{"<script", "<img", `"onload`} {
			if strings.Contains(strings.ToLower(a.body), hostile) {
				t.Errorf("%s: the page holds %s:\n%s", url, hostile, a.body)
			}
		}
		if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s: Content-Security-Policy: %q", url, csp)
		}
	}
	a := r.get(t, "http://a.example/<script>alert(1)</script>&\"'", "Accept: text/html")
	for _, part := range []string{"Disallowed by robots.txt", "&lt;script&gt;alert(1)", "(line 2)", "http://a.example/robots.txt", "2026-03-04T05:06:07Z", "/why?id="} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the page lacks %s:\n%s", part, a.body)
		}
	}
}

// TestForms: what each client's Accept gets. Text is for who takes anything.
func TestForms(t *testing.T) {
	r, url := closedSite(t)
	for _, tt := range []struct{ why, accept, form string }{
		{"no field", "", typeText},
		{"curl, wget, requests", "Accept: */*", typeText},
		{"Chromium", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7", typeHTML},
		{"Firefox", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", typeHTML},
		{"Scrapy", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", typeHTML},
		{"an API's client", "Accept: application/json", typeProblem},
		{"one that knows RFC 9457", "Accept: application/problem+json", typeProblem},
		{"one that prefers it", "Accept: text/plain;q=0.1, application/json", typeProblem},
		{"httr", "Accept: application/json, text/xml, application/xml, */*", typeProblem},
		{"axios", "Accept: application/json, text/plain, */*", typeProblem},
		{"a browser's image", "Accept: image/avif,image/webp,*/*;q=0.8", typeText},
		{"what heed does not have", "Accept: image/png", typeText},
		{"any text", "Accept: text/*", typeText},
		{"rubbish", "Accept: ;;;,,/", typeText},
		{"empty", "Accept: ", typeText},
		{"two fields", "Accept: image/png\r\nAccept: application/json", typeProblem},
		{"refused", "Accept: text/plain;q=0, text/html", typeHTML},
		{"very long", "Accept: " + strings.Repeat("a/b,", 10_000) + "text/html", typeHTML},
	} {
		var fields []string
		if tt.accept != "" {
			fields = append(fields, tt.accept)
		}
		a := r.get(t, url, append(fields, exampleBot)...)
		if a.StatusCode != 403 || a.Header.Get("Content-Type") != tt.form || a.body == "" {
			t.Errorf("%s (%.60s): %s, %s, want %s", tt.why, tt.accept, a.Status, a.Header.Get("Content-Type"), tt.form)
		}
		if !strings.Contains(a.Header.Get("Vary"), "Accept") {
			t.Errorf("%s: Vary: %q", tt.why, a.Header.Get("Vary"))
		}
	}
}

// TestDenialOfHEAD has the fields of the answer to GET, and no body.
func TestDenialOfHEAD(t *testing.T) {
	r, url := closedSite(t)
	get := r.get(t, url, exampleBot)
	w := r.dial(t)
	for range 2 { // a body would be read as the next answer
		head := w.send(t, request("HEAD", url, exampleBot))
		if head.StatusCode != 403 || head.body != "" || head.ContentLength != get.ContentLength {
			t.Errorf("%s, length %d, want %d: %q", head.Status, head.ContentLength, get.ContentLength, head.body)
		}
		decision(t, head.Header)
	}
}

// hostileRules are what a site can write into its robots.txt to break what is
// built from it.
var hostileRules = []string{
	`/"quoted"`, `/back\slash`, `/";rule="Allow: /`, "/caf\xc3\xa9", "/\xff\xfe", "/\x1b[2J\x07", "/\u202egpj.exe", "/\u2028\u0085", "/%22%5c%00",
	"/" + strings.Repeat("x", 16<<10), "/" + strings.Repeat("é", 8<<10), `/%%%`, "/<b>", "/\t", "/a,b;c=d", "/\x00",
}

// TestHostileRulesBreakNothing: no field, phrase, line or body.
func TestHostileRulesBreakNothing(t *testing.T) {
	for _, accept := range []string{"*/*", "text/html", "application/json"} {
		r := start(t, modeIs(Tunnel))
		for _, rule := range hostileRules {
			for _, agent := range []string{"*", "ExampleBot " + rule} {
				body := "User-agent: " + agent + "\nDisallow: " + rule + "\nDisallow: /\n"
				r.policies.set("http://a.example", rules("http://a.example", body))
				r.policies.set("https://a.example", rules("https://a.example", strings.Replace(body, rule, "/$", 1)))
				for _, a := range []answer{
					r.get(t, "http://a.example/", exampleBot, "Accept: "+accept),
					r.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"+exampleBot+"\r\nAccept: "+accept+"\r\n\r\n"),
				} {
					checkShown(t, a)
				}
			}
		}
	}
}

// checkShown holds a denial to what every reader may rely on.
func checkShown(t *testing.T, a answer) {
	t.Helper()
	if a.StatusCode != 403 || a.err != nil {
		t.Errorf("%s, %v", a.Status, a.err)
	}
	if verdict, params := decision(t, a.Header); verdict != "disallowed" || params["line"] == nil || params["rule"] == nil || params["id"] == nil {
		t.Errorf("Robots-Decision: %.300q", a.Header["Robots-Decision"])
	}
	if _, _, details := proxyStatus(t, a.Header); details == "" {
		t.Errorf("Proxy-Status: %.300q", a.Header["Proxy-Status"])
	}
	size := 0
	for name, values := range a.Header {
		for _, v := range values {
			size += len(name) + len(v)
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%s: %q", name, v)
			}
		}
	}
	if size > 8<<10 { // many clients and proxies take no more
		t.Errorf("the fields have %d octets", size)
	}
	if len(a.Status) > 130 || strings.ContainsFunc(a.Status, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("the phrase is %q", a.Status)
	}
	if !utf8.ValidString(a.body) || len(a.body) > 16<<10 || strings.ContainsFunc(a.body, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		t.Errorf("the body is %.600q", a.body)
	}
	if a.Header.Get("Content-Type") == typeProblem && !json.Valid([]byte(a.body)) {
		t.Errorf("the body is no JSON: %s", a.body)
	}
}

func FuzzExplanation(f *testing.F) {
	for _, rule := range hostileRules {
		f.Add(rule, "ExampleBot", "/x")
	}
	p := New(Config{})
	f.Fuzz(func(t *testing.T, value, group, target string) {
		e := &audit.Entry{
			ID: "x", Origin: "http://a.example", Target: target, Snapshot: rules("http://a.example", ""),
			Decision: policy.Decision{Reason: policy.ReasonRule, Token: "examplebot", Group: group, Value: value, Line: 1, Form: target},
		}
		out := p.explain(e, denialOf(e))
		h := http.Header{"Robots-Decision": {robotsDecision(out, e)}, "Proxy-Status": {p.proxyStatus(out, denialOf(e))}}
		_, params := decision(t, h)
		got, isString := params["rule"].(string)
		if display, is := params["rule"].(httpsfv.DisplayString); is {
			got, isString = string(display), true
		}
		if !isString || got != shown("Disallow: "+value) {
			t.Errorf("the rule of %q became %q", value, params["rule"])
		}
		proxyStatus(t, h)
		if !json.Valid(out.json()) || !utf8.Valid(out.text(nil)) || !utf8.Valid(out.html(nil)) {
			t.Errorf("%q, %q, %q cannot be shown", value, group, target)
		}
	})
}

// TestUnreachable: 503 with the time to try again, whatever is known.
func TestUnreachable(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		why      string
		s        *policy.Snapshot
		min, max int
		says     string
	}{
		{"with a pause", &policy.Snapshot{URL: "http://a.example/robots.txt", Access: policy.Unreachable, Checked: now, RetryAfter: 90 * time.Second, Err: "fetching: status 503"}, 80, 90, "status 503"},
		{"whose pause is over", &policy.Snapshot{URL: "http://a.example/robots.txt", Access: policy.Unreachable, Checked: now.Add(-time.Hour), RetryAfter: time.Minute}, 1, 1, "complete disallow"},
		{"without a pause", &policy.Snapshot{URL: "http://a.example/robots.txt", Access: policy.Unreachable}, 1, 1, "complete disallow"},
		{"nothing at all", nil, 1, 1, "complete disallow"},
		{"that claims rules and has none", &policy.Snapshot{URL: "http://a.example/robots.txt", Access: policy.Successful}, 1, 1, "complete disallow"},
	} {
		r := start(t)
		r.policies.set("http://a.example", tt.s)
		a := r.get(t, "http://a.example/x", "Accept: application/json")
		var got struct {
			Decision string
			Retry    int `json:"retry_in"`
		}
		if err := json.Unmarshal([]byte(a.body), &got); err != nil {
			t.Fatal(err)
		}
		if a.StatusCode != 503 || got.Retry < tt.min || got.Retry > tt.max || a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, tt.says) {
			t.Errorf("%s: %s, Retry-After: %s: %s", tt.why, a.Status, a.Header.Get("Retry-After"), a.body)
		}
		e := r.entry(t)
		if e.Verdict != audit.Denied || e.Reason != "robots-unreachable" {
			t.Errorf("%s: recorded as %v, %s", tt.why, e.Verdict, e.Reason)
		}
		if verdict, _ := decision(t, a.Header); tt.s != nil && (verdict != "unreachable" || got.Decision != "unreachable") {
			t.Errorf("%s: Robots-Decision: %s", tt.why, a.Header.Get("Robots-Decision"))
		}
	}
}

// TestStaleCopyIsNamed: the reader learns that the rules may have changed.
func TestStaleCopyIsNamed(t *testing.T) {
	r := start(t)
	s := rules("http://a.example", "User-agent: *\nDisallow: /\n")
	s.Access, s.StaleSince = policy.Unreachable, time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	r.policies.set("http://a.example", s)
	if a := r.get(t, "http://a.example/x"); a.StatusCode != 403 || !strings.Contains(a.body, "unreachable since 2026-03-05T00:00:00Z") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// TestShown: bounded, and nothing that is not seen.
func TestShown(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"café", "café"},
		{"a\x00\x1b\x7f", "a%00%1B%7F"},
		{"\xff\xc3", "%FF%C3"},
		{"\u202e\u0085\u2028", "%E2%80%AE%C2%85%E2%80%A8"},
		{"\ufffd", "\ufffd"},
		{strings.Repeat("x", maxShown), strings.Repeat("x", maxShown)},
		{strings.Repeat("x", maxShown+1), strings.Repeat("x", maxShown) + "…"},
		{strings.Repeat("x", maxShown-1) + "éé", strings.Repeat("x", maxShown-1) + "…"},
	} {
		if got := shown(tt.in); got != tt.want {
			t.Errorf("%.40q (%d) is shown as %.40q (%d), want %.40q (%d)", tt.in, len(tt.in), got, len(got), tt.want, len(tt.want))
		}
	}
}

// TestACharsetOtherThanUTF8IsTold where a decision is explained, since rules in
// another charset are easily misread.
func TestACharsetOtherThanUTF8IsTold(t *testing.T) {
	r := start(t)
	s := rules("http://a.example", "User-agent: *\nDisallow: /x\n")
	s.Charset = "decoded from windows-1252"
	r.policies.set("http://a.example", s)
	if got := r.why(t, url.Values{"url": {"http://a.example/x"}}); got["note"] != "The robots.txt was decoded from windows-1252." {
		t.Errorf("%v", got)
	}
}
