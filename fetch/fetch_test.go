package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/internal/origin"
	"heed/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is an origin, or all of them, in memory.
type script func(*http.Request) (*http.Response, error)

func (s script) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// counted is a script that can be changed and that counts its requests.
type counted struct {
	mu     sync.Mutex
	answer script
	asked  atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	c.mu.Lock()
	answer := c.answer
	c.mu.Unlock()
	return answer(r)
}

func (c *counted) becomes(s script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = s
}

// response makes one; fields are "Name: value".
func response(status int, body string, fields ...string) *http.Response {
	h := http.Header{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		h.Add(name, value)
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func answers(status int, body string, fields ...string) script {
	return func(*http.Request) (*http.Response, error) { return response(status, body, fields...), nil }
}

func fails(err error) script {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func mustParse(t testing.TB, scheme, authority string) origin.Origin {
	t.Helper()
	o, err := origin.Parse(scheme, authority)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func at(t testing.TB, authority string) origin.Origin { return mustParse(t, "https", authority) }

func newFetcher(t testing.TB, c Config) *Fetcher {
	t.Helper()
	f := New(c)
	t.Cleanup(f.Close)
	return f
}

func snapshot(t testing.TB, f *Fetcher, o origin.Origin) *policy.Snapshot {
	t.Helper()
	s, err := f.Snapshot(context.Background(), o)
	if err != nil || s.URL != o.RobotsURL() {
		t.Fatalf("Snapshot(%s) = %v, %v", o, s, err)
	}
	return &s
}

func allowed(s *policy.Snapshot, target string) bool {
	return s.Decide(policy.Tokens{Main: []string{"ExampleBot"}}, target).Allowed
}

const closedFile = "User-agent: *\nDisallow: /private/\n"

// Every status, by the access result of RFC 9309 §2.3.1 and what a crawler may
// then request.
func TestStatusIsAnAccessResult(t *testing.T) {
	const (
		ok = policy.Successful
		no = policy.Unavailable
		un = policy.Unreachable
	)
	for _, r := range []struct {
		why     string
		status  int
		body    string
		fields  []string
		access  policy.Access
		public  bool // /public may be requested
		private bool // /private/x may be requested
		err     string
	}{
		{"rules", 200, closedFile, nil, ok, true, false, ""},
		{"an empty file has no rules", 200, "", nil, ok, true, true, ""},
		{"HTML is read as any file", 200, "<html>\nUser-agent: *\nDisallow: /private/\n", nil, ok, true, false, ""},
		{"HTML without a rule", 200, "<html><body>Hello</body></html>", nil, ok, true, true, ""},
		{"other 2xx", 203, closedFile, nil, ok, true, false, ""},
		{"no content", 204, "", nil, ok, true, true, ""},
		{"part of a file", 206, closedFile, nil, un, false, false, "status 206 (part of the file), which nobody asked for"},
		{"continue", 100, "", nil, un, false, false, "status 100, which is no answer to this request"},
		{"switching protocols", 101, "", nil, un, false, false, "status 101, which is no answer to this request"},
		{"early hints", 103, "", nil, un, false, false, "status 103, which is no answer to this request"},
		{"multiple choices", 300, "", []string{"Location: /r"}, un, false, false, "status 300, which is no answer to this request"},
		{"not modified", 304, "", nil, un, false, false, "status 304, which is no answer to this request"},
		{"use proxy", 305, "", []string{"Location: https://p.example/"}, un, false, false, "status 305, which is no answer to this request"},
		{"306", 306, "", nil, un, false, false, "status 306, which is no answer to this request"},
		{"an unknown 3xx", 399, "", []string{"Location: /r"}, un, false, false, "status 399, which is no answer to this request"},
		{"bad request", 400, "", nil, no, true, true, ""},
		{"unauthorized", 401, "", nil, no, true, true, ""},
		{"forbidden", 403, closedFile, nil, no, true, true, ""},
		{"not found", 404, closedFile, nil, no, true, true, ""},
		{"gone", 410, "", nil, no, true, true, ""},
		{"too many requests", 429, "", nil, un, false, false, "status 429"},
		{"unavailable for legal reasons", 451, "", nil, no, true, true, ""},
		{"the last 4xx", 499, "", nil, no, true, true, ""},
		{"server error", 500, closedFile, nil, un, false, false, "status 500"},
		{"not implemented", 501, "", nil, un, false, false, "status 501"},
		{"bad gateway", 502, "", nil, un, false, false, "status 502"},
		{"service unavailable", 503, "", nil, un, false, false, "status 503"},
		{"the last 5xx", 599, "", nil, un, false, false, "status 599"},
		{"no class of status", 600, closedFile, nil, un, false, false, "status 600, which is no answer to this request"},
		{"no class of status", 999, closedFile, nil, un, false, false, "status 999, which is no answer to this request"},
	} {
		o := at(t, "a.example")
		transport := &counted{answer: answers(r.status, r.body, r.fields...)}
		s := snapshot(t, newFetcher(t, Config{Transport: transport}), o)
		name := fmt.Sprintf("%d (%s)", r.status, r.why)
		if s.Access != r.access || s.Status != r.status || s.Err != r.err {
			t.Errorf("%s: access %v, status %d, err %q; want %v, %d, %q", name, s.Access, s.Status, s.Err, r.access, r.status, r.err)
		}
		if got := allowed(s, "/public"); got != r.public {
			t.Errorf("%s: /public allowed %v", name, got)
		}
		if got := allowed(s, "/private/x"); got != r.private {
			t.Errorf("%s: /private/x allowed %v", name, got)
		}
		if (s.Rules != nil) != (r.access == ok) {
			t.Errorf("%s: rules %v", name, s.Rules)
		}
		if n := transport.asked.Load(); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
		if s.URL != "https://a.example/robots.txt" || s.Checked.IsZero() {
			t.Errorf("%s: URL %q, checked %v", name, s.URL, s.Checked)
		}
	}
}

func TestOnlyOurOwnFieldsAreSent(t *testing.T) {
	var got *http.Request
	f := newFetcher(t, Config{UserAgent: "heed/1.0 (+https://ops.example/bot)", Transport: script(func(r *http.Request) (*http.Response, error) {
		got = r
		return response(200, ""), nil
	})})
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "the client's cookie")
	if _, err := f.Snapshot(ctx, mustParse(t, "http", "a.example:8080")); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"User-Agent":      {"heed/1.0 (+https://ops.example/bot)"},
		"Accept":          {"text/plain, */*;q=0.1"},
		"Accept-Encoding": {"gzip"},
	}
	if fmt.Sprint(got.Header) != fmt.Sprint(want) {
		t.Errorf("fields %v, want %v", got.Header, want)
	}
	if got.Method != "GET" || got.URL.String() != "http://a.example:8080/robots.txt" || got.Host != "a.example:8080" || got.Body != nil {
		t.Errorf("request %s %s, host %s, body %v", got.Method, got.URL, got.Host, got.Body)
	}
	if got.Context().Value(key{}) != nil {
		t.Error("the caller's context reached the transport")
	}
}

func TestConfigDefaults(t *testing.T) {
	f := newFetcher(t, Config{Transport: answers(200, ""), Limit: 10, FreshFor: 365 * 24 * time.Hour, RetryMin: 2 * time.Hour, MaxRedirects: -1})
	if f.retriever.userAgent != "heed" || f.retriever.limit != policy.DefaultLimit || f.retriever.maxRedirects != 5 {
		t.Errorf("retriever %+v", f.retriever)
	}
	if f.lifetimes != (lifetimes{freshMin: 5 * time.Minute, freshFor: 24 * time.Hour, staleFor: 720 * time.Hour, retryMin: 2 * time.Hour, retryMax: 2 * time.Hour}) {
		t.Errorf("lifetimes %+v", f.lifetimes)
	}
	if f.retriever.timeout != 10*time.Second || cap(f.retriever.gate.places) != 256 || f.memory.max != 256<<20 {
		t.Errorf("timeout %v, slots %d, memory %d", f.retriever.timeout, cap(f.retriever.gate.places), f.memory.max)
	}
	defer func() {
		if recover() == nil {
			t.Error("New without a transport did not panic")
		}
	}()
	New(Config{})
}

func TestEveryFetchIsObserved(t *testing.T) {
	var events []Event
	transport := &counted{answer: answers(200, closedFile)}
	f := newFetcher(t, Config{Transport: transport, Observe: Observer{Fetched: func(e Event) { events = append(events, e) }}})
	a, b := at(t, "a.example"), at(t, "b.example")
	sa := snapshot(t, f, a)
	snapshot(t, f, a)
	transport.becomes(fails(errors.New("no route to host")))
	sb := snapshot(t, f, b)
	if len(events) != 2 {
		t.Fatalf("%d events, want 2", len(events))
	}
	if e := events[0]; e.Origin != a || !reflect.DeepEqual(e.Snapshot, sa) || e.Err != nil || e.Requests != 1 || !e.Remembered {
		t.Errorf("first event %+v", e)
	}
	if e := events[1]; e.Origin != b || !reflect.DeepEqual(e.Snapshot, sb) || e.Err == nil || !e.Remembered ||
		e.Err.Error() != "fetching https://b.example/robots.txt: no route to host" {
		t.Errorf("second event %+v", e)
	}
	if s := f.Stats(); s.Origins != 2 || s.Bodies != 1 || s.Fetching != 0 || s.Octets <= 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestOriginsAreKeptApart(t *testing.T) {
	transport := script(func(r *http.Request) (*http.Response, error) {
		return response(200, "User-agent: *\nDisallow: /"+r.URL.Scheme+r.URL.Port()+"/\n"), nil
	})
	f := newFetcher(t, Config{Transport: transport})
	for _, r := range []struct{ scheme, authority, closed, open string }{
		{"http", "a.example", "/http/", "/https/"},
		{"https", "a.example", "/https/", "/http8080/"},
		{"http", "a.example:8080", "/http8080/", "/https8080/"},
		{"https", "a.example:8080", "/https8080/", "/http8080/"},
		{"http", "a.example:443", "/http443/", "/https/"},
		{"https", "a.example:80", "/https80/", "/http8/"},
	} {
		for range 2 { // asked, then remembered
			s := snapshot(t, f, mustParse(t, r.scheme, r.authority))
			if allowed(s, r.closed) || !allowed(s, r.open) {
				t.Errorf("%s://%s: has the rules of another origin", r.scheme, r.authority)
			}
		}
	}
	if n := f.Stats().Origins; n != 6 {
		t.Errorf("%d origins remembered, want 6", n)
	}
}
