package metrics

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"heed/fetch"
	"heed/internal/audit"
	"heed/internal/origin"
	"heed/policy"
)

func newMetrics() *Metrics {
	return New("1.2.3", Gauges{
		Tunnels:       func() int { return 4 },
		RobotsOrigins: func() int { return 5 },
		RobotsBytes:   func() int64 { return 6 },

		Overrides:        func() int { return 8 },
		OverridesExpired: func() int { return 2 },
	})
}

func TestMetricsKeepPrometheusRules(t *testing.T) {
	m := newMetrics()
	m.Store(func() Store { return Store{} })
	m.Log(func() Log { return Log{} })
	m.Quotas(func() []Quota { return []Quota{{}} })
	m.Exchange(&audit.Entry{Reason: "disallowed", Report: true})
	m.Pace(func() Pace { return Pace{} })
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestExchangesAndFetchesAreCounted(t *testing.T) {
	m := newMetrics()
	m.Exchange(&audit.Entry{Reason: "disallowed", BytesIn: 1, BytesOut: 20, Snapshot: new(policy.Snapshot)})
	m.Exchange(&audit.Entry{Verdict: audit.Forwarded, Reason: "allowed", Channel: audit.Intercepted, BytesOut: 3})
	m.Exchange(&audit.Entry{Reason: "override", Decision: policy.Decision{Override: &policy.Override{Action: policy.DisallowOrigin}}})
	m.Exchange(&audit.Entry{Verdict: audit.Forwarded, Reason: "allowed", Decision: policy.Decision{Allowed: true, Override: &policy.Override{Action: policy.UseOperatorsRules}}})
	m.Exchange(&audit.Entry{Reason: "disallowed", Identity: &audit.Identity{Name: "news"}})
	m.Exchange(&audit.Entry{Verdict: audit.Forwarded, Reason: "dns-error", Report: true, Denial: audit.Denial{Reason: "disallowed"}, Channel: audit.Tunnel})
	o := m.Fetches()
	o.Fetched(fetch.Event{Snapshot: &policy.Snapshot{Access: policy.Unavailable}, Requests: 3, Duration: time.Second})
	o.Fetched(fetch.Event{Snapshot: &policy.Snapshot{Status: 304}, Requests: 1, Confirmed: true, Ahead: true})
	o.Joined(origin.Origin{})
	o.Evicted(7, 100)

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	page := w.Body.String()
	for _, line := range []string{
		`heed_exchanges_total{channel="plain",reason="disallowed",verdict="denied"} 2`,
		`heed_exchanges_total{channel="intercepted",reason="allowed",verdict="forwarded"} 1`,
		`heed_exchange_received_bytes_total 1`,
		`heed_exchange_sent_bytes_total 23`,
		`heed_exchange_robots_wait_seconds_count 1`,
		`heed_robots_fetches_total{access="unavailable"} 1`,
		`heed_robots_fetches_total{access="successful"} 1`,
		`heed_robots_fetch_requests_total 4`,
		`heed_robots_confirmed_total 1`,
		`heed_robots_fetched_ahead_total 1`,
		`heed_robots_fetch_joined_total 1`,
		`heed_robots_evicted_total 7`,
		`heed_client_requests_total{client="news",verdict="denied"} 1`,
		`heed_exchanges_total{channel="tunnel",reason="dns-error",verdict="forwarded"} 1`,
		`heed_reported_total{reason="disallowed"} 1`,
		`heed_overrides_used_total{action="disallow"} 1`,
		`heed_overrides_used_total{action="file"} 1`,
		`heed_overrides_configured 8`,
		`heed_overrides_expired 2`,
		`heed_tunnels_open 4`,
		`heed_robots_origins 5`,
		`heed_robots_memory_bytes 6`,
		`version="1.2.3"`,
	} {
		if !strings.Contains(page, line) {
			t.Errorf("the page lacks %s", line)
		}
	}
}

// Labels must not grow with what clients ask for.
func TestLabelsHoldNothingOfAClient(t *testing.T) {
	m := newMetrics()
	for _, host := range []string{"a", "b", "c"} {
		m.Exchange(&audit.Entry{Origin: "https://" + host + ".example", Target: "/" + host, Method: host, Reason: "disallowed", Tokens: policy.Tokens{Main: []string{host}}})
	}
	if n := testutil.CollectAndCount(m.exchanges); n != 1 {
		t.Errorf("three clients made %d series, want 1", n)
	}
}

func TestStoreIsCountedWhenItIsAskedFor(t *testing.T) {
	m, s := newMetrics(), Store{Saved: 1, Lost: 2, Damaged: 3, Faults: 4, SetAside: 5, Waiting: 6, Octets: 7}
	m.Store(func() Store { return s })
	s.Degraded = true
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		"heed_cache_records_saved_total 1", "heed_cache_records_lost_total 2", "heed_cache_records_damaged_total 3",
		"heed_cache_faults_total 4", "heed_cache_files_set_aside_total 5", "heed_cache_records_waiting 6",
		"heed_cache_file_bytes 7", "heed_cache_degraded 1",
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body)
		}
	}
}

