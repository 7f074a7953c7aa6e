package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/dial"
	"heed/internal/origin"
	"heed/internal/pace"
	"heed/policy"
)

// reporting sets the mode report for all.
func reporting(c *Config) { c.Reports = func(origin.Origin, string) bool { return true } }

func TestReportModeForwardsWhatItWouldDenyAndMarksIt(t *testing.T) {
	r := start(t, reporting)
	for _, c := range newChannels(t, r, func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Robots-Decision"] = []string{"disallowed;report;id=\"forged\"", "allowed"}
		w.Header().Set("X-Own", "kept")
		_, _ = io.WriteString(w, "page of "+req.URL.Path)
	}) {
		t.Run(c.name, func(t *testing.T) {
			r.policies.set(c.origin, rules(c.origin, ours))
			resp := c.do(t, "GET", "/private/x", nil)
			if body := whole(t, resp); resp.StatusCode != 200 || body != "page of /private/x" || resp.Header.Get("X-Own") != "kept" || resp.Header.Get("Proxy-Status") != "" {
				t.Errorf("%s: %s, %v", resp.Status, body, resp.Header)
			}
			e := r.entryOf(t, c.as)
			word, params := decision(t, resp.Header)
			for name, want := range map[string]any{
				"report": true, "reason": "rule", "agent": "*", "group": "*", "rule": "Disallow: /private/", "line": int64(2), "robots": c.origin + "/robots.txt", "id": e.ID,
			} {
				if params[name] != want {
					t.Errorf("%s is %v, want %v: %q", name, params[name], want, resp.Header["Robots-Decision"])
				}
			}
			if word != "disallowed" || len(resp.Header["Robots-Decision"]) != 1 {
				t.Errorf("the field is %q", resp.Header["Robots-Decision"])
			}
			if e.Verdict != audit.Forwarded || !e.Report || e.Reason != "disallowed" || e.Denial != (audit.Denial{Reason: "disallowed"}) || e.Status != 200 || e.Decision.Line != 2 || e.Err != "" {
				t.Errorf("recorded as %+v", e)
			}

			resp = c.do(t, "GET", "/page", nil) // on the same connection
			if body := whole(t, resp); body != "page of /page" || resp.Header["Robots-Decision"] != nil {
				t.Errorf("what is allowed: %s, %v", body, resp.Header)
			}
			if e := r.entryOf(t, c.as); e.Report || e.Denial != (audit.Denial{}) || e.Reason != "allowed" {
				t.Errorf("what is allowed is recorded as %+v", e)
			}
		})
	}
}

// TestAnOriginsOwnRobotsDecisionPassesForNobodys in the mode enforce either.
func TestAnOriginsOwnRobotsDecisionPassesForNobodys(t *testing.T) {
	r := start(t)
	for _, c := range newChannels(t, r, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Robots-Decision", "disallowed;report")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Own", "kept")
	}) {
		if resp := c.do(t, "GET", "/x", nil); resp.StatusCode != 200 || resp.Header["Robots-Decision"] != nil || resp.Header.Get("X-Own") != "kept" {
			t.Errorf("%s: %s, %v", c.name, resp.Status, resp.Header)
		}
	}
	addr, _ := script(t, write("HTTP/1.1 103 Early Hints\r\nROBOTS-decision: disallowed\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nrobots-decision: allowed\r\nContent-Length: 0\r\n\r\n"))
	w := r.dial(t)
	_, _ = io.WriteString(w, request("GET", "http://"+addr+"/x", "Connection: close"))
	all, _ := io.ReadAll(w.r)
	if text := string(all); strings.Contains(strings.ToLower(text), "robots-decision") || !strings.Contains(text, "Link: </x>") {
		t.Errorf("the client gets\n%s", text)
	}
}

