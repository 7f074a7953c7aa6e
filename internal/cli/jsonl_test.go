package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"heed/policy"
)

// conformance returns the lines of one of package policy's data sets. They
// have more keys than a query; those are passed over.
func conformance(tb testing.TB, name string) []byte {
	tb.Helper()
	return unzipped(tb, filepath.Join("..", "..", "policy", "testdata", name))
}

func unzipped(tb testing.TB, path string) []byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	lines, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return lines
}

func TestLinesAreAnsweredAsTheConformanceDataSay(t *testing.T) {
	// Package policy goes through the whole; here every fourth made case will do.
	for name, step := range map[string]int{"spec.jsonl.gz": 1, "fuzz-dev.jsonl.gz": 4} {
		lines := sample(conformance(t, name), step)
		compareAnswers(t, name, policy.RFC9309, lines)
		compareAnswers(t, name, policy.Google, lines)
	}
}

// compareAnswers compares the answers to lines that carry, as other keys, what
// each must be: "heed" and "heed_line" by the default, "allowed" by Google.
func compareAnswers(t *testing.T, name string, d policy.Dialect, lines []byte) {
	t.Helper()
	var out bytes.Buffer
	if err := answerLines(d, bytes.NewReader(lines), &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	answers := bufio.NewScanner(&out)
	count := 0
	for line := range bytes.Lines(lines) {
		var want struct {
			Heed    *bool
			Line    int `json:"heed_line"`
			Allowed *bool
		}
		var got struct {
			Allowed *bool
			Line    int
		}
		if !answers.Scan() {
			t.Fatalf("%s as %s: %d answers, no more", name, d, count)
		}
		if err := errors.Join(json.Unmarshal(line, &want), json.Unmarshal(answers.Bytes(), &got)); err != nil {
			t.Fatal(err)
		}
		count++
		verdict := want.Heed
		if d == policy.Google {
			// Its lines are not compared: the data name empty rules, which decide nothing.
			verdict, want.Line = want.Allowed, got.Line
		}
		// Where it is allowed, the data name lines that decided nothing.
		if got.Allowed == nil || verdict == nil || *got.Allowed != *verdict || !*verdict && got.Line != want.Line {
			t.Errorf("%s line %d as %s: %s, want what it says: %.300s", name, count, d, answers.Bytes(), line)
		}
	}
	if answers.Scan() || count == 0 {
		t.Errorf("%s as %s: %d queries, and more answers", name, d, count)
	}
}

// The real files lie beside the checkout. Package policy goes through the whole;
// here some files will do.
func TestLinesAboutRealFilesAreAnsweredAsTheDataSay(t *testing.T) {
	const oneIn = 20
	path := filepath.Join("..", "..", "..", "shared", "conformance", "real-dev.jsonl.gz")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is absent: CI must have the real robots.txt files", path)
		}
		t.Skipf("%s is absent: no answers about real robots.txt files were compared", path)
	}
	var lines bytes.Buffer
	for file := range bytes.Lines(sample(unzipped(t, path), oneIn)) {
		var real struct {
			Robots  string  `json:"robots_b64"`
			Queries [][]any `json:"q"`
		}
		if err := json.Unmarshal(file, &real); err != nil {
			t.Fatal(err)
		}
		// Of a large file fewer queries, since each line carries all of it.
		most := max(1, 256<<10/(len(real.Robots)+1))
		for _, q := range real.Queries[:min(most, len(real.Queries))] {
			query, err := json.Marshal(map[string]any{
				"robots_b64": real.Robots, "agent": q[0], "url_b64": []byte(q[1].(string)),
				"allowed": q[2] == 1.0, "heed": q[5] == 1.0, "heed_line": q[6],
			})
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(query, '\n'))
		}
	}
	compareAnswers(t, "real-dev", policy.RFC9309, lines.Bytes())
	compareAnswers(t, "real-dev", policy.Google, lines.Bytes())
}

// sample returns one line in step.
func sample(lines []byte, step int) (some []byte) {
	n := 0
	for line := range bytes.Lines(lines) {
		if n++; n%step == 0 {
			some = append(some, line...)
		}
	}
	return some
}

func TestAnswersKeepTheOrderOfTheLines(t *testing.T) {
	var in, want bytes.Buffer
	for i := range 5_000 { // many batches; each line has its own answer
		robots := strings.Repeat("#\n", i%300) + "User-agent: *\nDisallow: /x\n"
		fmt.Fprintf(&in, `{"robots_b64":%q,"agents":["a"],"url":"/x"}`+"\n", base64.StdEncoding.EncodeToString([]byte(robots)))
		fmt.Fprintf(&want, `{"allowed":false,"line":%d}`+"\n", i%300+2)
	}
	var out bytes.Buffer
	// Odd pieces: lines do not end where reads do.
	if err := answerLines(policy.RFC9309, iotest.HalfReader(&in), &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want.Bytes()) {
		t.Error("the answers are not those of the lines, in their order")
	}
}

