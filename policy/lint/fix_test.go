package lint_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heed/policy"
	"heed/policy/lint"
)

func TestFixMends(t *testing.T) {
	for _, c := range []struct{ reason, body, want string }{
		{
			"keys get their usual spelling", "useragent:a\nDISALOW : /x\nsitemap:https://a.example/s\ncrawl-delay: 1\n",
			"User-agent: a\nDisallow: /x\nSitemap: https://a.example/s\nCrawl-delay: 1\n",
		},
		{"a missing colon is put in", "User-agent a\nDisallow /x\n", "User-agent: a\nDisallow: /x\n"},
		{
			"white space goes, comments and empty lines stay", "  User-agent: a  # who\n\n \t\n# note\nDisallow: /x\t",
			"User-agent: a  # who\n\n\n# note\nDisallow: /x\n",
		},
		{"byte order mark, CR and NUL go", "\xEF\xBB\xBFUser-agent: a\rDisallow: /x\x00y\r\n", "User-agent: a\nDisallow: /x # y\n"},
		{"octets are escaped as they are compared", "User-agent: a\nDisallow: /caf\xC3\xA9/%7ea%2fb c\n", "User-agent: a\nDisallow: /caf%C3%A9/~a%2Fb%20c\n"},
		{"a $ inside stays", "User-agent: a\nDisallow: /a$b$\n", "User-agent: a\nDisallow: /a$b$\n"},
		{"what escaping would change stays", "User-agent: a\nDisallow: /%%34%31\n", "User-agent: a\nDisallow: /%%34%31\n"},
		{"agents are cut to what is compared", "User-agent: A/1.0\nUser-agent: * all\nDisallow: /\n", "User-agent: A\nUser-agent: * # * all\nDisallow: /\n"},
		{
			"a nameless agent still ends the group before", "User-agent: a\nDisallow: /\nUser-agent: (b)\nDisallow: /x\n",
			"User-agent: a\nDisallow: /\nUser-agent: # (b)\nDisallow: /x\n",
		},
		{
			"what is read by nobody becomes a comment", "hello\nDisallow: /early\nUser-agent: a\nhello there\nDisallow: nothing\nDisallow: /x\n",
			"# hello\n# Disallow: /early\nUser-agent: a\n# hello there\n# Disallow: nothing\nDisallow: /x\n",
		},
		{
			"a dead rule that ends the user-agent lines stays", "User-agent: a\nDisallow: nothing\nUser-agent: b\nDisallow: /\n",
			"User-agent: a\nDisallow: nothing\nUser-agent: b\nDisallow: /\n",
		},
		{
			"rules that another one hides become comments", "User-agent: a\nDisallow: /x\nAllow: /x*\nDisallow: /x\n",
			"User-agent: a\n# Disallow: /x\nAllow: /x*\n# Disallow: /x\n",
		},
		{"an agent that was named above becomes a comment", "User-agent: a\nUser-agent: A\nDisallow: /\n", "User-agent: a\n# User-agent: A\nDisallow: /\n"},
		{
			"a line that lost the start of its value with its colon stays", "Sitemap https://a.example/s.xml\nUser-agent: a\n Disallow /x:\t/y # z\n",
			"Sitemap https://a.example/s.xml\nUser-agent: a\nDisallow /x:\t/y # z\n",
		},
		{"what nobody forgives stays for people to mend", "User-agent: a\nDisalllow: /\n", "User-agent: a\nDisalllow: /\n"},
		{
			"a second byte order mark does not become the first", "\xEF\xBB\xBF\xEF\xBB\xBFUser-agent: a\nDisallow: /\n",
			"# \xEF\xBB\xBFUser-agent: a\n# Disallow: /\n",
		},
		{"nothing of nothing", "", ""},
	} {
		if got := lint.Fix([]byte(c.body)); string(got) != c.want {
			t.Errorf("%s:\n%q\ngot  %q\nwant %q", c.reason, c.body, got, c.want)
		}
	}
}

