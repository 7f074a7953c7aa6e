package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestQuotasAreReadWhenTheyAreAskedFor(t *testing.T) {
	m, left := newMetrics(), int64(7)
	m.Quotas(func() []Quota {
		return []Quota{{"news", "minute", 600, left, 3}, {"news", "bytes-day", 10 << 30, 5, 0}}
	})
	for _, line := range []string{
		`heed_quota_left{client="news",limit="minute"} 7`,
		`heed_quota_left{client="news",limit="minute"} 6`,
		`heed_quota_limit{client="news",limit="minute"} 600`,
		`heed_quota_limit{client="news",limit="bytes-day"} 1.073741824e+10`,
		`heed_quota_refusals_total{client="news",limit="minute"} 3`,
	} {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("%s is missing", line)
		}
		left = 6
	}
}
