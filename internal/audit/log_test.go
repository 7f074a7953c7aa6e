package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/policy"
)

func line(t *testing.T, e *Entry) string {
	t.Helper()
	var b bytes.Buffer
	Log(zerolog.New(&b))(e)
	return b.String()
}

// TestLogLine is the canonical line in full: programs read it, so that its
// names and their order do not change.
func TestLogLine(t *testing.T) {
	want := `{"level":"info","id":"dc0go59ksdu8torkufo0","client":"127.0.0.1:40000","channel":"intercepted",` +
		`"proto":"HTTP/2.0","method":"GET","origin":"https://a.example","path":"/private/x?q=1",` +
		`"tokens":["examplebot","otherbot"],"verdict":"denied","reason":"disallowed",` +
		`"rule":"Disallow: /private/","line":12,"group":"ExampleBot","form":"/private/x","dialect":"robotstxt",` +
		`"status":403,"bytes_in":7,"bytes_out":512,"ms":1.5,"robots_ms":1,"origin_ms":0.25,"also":["otherbot"],"cause":"a cause","message":"exchange"}` + "\n"
	if got := line(t, denied()); got != want {
		t.Errorf("the line is\n%s, want\n%s", got, want)
	}
}

func TestLogLineOfAnExchangeWithoutDecision(t *testing.T) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(line(t, &Entry{Reason: "bad-request", Status: 400})), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rule", "line", "group", "form", "dialect", "cause"} {
		if v, there := fields[name]; there {
			t.Errorf("%s is %v, want none: nothing was decided", name, v)
		}
	}
	if got := fields["tokens"].([]any); len(got) != 1 || got[0] != "*" {
		t.Errorf("tokens are %v, want * alone", got)
	}
}

func TestLogLineTellsOnWhoseWordItWasDecided(t *testing.T) {
	e := &Entry{Reason: "override", Status: 403}
	e.Decision = policy.Decision{Reason: policy.ReasonOverride, Override: &policy.Override{For: "*.a.example", Reason: "they asked", Owner: "lab admin"}}
	want := `"reason":"override","rule":"","line":0,"override":"*.a.example","override_action":"disallow","override_reason":"they asked","override_owner":"lab admin","status":403,`
	if got := line(t, e); !strings.Contains(got, want) {
		t.Errorf("the line is\n%s, want in it\n%s", got, want)
	}
	e.Decision.Override = &policy.Override{
		For: "https://a.example", Action: policy.UseOperatorsRules, File: "a-robots.txt", Reason: "agreed", Reference: "ticket 4711", Owner: "lab admin",
		Expires: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC),
	}
	want = `"override":"https://a.example","override_action":"file","override_file":"a-robots.txt","override_reason":"agreed","override_reference":"ticket 4711","override_owner":"lab admin","override_expires":"2027-03-31",`
	if got := line(t, e); !strings.Contains(got, want) {
		t.Errorf("the line is\n%s, want in it\n%s", got, want)
	}
}

