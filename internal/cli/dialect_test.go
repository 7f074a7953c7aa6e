package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// fetchedFrom is a source whose every origin has this robots.txt.
func fetchedFrom(s *policy.Snapshot) source {
	if s.Access == policy.Successful {
		s.Rules = policy.Compile(s.Body, policy.Options{Cautious: s.Cautious})
		s.Size = len(s.Body)
	}
	s.URL = "https://a.example/robots.txt"
	get := func(context.Context, origin.Origin) (*policy.Snapshot, error) { return s, nil }
	return source{get: get, fetches: true, limit: policy.DefaultLimit}
}

func TestADialectAnswersByTheStatusOfAFetchedFile(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		status  int
		access  policy.Access
		dialect policy.Dialect
		target  string
		verdict string
		why     string // reason of the answer
		outcome string
		code    int
	}{
		{"heed: no rules", 403, policy.Unavailable, policy.RFC9309, "/x", "allowed", "unavailable", "allow-all", 0},
		{"heed: 429 tells nothing", 429, policy.Unreachable, policy.RFC9309, "/x", "unknown", "unreachable", "defer", 2},
		{"Google knows RFC 9309", 403, policy.Unavailable, policy.Google, "/x", "allowed", "unavailable", "allow-all", 0},
		{"a refusal is a restriction", 403, policy.Unavailable, policy.RERP, "/x", "disallowed", "restricted", "disallow-all", 1},
		{"the draft recommends the same", 401, policy.Unavailable, policy.Koster1996, "/x", "disallowed", "restricted", "disallow-all", 1},
		{"but robots.txt is always allowed", 401, policy.Unavailable, policy.Koster1996, "/robots.txt", "allowed", "robots-txt", "disallow-all", 0},
		{"missing", 404, policy.Unavailable, policy.RERP, "/x", "allowed", "unavailable", "allow-all", 0},
		{"the exception is the caller's", 410, policy.Unavailable, policy.RERP, "/x", "unknown", "leave-open", "leave-open", 2},
		{"no word on fetching", 404, policy.Unavailable, policy.Robotstxt, "/x", "unknown", "leave-open", "leave-open", 2},
		{"no word on fetching", 500, policy.Unreachable, policy.ApeTest, "/x", "unknown", "leave-open", "leave-open", 2},
		{"come again", 503, policy.Unreachable, policy.Koster1996, "/x", "unknown", "unreachable", "defer", 2},
		{"no answer at all", 0, policy.Unreachable, policy.RERP, "/x", "unknown", "leave-open", "leave-open", 2},
		{"there were rules, but they could not be read", 200, policy.Unreachable, policy.RERP, "/x", "unknown", "unreachable", "follow-rules", 2},
	} {
		k := asker{
			source:   fetchedFrom(&policy.Snapshot{Access: tt.access, Status: tt.status}),
			who:      policy.Tokens{Main: []string{"ExampleBot"}},
			dialects: []policy.Dialect{tt.dialect},
		}
		a := k.ask(t.Context(), "https://a.example"+tt.target)[0]
		if a.verdict() != tt.verdict || a.reason() != tt.why || a.outcome.String() != tt.outcome || a.status() != tt.code {
			t.Errorf("%s: %d as %s: %s, %s, outcome %s, status %d; want %s, %s, %s, %d", tt.reason, tt.status, tt.dialect,
				a.verdict(), a.reason(), a.outcome, a.status(), tt.verdict, tt.why, tt.outcome, tt.code)
		}
		data := a.data()
		if data.Verdict != tt.verdict || data.Allowed != (tt.verdict == "allowed") || data.Outcome != tt.outcome ||
			data.Dialect != tt.dialect.Name() || data.Code != tt.status || data.Access != tt.access.String() {
			t.Errorf("%s: as JSON %+v", tt.reason, data)
		}
		if left := strings.Contains(a.String(), "left to its user"); left != (tt.outcome == "leave-open") {
			t.Errorf("%s: says\n%s", tt.reason, a)
		}
	}
}

func TestAFileThatIsGivenHasRules(t *testing.T) {
	s := fetchedFrom(&policy.Snapshot{Body: []byte("User-agent: *\nDisallow: /x\n")})
	s.fetches = false
	for _, d := range policy.Dialects() {
		a := (&asker{source: s, dialects: []policy.Dialect{d}}).ask(t.Context(), "/x")[0]
		if a.verdict() != "disallowed" || a.outcome != policy.FollowRules || a.data().SourceURL != "" {
			t.Errorf("%s: %s, outcome %s, source %q", d, a.verdict(), a.outcome, a.data().SourceURL)
		}
	}
}