// TestNoRobotsDecisionBehindABody: a trailer passes for heed's word as a field
// does, declared or not, and others go on beside it.
func TestNoRobotsDecisionBehindABody(t *testing.T) {
	for _, set := range []func(*Config){reporting, func(*Config) {}} {
		r := start(t, set)
		for _, c := range newChannels(t, r, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path != "/late" {
				w.Header().Set("Trailer", "Robots-Decision")
			}
			if req.URL.Path == "/beside" {
				w.Header().Add("Trailer", "X-Sum")
			}
			_, _ = io.WriteString(w, "abc")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set(http.TrailerPrefix+"Robots-Decision", "allowed")
			if req.URL.Path != "/alone" {
				w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
			}
		}) {
			for target, sum := range map[string]string{"/alone": "", "/beside": "1", "/late": "1"} {
				resp := c.do(t, "GET", target, nil, "Te: trailers")
				body := whole(t, resp)
				if _, there := resp.Trailer["Robots-Decision"]; body != "abc" || there || resp.Trailer.Get("X-Sum") != sum || resp.Header["Robots-Decision"] != nil {
					t.Errorf("%s %s: %q, %v, trailers %v", c.name, target, body, resp.Header, resp.Trailer)
				}
			}
		}
		addr, _ := script(t, write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: robots-decision\r\n\r\n3\r\nabc\r\n0\r\nROBOTS-decision: allowed\r\n\r\n"))
		w := r.dial(t)
		_, _ = io.WriteString(w, request("GET", "http://"+addr+"/x", "Connection: close, TE", "TE: trailers"))
		all, _ := io.ReadAll(w.r)
		if text := string(all); strings.Contains(strings.ToLower(text), "robots-decision") || !strings.Contains(text, "abc") {
			t.Errorf("the client gets\n%s", text)
		}
	}
}