func TestFixDoesNotMakeALineOrAFileTooLong(t *testing.T) {
	long := "User-agent: a\nDisallow: /" + strings.Repeat("\xE9", 10_000) + "\n"
	if got := lint.Fix([]byte(long)); !bytes.Equal(got, []byte(long)) {
		t.Error("a pattern was escaped to beyond what is read of a line")
	}
	large := strings.Repeat("User-agent: a\nDisallow: /\xE9\xE9\xE9\xE9\n", policy.DefaultLimit/30)
	if got := lint.Fix([]byte(large)); !bytes.Equal(got, []byte(large)) {
		t.Errorf("a file of %d octets was fixed to beyond what is read of a file: %d", len(large), len(got))
	}
}

// query is an agent and a target to compare the verdicts of two files with.
type query struct {
	tokens []string
	target string
}

// checkFix fails if Fix breaks one of its promises, or if a rule decides of which
// Check says that it never does.
func checkFix(t *testing.T, body []byte, queries []query) {
	t.Helper()
	fixed := lint.Fix(body)
	whole := policy.Options{Limit: max(len(body), len(fixed))}
	found := lint.Check(body, lint.Options{Limit: len(body)})
	hidden := hiddenLines(found)
	before, after := policy.Compile(body, whole), policy.Compile(fixed, whole)
	for _, q := range queries {
		b, a := before.Decide(q.tokens, q.target), after.Decide(q.tokens, q.target)
		if hidden[b.Line] {
			t.Fatalf("robots %q:\n%q %q is %v (line %d), which is said to be hidden", body, q.tokens, q.target, b, b.Line)
		}
		if b.Allowed != a.Allowed || b.Line != a.Line || b.GroupLine != a.GroupLine || b.Reason != a.Reason {
			t.Fatalf("robots %q fixed to %q:\n%q %q was %v (line %d, group line %d), is %v (line %d, group line %d)",
				body, fixed, q.tokens, q.target, b, b.Line, b.GroupLine, a, a.Line, a.GroupLine)
		}
		who := policy.Tokens{Main: q.tokens}
		if b, a := paceAt(before.Pace(who)), paceAt(after.Pace(who)); b != a {
			t.Fatalf("robots %q fixed to %q:\n%q had the pace %v, has %v", body, fixed, q.tokens, b, a)
		}
	}
	if again := lint.Fix(fixed); !bytes.Equal(again, fixed) {
		t.Fatalf("robots %q: fixed to %q, and fixed again to %q", body, fixed, again)
	}
	left := lint.Check(fixed, lint.Options{Limit: len(fixed)})
	if b, a := diagnostics(found), diagnostics(left); a > b {
		t.Fatalf("robots %q fixed to %q: %d diagnostics became %d:\n%v\n%v", body, fixed, b, a, found.Diagnostics, left.Diagnostics)
	}
}

// paceAt is what a Pace says at noon: times and lines.
func paceAt(p policy.Pace) [4]int64 {
	interval, line, _ := p.Interval(12 * time.Hour)
	wait, opening := p.Opens(12 * time.Hour)
	return [4]int64{int64(interval), int64(line), int64(wait), int64(opening)}
}

// hiddenLines are the lines of rules that never decide, as Check says.
func hiddenLines(r *lint.Report) map[int]bool {
	lines := make(map[int]bool)
	for _, d := range r.Diagnostics {
		if d.Code == lint.HiddenRule || d.Code == lint.RepeatedRule {
			lines[d.Line] = true
		}
	}
	return lines
}

// diagnostics counts them, those aside that compare dialects: others can read
// more of a mended file, and so have more to disagree about.
func diagnostics(r *lint.Report) int {
	n := r.Total()
	for _, d := range r.Diagnostics {
		if d.Code == lint.DialectsDisagree {
			n--
		}
	}
	for _, o := range r.Omitted {
		if o.Code == lint.DialectsDisagree {
			n -= o.More
		}
	}
	return n
}

// queriesFrom makes queries of the agents and patterns of a file.
func queriesFrom(body []byte) []query {
	const most = 40
	agents, targets := []string{"", "*", "other"}, []string{"/", "/robots.txt", "/x"}
	for l := range policy.Lines(body) {
		value := string(l.Value.Of(body))
		switch {
		case l.Kind == policy.UserAgent && len(agents) < most/2:
			agents = append(agents, value, string(policy.RFC9309.Token([]byte(value))))
		case (l.Kind == policy.Allow || l.Kind == policy.Disallow) && len(targets) < most && len(value) < 1000:
			bare := strings.NewReplacer("*", "", "$", "").Replace(value)
			targets = append(targets, bare, strings.ReplaceAll(value, "*", "x"), bare+"x")
		}
	}
	var all []query
	for _, agent := range agents {
		for _, target := range targets {
			all = append(all, query{[]string{agent}, target})
		}
	}
	all = append(all, query{agents[3:], "/x"}, query{nil, "/x"})
	return all
}

