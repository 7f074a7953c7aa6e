package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"heed/policy"
	"heed/policy/lint"
)

// hostileRobots has a fault of every kind that is about octets.
const hostileRobots = "\xEF\xBB\xBFuser-agent : MJ12bot/1.0\r\n  Disalow /a%2fb#c\r\rAllow:\nDisallow: /*.php$\nDisallow: /caf\u00e9\xe9\x1b[2J\x00\n" +
	"Disallow: /x\nDisallow: /x\nSitemap: <script>\n"

func lintBody(body string) (lintee, *lint.Report) {
	l := lintee{path: "dir/robots 1.txt", body: []byte(body), limit: policy.DefaultLimit}
	return l, lint.Check(l.body, lint.Options{Limit: l.limit})
}

func TestLintTextPointsAtWhatIsMeant(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, c := range []struct {
		reason, line   string
		from, to       int
		source, carets string
	}{
		{"a part", "Disallow: /a b", 12, 13, "Disallow: /a b", "            ^"},
		{"several octets of several characters", "x: /caf\u00e9!", 7, 9, "x: /caf\u00e9!", "       ^"},
		{"one octet of several", "x: \u00e9!", 3, 4, "x: \u00e9!", "   ^"},
		{"a place between octets", "User-agent:", 11, 11, "User-agent:", "           ^"},
		{"the line end itself", "abc", 3, 4, "abc", "   ^"},
		{"what a terminal would obey is escaped", "a\x1b[2Jb", 1, 2, `a\x1b[2Jb`, " ^^^^"},
		{"octets that are no character", "a\xe9b", 2, 3, `a\xe9b`, "     ^"},
		{"a mark that turns text round", "a\u202eb", 4, 5, `a\u202eb`, "       ^"},
		{"tabs are as wide as the caret thinks", "\t\tx", 0, 2, "  x", "^^"},
		{"a character that is two columns wide", "x: /\u65e5\u672c b", 10, 11, "x: /\u65e5\u672c b", "        ^"},
		{"all of such a character", "x: /\uff21\U0001f600", 4, 7, "x: /\uff21\U0001f600", "    ^^"},
		{"one that is half as wide as its like", "x: /\uff71b", 7, 8, "x: /\uff71b", "     ^"},
		{"a mark that takes no column is escaped", "x: /e\u0301b", 5, 7, `x: /e\u0301b`, "     ^^^^^^"},
		{"quotes stay", `a"b`, 1, 2, `a"b`, " ^"},
		{"a long line is clipped at both ends", long, 100, 101, "…" + long[:100] + "…", strings.Repeat(" ", 41) + "^"},
		{"a place beyond the line", "abc", 9, 12, "abc", "   ^"},
	} {
		source, carets := excerpt([]byte(c.line), c.from, c.to)
		if source != c.source || carets != c.carets {
			t.Errorf("%s:\ngot\n%s\n%s\nwant\n%s\n%s", c.reason, source, carets, c.source, c.carets)
		}
	}
}

func TestLintTextHasNothingThatATerminalObeys(t *testing.T) {
	l, report := lintBody(hostileRobots)
	l.path = "evil\x1b[2J.txt"
	text := lintText(l, report)
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7F || r == '\uFFFD' }); i >= 0 {
		t.Errorf("octet %q in\n%s", text[i], text)
	}
	if !strings.HasSuffix(text, " notes\n") || !strings.Contains(text, "errors, ") {
		t.Errorf("the summary is missing:\n%s", text)
	}
}

func TestLintTextSaysHowMuchItLeavesOut(t *testing.T) {
	l, report := lintBody(strings.Repeat("Allow: /\n", 150) + "User-agent: *\n")
	text := lintText(l, report)
	if want := "50 more of error [rule-before-group]\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	report.Unprobed = 7
	if want := "dialects were not compared for 7 rules"; !strings.Contains(lintText(l, report), want) {
		t.Errorf("no %q", want)
	}
}

