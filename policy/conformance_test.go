package policy_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"heed/policy"
)

// The conformance data are judged cases, gzip'd JSON Lines. In each, "heed" and
// "heed_line" are the verdict that Policy.Decide must give and the line of the
// rule that it must name, 0 for none. All were judged on whole files, so the
// limit of Options is raised to the length of each.
//
// spec and fuzz-dev were made for this project. real-dev holds other people's
// files; it lies beside the checkout, not in it.
const (
	specData = "testdata/spec.jsonl.gz"
	fuzzData = "testdata/fuzz-dev.jsonl.gz"
)

var realData = filepath.Join("..", "..", "shared", "conformance", "real-dev.jsonl.gz")

// mismatches is how many disagreements a test shows before it gives up.
const mismatches = 20

// eachLine calls f with every line of a gzip'd file.
func eachLine(tb testing.TB, name string, f func(line []byte) error) {
	tb.Helper()
	file, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatalf("unpacking %s: %v", name, err)
	}
	lines := bufio.NewReaderSize(unzipped, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				tb.Fatalf("%s:%d: %v", name, n, err)
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			tb.Fatalf("reading %s: %v", name, err)
		}
	}
}

// needReal skips the test, or on a machine that must have them fails it, if the
// real files are absent.
func needReal(tb testing.TB) {
	tb.Helper()
	_, err := os.Stat(realData)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		tb.Fatal(err)
	case os.Getenv("CI") == "true":
		tb.Fatalf("%s is absent: CI must have the real robots.txt files", realData)
	default:
		tb.Skipf("%s is absent: nothing was compared with real robots.txt files", realData)
	}
}

// madeCase is a line of spec or of fuzz-dev.
type madeCase struct {
	Name     string   `json:"name"` // of spec
	ID       string   `json:"id"`   // of fuzz-dev
	Robots   []byte   `json:"robots_b64"`
	Agent    *string  `json:"agent"`
	AgentB64 []byte   `json:"agent_b64"`
	Agents   []string `json:"agents"`
	URL      *string  `json:"url"`
	URLB64   []byte   `json:"url_b64"`
	Allowed  bool     `json:"heed"`
	Line     int      `json:"heed_line"`
	Google   bool     `json:"allowed"`
}

func (c *madeCase) tokens() []string {
	switch {
	case c.Agent != nil:
		return []string{*c.Agent}
	case c.AgentB64 != nil:
		return []string{string(c.AgentB64)}
	}
	return c.Agents
}

func (c *madeCase) url() string {
	if c.URL != nil {
		return *c.URL
	}
	return string(c.URLB64)
}

func compileWhole(body []byte) *policy.Policy {
	return policy.Compile(body, policy.Options{Limit: len(body)})
}

func TestConformanceMadeCases(t *testing.T) {
	judgeMadeCases(t, policy.RFC9309, func(c *madeCase, d policy.Decision) bool {
		return d.Allowed == c.Allowed && d.Line == c.Line
	})
}

// judgeMadeCases asks every made case as a dialect reads, and has agrees say
// whether the answer is right.
func judgeMadeCases(t *testing.T, dialect policy.Dialect, agrees func(*madeCase, policy.Decision) bool) {
	for _, set := range []struct {
		data string
		want int
	}{
		{specData, 697},
		{fuzzData, 20_000},
	} {
		t.Run(filepath.Base(set.data), func(t *testing.T) {
			t.Parallel()
			count, wrong := 0, 0
			eachLine(t, set.data, func(line []byte) error {
				var c madeCase
				if err := json.Unmarshal(line, &c); err != nil {
					return err
				}
				count++
				p := policy.Compile(c.Robots, policy.Options{Limit: len(c.Robots), Dialect: dialect})
				got := p.Decide(c.tokens(), policy.TargetOf(c.url()))
				if agrees(&c, got) {
					return nil
				}
				if wrong++; wrong <= mismatches {
					t.Errorf("%s%s: robots %q, tokens %q, url %q:\ngot %v (line %d)\nwant heed=%t line %d, Google=%t",
						c.Name, c.ID, c.Robots, c.tokens(), c.url(), got, got.Line, c.Allowed, c.Line, c.Google)
				}
				return nil
			})
			if wrong > 0 || count != set.want {
				t.Errorf("%d of %d cases disagree, want none of %d", wrong, count, set.want)
			}
		})
	}
}

// realFile is a line of real-dev.
type realFile struct {
	ID      string      `json:"id"`
	Host    string      `json:"host"`
	Robots  []byte      `json:"robots_b64"`
	Queries []realQuery `json:"q"`
}

// realQuery is [agent, url, allowed, line, tag, heed, heed_line], verdicts being
// 0 or 1.
type realQuery struct {
	agent, url, tag string
	allowed         bool
	line            int
}

func (q *realQuery) UnmarshalJSON(data []byte) error {
	var heed int
	var unused json.RawMessage
	fields := []any{&q.agent, &q.url, &unused, &unused, &q.tag, &heed, &q.line}
	want := len(fields)
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != want {
		return fmt.Errorf("a query of %d fields, want %d", len(fields), want)
	}
	q.allowed = heed == 1
	return nil
}

func eachRealFile(tb testing.TB, f func(file *realFile)) {
	tb.Helper()
	eachLine(tb, realData, func(line []byte) error {
		var file realFile
		if err := json.Unmarshal(line, &file); err != nil {
			return err
		}
		f(&file)
		return nil
	})
}

// TestConformanceRealFiles asks the reading, then what a proxy asks. The proxy's
// answer may differ in one way alone: a denial that shows the form of the target
// which met a rule.
func TestConformanceRealFiles(t *testing.T) {
	needReal(t)
	t.Parallel()
	count, byForm, wrong := 0, 0, 0
	eachRealFile(t, func(file *realFile) {
		s := &policy.Snapshot{Access: policy.Successful, Rules: compileWhole(file.Robots)}
		for _, q := range file.Queries {
			count++
			target, tokens := policy.TargetOf(q.url), []string{q.agent}
			read := s.Rules.Decide(tokens, target)
			forwarded := s.Decide(policy.Tokens{Main: tokens}, target)
			agrees := read.Allowed == q.allowed && read.Line == q.line
			switch {
			case agrees && forwarded == read:
			case agrees && read.Allowed && !forwarded.Allowed && forwarded.Form != "" && forwarded.Form != target:
				byForm++
			default:
				if wrong++; wrong <= mismatches {
					t.Errorf("%s %s, token %q, url %q (%s):\nread: %v (line %d)\nforwarded: %v\nwant allowed=%t line %d",
						file.ID, file.Host, q.agent, q.url, q.tag, read, read.Line, forwarded, q.allowed, q.line)
				}
			}
		}
	})
	t.Logf("%d queries, %d of them denied by a proxy for a form of the target", count, byForm)
	if want := 145_956; wrong > 0 || count != want {
		t.Errorf("%d of %d queries disagree, want none of %d", wrong, count, want)
	}
	if byForm == 0 {
		t.Error("no query was denied for a form of its target; hundreds have an escaped slash")
	}
}