func TestLogLineTellsWhatWouldHaveBeenDenied(t *testing.T) {
	const end = `"ms":0,"robots_ms":0,"origin_ms":0,`
	for _, tt := range []struct {
		why, want string
		entry     Entry
	}{
		{
			"denied otherwise, by a rule", `"verdict":"forwarded","reason":"disallowed","status":200,"bytes_in":0,"bytes_out":0,` + end + `"report":true,"message":"exchange"}`,
			Entry{Reason: "disallowed", Report: true, Denial: Denial{Reason: "disallowed"}},
		},
		{
			"and why", end + `"report":true,"cause":"waiting for it: timeout","message":"exchange"}`,
			Entry{Reason: "robots-pending", Report: true, Denial: Denial{"robots-pending", "waiting for it: timeout"}},
		},
		{
			"and for its pace", `"reason":"disallowed","status":200,` + `"bytes_in":0,"bytes_out":0,"ms":0,"robots_ms":0,"origin_ms":0,"pace":"crawl-delay","interval_ms":2000,"pace_line":3,"report":true,"paced":true,"message":"exchange"}`,
			Entry{Reason: "disallowed", Report: true, Denial: Denial{Reason: "disallowed"}, Pace: Pace{Cause: "crawl-delay", Interval: 2 * time.Second, Line: 3, Until: time.Unix(1, 0)}},
		},
		{
			"for its pace alone", `"pace":"crawl-delay","interval_ms":2000,"pace_line":3,"report":true,"message":"exchange"}`,
			Entry{Reason: "paced", Report: true, Denial: Denial{Reason: "paced"}, Pace: Pace{Cause: "crawl-delay", Interval: 2 * time.Second, Line: 3, Until: time.Unix(1, 0)}},
		},
		{
			"but the origin failed", `"reason":"dns-error","status":200,"bytes_in":0,"bytes_out":0,` + end + `"report":true,"denial":"robots-pending","cause":"no such host","message":"exchange"}`,
			Entry{Reason: "dns-error", Err: "no such host", Report: true, Denial: Denial{"robots-pending", "waiting for it: timeout"}},
		},
		{
			"nothing", `"verdict":"forwarded","reason":"allowed","status":200,"bytes_in":0,"bytes_out":0,` + end + `"message":"exchange"}`,
			Entry{Reason: "allowed"},
		},
	} {
		tt.entry.Verdict, tt.entry.Status = Forwarded, 200
		if got := line(t, &tt.entry); !strings.Contains(got, tt.want) {
			t.Errorf("%s: the line is\n%swant in it\n%s", tt.why, got, tt.want)
		}
	}
}

// TestLogLineHasWhatADecisionIsMadeOf, so that it can be made again.
func TestLogLineHasWhatADecisionIsMadeOf(t *testing.T) {
	who := policy.Tokens{Main: []string{"libcurl"}, Also: []string{"r-curl", "httr"}, Fields: []string{`libcurl/8 r-curl/6 "httr"/1`}}
	const further, fields = `"also":["r-curl","httr"]`, `"user_agent":["libcurl/8 r-curl/6 \"httr\"/1"]`
	for _, tt := range []struct {
		why                       string
		entry                     Entry
		wantFurther, wantTheField bool
	}{
		{"further names", Entry{Tokens: who, Snapshot: &policy.Snapshot{}}, true, false},
		{"none", Entry{Tokens: policy.Tokens{Main: who.Main, Fields: who.Fields}, Snapshot: &policy.Snapshot{}}, false, false},
		{"a cautious reading looks at the field", Entry{Tokens: who, Snapshot: &policy.Snapshot{Cautious: true}}, true, true},
		{"so may that of the operator's file", Entry{Tokens: who, Decision: policy.Decision{Override: &policy.Override{Action: policy.UseOperatorsRules}}}, true, true},
		{"the operator's word does not", Entry{Tokens: who, Decision: policy.Decision{Override: &policy.Override{Action: policy.AllowOrigin}}}, true, false},
		{"nothing was decided", Entry{Tokens: who}, true, false},
	} {
		got := line(t, &tt.entry)
		if strings.Contains(got, further) != tt.wantFurther || strings.Contains(got, fields) != tt.wantTheField {
			t.Errorf("%s: %s", tt.why, got)
		}
	}
}

// TestLogLineIsOneLine: whatever octets a file or a client sent.
func TestLogLineIsOneLine(t *testing.T) {
	e := denied()
	const hostile = "\x1b[2J\r\n\"},{\"verdict\":\"forwarded\xff\xe2\x80\xae\x00"
	e.Target, e.Method, e.Err = hostile, hostile, hostile
	e.Decision.Value, e.Decision.Group, e.Decision.Form = hostile, hostile, hostile
	e.Tokens = policy.Tokens{Main: []string{hostile}}
	got := line(t, e)
	if strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\x1b\r\x00") {
		t.Errorf("the line is %q", got)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(got), &fields); err != nil {
		t.Fatal(err)
	}
	if fields["verdict"] != "denied" {
		t.Errorf("the verdict is %v", fields["verdict"])
	}
}

func TestLogKeepsQuietBelowItsLevel(t *testing.T) {
	var b bytes.Buffer
	Log(zerolog.New(&b).Level(zerolog.WarnLevel))(denied())
	if b.Len() > 0 {
		t.Errorf("at level warn it wrote %s", &b)
	}
}