func TestLogIsCountedWhenItIsAskedFor(t *testing.T) {
	m, l := newMetrics(), Log{Lost: 1}
	m.Log(func() Log { return l })
	l.Waited = 2
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{"heed_log_lines_lost_total 1", "heed_log_lines_waited_total 2"} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body)
		}
	}
}

func TestExchangesOfManyGoroutinesAreAllCounted(t *testing.T) {
	const goroutines, each = 8, 400
	m := newMetrics()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range each {
				m.Exchange(&audit.Entry{Reason: strconv.Itoa(i % 40), Verdict: audit.Verdict(i % 2), Channel: audit.Channel(i % 4)})
			}
		})
	}
	all.Wait()
	for i := range 40 {
		n := testutil.ToFloat64(m.exchanges.WithLabelValues(audit.Verdict(i%2).String(), strconv.Itoa(i), audit.Channel(i%4).String()))
		if n != goroutines*each/40 {
			t.Errorf("of the reason %d %v are counted, want %d", i, n, goroutines*each/40)
		}
	}
}

func BenchmarkExchange(b *testing.B) {
	m := newMetrics()
	e := &audit.Entry{Verdict: audit.Forwarded, Reason: "allowed", Duration: time.Millisecond, BytesOut: 1024, Snapshot: new(policy.Snapshot)}
	b.ReportAllocs()
	for b.Loop() {
		m.Exchange(e)
	}
}

func TestPaceIsCounted(t *testing.T) {
	m, reads := newMetrics(), 0
	m.Pace(func() Pace { reads++; return Pace{Waiting: 3, Known: 9, Held: 2} })
	soon := time.Now().Add(time.Minute)
	for _, e := range []audit.Entry{
		{Verdict: audit.Forwarded, Reason: "allowed"}, // which did not wait
		{Verdict: audit.Forwarded, Reason: "allowed", PaceWait: 2 * time.Second, Pace: audit.Pace{Cause: "crawl-delay", Interval: 2 * time.Second, Line: 3}},
		{Reason: "paced", Pace: audit.Pace{Cause: "visit-time", Until: soon}},
		{Reason: "paced", PaceWait: time.Second, Pace: audit.Pace{Cause: "retry-after", Until: soon}}, // it waited in vain
		{Reason: "paced", Pace: audit.Pace{Cause: "retry-after", Until: soon}},
	} {
		m.Exchange(&e)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		"heed_pace_waiting 3", "heed_pace_hosts 9", "heed_pace_hosts_held 2",
		`heed_pace_refused_total{cause="visit-time"} 1`, `heed_pace_refused_total{cause="retry-after"} 2`,
		"heed_pace_wait_seconds_count 2", "heed_pace_wait_seconds_sum 3",
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body)
		}
	}
	if strings.Contains(w.Body.String(), `heed_pace_refused_total{cause="crawl-delay"}`) {
		t.Error("one that waited and went out counts as refused")
	}
	if reads != 1 {
		t.Errorf("all hosts were looked at %d times for one page", reads)
	}
}