// TestLintSARIFIsValid asks the schema of SARIF 2.1.0, and beyond it what the
// standard says in words.
func TestLintSARIFIsValid(t *testing.T) {
	for _, body := range []string{
		"", hostileRobots, "User-agent: *\nDisallow: /private/\n",
		"<!DOCTYPE html>\n", strings.Repeat("Allow: /\n", 150),
	} {
		l, report := lintBody(body)
		var printed bytes.Buffer
		if err := printSARIF(&printed, l, report); err != nil {
			t.Fatal(err)
		}
		read, err := sarif.FromBytes(printed.Bytes())
		if err != nil {
			t.Fatalf("%.40q: reading what was printed: %v", body, err)
		}
		if err := read.Validate(); err != nil {
			t.Errorf("%.40q: %v", body, err)
		}
		run := read.Runs[0]
		if read.Version != "2.1.0" || *run.Tool.Driver.Name != "heed" || *run.ColumnKind != "unicodeCodePoints" {
			t.Errorf("version %q, tool %q, columns in %q", read.Version, *run.Tool.Driver.Name, *run.ColumnKind)
		}
		if len(run.Results) != len(report.Diagnostics) {
			t.Errorf("%.40q: %d results for %d diagnostics", body, len(run.Results), len(report.Diagnostics))
		}
		for i, result := range run.Results {
			checkSARIFResult(t, run, result, report.Diagnostics[i])
		}
	}
}

func checkSARIFResult(t *testing.T, run *sarif.Run, result *sarif.Result, d lint.Diagnostic) {
	t.Helper()
	rule := run.Tool.Driver.Rules[result.RuleIndex]
	if *result.RuleID != string(d.Code) || *rule.ID != *result.RuleID {
		t.Errorf("rule %q at index %d is %q, want %q", *result.RuleID, result.RuleIndex, *rule.ID, d.Code)
	}
	if result.Level != d.Severity.String() || rule.DefaultConfiguration.Level != result.Level {
		t.Errorf("%s: level %q, want %q", d.Code, result.Level, d.Severity)
	}
	place := result.Locations[0].PhysicalLocation
	region := place.Region
	if *place.ArtifactLocation.URI != "dir/robots%201.txt" {
		t.Errorf("the file is %q", *place.ArtifactLocation.URI)
	}
	if *region.StartLine != d.Line || *region.StartColumn < 1 || *region.EndColumn < *region.StartColumn || *region.StartColumn > d.Column {
		t.Errorf("%v: region %d:%d-%d", d, *region.StartLine, *region.StartColumn, *region.EndColumn)
	}
	related := 0
	for _, location := range result.RelatedLocations {
		related = *location.PhysicalLocation.Region.StartLine
	}
	if related != d.Related {
		t.Errorf("%v: related line %d, want %d", d, related, d.Related)
	}
	if text := *result.Message.Text; !strings.HasSuffix(text, ".") || strings.HasSuffix(text, "..") {
		t.Errorf("%q is no sentence", text)
	}
}

func TestLintSARIFCountsCharacters(t *testing.T) {
	line := []byte("x: \u00e9\u00e9!")
	for _, c := range []struct{ octets, want int }{{1, 1}, {4, 4}, {6, 5}, {8, 6}, {9, 7}, {99, 7}} {
		if got := codePoints(line, c.octets); got != c.want {
			t.Errorf("column %d of octets is %d of characters, want %d", c.octets, got, c.want)
		}
	}
	if got := codePoints([]byte("\uFEFFx: y"), 5); got != 2 {
		t.Errorf("behind a byte order mark and a letter it is column %d, want 2", got)
	}
}

func TestLintChecksWhatWasFetched(t *testing.T) {
	const url = "https://a.example/robots.txt"
	for _, c := range []struct {
		reason string
		s      policy.Snapshot
		fault  string // "" for none
	}{
		{"there is a file", policy.Snapshot{Body: []byte("User-agent: *\n"), Size: 14}, ""},
		{"an empty file is one", policy.Snapshot{}, ""},
		{"a file that does not exist has no faults", policy.Snapshot{Access: policy.Unavailable, Status: 404}, "there is no " + url + " (status 404)"},
		{"what cannot be reached cannot be read", policy.Snapshot{Access: policy.Unreachable, Err: "status 500"}, "cannot be reached: status 500"},
		{"rules alone are not enough", policy.Snapshot{Size: 14}, "only the rules were kept"},
	} {
		c.s.URL = url
		l, err := fetched(&c.s, policy.DefaultLimit)
		if c.fault == "" {
			if err != nil || l.path != url || !bytes.Equal(l.body, c.s.Body) || l.snapshot != &c.s {
				t.Errorf("%s: %v, %+v", c.reason, err, l)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.fault)
		}
	}
}

