package metrics

import "github.com/prometheus/client_golang/prometheus"

// Quota is one limit of one client, and what is left of it.
type Quota struct {
	Client, Limit string // names of the configuration, and of package quota
	Of, Left      int64
	Refused       uint64 // requests
}

// Quotas adds the metrics of quotas, which are read when they are asked for. Call
// it once at most.
func (m *Metrics) Quotas(read func() []Quota) { m.registry.MustRegister(quotas(read)) }

// quotas collects a series for each limit of each client. Those are as many as the
// configuration names.
type quotas func() []Quota

var (
	quotaLimit   = ofQuota("quota_limit", "What a client may use, by limit: requests in a minute or a day, octets of bodies in a day.")
	quotaLeft    = ofQuota("quota_left", "What is left of it.")
	quotaRefused = ofQuota("quota_refusals_total", "Requests refused because nothing was left of a limit.")
)

func ofQuota(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("heed_"+name, help, []string{"client", "limit"}, nil)
}

// Describe tells what Collect sends.
func (quotas) Describe(to chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{quotaLimit, quotaLeft, quotaRefused} {
		to <- d
	}
}

// Collect sends what each client has left.
func (read quotas) Collect(to chan<- prometheus.Metric) {
	for _, q := range read() {
		to <- prometheus.MustNewConstMetric(quotaLimit, prometheus.GaugeValue, float64(q.Of), q.Client, q.Limit)
		to <- prometheus.MustNewConstMetric(quotaLeft, prometheus.GaugeValue, float64(q.Left), q.Client, q.Limit)
		to <- prometheus.MustNewConstMetric(quotaRefused, prometheus.CounterValue, float64(q.Refused), q.Client, q.Limit)
	}
}
