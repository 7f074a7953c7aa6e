package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/agent"
	"heed/internal/audit"
	origins "heed/internal/origin"
	"heed/internal/pace"
	"heed/policy"
)

// pacedBy has requests wait for their turns, for as long as hold.
func pacedBy(t testing.TB, p pace.Config, hold time.Duration) func(*Config) {
	pacer := pace.New(p)
	t.Cleanup(pacer.Close)
	return func(c *Config) {
		c.Pacer = pacer
		c.Hold = func(policy.Tokens) time.Duration { return hold }
	}
}

const delayed = "User-agent: *\nDisallow: /private\nCrawl-delay: 100\n"

// witness is an origin that counts how often it was asked.
type witness struct {
	mu    sync.Mutex
	paths []string
}

func (a *witness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paths = append(a.paths, r.URL.Path)
	fmt.Fprint(w, "ok")
}

func (a *witness) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.paths)
}

// TestARequestThatComesTooEarlyIsTold429OnEveryChannel: and never at the CONNECT.
func TestARequestThatComesTooEarlyIsTold429OnEveryChannel(t *testing.T) {
	for _, tt := range []struct {
		why    string
		secure bool
		h2     bool
		wire   func(t *testing.T, r *rig, host string) func(path string) answer
	}{
		{"plain", false, false, func(t *testing.T, r *rig, host string) func(string) answer {
			return func(path string) answer { return r.get(t, "http://"+host+path) }
		}},
		{"plain inside CONNECT", false, false, func(t *testing.T, r *rig, host string) func(string) answer {
			w := r.connect(t, host)
			return func(path string) answer { return w.send(t, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n") }
		}},
		{"intercepted", true, false, func(t *testing.T, r *rig, host string) func(string) answer {
			return viaClient(t, r, host, false)
		}},
		{"intercepted, HTTP/2", true, true, func(t *testing.T, r *rig, host string) func(string) answer {
			return viaClient(t, r, host, true)
		}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			at := new(witness)
			r := start(t, pacedBy(t, pace.Config{MaxDelay: time.Hour}, time.Second))
			origin := newOrigin(t, at.ServeHTTP)
			if tt.secure {
				origin = newTLSOrigin(t, tt.h2, at.ServeHTTP)
			}
			r.policies.set(origin, rules(origin, delayed))
			get := tt.wire(t, r, hostOf(origin))
			if a := get("/first"); a.StatusCode != 200 {
				t.Fatalf("%s: %s", a.Status, a.body)
			}
			a := get("/second")
			if a.StatusCode != 429 || a.Header.Get("Retry-After") != "100" {
				t.Errorf("%s, Retry-After %s: %s", a.Status, a.Header.Get("Retry-After"), a.body)
			}
			field := a.Header.Get("Robots-Decision")
			for _, want := range []string{`paced;reason="crawl-delay";interval=100.000;line=3;retry=100;`, `robots="` + origin + `/robots.txt"`, `id="`} {
				if !strings.Contains(field, want) {
					t.Errorf("Robots-Decision is %s, without %s", field, want)
				}
			}
			if !strings.Contains(a.Header.Get("Proxy-Status"), "error=http_request_error") {
				t.Errorf("Proxy-Status is %s", a.Header.Get("Proxy-Status"))
			}
			if a := get("/private"); a.StatusCode != 403 { // what is denied takes no turn
				t.Errorf("%s: %s", a.Status, a.body)
			}
			if n := at.count(); n != 1 {
				t.Errorf("the origin was asked %d times", n)
			}
			for {
				e := r.entry(t)
				if e.Target == "/second" {
					if e.Reason != "paced" || e.Verdict != audit.Denied || e.Pace != (audit.Pace{Cause: "crawl-delay", Interval: 100 * time.Second, Line: 3, Until: e.Pace.Until}) {
						t.Errorf("recorded as %v, %s, %+v", e.Verdict, e.Reason, e.Pace)
					}
					break
				}
			}
		})
	}
}

// viaClient asks with a client of net/http.
func viaClient(t *testing.T, r *rig, host string, h2 bool) func(path string) answer {
	c := r.client(t, h2)
	return func(path string) answer {
		resp, err := c.Get("https://" + host + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body := new(strings.Builder)
		_, _ = bufio.NewReader(resp.Body).WriteTo(body)
		return answer{Response: resp, body: body.String()}
	}
}

func TestARequestIsHeldUntilItsTurn(t *testing.T) {
	at := new(witness)
	r := start(t, pacedBy(t, pace.Config{}, 10*time.Second))
	origin := newOrigin(t, at.ServeHTTP)
	r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 0.7\n"))
	began := time.Now()
	for range 3 {
		if a := r.get(t, origin+"/"); a.StatusCode != 200 {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
	}
	if took := time.Since(began); took < 1400*time.Millisecond {
		t.Errorf("three requests took %v", took)
	}
	r.entry(t)
	if e := r.entry(t); e.PaceWait < 100*time.Millisecond || e.PaceWait > e.Duration || e.Pace != (audit.Pace{Cause: "crawl-delay", Interval: 700 * time.Millisecond, Line: 2}) {
		t.Errorf("recorded as waiting %v of %v for %+v", e.PaceWait, e.Duration, e.Pace)
	}
}

// TestAClientIsHeldForAsLongAsItsOwnHold, in place of what holds for all.
func TestAClientIsHeldForAsLongAsItsOwnHold(t *testing.T) {
	patient, hasty := &agent.Client{Name: "patient", Hold: 10 * time.Second}, &agent.Client{Name: "hasty"}
	for _, row := range []struct {
		client *agent.Client
		delay  string
		status int
	}{{patient, "0.3", 200}, {hasty, "20", 429}} {
		r := start(t, pacedBy(t, pace.Config{}, time.Millisecond), named(local(row.client)))
		origin := newOrigin(t, new(witness).ServeHTTP)
		r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: "+row.delay+"\n"))
		r.get(t, origin+"/")
		if a := r.get(t, origin+"/"); a.StatusCode != row.status {
			t.Errorf("%s: %s, want %d: %s", row.client.Name, a.Status, row.status, a.body)
		}
	}
}

// TestAClientThatHasANameIsOneWhereverItAsksFrom, and others are told apart by
// their addresses.
func TestAClientThatHasANameIsOneWhereverItAsksFrom(t *testing.T) {
	asker := func(c *agent.Client, addr string, through *tunnel) pace.Asker {
		return askerOf(&exchange{client: c, tunnel: through, entry: &audit.Entry{Client: netip.MustParseAddrPort(addr), Tokens: policy.Tokens{Main: []string{"ExampleBot"}}}})
	}
	news := &agent.Client{Name: "news"}
	if a, b := asker(news, "192.0.2.1:1", nil), asker(news, "192.0.2.2:1", &tunnel{client: netip.MustParseAddr("192.0.2.3")}); a != b || a.Client != "news" {
		t.Errorf("%+v and %+v", a, b)
	}
	if a, b := asker(nil, "192.0.2.1:1", nil), asker(nil, "192.0.2.2:1", nil); a == b || a.Client != "" {
		t.Errorf("%+v and %+v", a, b)
	}
	if a, b := asker(nil, "192.0.2.1:1", nil), asker(nil, "127.0.0.1:1", &tunnel{client: netip.MustParseAddr("192.0.2.1")}); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestWaitingForRobotsTxtCountsAsWaiting(t *testing.T) {
	at := new(witness)
	r := start(t, pacedBy(t, pace.Config{}, 10*time.Second))
	origin := newOrigin(t, at.ServeHTTP)
	r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 10\n"))
	if a := r.get(t, origin+"/"); a.StatusCode != 200 {
		t.Fatal(a.Status)
	}
	x := &exchange{entry: &audit.Entry{RobotsWait: 9 * time.Second, Decision: policy.Decision{Allowed: true}}}
	x.in, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/", http.NoBody)
	if err := x.readAbsolute(origin + "/"); err != nil {
		t.Fatal(err)
	}
	s := rules(origin, "User-agent: *\nCrawl-delay: 10\n")
	x.entry.Consult(s)
	if err := r.proxy.pace(x); err == nil {
		t.Error("it was held for longer than was left")
	}
}

func TestWhatAnOriginSaysOfBeingAskedTooMuchIsHeeded(t *testing.T) {
	for _, status := range []int{429, 503} {
		at := new(witness)
		r := start(t, pacedBy(t, pace.Config{}, time.Second))
		origin := newOrigin(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Retry-After", "50")
			w.WriteHeader(status)
			at.ServeHTTP(w, req)
		})
		r.policies.set(origin, rules(origin, "User-agent: *\nDisallow:\n"))
		if a := r.get(t, origin+"/"); a.StatusCode != status || a.Header.Get("Robots-Decision") != "" {
			t.Errorf("%s, %v", a.Status, a.Header)
		}
		a := r.get(t, origin+"/")
		if a.StatusCode != 429 || !strings.Contains(a.Header.Get("Robots-Decision"), `paced;reason="retry-after"`) {
			t.Errorf("%s, %v", a.Status, a.Header)
		}
		if n := at.count(); n != 1 {
			t.Errorf("the origin was asked %d times", n)
		}
	}
}

func TestOutsideItsVisitTimeASiteIsNotAsked(t *testing.T) {
	at := new(witness)
	r := start(t, pacedBy(t, pace.Config{}, time.Second))
	origin := newOrigin(t, at.ServeHTTP)
	from := time.Now().UTC().Add(3 * time.Hour)
	r.policies.set(origin, rules(origin, fmt.Sprintf("User-agent: *\nDisallow:\nVisit-time: %s-%s\n", from.Format("1504"), from.Add(time.Hour).Format("1504"))))
	a := r.get(t, origin+"/", "Accept: application/problem+json")
	var told struct {
		Decision string
		Pace     struct {
			Cause string
			Line  int
		}
		Retry int `json:"retry_in"`
	}
	if err := json.Unmarshal([]byte(a.body), &told); err != nil {
		t.Fatal(err)
	}
	if a.StatusCode != 429 || told.Decision != "paced" || told.Pace.Cause != "visit-time" || told.Pace.Line != 3 {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if retry := time.Duration(told.Retry) * time.Second; retry < 2*time.Hour+58*time.Minute || retry > 3*time.Hour {
		t.Errorf("told to come back after %v", retry)
	}
	if a := r.get(t, origin+"/robots.txt"); a.StatusCode != 200 {
		t.Errorf("robots.txt itself: %s", a.Status)
	}
	if n := at.count(); n != 1 {
		t.Errorf("the origin was asked %d times", n)
	}
}

func TestARobotsTxtThatIsNotItsTurnIsNoFaultOfTheOrigin(t *testing.T) {
	r := start(t, pacedBy(t, pace.Config{}, time.Second))
	refusal := &pace.Refusal{Host: "a.example", Cause: pace.RetryAfter, Retry: 30 * time.Second}
	r.policies.set("http://a.example", &policy.Snapshot{URL: "http://a.example/robots.txt", Access: policy.Unreachable, Checked: time.Now(), Err: refusal.Error(), Cause: fmt.Errorf("fetching: %w", refusal)})
	a := r.get(t, "http://a.example/")
	if a.StatusCode != 429 || a.Header.Get("Retry-After") != "30" || !strings.Contains(a.Header.Get("Robots-Decision"), `paced;reason="retry-after"`) {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
}

// TestATunnelThatIsNotReadIsOneRequest: it is accepted at once and waits after
// it, or is refused at the CONNECT.
func TestATunnelThatIsNotReadIsOneRequest(t *testing.T) {
	at := new(witness)
	// There is time for two handshakes and more until the third may wait, too.
	const interval, hold = 2 * time.Second, 2200 * time.Millisecond
	r := start(t, pacedBy(t, pace.Config{}, hold), modeIs(Tunnel))
	origin := newTLSOrigin(t, false, at.ServeHTTP)
	r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 2\n"))
	_ = r.connect(t, hostOf(origin)).Close()
	if e := r.entry(t); e.Channel != audit.Connect {
		t.Errorf("recorded as %v", e.Channel)
	}
	w := r.connect(t, hostOf(origin)) // a tunnel that nobody spoke in was none
	defer func() { _ = w.Close() }()
	began := time.Now()
	c := insecure(t, w)
	if a := c.send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(origin)+"\r\n\r\n"); a.StatusCode != 200 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	second := r.connect(t, hostOf(origin))
	defer func() { _ = second.Close() }()
	if a := r.send(t, "CONNECT "+hostOf(origin)+" HTTP/1.1\r\nHost: x\r\n\r\n"); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("the third at once: %s, %v", a.Status, a.Header)
	}
	if a := insecure(t, second).send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(origin)+"\r\n\r\n"); a.StatusCode != 200 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	if took := time.Since(began); took < interval {
		t.Errorf("both were relayed within %v", took)
	}
}

// insecure speaks TLS inside a tunnel with whoever is at its end.
func insecure(t *testing.T, w *wire) *wire {
	t.Helper()
	c := tls.Client(w.Conn, &tls.Config{InsecureSkipVerify: true})
	if err := c.HandshakeContext(t.Context()); err != nil {
		t.Fatalf("TLS inside the tunnel: %v", err)
	}
	return &wire{c, bufio.NewReader(c)}
}

// TestTheOperatorsOwnRulesSetThePace: and where there are none, nothing does.
func TestTheOperatorsOwnRulesSetThePace(t *testing.T) {
	for action, want := range map[policy.Action]int{policy.UseOperatorsRules: 429, policy.AllowOrigin: 200} {
		at := new(witness)
		origin := newOrigin(t, at.ServeHTTP)
		r := start(t, pacedBy(t, pace.Config{}, time.Second), overriding(t, operator("127.0.0.1", action, delayed)))
		if a := r.get(t, origin+"/"); a.StatusCode != 200 {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
		if a := r.get(t, origin+"/"); a.StatusCode != want {
			t.Errorf("%v: %s, want %d: %s", action, a.Status, want, a.body)
		}
	}
}

// TestAClientThatAsksForRobotsTxtFirstKeepsItsInterval: heed asks for it before.
func TestAClientThatAsksForRobotsTxtFirstKeepsItsInterval(t *testing.T) {
	at := new(witness)
	r := start(t, pacedBy(t, pace.Config{MaxDelay: time.Hour}, time.Second))
	origin := newOrigin(t, at.ServeHTTP)
	fetched := 0
	r.policies.hook = func(context.Context, origins.Origin) (policy.Snapshot, error) {
		fetched += at.count() + 1
		r.policies.mu.Lock()
		r.policies.hook = nil
		r.policies.mu.Unlock()
		r.policies.set(origin, rules(origin, delayed))
		return *rules(origin, delayed), nil
	}
	if a := r.get(t, origin+"/robots.txt"); a.StatusCode != 200 || fetched != 1 {
		t.Fatalf("%s, and robots.txt was fetched %d times before", a.Status, fetched)
	}
	if a := r.get(t, origin+"/"); a.StatusCode != 429 || a.Header.Get("Retry-After") != "100" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	if n := at.count(); n != 1 {
		t.Errorf("the origin was asked %d times", n)
	}
}
