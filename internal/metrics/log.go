package metrics

import "github.com/prometheus/client_golang/prometheus"

// Log is what became of the lines of the log.
type Log struct {
	Lost   uint64 // lines that could not be written
	Waited uint64 // lines that waited because there was no room
}

// Log adds the metrics of the log, which are read when they are asked for. Call
// it once at most.
func (m *Metrics) Log(read func() Log) {
	counted := func(name, help string, of func(Log) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "heed_" + name, Help: help}, func() float64 { return float64(of(read())) })
	}
	m.registry.MustRegister(
		counted("log_lines_lost_total", "Lines that are missing in the log because it could not be written.", func(l Log) uint64 { return l.Lost }),
		counted("log_lines_waited_total", "Lines for which an exchange waited because the log was not taken fast enough.", func(l Log) uint64 { return l.Waited }),
	)
}
