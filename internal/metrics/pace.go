package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"heed/internal/audit"
)

// Pace is how many hosts are asked, and how many requests wait for their turn.
type Pace struct {
	Waiting int // requests
	Known   int // hosts of which something is known
	Held    int // of which: that want to be left alone for now
}

// Pace adds the gauges of the pace. They are read when they are asked for, once
// for all of them: to read them goes through all hosts. Call it once at most.
func (m *Metrics) Pace(read func() Pace) {
	describe := func(name, help string) *prometheus.Desc { return prometheus.NewDesc("heed_"+name, help, nil, nil) }
	m.registry.MustRegister(&paceGauges{
		read:    read,
		waiting: describe("pace_waiting", "Requests that wait for their turn at a host."),
		hosts:   describe("pace_hosts", "Hosts that were asked lately, or that something is known of that bears on when they may be asked."),
		held:    describe("pace_hosts_held", "Hosts that answered 429 or 503 and are left alone until the time that they named, or a pause is over."),
	})
}

type paceGauges struct {
	read                 func() Pace
	waiting, hosts, held *prometheus.Desc
}

// Describe is prometheus.Collector's.
func (g *paceGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.hosts, g.held} {
		out <- d
	}
}

// Collect is prometheus.Collector's.
func (g *paceGauges) Collect(out chan<- prometheus.Metric) {
	now := g.read()
	for d, n := range map[*prometheus.Desc]int{g.waiting: now.Waiting, g.hosts: now.Known, g.held: now.Held} {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
}

// paced counts what an exchange had to do with the pace.
func (m *Metrics) paced(e *audit.Entry) {
	if e.PaceWait > 0 {
		m.paceWait.Observe(e.PaceWait.Seconds())
	}
	if !e.Pace.Until.IsZero() && e.Verdict == audit.Denied { // not where it was forwarded all the same (report mode)
		m.paceRefused.WithLabelValues(e.Pace.Cause).Inc()
	}
}
