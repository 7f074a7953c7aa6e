package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// namedHost is closed to all but the clients it names, so a page of it
	// shows that heed knew the client by its name.
	namedHost = "named.example"
	// openHost has rules for everyone, for the clients that give no name.
	openHost = "open.example"

	allowedPath = "/public/octets.bin"
	textPath    = "/public/page.html"
	pageText    = "This page is allowed, and it arrived whole."
	rule        = "Disallow: /private/"
)

// octets is a body with every octet in it and every kind of line end.
var octets = func() []byte {
	r := rand.New(rand.NewPCG(9309, 2022))
	body := make([]byte, 70_001)
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return append([]byte("\xef\xbb\xbf\r\n\r\r\n\x00\n0\r\n\r\n"), body...)
}()

// TestRealClients has each unmodified client fetch an allowed and a disallowed
// URL over http and https: once with the variables that its manual names set
// by hand, and once with none under `heed run`.
func TestRealClients(t *testing.T) {
	o := newOrigin(t, map[string]string{
		namedHost: namedRobots(),
		openHost:  "# for everyone\nUser-agent: *\n" + rule + "\n",
	}, map[string]http.HandlerFunc{
		allowedPath: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(octets) // the client may be gone
		},
		textPath: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><title>t</title><p>%s</p>", pageText)
		},
	})
	config := writeConfig(t, "upstream:\n  roots: "+o.rootFile+"\n")
	flags := append([]string{"--config", config}, o.connectTo()...)
	h := startHeed(t, nil, flags...)
	byHand := settingsOf(t, h)

	// The group ends when all clients have: the witness is asked after it.
	t.Run("clients", func(t *testing.T) {
		for _, c := range clients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				program := programOf(t, c)
				t.Run("by hand", func(t *testing.T) {
					tryClient(t, o, c, "by hand", func(urls ...string) outcome {
						env := cleanEnv(t.TempDir(), c.byHand(byHand)...)
						return execute(t, 2*time.Minute, env, slices.Concat(program, c.argv(urls...))...)
					})
				})
				t.Run("heed run", func(t *testing.T) {
					tryClient(t, o, c, "heed run", heedRun(t, flags, c, program))
				})
			})
		}
	})
	for _, r := range o.requests("/private/") {
		t.Errorf("a request that %q forbids reached the origin: %+v", rule, r)
	}
	if len(o.requests("/public/")) == 0 {
		t.Error("the origin's log holds no allowed request: it is no witness")
	}
}

// heedRun returns what runs a client under `heed run`, its state and home kept
// from one start to the next as a user's are.
func heedRun(t *testing.T, flags []string, c client, program []string) func(urls ...string) outcome {
	state := filepath.Join(t.TempDir(), "state")
	home := t.TempDir()
	if c.textOnly { // a browser reads trust from a database, not from variables
		tool(t, built.heed, "run", "--state-dir", state, "--", "true") // the first start makes the CA
		ca := filepath.Join(t.TempDir(), "heed-ca.pem")
		writeFile(t, ca, heedCommand(t, nil, "ca", "export", "--state-dir", state))
		makeNSS(t, home, ca)
	}
	return func(urls ...string) outcome {
		env := cleanEnv(home)
		args := slices.Concat([]string{built.heed, "run", "--state-dir", state}, flags, []string{"--"}, program, c.argv(urls...))
		out := execute(t, 2*time.Minute, env, args...)
		wantDenied := strings.Contains(strings.Join(urls, " "), "/private/")
		for _, word := range []string{"denied", "private", c.host()} {
			if wantDenied && !bytes.Contains(out.stderr, []byte(word)) {
				t.Errorf("the closing summary of heed run does not hold %q:\n%s", word, out.stderr)
			}
		}
		return out
	}
}

// tryClient fetches the four URLs and checks each answer and the witness.
func tryClient(t *testing.T, o *origin, c client, column string, run func(urls ...string) outcome) {
	t.Helper()
	allowed := allowedPath
	if c.textOnly {
		allowed = textPath
	}
	var urls []string
	for _, scheme := range []string{"http", "https"} {
		private := fmt.Sprintf("/private/%s/%s", strings.ReplaceAll(c.name+"/"+column, " ", "-"), scheme)
		urls = append(urls, scheme+"://"+c.host()+allowed, scheme+"://"+c.host()+private)
	}
	answers := map[string]answer{}
	starts := [][]string{urls}
	if c.each {
		starts = nil
		for _, u := range urls {
			starts = append(starts, []string{u})
		}
	}
	for _, urls := range starts {
		out := run(urls...)
		got, err := c.read(urls[0], out.stdout)
		if err != nil {
			t.Errorf("reading what it printed: %v\n%.2000s\n%.2000s", err, out.stdout, out.stderr)
		}
		for _, a := range got {
			answers[a.url] = a
		}
		for _, u := range urls {
			if a := answers[u]; a.status == 0 && a.body == nil {
				t.Errorf("%s: no answer: status %d, %s\n%.2000s", u, out.status, a.err, out.stderr)
			}
		}
	}
	for i, u := range urls {
		if i%2 == 0 {
			checkAllowed(t, c, u, answers[u])
		} else {
			checkDenied(t, c, u, answers[u])
		}
	}
	result := "ok"
	if t.Failed() {
		result = "FAILED"
	}
	note(c.name, column, result)
}