// TestAReportWhoseAnswerBrokeOffIsExplainedAsOne, and not as a denial.
func TestAReportWhoseAnswerBrokeOffIsExplainedAsOne(t *testing.T) {
	r := start(t, reporting)
	addr, _ := script(t, write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"))
	r.policies.set("http://"+addr, rules("http://"+addr, ours))
	w := r.dial(t)
	_, _ = io.WriteString(w, request("GET", "http://"+addr+"/private/x"))
	_, _ = io.ReadAll(w.r)
	e := r.entry(t)
	if !e.Report || e.Verdict != audit.Forwarded || e.Reason != "disallowed" || e.Err == "" {
		t.Errorf("recorded as %+v", e)
	}
	if a := r.get(t, "http://heed.internal/why?id="+e.ID); !strings.HasPrefix(a.body, "200 Forwarded in report mode\n") {
		t.Errorf("explained as\n%s", a.body)
	}
}

// TestWhatIsAMatterOfPoliteness: no other kind is ever reported, whatever comes
// to be a kind.
func TestWhatIsAMatterOfPoliteness(t *testing.T) {
	polite := []string{"denied", "disallowed", "identity", "override", "paced", "robots-pending", "robots-restricted", "robots-unreachable"}
	var got []string
	for _, k := range kinds {
		if k.isPolite() {
			got = append(got, k.name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, polite) {
		t.Errorf("reported is %q, want %q", got, polite)
	}
	p := New(Config{Reports: func(origin.Origin, string) bool { return true }})
	for _, k := range kinds {
		x := &exchange{entry: new(audit.Entry), origin: origin.Origin{Scheme: "http", Host: "a.example", Port: "80"}}
		err := error(&problem{kind: k, cause: context.DeadlineExceeded})
		if spared := p.enforced(x, fmt.Errorf("wrapped: %w", err)) == nil; spared != k.isPolite() || x.entry.Report != spared {
			t.Errorf("%s: it goes on: %v", k.name, spared)
		}
		x.origin = origin.Origin{}
		if x.entry.Report = false; p.enforced(x, err) == nil {
			t.Errorf("%s: it goes on, and nobody knows where to", k.name)
		}
	}
	x := &exchange{entry: new(audit.Entry), origin: origin.Origin{Scheme: "http", Host: "a.example", Port: "80"}}
	if !p.denies(x) || x.entry.Report {
		t.Error("what nobody decided on is forwarded")
	}
	if !New(Config{}).denies(x) {
		t.Error("without a mode it is forwarded")
	}
	x.err = &problem{kind: kindIdentity, cause: errors.New("it was not passed through enforced")}
	if x.entry.Decision.Allowed = true; !p.denies(x) {
		t.Error("what kept a decision from being made is forwarded")
	}
}

// unreachableFor is a robots.txt that could not be had.
func unreachableFor(cause error) policy.Snapshot {
	return policy.Snapshot{URL: "http://a.example/robots.txt", Access: policy.Unreachable, Err: cause.Error(), Cause: cause, RetryAfter: time.Minute, Checked: time.Now()}
}

// TestReportModeByReason: what each reason becomes, and that what is no matter
// of politeness is denied as ever.
func TestReportModeByReason(t *testing.T) {
	says := func(s policy.Snapshot) func(context.Context, origin.Origin) (policy.Snapshot, error) {
		return func(context.Context, origin.Origin) (policy.Snapshot, error) { return s, nil }
	}
	prohibited := func() error {
		d, _ := dial.New(dial.Config{})
		_, err := d.DialContext(context.Background(), "tcp", "127.0.0.1:1")
		return err
	}()
	operators := func(c *Config) { overriding(t, operator("127.0.0.1", policy.DisallowOrigin, ""))(c) }
	for _, tt := range []struct {
		why    string
		set    func(*Config)
		hook   func(context.Context, origin.Origin) (policy.Snapshot, error)
		target string
		reason string // of the denial that it is, or would be
		denied bool
		word   string // of Robots-Decision
	}{
		{why: "robots.txt is unreachable", hook: says(unreachableFor(errors.New("status 500"))), reason: "robots-unreachable", word: "unreachable"},
		{why: "the whole origin is", hook: says(unreachableFor(&net.DNSError{Err: "no such host", IsNotFound: true})), reason: "dns-error", word: "unreachable"},
		{why: "robots.txt is late", hook: func(ctx context.Context, _ origin.Origin) (policy.Snapshot, error) {
			<-ctx.Done()
			return policy.Snapshot{}, ctx.Err()
		}, reason: "robots-pending", word: "robots-pending"},
		{why: "robots.txt is refused", hook: says(policy.Snapshot{Access: policy.Unavailable, Status: 403, Refusals: true}), reason: "robots-restricted", word: "disallowed"},
		{why: "it would take too long to tell", hook: says(*rules("http://a.example", "User-agent: *\n"+strings.Repeat("Allow: /*000000012345\n", 20_000))), target: `//8\8%2f./8/../8` + strings.Repeat("8", 8<<10), reason: "denied", word: "disallowed"},
		{why: "the operator says so", set: operators, reason: "override", word: "disallowed"},

		{why: "an address that may not be connected to", hook: says(unreachableFor(prohibited)), reason: "address-prohibited", denied: true, word: "unreachable"},
		{why: "one that shows when it is connected to", hook: says(*rules("", "User-agent: *\nDisallow: /\n")), set: dialing(dial.Config{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}), reason: "address-prohibited", denied: true, word: "disallowed"},
		{why: "a client that may not use the proxy", set: func(c *Config) { c.AllowClient = func(netip.Addr) bool { return false } }, reason: "client-refused", denied: true},
		{why: "a request that cannot be read", target: "/%zz", reason: "bad-request", denied: true},
		{why: "one that is too long", set: func(c *Config) { c.Limits.URL = 100 }, target: "/" + strings.Repeat("x", 200), reason: "uri-too-long", denied: true},
		{why: "a loop", set: func(c *Config) { c.Via = "me" }, reason: "loop", denied: true},
		{why: "a panic", hook: func(context.Context, origin.Origin) (policy.Snapshot, error) { panic("a defect") }, reason: "internal", denied: true},
		{why: "a fault in place of an answer", hook: func(context.Context, origin.Origin) (policy.Snapshot, error) {
			return policy.Snapshot{}, errors.New("a fault")
		}, reason: "robots-pending", denied: true},
		{why: "a snapshot that says nothing", hook: says(policy.Snapshot{}), reason: "robots-unreachable", denied: true, word: "unreachable"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var asked atomic.Bool
			o := newOrigin(t, func(http.ResponseWriter, *http.Request) { asked.Store(true) })
			set := []func(*Config){reporting, func(c *Config) { c.Wait = 50 * time.Millisecond }}
			if tt.set != nil {
				set = append(set, tt.set)
			}
			r := start(t, set...)
			if tt.hook != nil {
				r.policies.hook = tt.hook
			}
			target := "/x"
			if tt.target != "" {
				target = tt.target
			}
			a := r.get(t, o+target, "Via: 1.1 me")
			e := r.entry(t)
			if asked.Load() == tt.denied {
				t.Errorf("the origin was asked: %v", asked.Load())
			}
			if tt.denied {
				if a.StatusCode < 400 || e.Verdict != audit.Denied || e.Report || e.Denial != (audit.Denial{}) || e.Reason != tt.reason || strings.Contains(a.Header.Get("Robots-Decision"), "report") {
					t.Errorf("%s, recorded as %+v", a.Status, e)
				}
				return
			}
			word, params := decision(t, a.Header)
			if a.StatusCode != 200 || word != tt.word || params["report"] != true || params["id"] != e.ID {
				t.Errorf("%s, %q", a.Status, a.Header["Robots-Decision"])
			}
			if e.Verdict != audit.Forwarded || !e.Report || e.Reason != tt.reason || e.Denial.Reason != tt.reason || e.Err != "" {
				t.Errorf("recorded as %+v", e)
			}
			if has := e.Denial.Cause != ""; has != (tt.reason != "override") {
				t.Errorf("the cause is %q", e.Denial.Cause)
			}
		})
	}
}

// TestModesMixedOnOneConnection: nothing of an exchange that is reported is left
// to the next, though entries and connections are used again.
func TestModesMixedOnOneConnection(t *testing.T) {
	r := start(t, func(c *Config) {
		c.Reports = func(o origin.Origin, _ string) bool { return o.Host == "localhost" }
	})
	page := func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, "page") }
	plain := newOrigin(t, page)
	reported := strings.Replace(plain, "127.0.0.1", "localhost", 1) // the same, by another name
	for _, o := range []string{plain, reported} {
		r.policies.set(o, rules(o, ours))
	}
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() {
			w := r.dial(t)
			for i := range 60 {
				o, target := plain, "/private/x"
				if (i+n)%2 == 0 {
					o = reported
				}
				if i%3 == 0 {
					target = "/page"
				}
				a := w.send(t, request("GET", o+target))
				denied := o == plain && target != "/page"
				mark := strings.Contains(a.Header.Get("Robots-Decision"), ";report")
				if (a.StatusCode == 403) != denied || (a.body == "page") == denied || mark != (o == reported && target != "/page") {
					t.Errorf("%s%s: %s, %q, %s", o, target, a.Status, a.Header["Robots-Decision"], a.body)
				}
			}
		})
	}
	clients.Wait()
	for range 8 * 60 {
		e := r.entry(t)
		forbidden := e.Target == "/private/x"
		if e.Report != (forbidden && e.Origin == reported) || (e.Verdict == audit.Denied) != (forbidden && e.Origin == plain) || (e.Denial.Reason == "disallowed") != e.Report {
			t.Fatalf("recorded as %+v", e)
		}
	}
}