// A cautious configuration makes the proxy's answer, and nobody's reading.
func TestCautionIsTheProxysAlone(t *testing.T) {
	// Rules before any group are for everyone in the robotstxt dialect alone.
	s := fetchedFrom(&policy.Snapshot{Cautious: true, Status: 200, Body: []byte("Disallow: /x\n")})
	who := policy.Tokens{Main: []string{"ExampleBot"}}
	a := (&asker{source: s, who: who}).ask(t.Context(), "https://a.example/x")[0]
	if data := a.data(); data.Verdict != "disallowed" || data.Dialect != "rfc9309" || data.DecidedBy != "robotstxt" {
		t.Errorf("the proxy: %+v", data)
	}
	k := &asker{source: s, who: who, dialects: policy.Dialects()}
	for _, a := range k.ask(t.Context(), "https://a.example/x") {
		if want := a.dialect == policy.Robotstxt; (a.verdict() == "disallowed") != want || a.data().DecidedBy != "" {
			t.Errorf("%s: %s, decided by %q", a.dialect, a.verdict(), a.data().DecidedBy)
		}
	}
	refused := fetchedFrom(&policy.Snapshot{Cautious: true, Access: policy.Unavailable, Status: 403})
	a = (&asker{source: refused, who: who}).ask(t.Context(), "https://a.example/x")[0]
	if a.verdict() != "disallowed" || a.outcome != policy.DisallowAll || a.data().DecidedBy != "rerp" {
		t.Errorf("the proxy, refused: %s, outcome %s, decided by %q", a.verdict(), a.outcome, a.data().DecidedBy)
	}
}

func TestADialectIsAskedForItsNames(t *testing.T) {
	body := []byte("User-agent: One\nDisallow: /one\n\nUser-agent: Two\nDisallow: /two\n\nUser-agent: Mozilla\nDisallow: /moz\n\nUser-agent: *\nDisallow: /all\n")
	field := "Mozilla/5.0 (compatible; One/1.0; Two/2.0)"
	for _, tt := range []struct {
		reason  string
		dialect policy.Dialect
		who     policy.Tokens
		target  string
		allowed bool
		group   int
	}{
		{"each agent must be allowed", policy.Google, policy.Tokens{Main: []string{"One", "Two"}}, "/two", false, 4},
		{"each agent must be allowed", policy.Koster1996, policy.Tokens{Main: []string{"One", "Two"}}, "/two", false, 4},
		{"the first speaks if all are", policy.Google, policy.Tokens{Main: []string{"One", "Two"}}, "/x", true, 1},
		{"by its own group or by that for all", policy.Google, policy.Tokens{Main: []string{"One", "Three"}}, "/all", false, 10},
		{"nobody is anybody", policy.ApeTest, policy.Tokens{}, "/all", false, 10},
		{"a further name restricts", policy.Google, policy.Tokens{Main: []string{"Three"}, Also: []string{"Two"}}, "/two", false, 4},
		{"a further name that no group has does not", policy.Google, policy.Tokens{Main: []string{"One"}, Also: []string{"Three"}}, "/all", true, 1},
		{"rerp looks in the whole field", policy.RERP, policy.Tokens{Main: []string{"One"}, Fields: []string{field}}, "/one", false, 1},
		{"others do not", policy.ApeTest, policy.Tokens{Main: []string{"Two"}, Fields: []string{field}}, "/one", true, 4},
	} {
		k := asker{source: fetchedFrom(&policy.Snapshot{Body: body, Status: 200}), who: tt.who, dialects: []policy.Dialect{tt.dialect}}
		d := k.ask(t.Context(), "https://a.example"+tt.target)[0].decision
		if d.Allowed != tt.allowed || d.GroupLine != tt.group {
			t.Errorf("%s: %v, want allowed=%v by the group of line %d", tt.reason, d, tt.allowed, tt.group)
		}
	}
}