func TestLinesMayBeOfMegabytesAndLackTheirEnd(t *testing.T) {
	robots := strings.Repeat("#"+strings.Repeat("x", 16<<10)+"\n", 400) + "User-agent: *\nDisallow: /x\n"
	in := fmt.Sprintf(`{"robots_b64":%q,"agents":["a"],"url":"/x"}`, base64.StdEncoding.EncodeToString([]byte(robots)))
	var out bytes.Buffer
	if err := answerLines(policy.RFC9309, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if want := `{"allowed":false,"line":402}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", &out, want)
	}
}

// Whoever asks line by line, waiting for each answer, gets it.
func TestAnAnswerDoesNotWaitForTheNextLine(t *testing.T) {
	questions, in := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error)
	go func() { done <- answerLines(policy.RFC9309, questions, out) }()
	replies := bufio.NewReader(answers)
	for range 3 {
		io.WriteString(in, `{"robots_b64":"","agents":[],"url":"/"}`+"\n")
		if got, err := replies.ReadString('\n'); err != nil || got != `{"allowed":true,"line":0}`+"\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	in.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFaultsOfReadingAndWritingEndIt(t *testing.T) {
	defer goleak.VerifyNone(t)
	line := []byte(`{"robots_b64":"","agents":[],"url":"/"}` + "\n")
	many := bytes.Repeat(line, 20_000)
	broken := errors.New("broken")

	err := answerLines(policy.RFC9309, io.MultiReader(bytes.NewReader(many), iotest.ErrReader(broken)), io.Discard)
	if !errors.Is(err, broken) || err.Error() != "reading queries: broken" {
		t.Errorf("after a fault of reading: %v", err)
	}
	err = answerLines(policy.RFC9309, bytes.NewReader(many), faultyWriter{broken})
	if !errors.Is(err, broken) || err.Error() != "writing answers: broken" {
		t.Errorf("after a fault of writing: %v", err)
	}
}

type faultyWriter struct{ err error }

func (w faultyWriter) Write([]byte) (int, error) { return 0, w.err }

func TestHalfASurrogatePairIsSeen(t *testing.T) {
	for text, want := range map[string]bool{
		`"plain"`:             false,
		`"\ud83d\ude00"`:      false,
		`"\uD83D\uDE00x"`:     false,
		`"\u00e9"`:            false,
		`"\\ud83d"`:           false, // an escaped backslash, then text
		`"\\\ud83d"`:          true,
		`"\ud83d"`:            true,
		`"\ude00"`:            true,
		`"\ud83d\ud83d"`:      true,
		`"\ud83dx\ude00"`:     true,
		`"\ud83d\n"`:          true,
		`"\ud83d\u0041"`:      true,
		`"\udc80"`:            true, // what Python writes for a stray octet
		`"\u`:                 false,
		`\`:                   false,
		`"\ud83d\ude00\ude00`: true,
	} {
		if got := halfSurrogate([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// Each line gets one line in return, whatever it says: an answer or an error,
// and the status tells whether there was an error.
func FuzzAnswerLines(f *testing.F) {
	f.Add([]byte(`{"robots_b64":"VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL2EK","agents":["ExampleBot"],"url":"https://a.example/a"}` + "\n"))
	f.Add([]byte(`{"robots_b64":"","agent_b64":"gA==","url_b64":"L4A="}` + "\n\n" + `{"url":"\udc80"}`))
	f.Add([]byte("[]\nnull\n7\n\"\"\n{\"agents\":null}\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := answerLines(policy.RFC9309, bytes.NewReader(in), &out)
		lines := bytes.Count(in, []byte("\n"))
		if len(in) > 0 && in[len(in)-1] != '\n' {
			lines++
		}
		answers, failed := 0, false
		for answer := range bytes.Lines(out.Bytes()) {
			var a struct {
				Allowed *bool
				Line    *int
				Error   string
			}
			if err := json.Unmarshal(answer, &a); err != nil {
				t.Fatalf("answer %q: %v", answer, err)
			}
			if (a.Error == "") == (a.Allowed == nil || a.Line == nil) {
				t.Errorf("answer %q is neither a verdict nor an error", answer)
			}
			failed = failed || a.Error != ""
			answers++
		}
		if answers != lines {
			t.Errorf("%d answers to %d lines", answers, lines)
		}
		if want := status(checkUnknown); failed && !errors.Is(err, want) || !failed && err != nil {
			t.Errorf("errors among the answers: %v, returned %v", failed, err)
		}
	})
}

func BenchmarkAnswerLines(b *testing.B) {
	lines := conformance(b, "fuzz-dev.jsonl.gz")
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		if err := answerLines(policy.RFC9309, bytes.NewReader(lines), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*bytes.Count(lines, []byte("\n")))/b.Elapsed().Seconds(), "lines/s")
}
