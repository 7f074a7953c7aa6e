package admin

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/quota"
)

func TestQuotasAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour + time.Millisecond) // since midnight of 2000-01-01
		k := quota.New(quota.Config{Clients: []quota.Client{
			{Name: "news", Limits: quota.Limits{quota.Minute: 1, quota.Bytes: 100}},
			{Name: "shop", Limits: quota.Limits{quota.Day: 5}},
			{Name: "free"},
		}})
		news := k.Account("news")
		p, _, _ := news.Take(time.Now())
		news.Arrived(&p, time.Now())
		news.Carried(30, time.Now())
		news.Take(time.Now())
		h := New(Config{Metrics: http.NotFoundHandler(), Ready: new(Readiness), Quotas: k})
		w := ask(h, "GET", "localhost", "/quota")
		const want = `{"clients":[` +
			`{"name":"news","limits":[` +
			`{"limit":"minute","of":1,"left":0,"renewed":"2000-01-01T01:01:00.001Z","renewed_in":60,"refused":1},` +
			`{"limit":"bytes-day","of":100,"left":70,"renewed":"2000-01-02T00:00:00Z","renewed_in":82800,"refused":0}]},` +
			`{"name":"shop","limits":[{"limit":"day","of":5,"left":5,"renewed":"2000-01-02T00:00:00Z","renewed_in":82800,"refused":0}]}]}`
		if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%d %v\n%s, want\n%s", w.Code, w.Header(), got, want)
		}
	})
}

func TestQuotasOfNobodyAreAnEmptyList(t *testing.T) {
	h, _ := newHandler()
	if w := ask(h, "GET", "localhost", "/quota"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"clients":[]}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