// TestFixKeepsVerdicts holds for every conformance case, and for queries made
// from its file, what Fix promises; for one in five in short mode.
func TestFixKeepsVerdicts(t *testing.T) {
	for _, data := range []struct {
		name string
		want int
	}{{"spec.jsonl.gz", 697}, {"fuzz-dev.jsonl.gz", 20_000}} {
		t.Run(data.name, func(t *testing.T) {
			t.Parallel()
			count := 0
			eachLine(t, filepath.Join("..", "testdata", data.name), func(line []byte) error {
				var c struct {
					Robots   []byte   `json:"robots_b64"`
					Agent    *string  `json:"agent"`
					AgentB64 []byte   `json:"agent_b64"`
					Agents   []string `json:"agents"`
					URL      *string  `json:"url"`
					URLB64   []byte   `json:"url_b64"`
				}
				if err := json.Unmarshal(line, &c); err != nil {
					return err
				}
				url, tokens := string(c.URLB64), c.Agents
				if c.URL != nil {
					url = *c.URL
				}
				if c.Agent != nil {
					tokens = []string{*c.Agent}
				} else if c.AgentB64 != nil {
					tokens = []string{string(c.AgentB64)}
				}
				if count++; testing.Short() && count%5 != 0 {
					return nil
				}
				queries := []query{{tokens, policy.TargetOf(url)}}
				if count%8 == 0 {
					queries = append(queries, queriesFrom(c.Robots)...)
				}
				checkFix(t, c.Robots, queries)
				return nil
			})
			if count != data.want {
				t.Errorf("%d cases, want %d", count, data.want)
			}
		})
	}
}

// TestFixKeepsVerdictsOfRealFiles is the same for other people's files, which
// lie beside the checkout: one in eight, all of them in CI.
func TestFixKeepsVerdictsOfRealFiles(t *testing.T) {
	real := filepath.Join("..", "..", "..", "shared", "conformance", "real-dev.jsonl.gz")
	if _, err := os.Stat(real); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is absent: CI must have the real robots.txt files", real)
		}
		t.Skipf("%s is absent: no real robots.txt file was fixed", real)
	}
	t.Parallel()
	files := 0
	eachLine(t, real, func(line []byte) error {
		if files++; files%8 != 0 && os.Getenv("CI") != "true" {
			return nil
		}
		var file struct {
			Robots []byte              `json:"robots_b64"`
			Q      [][]json.RawMessage `json:"q"`
		}
		if err := json.Unmarshal(line, &file); err != nil {
			return err
		}
		var queries []query
		for _, q := range file.Q {
			var agent, url string
			if err := errors.Join(json.Unmarshal(q[0], &agent), json.Unmarshal(q[1], &url)); err != nil {
				return err
			}
			queries = append(queries, query{[]string{agent}, policy.TargetOf(url)})
		}
		checkFix(t, file.Robots, queries)
		return nil
	})
}

func eachLine(t *testing.T, name string, f func(line []byte) error) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatalf("unpacking %s: %v", name, err)
	}
	lines := bufio.NewReaderSize(unzipped, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				t.Fatalf("%s:%d: %v", name, n, err)
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("reading %s: %v", name, err)
		}
	}
}

// FuzzFix looks for a file of which checkFix has something to say: the printed file,
// parsed again, gives the same verdicts by the same lines, has no more
// diagnostics, and stays as it is when fixed again.
func FuzzFix(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), "ExampleBot", "/private/x")
	}
	f.Fuzz(func(t *testing.T, body []byte, agent, target string) {
		const most = 20_000
		if len(body) > most || len(target) > most {
			return
		}
		checkFix(t, body, append(queriesFrom(body), query{[]string{agent}, target}))
	})
}