// TestTheModeOfTheMomentCounts, in HTTP/2 too, on one connection.
func TestTheModeOfTheMomentCounts(t *testing.T) {
	mode := make(chan bool, 1)
	r := start(t, func(c *Config) { c.Reports = func(origin.Origin, string) bool { return <-mode } })
	for _, c := range newChannels(t, r, func(http.ResponseWriter, *http.Request) {}) {
		r.policies.set(c.origin, rules(c.origin, ours))
		for i := range 6 {
			mode <- i%2 == 0
			resp := c.do(t, "GET", "/private/x", nil)
			_ = whole(t, resp)
			if reported := i%2 == 0; (resp.StatusCode == 200) != reported || strings.Contains(resp.Header.Get("Robots-Decision"), "report") != reported {
				t.Errorf("%s, %d: %s, %v", c.name, i, resp.Status, resp.Header)
			}
			if len(mode) > 0 {
				t.Errorf("%s: nobody asked for the mode", c.name)
			}
		}
	}
}

// TestAPanicBehindAReportIsADenial, and of the report nothing is left.
func TestAPanicBehindAReportIsADenial(t *testing.T) {
	r := start(t, reporting, func(c *Config) {
		c.Transport = func(*http.Transport) http.RoundTripper { return panickingTrip{} }
	})
	r.policies.set("http://a.example", rules("http://a.example", ours))
	a := r.get(t, "http://a.example/private/x")
	if e := r.entry(t); a.StatusCode != 500 || e.Verdict != audit.Denied || e.Reason != "internal" || e.Report || e.Denial != (audit.Denial{}) {
		t.Errorf("%s, recorded as %+v", a.Status, e)
	}
	if strings.Contains(a.Header.Get("Robots-Decision"), "report") {
		t.Errorf("the answer says %q", a.Header["Robots-Decision"])
	}
}

