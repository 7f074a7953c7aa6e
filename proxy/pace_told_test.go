package proxy

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
	"heed/internal/pace"
	"heed/policy"
)

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// TestWhoComesTooSoonIsToldAllOfIt: in each form, and later at /why, what it is
// paced by, the interval, the line, what was asked for, and when to come back.
func TestWhoComesTooSoonIsToldAllOfIt(t *testing.T) {
	o := newOrigin(t, hello)
	r := start(t, pacedBy(t, pace.Config{MaxDelay: 40 * time.Second}, 0))
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /x\nCrawl-delay: 100\n"))
	if a := r.get(t, o+"/1", exampleBot); a.StatusCode != 200 {
		t.Fatalf("the first: %s", a.Status)
	}
	if e := r.entry(t); e.Pace != (audit.Pace{}) {
		t.Errorf("of one that had not to wait: %+v", e.Pace)
	}
	a := r.get(t, o+"/2", exampleBot)
	e := r.entry(t)
	if a.StatusCode != 429 || a.Header.Get("Retry-After") != "40" {
		t.Errorf("%s, Retry-After %s", a.Status, a.Header.Get("Retry-After"))
	}
	if e.Pace.Cause != "crawl-delay" || e.Pace.Interval != 40*time.Second || e.Pace.Asked != 100*time.Second || e.Pace.Line != 3 {
		t.Errorf("recorded as %+v", e.Pace)
	}
	if field := a.Header.Get("Robots-Decision"); !strings.HasPrefix(field, `paced;reason="crawl-delay";interval=40.000;asked=100.000;line=3;retry=40;agent="examplebot";robots="`+o+`/robots.txt";id="`) {
		t.Errorf("Robots-Decision: %s", field)
	}
	until := e.Pace.Until.UTC().Add(time.Second - 1).Format(time.RFC3339)
	for _, name := range []string{"the denial", "/why"} {
		if name == "/why" {
			a = r.get(t, "http://"+Host+"/why?id="+e.ID)
		}
		for _, line := range []string{
			"Paced by:    Crawl-delay of the site's robots.txt (line 3)\n", "Interval:    40 s\n", "Site asks for: 100 s\n", "Come back:   " + until + "\n",
			"is asked every 40s (Crawl-delay), and others come first; come back in 40 s.",
		} {
			if !strings.Contains(a.body, line) {
				t.Errorf("%s does not say %q:\n%s", name, line, a.body)
			}
		}
	}
	a = r.get(t, "http://"+Host+"/why?id="+e.ID, "Accept: application/json")
	var told explanation
	if err := json.Unmarshal([]byte(a.body), &told); err != nil {
		t.Fatal(err)
	}
	if want := (paceTold{Cause: "crawl-delay", Interval: 40, Asked: 100, Line: 3, Until: until}); told.Pace == nil || *told.Pace != want || told.Retry < 1 || told.Retry > 40 || told.Decision != "paced" {
		t.Errorf("told %+v, retry in %d, %q; want %+v", told.Pace, told.Retry, told.Decision, want)
	}
	a = r.get(t, "http://"+Host+"/why?id="+e.ID, "Accept: text/html")
	if !strings.Contains(a.body, `<th scope="row">Paced by</th><td>Crawl-delay of the site&#39;s robots.txt (line 3)</td>`) {
		t.Errorf("the page:\n%s", a.body)
	}
}

// TestWhatAForwardedRequestWaitedForIsRecorded, and can be looked up.
func TestWhatAForwardedRequestWaitedForIsRecorded(t *testing.T) {
	o := newOrigin(t, hello)
	for _, row := range []struct {
		robots string
		want   audit.Pace
		why    string
	}{
		{"User-agent: *\nCrawl-delay: 1\n", audit.Pace{Cause: "crawl-delay", Interval: time.Second, Line: 2}, "the site's Crawl-delay"},
		{"User-agent: *\nRequest-rate: 1/1\n", audit.Pace{Cause: "request-rate", Interval: time.Second, Line: 2}, "its Request-rate"},
		{"User-agent: *\nCrawl-delay: 0.01\n", audit.Pace{Cause: "min-interval", Interval: 800 * time.Millisecond}, "the operator's floor, which is longer"},
	} {
		r := start(t, pacedBy(t, pace.Config{MinInterval: 800 * time.Millisecond}, time.Minute))
		r.policies.set(o, rules(o, row.robots))
		r.get(t, o+"/1")
		r.entry(t)
		if a := r.get(t, o+"/2"); a.StatusCode != 200 {
			t.Fatalf("%s: %s", row.why, a.Status)
		}
		e := r.entry(t)
		if e.Pace != row.want || e.PaceWait <= 0 || e.PaceWait > patience {
			t.Errorf("%s: waited %v for %+v, want %+v", row.why, e.PaceWait, e.Pace, row.want)
		}
		if a := r.get(t, "http://"+Host+"/why?id="+e.ID); !strings.Contains(a.body, "\nPaced by: ") || !strings.Contains(a.body, "\nWaited: ") || strings.Contains(a.body, "Come back") {
			t.Errorf("%s: /why says\n%s", row.why, a.body)
		}
	}
}

// TestATunnelThatWaitsInVainIsRecordedWithItsCause: the client was told that it is
// open, so that the log alone can say.
func TestATunnelThatWaitsInVainIsRecordedWithItsCause(t *testing.T) {
	o := newTLSOrigin(t, false, hello)
	p := pace.New(pace.Config{})
	t.Cleanup(p.Close)
	r := start(t, modeIs(Tunnel), func(c *Config) {
		c.Pacer, c.Hold = p, func(policy.Tokens) time.Duration { return 30 * time.Second }
	})
	r.policies.set(o, rules(o, "User-agent: *\nCrawl-delay: 20\n"))
	var before pace.Turn // of a request that is under way
	host := strings.Split(hostOf(o), ":")[0]
	if err := p.Ask(t.Context(), &before, pace.Request{Host: host, Interval: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	defer before.End()
	_ = before.Send(t.Context())
	w := r.connect(t, hostOf(o))
	if _, err := w.Write([]byte{tlsHandshake}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tunnel waits", func() bool { return p.State(0).Waiting == 1 })
	var robots pace.Turn // goes before it, and then it is too late
	if err := p.AskRobots(t.Context(), &robots, pace.Request{Host: host, Hold: time.Minute}); err != nil {
		t.Fatal(err)
	}
	defer robots.End()
	e := r.entry(t)
	if e.Reason != "paced" || e.Verdict != audit.Denied || e.Pace.Cause != "crawl-delay" || e.Pace.Line != 2 || e.Pace.Until.IsZero() {
		t.Errorf("recorded as %s, %s, %+v", e.Verdict, e.Reason, e.Pace)
	}
}

// TestEveryCauseHasItsWords for people.
func TestEveryCauseHasItsWords(t *testing.T) {
	for c := pace.Site; c <= pace.Queue; c++ {
		if paceWords[c.String()] == "" {
			t.Errorf("there are none for %s", c)
		}
	}
}