// The forms of a target are the proxy's.
func TestADialectOtherThanTheDefaultReadsATargetAsWritten(t *testing.T) {
	k := asker{source: fetchedFrom(&policy.Snapshot{Body: []byte("User-agent: *\nDisallow: /x\n"), Status: 200}), dialects: policy.Dialects()}
	for _, a := range k.ask(t.Context(), "https://a.example/./x") {
		if want := a.dialect == policy.RFC9309; (a.verdict() == "disallowed") != want || (a.decision.Form != "") != want {
			t.Errorf("%s: %v", a.dialect, a.decision)
		}
	}
}

func TestAFileIsCompiledOnceForADialect(t *testing.T) {
	k := asker{source: fetchedFrom(&policy.Snapshot{Body: []byte("User-agent: *\n"), Status: 200}), dialects: policy.Dialects()}
	first, second := k.ask(t.Context(), "https://a.example/x"), k.ask(t.Context(), "https://a.example/y")
	for i := range first {
		if first[i].rules == nil || first[i].rules != second[i].rules || first[i].rules.Dialect() != first[i].dialect {
			t.Errorf("%s: compiled again, or as another", first[i].dialect)
		}
	}
}

func TestRulesWithoutTheirFileAreNotReadOtherwise(t *testing.T) {
	s := fetchedFrom(&policy.Snapshot{Body: []byte("User-agent: *\n"), Status: 200})
	kept, _ := s.get(t.Context(), origin.Origin{})
	kept.Body = nil
	a := (&asker{source: s, dialects: []policy.Dialect{policy.RERP}}).ask(t.Context(), "https://a.example/")[0]
	if a.fault == nil || a.status() != checkUnknown || !strings.Contains(a.String(), "only the rules were kept") {
		t.Errorf("%s", a)
	}
}

func TestTheStatusOfAllDialectsIsThatOfADenial(t *testing.T) {
	for _, tt := range []struct {
		all      bool
		statuses []int
		want     int
	}{
		{false, []int{0, 0}, 0},
		{false, []int{1, 2, 0}, 2},
		{true, []int{0, 0}, 0},
		{true, []int{2, 0, 1}, 1},
		{true, []int{1, 0, 2}, 1},
		{true, []int{0, 2}, 2},
	} {
		w := worst{all: tt.all}
		for _, s := range tt.statuses {
			w.add(s)
		}
		if w.status != tt.want || (w.err() == nil) != (tt.want == 0) {
			t.Errorf("%v (all: %v): %d, want %d", tt.statuses, tt.all, w.status, tt.want)
		}
	}
}