type panickingTrip struct{}

func (panickingTrip) RoundTrip(*http.Request) (*http.Response, error) { panic("a defect") }

// TestWhatIsReportedMayFail: then that is the reason, and it is still told for
// what it would have been denied.
func TestWhatIsReportedMayFail(t *testing.T) {
	r := start(t, reporting)
	r.policies.set("http://127.0.0.1:1", rules("http://127.0.0.1:1", ours))
	a := r.get(t, "http://127.0.0.1:1/private/x", "Accept: application/problem+json")
	e := r.entry(t)
	if a.StatusCode != 502 || e.Verdict != audit.Forwarded || e.Reason != "connection-refused" || e.Err == "" || !e.Report || e.Denial.Reason != "disallowed" {
		t.Errorf("%s, recorded as %+v", a.Status, e)
	}
	if word, params := decision(t, a.Header); word != "disallowed" || params["report"] != true {
		t.Errorf("the answer says %q", a.Header["Robots-Decision"])
	}
	var p explanation
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || !p.Report || p.Status != 502 || !strings.HasSuffix(p.Type, "/connection-refused") {
		t.Errorf("the problem is %s", a.body)
	}
	why := r.get(t, "http://heed.internal/why?id="+e.ID, "Accept: application/problem+json")
	if !strings.Contains(why.body, "/problems/connection-refused") {
		t.Errorf("/why says %s", why.body)
	}
}

// TestAnUnreadTunnelIsMarkedOnItsAnswer, since nowhere else it can be.
func TestAnUnreadTunnelIsMarkedOnItsAnswer(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }
	o := newTLSOrigin(t, false, page)
	r := start(t, modeIs(Tunnel), reporting)
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /\n"))
	w := r.dial(t)
	a := w.send(t, "CONNECT "+hostOf(o)+" HTTP/1.1\r\nHost: x\r\n\r\n")
	word, params := decision(t, a.Header)
	if a.StatusCode != 200 || word != "disallowed" || params["report"] != true || params["rule"] != "Disallow: /" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	c := tls.Client(w.Conn, &tls.Config{RootCAs: originRoots(), ServerName: "127.0.0.1"})
	inside := &wire{c, bufio.NewReader(c)}
	if a := inside.send(t, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); a.body != "page" || a.Header["Robots-Decision"] != nil {
		t.Errorf("inside: %s, %v", a.body, a.Header)
	}
	_ = c.Close()
	if e := r.entry(t); e.Verdict != audit.Forwarded || !e.Report || e.Reason != "disallowed" || e.Channel != audit.Connect || params["id"] != e.ID {
		t.Errorf("recorded as %+v", e)
	}

	// Plain HTTP in such a tunnel is read: each request is marked by itself.
	plain := newOrigin(t, page)
	tunnelled := "https://" + hostOf(plain)
	r.policies.set(tunnelled, rules(tunnelled, "User-agent: *\nDisallow: /\n"))
	r.policies.set(plain, rules(plain, ours))
	w = r.connect(t, hostOf(plain))
	for target, marked := range map[string]bool{"/page": false, "/private/x": true} {
		a := w.send(t, "GET "+target+" HTTP/1.1\r\nHost: "+hostOf(plain)+"\r\n\r\n")
		if e := r.entryOf(t, audit.Tunnel); a.body != "page" || (a.Header["Robots-Decision"] != nil) != marked || e.Report != marked {
			t.Errorf("%s: %s, %v, recorded as %+v", target, a.body, a.Header, e)
		}
	}
	_ = w.Close()
}