func checkAllowed(t *testing.T, c client, url string, a answer) {
	t.Helper()
	if c.textOnly {
		if !bytes.Contains(a.body, []byte(pageText)) {
			t.Errorf("%s: the page does not show its text %q:\n%.2000s", url, pageText, a.body)
		}
		return
	}
	if a.status != 200 {
		t.Errorf("%s: status %d %s, want 200: %s %.2000s", url, a.status, a.reason, a.err, a.body)
		return
	}
	if got, want := sha256.Sum256(a.body), sha256.Sum256(octets); got != want {
		t.Errorf("%s: %d octets with SHA-256 %x arrived, want %d with %x", url, len(a.body), got, len(octets), want)
	}
}

func checkDenied(t *testing.T, c client, url string, a answer) {
	t.Helper()
	if !bytes.Contains(a.body, []byte(rule)) && !bytes.Contains(a.body, []byte(`Disallow: \/private\/`)) {
		t.Errorf("%s: the body does not name the rule %q:\n%.2000s", url, rule, a.body)
	}
	if c.textOnly {
		if !bytes.Contains(a.body, []byte(c.host()+"/robots.txt")) {
			t.Errorf("%s: the page does not name the robots.txt:\n%.4000s", url, a.body)
		}
		return
	}
	if a.status != 403 {
		t.Errorf("%s: status %d %s, want 403: %s", url, a.status, a.reason, a.err)
	}
	d := decisionOf(t, a.fields)
	origin, _, _ := strings.Cut(url, "/private/")
	want := map[string]any{
		"rule":   rule,
		"line":   int64(ruleLine(c)),
		"robots": origin + "/robots.txt",
	}
	agent, _ := d.Params.Get("agent")
	if name, _ := agent.(string); c.tokens != nil && !slices.Contains(c.tokens, strings.ToLower(name)) {
		t.Errorf("%s: Robots-Decision: %s: agent is %#v, want one of %q", url, a.fields.Get("Robots-Decision"), agent, c.tokens)
	}
	for name, value := range want {
		if got, _ := d.Params.Get(name); got != value {
			t.Errorf("%s: Robots-Decision: %s: %s is %#v, want %#v", url, a.fields.Get("Robots-Decision"), name, got, value)
		}
	}
	id, _ := d.Params.Get("id")
	if s, _ := id.(string); s == "" || !bytes.Contains(a.body, []byte(s)) {
		t.Errorf("%s: the body does not name the decision id %#v:\n%.2000s", url, id, a.body)
	}
	if !strings.Contains(a.fields.Get("Proxy-Status"), "error=http_request_denied") {
		t.Errorf("%s: Proxy-Status: %q, want error=http_request_denied", url, a.fields.Get("Proxy-Status"))
	}
}

// decisionOf parses the Robots-Decision field, an RFC 9651 Item.
func decisionOf(t testing.TB, fields http.Header) httpsfv.Item {
	t.Helper()
	item, err := httpsfv.UnmarshalItem(fields.Values("Robots-Decision"))
	if err != nil {
		t.Errorf("Robots-Decision: %q: %v", fields.Values("Robots-Decision"), err)
		return httpsfv.NewItem(httpsfv.Token("none"))
	}
	if item.Value != httpsfv.Token("disallowed") {
		t.Errorf("Robots-Decision: %q, want disallowed", fields.Values("Robots-Decision"))
	}
	return item
}

func (c client) host() string {
	if c.tokens == nil {
		return openHost
	}
	return namedHost
}

// namedRobots forbids everything to all but the clients of this test.
func namedRobots() string {
	var b strings.Builder
	b.WriteString("# only these are known here\nUser-agent: *\nDisallow: /\n\n")
	for _, c := range clients {
		for _, token := range c.tokens {
			fmt.Fprintf(&b, "User-agent: %s\n", token)
		}
	}
	b.WriteString(rule + "\n")
	return b.String()
}

// ruleLine is the line of the rule in the robots.txt of the client's host.
func ruleLine(c client) int {
	if c.tokens == nil {
		return 3
	}
	before, _, _ := strings.Cut(namedRobots(), rule)
	return strings.Count(before, "\n") + 1
}

// programOf finds a client's program and notes it in the table. One that is
// absent ends the test: as a failure with CI=true, else as skipped.
func programOf(t *testing.T, c client) []string {
	t.Helper()
	program, err := c.program()
	if err != nil {
		present(c.name, "", err.Error())
		if inCI() {
			t.Fatalf("%s is absent (%v); make deps installs it", c.name, err)
		}
		t.Skipf("%s is absent (%v); make deps installs it", c.name, err)
	}
	present(c.name, versionOf(c, program), "")
	return program
}
