package app

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/config"
	"heed/internal/quota"
)

// withQuota makes every client on this machine the client news, with a quota.
func withQuota(t *testing.T, q config.Quota) config.Config {
	t.Helper()
	c, here := settings(t), []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c.AllowAddress = here
	c.Clients.Named = []config.Client{{Name: "news", Addresses: here, Quota: q}}
	return c
}

func TestQuotaOutlivesHeed(t *testing.T) {
	o, _ := counting(t)
	c := withQuota(t, config.Quota{RequestsPerMinute: 2, RequestsPerDay: 100})
	for life, want := range [][]int{{200, 200, 429}, {429}} {
		a, end := begin(t, c)
		for _, status := range want {
			if got := askThrough(t, a, o.URL+"/"); got != status {
				t.Errorf("life %d: %d, want %d", life, got, status)
			}
		}
		if _, page := get(t, "http://"+a.AdminAddr()+"/quota"); !strings.Contains(page, `{"name":"news","limits":[{"limit":"minute","of":2,"left":0,`) {
			t.Errorf("life %d: %s", life, page)
		}
		if _, page := get(t, "http://"+a.AdminAddr()+"/metrics"); !strings.Contains(page, `heed_quota_refusals_total{client="news",limit="minute"} 1`) {
			t.Errorf("life %d: the refusal is not counted", life)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
}

// What ends while heed does counts, too.
func TestExchangeThatEndsLastIsCounted(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			return
		}
		close(asked)
		<-answer
		_, _ = io.WriteString(w, "late")
	}))
	defer o.Close()
	c := withQuota(t, config.Quota{BytesPerDay: 1000})
	a, end := begin(t, c)
	got := make(chan int)
	go func() { got <- askThrough(t, a, o.URL+"/") }()
	<-asked
	ended := make(chan error)
	go func() { ended <- end() }()
	for deadline := time.Now().Add(patience); a.ready.Why() == "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	close(answer)
	if status := <-got; status != 200 {
		t.Errorf("%d", status)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(c.StateDir, quota.DefaultName))
	if err != nil || !strings.Contains(string(text), `"requests":1,"bytes":4,`) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestHeedForOneCommandKeepsNoCounts(t *testing.T) {
	c := withQuota(t, config.Quota{RequestsPerDay: 100})
	if file := newQuotas(c, Options{Private: true}).File(); file != "" {
		t.Errorf("it has %s", file)
	}
}

func TestDamagedCountsStopNobodyElse(t *testing.T) {
	o, _ := counting(t)
	for _, row := range []struct {
		quota  config.Quota
		status int
	}{
		{config.Quota{RequestsPerDay: 100}, 429},
		{config.Quota{RequestsPerMinute: 100}, 200},
		{config.Quota{}, 200},
	} {
		c := withQuota(t, row.quota)
		if err := os.WriteFile(filepath.Join(c.StateDir, quota.DefaultName), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		a, end := begin(t, c)
		if status := askThrough(t, a, o.URL+"/"); status != row.status {
			t.Errorf("%+v: %d, want %d", row.quota, status, row.status)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

func TestCountsThatCannotBeReadAreAFaultAtTheStart(t *testing.T) {
	c := withQuota(t, config.Quota{RequestsPerDay: 100})
	path := filepath.Join(c.StateDir, quota.DefaultName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	_, err := Start(t.Context(), c, Options{Log: zerolog.New(&log)})
	if err == nil || !strings.Contains(err.Error(), path+" is no regular file") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, end := begin(t, c) // nothing was left open
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestReadyzSaysThatCountsCannotBeWritten(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "not", "there", quota.DefaultName)
	k := quota.New(quota.Config{Clients: []quota.Client{{Name: "news", Limits: quota.Limits{quota.Day: 1}}}, File: missing})
	if said := degraded(nil, nil, k)(); said != "" {
		t.Errorf("nothing has failed: %s", said)
	}
	k.Account("news").Take(time.Now())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Run(over); err != nil {
		t.Error(err)
	}
	if said := degraded(nil, nil, k)(); !strings.Contains(said, "kept in memory alone") || !strings.Contains(said, filepath.Dir(missing)) {
		t.Errorf("%q", said)
	}
}