func TestAWebSocketIsMarkedInReportMode(t *testing.T) {
	r := start(t, reporting)
	o := newOrigin(t, echo(t))
	r.policies.set(o, rules(o, ours))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, o+"/private/socket", &websocket.DialOptions{HTTPClient: r.client(t, false), Subprotocols: []string{"chat"}})
	if err != nil {
		t.Fatal(err)
	}
	if word, params := decision(t, resp.Header); word != "disallowed" || params["report"] != true {
		t.Errorf("the handshake says %v", resp.Header)
	}
	_ = conn.Close(websocket.StatusNormalClosure, "")
	if e := r.entry(t); !e.Report || e.Verdict != audit.Forwarded {
		t.Errorf("recorded as %+v", e)
	}
}

// TestReportsAreExplained: by id, and in advance; and the start page tells the
// mode.
func TestReportsAreExplained(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	r := start(t, reporting, func(c *Config) { c.ReportNote = "what robots.txt forbids is <forwarded>." })
	r.policies.set(o, rules(o, ours))
	_ = r.get(t, o+"/private/x")
	id := r.entry(t).ID
	for _, asked := range []string{"id=" + id, "url=" + o + "/private/x"} {
		var p explanation
		a := r.get(t, "http://heed.internal/why?"+asked, "Accept: application/json")
		if err := json.Unmarshal([]byte(a.body), &p); err != nil {
			t.Fatal(err)
		}
		const note = "The mode is report, so this was forwarded and marked. In the mode enforce it would have been denied, with 403 (Disallowed by robots.txt)."
		if !p.Report || p.Status != 200 || p.Title != "Forwarded in report mode" || p.Type != "http://heed.internal/problems/disallowed" || p.Note != note || p.Line != 2 || p.Decision != "disallowed" || !strings.HasPrefix(p.Detail, `Disallowed by "Disallow: /private/" (line 2)`) {
			t.Errorf("%s: %s", asked, a.body)
		}
		if a = r.get(t, "http://heed.internal/why?"+asked, "Accept: text/html"); !strings.Contains(a.body, "<h1>Forwarded in report mode</h1>") || !strings.Contains(a.body, "In the mode enforce it would have been denied") {
			t.Errorf("%s: %s", asked, a.body)
		}
	}
	if a := r.get(t, "http://heed.internal/why?url="+o+"/page", "Accept: application/json"); strings.Contains(a.body, "report") {
		t.Errorf("of what is allowed it says %s", a.body)
	}
	if a := r.get(t, "http://heed.internal/"); !strings.Contains(a.body, "<strong>Report mode</strong>: what robots.txt forbids is &lt;forwarded&gt;.") {
		t.Errorf("the start page is %s", a.body)
	}
	if a := start(t).get(t, "http://heed.internal/"); strings.Contains(a.body, "Report mode") {
		t.Error("the start page tells of a mode that is not")
	}
}