func TestLintDoesNotFixHalfAFile(t *testing.T) {
	l := lintee{path: "https://a.example/robots.txt", limit: policy.DefaultLimit, snapshot: &policy.Snapshot{Truncated: true}}
	var printed bytes.Buffer
	if err := printFixed(&printed, l); err == nil || printed.Len() > 0 {
		t.Errorf("printed %q, error %v", printed.String(), err)
	}
}

// TestLintJSONHasWhatTheFileHas: what older parsers give access to.
func TestLintJSONHasWhatTheFileHas(t *testing.T) {
	l, report := lintBody("Crawl-delay: 1\nAllow: /e\nUser-agent: A/1\nUser-agent: b\nAllow: /%7ex$\nSitemap: https://a.example/s\nFoo: bar\nDisallow:\nUser-agent: b\nDisallow: /\n")
	var printed bytes.Buffer
	if err := printLintJSON(&printed, l, report); err != nil {
		t.Fatal(err)
	}
	var got lintData
	if err := json.Unmarshal(printed.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	got.Diagnostics = nil
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"path":"dir/robots 1.txt","body":` + quoteJSON(t, string(l.body)) + `,"groups":[` +
		`{"line":3,"user_agents":[{"line":3,"value":"A/1","token":"A"},{"line":4,"value":"b","token":"b"}],` +
		`"rules":[{"line":5,"allow":true,"value":"/%7ex$","pattern":"/~x$"},{"line":8,"allow":false,"value":"","pattern":""}]},` +
		`{"line":9,"user_agents":[{"line":9,"value":"b","token":"b"}],"rules":[{"line":10,"allow":false,"value":"/","pattern":"/"}]}],"ungrouped_rules":[{"line":2,"allow":true,"value":"/e","pattern":"/e"}],` +
		`"user_agents":["A/1","b"],"sitemaps":["https://a.example/s"],"records":[` +
		`{"line":1,"kind":"crawl-delay","key":"Crawl-delay","value":"1"},` +
		`{"line":7,"kind":"unknown","key":"Foo","value":"bar","user_agents":["A/1","b"]}],"diagnostics":null}`
	if string(data) != want {
		t.Errorf("got\n%s\nwant\n%s", data, want)
	}
}

func TestLintJSONSaysWhereItWasFetched(t *testing.T) {
	l, report := lintBody("")
	fetched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	l.snapshot = &policy.Snapshot{
		URL: "https://a.example/robots.txt", Hops: []string{"https://b.example/r"}, Status: 200,
		Fetched: fetched, FreshUntil: fetched.Add(24 * time.Hour),
	}
	var printed bytes.Buffer
	if err := printLintJSON(&printed, l, report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"source_url": "https://a.example/robots.txt"`, `"redirected_to": [`, `"https://b.example/r"`, `"response_code": 200`,
		`"access": "successful"`, `"fetched": "2026-01-02T02:04:05Z"`, `"expires": "2026-01-03T02:04:05Z"`, `"body": ""`,
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("no %s in\n%s", want, printed.String())
		}
	}
}

func TestLintJSONKeepsOctetsThatAreNoText(t *testing.T) {
	l, report := lintBody(hostileRobots)
	var printed bytes.Buffer
	if err := printLintJSON(&printed, l, report); err != nil {
		t.Fatal(err)
	}
	var got lintData
	if err := json.Unmarshal(printed.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Body != nil || string(got.BodyB64) != hostileRobots {
		t.Errorf("body %v, body_b64 %q", got.Body, got.BodyB64)
	}
	if len(got.Diagnostics) != len(report.Diagnostics) {
		t.Errorf("%d diagnostics, want %d", len(got.Diagnostics), len(report.Diagnostics))
	}
}

func quoteJSON(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
