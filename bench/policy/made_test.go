package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// made is a corpus as the data hold it: files whose bodies are given, each
// asked about /private and /public for ExampleBot, the right answers being no
// and yes for Google and yes and no for heed.
func made(t *testing.T, bodies ...string) *corpus {
	t.Helper()
	var lines strings.Builder
	for i, body := range bodies {
		fmt.Fprintf(&lines, `{"id": "made-%d", "robots_b64": %q, "q": [`+
			`["ExampleBot", "https://a.example/private?x#y", 0, 2, "hit", 1, 0], `+
			`["ExampleBot", "https://a.example/public", 1, 0, "random", 0, 0]]}`+"\n",
			i, base64.StdEncoding.EncodeToString([]byte(body)))
	}
	c, err := unpackCorpus(packed(t, lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func packed(t *testing.T, text string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

const (
	plain = "User-agent: *\nDisallow: /private\n"
	// temoto/robotstxt takes a rule before any group for an error.
	ungrouped = "Disallow: /other\n" + plain
)

func TestCorpusIsReadAsItIsMeant(t *testing.T) {
	c := made(t, plain, ungrouped)
	if len(c.files) != 2 || c.queries != 4 || c.octets != len(plain)+len(ungrouped) {
		t.Fatalf("got %d files, %d queries, %d octets", len(c.files), c.queries, c.octets)
	}
	q := c.files[0].Queries[0]
	if q.target != "/private?x" || q.agent != "ExampleBot" || q.google || !q.heed {
		t.Errorf("got %+v", q)
	}
}

func TestCorpusThatCannotBeReadIsAnError(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing in it", "", "no queries"},
		{"no JSON", "{}\n{", "line 2"},
		{"a query too short", `{"q": [["a", "https://a.example/"]]}`, "2 fields, want 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := unpackCorpus(packed(t, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that says %q", err, c.want)
			}
		})
	}
	if _, err := readCorpus("none.gz"); err == nil || !strings.Contains(err.Error(), "files are missing: there is no none.gz") {
		t.Errorf("got %v", err)
	}
}

func TestAgreementCountsAnswersAndFailures(t *testing.T) {
	c := made(t, plain, ungrouped)
	for _, p := range participants {
		a, failed := compare(p, c, googleVerdicts)
		want := agreement{Files: 2, Queries: 4, Answered: 4, Agreed: 4, OfAnswered: 1, OfAll: 1}
		if p == temoto {
			want = agreement{Files: 2, Failed: 1, Queries: 4, Answered: 2, Agreed: 2, OfAnswered: 1, OfAll: 0.5}
			want.Failure = "Parse error(s): Disallow before User-agent at token #2."
		}
		want.Participant, want.With = p.name, googleVerdicts.of
		if a != want {
			t.Errorf("got %+v, want %+v", a, want)
		}
		if len(failed) != want.Failed || len(c.without(failed).files) != 2-want.Failed {
			t.Errorf("%s: failed on %v", p.name, failed)
		}
	}
	a, _ := compare(heed, c, heedVerdicts) // all made to be wrong
	if a.Agreed != 0 || a.Differing != 2 || a.Answered != 4 {
		t.Errorf("got %+v, want no agreement", a)
	}
}

func TestAPanicIsAFailure(t *testing.T) {
	p := &participant{name: "panics", read: func(*file) (judge, error) { panic("made up") }}
	a, failed := compare(p, made(t, plain), googleVerdicts)
	if a.Failed != 1 || len(failed) != 1 || a.Failure != "panic: made up" || a.OfAll != 0 {
		t.Errorf("got %+v", a)
	}
}

func TestEveryPassAsksEverything(t *testing.T) {
	c := made(t, plain, plain, plain)
	for _, p := range participants {
		decide, err := decideTask(p, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct {
			task task
			ops  int
			want int
		}{
			{decide, 6, 3},             // /public of each file is allowed
			{compileTask(p, c), 3, 3},  // each is read
			{queryTask(p, c, 1), 6, 3}, // as decide
			{queryTask(p, c, 2), 3, 0}, // /private of each file
			{queryTask(p, c, 4), 2, 0}, // /private of the first and the third
			{queryTask(p, c, 5), 2, 1}, // /private of the first, /public of the third
		} {
			if got := s.task.pass(); got != s.want || s.task.ops != s.ops {
				t.Errorf("%s: %d of %d %s, want %d of %d", p.name, got, s.task.ops, s.task.of, s.want, s.ops)
			}
		}
	}
}

func TestPassesThatDifferAreAnError(t *testing.T) {
	n := 0
	_, err := timed(task{of: "query", ops: 1, pass: func() int { n++; return n }}, 0)
	if err == nil {
		t.Error("answers that change were measured")
	}
}

var sink [][]byte

func TestAllocationsAndHeldMemoryAreCounted(t *testing.T) {
	const kept = 1 << 10
	s, err := timed(task{of: "file", ops: 4, octets: 8, pass: func() int {
		sink = nil
		for range 8 {
			sink = append(sink[:0:0], make([]byte, kept))
		}
		return 1
	}}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// eight blocks and eight slices of one block in four operations
	if got := s["allocs/file"]; got < 4 || got > 4.5 {
		t.Errorf("counted %v allocs/file, want 4", got)
	}
	if s["ns/file"] <= 0 || s["ns/octet"] <= 0 {
		t.Errorf("got %v", s)
	}

	hoard := &participant{name: "hoard", read: func(*file) (judge, error) {
		return hoardJudge{make([]byte, 100*len(plain))}, nil
	}}
	held, err := held(hoard, made(t, slices.Repeat([]string{plain}, 2000)...))
	if err != nil {
		t.Fatal(err)
	}
	if got := held["octets/octet"]; got < 95 || got > 130 { // blocks are rounded up to a size class
		t.Errorf("counted %v octets/octet, want about 100", got)
	}
	if got := held["octets/octet, by Size"]; got != 100 {
		t.Errorf("it says %v octets/octet of itself, want 100", got)
	}
}

type hoardJudge struct{ block []byte }

func (hoardJudge) allowed(*query) bool { return true }

func (j hoardJudge) Size() int { return len(j.block) }
