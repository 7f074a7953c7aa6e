package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	strictHost = "strict.example" // has the mode enforce, whoever asks
	trialHost  = "trial.example"
)

// curlPage asks for a URL with curl, and returns what was answered last.
func curlPage(t *testing.T, env []string, flags []string, url string) (status int, fields http.Header) {
	t.Helper()
	head := filepath.Join(t.TempDir(), "head")
	curl := need(t, onPath("curl"))
	out := execute(t, time.Minute, env, slices.Concat(curl, []string{"-sS", "-D", head, "-w", "%{http_code}"}, flags, []string{"-o", filepath.Join(t.TempDir(), "body"), url})...)
	if out.status != 0 {
		t.Errorf("curl %v %s: %s", flags, url, out.stderr)
	}
	status, _ = strconv.Atoi(string(out.stdout))
	written, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	blocks := bytes.Split(bytes.TrimSpace(written), []byte("\r\n\r\n"))
	_, lines, _ := bytes.Cut(blocks[len(blocks)-1], []byte("\r\n"))
	read, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(lines, "\r\n\r\n"...)))).ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%s: %v in %q", url, err, lines)
	}
	return status, http.Header(read)
}

// TestWhatIsReportedArrivesAndIsMarked: in report mode a real client gets what a
// rule forbids, with the mark; where the mode is enforce, by client or by origin,
// it gets 403, and nothing arrives.
func TestWhatIsReportedArrivesAndIsMarked(t *testing.T) {
	rules := "User-agent: *\nDisallow: /private\n"
	o := newOrigin(t, map[string]string{strictHost: rules, trialHost: rules}, nil)
	config := writeConfig(t, "upstream:\n  roots: "+o.rootFile+`
mode: report
modes:
  - {host: `+strictHost+`, mode: enforce, reason: not ours}
clients:
  named:
    - {name: careful, password: `+passwordHash+`, mode: enforce}
    - {name: trial, password: `+passwordHash+`}
`)
	h := startHeed(t, nil, append([]string{"--config", config}, o.connectTo()...)...)
	s := settingsOf(t, h)
	const denied = "disallowed;reason=\"rule\""
	for _, c := range []struct {
		why, client, host, path string
		status                  int
		decision                string // begins with
	}{
		{"a rule forbids it, and is reported", "trial", trialHost, "/private", 200, "disallowed;report;reason=\"rule\""},
		{"nothing forbids it", "trial", trialHost, "/open", 200, ""},
		{"the origin's mode is enforce", "trial", strictHost, "/private", 403, denied},
		{"the client's mode is enforce", "careful", trialHost, "/private", 403, denied},
		{"both are", "careful", strictHost, "/private", 403, denied},
	} {
		for _, channel := range []struct {
			name, scheme string
			flags        []string
		}{{"http", "http", nil}, {"TLS", "https", []string{"--http1.1"}}, {"HTTP/2", "https", []string{"--http2"}}} {
			target := fmt.Sprintf("%s?%s-%s", c.path, c.client, strings.ReplaceAll(channel.name, "/", ""))
			env := cleanEnv(t.TempDir(), "CURL_CA_BUNDLE="+s.bundle)
			proxy := []string{"-x", fmt.Sprintf("http://%s:%s@%s", c.client, escaped, h.Proxy)}
			status, fields := curlPage(t, env, append(proxy, channel.flags...), channel.scheme+"://"+c.host+target)
			decision := fields.Get("Robots-Decision")
			if status != c.status || !strings.HasPrefix(decision, c.decision) || c.decision == "" && decision != "" {
				t.Errorf("%s, %s: %d, Robots-Decision %q; want %d, %q", c.why, channel.name, status, decision, c.status, c.decision)
			}
			arrived := slices.ContainsFunc(o.requests(c.path), func(r seen) bool { return r.host == c.host && r.target == target })
			if arrived != (c.status == 200) {
				t.Errorf("%s, %s: arrived: %v", c.why, channel.name, arrived)
			}
		}
	}
	checkReported(t, h, 3)
}

// checkReported looks for what was reported in the log and in the metrics.
func checkReported(t *testing.T, h *heed, want int) {
	t.Helper()
	n := 0
	for line := range strings.Lines(h.Log.String()) {
		var e struct {
			Verdict, Reason, Path string
			Report                bool
		}
		if json.Unmarshal([]byte(line), &e) != nil || !e.Report {
			continue
		}
		n++
		if e.Verdict != "forwarded" || e.Reason != "disallowed" || !strings.HasPrefix(e.Path, "/private") {
			t.Errorf("the log has %s", line)
		}
	}
	if n != want {
		t.Errorf("%d lines of the log are reported, want %d", n, want)
	}
	resp, err := (&http.Client{Timeout: time.Minute}).Get("http://" + h.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), fmt.Sprintf("heed_reported_total{reason=\"disallowed\"} %d", want)) {
		t.Errorf("the metrics do not have %d reported", want)
	}
}

// TestAQuotaOutlivesARestart: what a client may use is used up by requests on
// every channel together, and the next heed knows what was used.
func TestAQuotaOutlivesARestart(t *testing.T) {
	o := newOrigin(t, nil, nil)
	config := writeConfig(t, "upstream:\n  roots: "+o.rootFile+`
clients:
  named:
    - {name: news, password: `+passwordHash+`, quota: {requests_per_day: 6}}
`)
	flags := append([]string{"--config", config, "--state-dir", filepath.Join(t.TempDir(), "state")}, o.connectTo()...)
	statuses := map[int]int{}
	asked := 0
	ask := func(h *heed, scheme string) http.Header {
		asked++
		status, fields := curlPage(t, cleanEnv(t.TempDir()), []string{"-k", "-x", fmt.Sprintf("http://news:%s@%s", escaped, h.Proxy)}, fmt.Sprintf("%s://%s/page%d", scheme, openHost, asked))
		statuses[status]++
		return fields
	}
	h := startHeed(t, nil, flags...)
	for _, scheme := range []string{"http", "https", "http", "https"} {
		ask(h, scheme)
	}
	h.stop(t)
	h = startHeed(t, nil, flags...)
	var last http.Header
	for _, scheme := range []string{"https", "http", "https", "http"} {
		last = ask(h, scheme)
	}
	if statuses[200] != 6 || statuses[429] != 2 || len(o.requests("/page")) != 6 {
		t.Errorf("answers %v, %d arrived; want 6 of 8", statuses, len(o.requests("/page")))
	}
	if seconds, err := strconv.Atoi(last.Get("Retry-After")); err != nil || seconds < 1 || seconds > 24*3600 {
		t.Errorf("Retry-After: %q", last.Get("Retry-After"))
	}
	if limit := last.Get("RateLimit"); !strings.Contains(limit, "r=0") {
		t.Errorf("RateLimit: %q", limit)
	}
}