func TestModesCostNothingWhereNothingIsDenied(t *testing.T) {
	p := New(Config{Reports: func(origin.Origin, string) bool { return false }})
	x := &exchange{entry: &audit.Entry{Decision: policy.Decision{Allowed: true}}}
	if n := testing.AllocsPerRun(100, func() {
		if p.enforced(x, nil) != nil || p.denies(x) {
			t.Error("it is denied")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWhoDoesNotSayWhoItIsIsReported: and every check behind that one is made.
func TestWhoDoesNotSayWhoItIsIsReported(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	client := func(mode string, mayAsk bool) func(*Config) {
		return func(c *Config) {
			named := &agent.Client{Name: "news", Mode: mode, MayAsk: func(string) bool { return mayAsk }}
			c.Clients = agent.NewClients([]agent.Known{{Client: named, Addresses: loopback}})
			c.Require = ClientWithToken
			c.Reports = func(_ origin.Origin, client string) bool { return client == "report" }
		}
	}
	for _, tt := range []struct {
		why, mode, target string
		mayAsk            bool
		status            int
		reason, word      string
	}{
		{"reported", "report", "/page", true, 200, "identity", "identity"},
		{"the first reason counts, and the decision is told", "report", "/private/x", true, 200, "identity", "disallowed"},
		{"a host that is not for it", "report", "/page", false, 403, "destination-refused", ""},
		{"its mode is enforce", "enforce", "/page", true, 403, "identity", ""},
		{"it has none", "", "/page", true, 403, "identity", ""},
	} {
		r := start(t, client(tt.mode, tt.mayAsk))
		r.policies.set(o, rules(o, ours))
		a := r.get(t, o+tt.target, "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
		e := r.entry(t)
		if reported := tt.status == 200; a.StatusCode != tt.status || e.Reason != tt.reason || e.Report != reported {
			t.Errorf("%s: %s, recorded as %+v", tt.why, a.Status, e)
		}
		if tt.word == "" {
			continue
		}
		if word, params := decision(t, a.Header); word != tt.word || params["report"] != true || e.Denial.Cause == "" {
			t.Errorf("%s: %q, %+v", tt.why, a.Header["Robots-Decision"], e.Denial)
		}
		if why := r.get(t, "http://heed.internal/why?id="+e.ID, "Accept: text/plain"); !strings.Contains(why.body, "200 Forwarded in report mode\n\nThe User-Agent has no product token") || !strings.Contains(why.body, "denied, with 403 (") {
			t.Errorf("%s: /why says %s", tt.why, why.body)
		}
	}
}

// TestWhatComesTooEarlyIsForwardedInReportMode: at once and marked, where it would
// be refused; what is held is held.
func TestWhatComesTooEarlyIsForwardedInReportMode(t *testing.T) {
	at := new(witness)
	o := newOrigin(t, at.ServeHTTP)
	r := start(t, reporting, pacedBy(t, pace.Config{MaxDelay: time.Hour}, time.Second))
	r.policies.set(o, rules(o, delayed))
	for i, target := range []string{"/a", "/b", "/private"} {
		a := r.get(t, o+target)
		e := r.entry(t)
		if a.StatusCode != 200 || a.body != "ok" || a.Header.Get("Retry-After") != "" || e.Verdict != audit.Forwarded || e.Report != (i > 0) {
			t.Errorf("%s: %s, recorded as %+v", target, a.Status, e)
		}
		if i == 0 {
			continue
		}
		word, params := decision(t, a.Header)
		if want := []string{"", "paced", "disallowed"}[i]; word != want || params["report"] != true || params["id"] != e.ID || e.Denial.Reason != want || e.Reason != want {
			t.Errorf("%s: %q, recorded as %+v", target, a.Header["Robots-Decision"], e)
		}
		why := r.get(t, "http://heed.internal/why?id="+e.ID)
		_ = r.entry(t)
		if !strings.Contains(why.body, "it would have been denied, with "+[]string{"", "429 (", "403 ("}[i]) {
			t.Errorf("%s: /why says %s", target, why.body)
		}
	}
	if at.count() != 3 {
		t.Errorf("the origin was asked %d times", at.count())
	}
}

// TestAnUnreadTunnelOutOfTurnIsReported, and one that its robots.txt forbids has
// its turn like any other.
func TestAnUnreadTunnelOutOfTurnIsReported(t *testing.T) {
	o := newTLSOrigin(t, false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	r := start(t, modeIs(Tunnel), reporting, pacedBy(t, pace.Config{MaxDelay: time.Hour}, time.Second))
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /\nCrawl-delay: 100\n\nUser-agent: Free\nCrawl-delay: 100\n"))
	for _, tt := range []struct{ agent, want string }{{"Other", "disallowed"}, {"Free", "paced"}} {
		w := r.dial(t)
		a := w.send(t, "CONNECT "+hostOf(o)+" HTTP/1.1\r\nHost: x\r\nUser-Agent: "+tt.agent+"\r\n\r\n")
		if a.StatusCode != 200 {
			t.Fatalf("%s: %s", tt.agent, a.Status)
		}
		if word, params := decision(t, a.Header); word != tt.want || params["report"] != true {
			t.Errorf("%s: %v", tt.agent, a.Header)
		}
		c := tls.Client(w.Conn, &tls.Config{RootCAs: originRoots(), ServerName: "127.0.0.1"})
		inside := &wire{c, bufio.NewReader(c)}
		if a := inside.send(t, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); a.body != "page" {
			t.Errorf("%s: inside: %s", tt.agent, a.body)
		}
		_ = c.Close()
		if e := r.entry(t); !e.Report || e.Reason != tt.want || e.Verdict != audit.Forwarded {
			t.Errorf("%s: recorded as %+v", tt.agent, e)
		}
	}
}