// TestCheckJSONHasWhatOlderParsersTell: the accessors of their documents.
func TestCheckJSONHasWhatOlderParsersTell(t *testing.T) {
	fetched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	s := fetchedFrom(&policy.Snapshot{
		Status: 200, Hops: []string{"https://b.example/r"}, Fetched: fetched, FreshUntil: fetched.Add(24 * time.Hour),
		Body: []byte("User-agent: *\nDisallow:\nCrawl-delay: 9\nUser-agent: A\nUser-agent: b\nDisallow: /%7ex\nCrawl-delay: soon\nCrawl-delay: 1.5\nFoo: bar\nCrawl-delay: 1\nSitemap: https://a.example/s\n"),
	})
	k := asker{source: s, who: policy.Tokens{Main: []string{"a"}}, dialects: []policy.Dialect{policy.RERP, policy.RFC9309}}
	var want []string
	for _, d := range []string{
		`"rerp","outcome":"follow-rules","lifetime_seconds":604800,"lifetime_by_expires":true`,
		`"rfc9309","outcome":"follow-rules","lifetime_seconds":86400,"lifetime_by_expires":false`,
	} {
		by := ""
		if strings.Contains(d, "rerp") {
			by = " as rerp reads it"
		}
		want = append(want, `{"url":"https://a.example/~x","verdict":"disallowed","allowed":false,"reason":"rule","agent":"a",`+
			`"group":"A","group_line":4,"rule":"Disallow: /%7ex","line":6,"pattern":"/~x","path":"/~x","dialect":`+d+`,`+
			`"agents":["a"],"group_names":["A","b"],"crawl_delay":1.5,"records":[`+
			`{"line":7,"kind":"crawl-delay","key":"Crawl-delay","value":"soon","user_agents":["A","b"]},`+
			`{"line":8,"kind":"crawl-delay","key":"Crawl-delay","value":"1.5","user_agents":["A","b"]},`+
			`{"line":9,"kind":"unknown","key":"Foo","value":"bar","user_agents":["A","b"]},`+
			`{"line":10,"kind":"crawl-delay","key":"Crawl-delay","value":"1","user_agents":["A","b"]}],"sitemaps":["https://a.example/s"],`+
			`"pace":{"interval_seconds":1.5,"line":8,"record":"Crawl-delay: 1.5","unread":[`+
			`{"line":7,"kind":"crawl-delay","value":"soon","error":"\"soon\" is no number of seconds, such as 10 or 0.5"}]},`+
			`"robots":"https://a.example/robots.txt","source_url":"https://a.example/robots.txt","hops":["https://b.example/r"],`+
			`"status":200,"response_code":200,"access":"successful","fetched":"2026-01-02T02:04:05Z","expires":"2026-01-03T02:04:05Z",`+
			`"explained":"disallowed by \"Disallow: /%7ex\" (line 6) in the group of \"A\" (line 4)`+by+`"}`)
	}
	var printed bytes.Buffer
	if err := (&checkCmd{JSON: true}).print(&printed, k.ask(t.Context(), "https://a.example/~x")); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(printed.String()); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// The records are those of the group that decided, though others were asked too.
func TestRecordsAreThoseOfTheGroupThatApplies(t *testing.T) {
	body := []byte("User-agent: Foo*\nCrawl-delay: 1\nDisallow: /f\n\nUser-agent: One\nCrawl-delay: 2\nDisallow: /one\n\nUser-agent: *\nCrawl-delay: 3\nDisallow: /all\n")
	for _, d := range policy.Dialects() {
		for target, want := range map[string]float64{"/one": 2, "/x": 2, "/all": 3} {
			k := asker{source: fetchedFrom(&policy.Snapshot{Body: body, Status: 200}), who: policy.Tokens{Main: []string{"One", "Three"}}, dialects: []policy.Dialect{d}}
			data := k.ask(t.Context(), "https://a.example"+target)[0].data()
			if data.CrawlDelay == nil || *data.CrawlDelay != want {
				got, _ := json.Marshal(data)
				t.Errorf("%s, %s: not %v seconds: %s", d, target, want, got)
			}
		}
	}
}

func TestHelpNamesEveryDialect(t *testing.T) {
	var printed bytes.Buffer
	if code := run([]string{"check", "--help"}, streams{in: strings.NewReader(""), out: &printed, err: &printed}); code != 0 {
		t.Fatalf("status %d", code)
	}
	text := strings.Join(strings.Fields(printed.String()), " ")
	_, list, _ := strings.Cut(text, "Answer as NAME reads robots.txt:")
	list, _, _ = strings.Cut(list, "compares them")
	for _, d := range policy.Dialects() {
		if !strings.Contains(list, " "+d.Name()) {
			t.Errorf("--help does not name %s: %s", d, list)
		}
	}
}

func TestAFaultIsTheAnswerOfEveryDialect(t *testing.T) {
	broken := errors.New("broken")
	get := func(context.Context, origin.Origin) (*policy.Snapshot, error) { return nil, broken }
	k := asker{source: source{get: get, fetches: true}, dialects: policy.Dialects()}
	answers := k.ask(t.Context(), "https://a.example/\x1b")
	for _, a := range answers {
		if data := a.data(); a.status() != checkUnknown || data.Error != "broken" || data.Dialect != a.dialect.Name() {
			t.Errorf("%s: status %d, %+v", a.dialect, a.status(), data)
		}
	}
	if got, want := table(answers), "\"https://a.example/\\x1b\"\n  unknown: broken\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSitemapsHaveToBeWholeURLs(t *testing.T) {
	for value, want := range map[string]string{
		"https://a.example/sitemap.xml": "",
		"HTTP://a.example":              "",
		"https://[::1]:8443/s?x=1":      "",
		"/sitemap.xml":                  "relative",
		"sitemap.xml":                   "relative",
		"//a.example/s":                 "relative",
		"ftp://a.example/s":             "not http or https",
		"https:///s":                    "without a host",
		"https://:443/s":                "without a host",
		"https:a.example":               "without a host",
		"https://a b/":                  "not a URL",
		"https://a.example/%zz":         "not a URL",
		"":                              "empty",
	} {
		if got := sitemapURLFault(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
