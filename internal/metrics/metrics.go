// Package metrics declares every metric of heed, with its unit, and is the one
// place that knows Prometheus. Labels have bounded values: never an origin, a
// path, an address or a product token, and of clients the names alone that the
// configuration has for them.
package metrics

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"heed/fetch"
	"heed/internal/audit"
	"heed/internal/origin"
)

// Metrics counts what heed does. Make one with New; it is safe for concurrent
// use.
type Metrics struct {
	registry *prometheus.Registry

	exchanges  *prometheus.CounterVec   // verdict, reason, channel
	duration   *prometheus.HistogramVec // seconds; verdict
	resolved   resolved                 // those of exchanges and duration
	robotsWait prometheus.Histogram     // seconds
	received   prometheus.Counter       // octets
	sent       prometheus.Counter       // octets
	reported   *prometheus.CounterVec   // reason
	overrides  *prometheus.CounterVec   // action
	clientTLS  *prometheus.CounterVec   // reason
	clients    *prometheus.CounterVec   // client, verdict

	paceWait    prometheus.Histogram   // seconds
	paceRefused *prometheus.CounterVec // cause

	fetches       *prometheus.CounterVec // access
	fetchRequests prometheus.Counter
	fetchDuration prometheus.Histogram // seconds
	confirmed     prometheus.Counter
	ahead         prometheus.Counter
	joined        prometheus.Counter
	evicted       prometheus.Counter
}

// Gauges are read when the metrics are asked for. None may be nil.
type Gauges struct {
	Tunnels       func() int
	RobotsOrigins func() int
	RobotsBytes   func() int64

	Overrides        func() int // expired ones included
	OverridesExpired func() int
}

// New returns the metrics of one heed, in a registry of its own.
func New(version string, g Gauges) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		exchanges: counters("exchanges_total", "Exchanges, by what heed did (verdict), why (reason) and the way they came in (channel).",
			"verdict", "reason", "channel"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "heed_exchange_duration_seconds", Help: "Time from a request's header to the last octet of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"verdict"}),
		robotsWait: histogram("exchange_robots_wait_seconds", "Time that an exchange waited for robots.txt."),
		received:   counter("exchange_received_bytes_total", "Body octets received from clients."),
		sent:       counter("exchange_sent_bytes_total", "Body octets sent to clients."),
		reported:   counters("reported_total", "Exchanges that were forwarded only because the mode is report, by the reason for which they would have been denied.", "reason"),
		overrides:  counters("overrides_used_total", "Exchanges that the operator's word decided in place of a robots.txt.", "action"),
		clientTLS:  counters("client_tls_failures_total", "TLS with clients, inside a CONNECT, that came to nothing, by reason.", "reason"),
		clients:    counters("client_requests_total", "Exchanges of clients that have a name in the configuration, by that name and what heed did.", "client", "verdict"),
		paceWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "heed_pace_wait_seconds", Help: "Time that an exchange waited for its turn, of those that waited.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300},
		}),
		paceRefused:   counters("pace_refused_total", "Exchanges that were refused since their turn would have come too late, by what they would have waited for.", "cause"),
		fetches:       counters("robots_fetches_total", "Fetches of a robots.txt, by access result (RFC 9309 section 2.3.1).", "access"),
		fetchRequests: counter("robots_fetch_requests_total", "Requests sent for a robots.txt, redirects and retries included."),
		fetchDuration: histogram("robots_fetch_duration_seconds", "Time that a fetch of a robots.txt took."),
		confirmed:     counter("robots_confirmed_total", "Fetches that were answered by 304: the robots.txt is the same."),
		ahead:         counter("robots_fetched_ahead_total", "Fetches made before what was known expired, which nobody waited for."),
		joined:        counter("robots_fetch_joined_total", "Exchanges that joined a fetch already under way."),
		evicted:       counter("robots_evicted_total", "Snapshots dropped to stay within the memory bound."),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "heed_build_info", Help: "1, with the version as a label.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build,
		m.exchanges, m.duration, m.robotsWait, m.received, m.sent, m.reported, m.overrides, m.clientTLS, m.clients, m.paceWait, m.paceRefused,
		m.fetches, m.fetchRequests, m.fetchDuration, m.confirmed, m.ahead, m.joined, m.evicted,
		gauge("tunnels_open", "Connections taken over by CONNECT or a WebSocket.", func() float64 { return float64(g.Tunnels()) }),
		gauge("robots_origins", "Origins whose robots.txt is remembered.", func() float64 { return float64(g.RobotsOrigins()) }),
		gauge("robots_memory_bytes", "Memory that remembered robots.txt files take, approximately.", func() float64 { return float64(g.RobotsBytes()) }),
		gauge("overrides_configured", "Overrides in the configuration.", func() float64 { return float64(g.Overrides()) }),
		gauge("overrides_expired", "Overrides in the configuration that have expired and have no effect.", func() float64 { return float64(g.OverridesExpired()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "heed_" + name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "heed_" + name, Help: help}, labels)
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "heed_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10)})
}

func gauge(name, help string, read func() float64) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "heed_" + name, Help: help}, read)
}

// Handler serves the metrics in the Prometheus and OpenMetrics formats.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Exchange counts one exchange.
func (m *Metrics) Exchange(e *audit.Entry) {
	s := m.seriesOf(e.Verdict, e.Channel, e.Reason)
	s.count.Inc()
	s.duration.Observe(e.Duration.Seconds())
	if e.Snapshot != nil {
		m.robotsWait.Observe(e.RobotsWait.Seconds())
	}
	if e.Report {
		m.reported.WithLabelValues(e.Denial.Reason).Inc()
	}
	if o := e.Decision.Override; o != nil {
		m.overrides.WithLabelValues(o.Action.String()).Inc()
	}
	if e.Identity != nil {
		m.clients.WithLabelValues(e.Identity.Name, e.Verdict.String()).Inc()
	}
	if e.Pace.Cause != "" || e.PaceWait > 0 {
		m.paced(e)
	}
	if e.BytesIn > 0 {
		m.received.Add(float64(e.BytesIn))
	}
	m.sent.Add(float64(e.BytesOut))
}

// ClientTLS counts TLS with a client that came to nothing. The reasons are the
// few of proxy.Config.TLSFailed.
func (m *Metrics) ClientTLS(reason string) { m.clientTLS.WithLabelValues(reason).Inc() }

// Fetches returns an observer that counts what a fetch.Fetcher does.
func (m *Metrics) Fetches() fetch.Observer {
	return fetch.Observer{
		Fetched: func(e fetch.Event) {
			if e.Snapshot != nil {
				m.fetches.WithLabelValues(e.Snapshot.Access.String()).Inc()
			}
			if e.Confirmed {
				m.confirmed.Inc()
			}
			if e.Ahead {
				m.ahead.Inc()
			}
			m.fetchRequests.Add(float64(e.Requests))
			m.fetchDuration.Observe(e.Duration.Seconds())
		},
		Joined:  func(origin.Origin) { m.joined.Inc() },
		Evicted: func(origins int, _ int64) { m.evicted.Add(float64(origins)) },
	}
}
