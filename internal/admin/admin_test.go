package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func newHandler() (http.Handler, *Readiness) {
	r := new(Readiness)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a 1\n")) })
	return New(Config{Metrics: metrics, Version: "1.2.3", Ready: r}), r
}

func ask(h http.Handler, method, host, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPagesAnswer(t *testing.T) {
	h, r := newHandler()
	r.Set("")
	for _, row := range []struct {
		method, path string
		status       int
		holds        string
	}{
		{"GET", "/metrics", 200, "a 1"},
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/readyz", 200, "ready"},
		{"GET", "/version", 200, `"version":"1.2.3"`},
		{"GET", "/", 200, "/metrics"},
		{"GET", "/nothing", 404, ""},
		{"POST", "/healthz", 405, ""},
	} {
		w := ask(h, row.method, "127.0.0.1:3129", row.path)
		if w.Code != row.status || !strings.Contains(w.Body.String(), row.holds) {
			t.Errorf("%s %s: %d %q, want %d with %q", row.method, row.path, w.Code, w.Body, row.status, row.holds)
		}
	}
}

func TestReadyzFollowsTheLifeOfHeed(t *testing.T) {
	h, r := newHandler()
	for _, step := range []struct {
		do     func()
		status int
		says   string
	}{
		{func() {}, 503, "starting"},
		{func() { r.Set("") }, 200, "ready"},
		{func() { r.Set("shutting down") }, 503, "shutting down"},
	} {
		step.do()
		if w := ask(h, "GET", "localhost", "/readyz"); w.Code != step.status || strings.TrimSpace(w.Body.String()) != step.says {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, step.status, step.says)
		}
	}
}

func TestReadyzSaysWhatHeedDoesWithout(t *testing.T) {
	without, r := "", new(Readiness)
	h := New(Config{Metrics: http.NotFoundHandler(), Ready: r, Degraded: func() string { return without }})
	for _, step := range []struct {
		why, without string
		status       int
		says         string
	}{
		{"starting", "the disk", 503, "starting"},
		{"", "", 200, "ready"},
		{"", "the disk", 200, "degraded: the disk"},
		{"shutting down", "the disk", 503, "shutting down"},
	} {
		r.Set(step.why)
		without = step.without
		if w := ask(h, "GET", "localhost", "/readyz"); w.Code != step.status || strings.TrimSpace(w.Body.String()) != step.says {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, step.status, step.says)
		}
	}
}

func TestHostThatAWebSiteCouldHaveIsRefused(t *testing.T) {
	h, _ := newHandler()
	for _, row := range []struct {
		host    string
		allowed bool
		why     string
	}{
		{"127.0.0.1:3129", true, "an address"},
		{"[::1]:3129", true, "an address"},
		{"localhost:3129", true, "this machine"},
		{"LOCALHOST.", true, "the same, spelt otherwise"},
		{"rebound.example:3129", false, "a name that resolves to this machine"},
		{"localhost.evil.example", false, "a name that begins well"},
		{"127.0.0.1.evil.example", false, "a name that begins like an address"},
		{"", false, "no name"},
	} {
		if w := ask(h, "GET", row.host, "/healthz"); (w.Code == 200) != row.allowed {
			t.Errorf("%q: %d: %s", row.host, w.Code, row.why)
		}
	}
}
