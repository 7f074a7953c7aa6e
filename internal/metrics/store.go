package metrics

import "github.com/prometheus/client_golang/prometheus"

// Store is what a store of robots.txt records has done, and how it is.
type Store struct {
	Saved    uint64 // records written
	Lost     uint64 // records that could not be
	Damaged  uint64 // records that could not be verified
	Faults   uint64 // failed attempts to read or write
	SetAside uint64 // files
	Waiting  int    // records to be written
	Octets   int64  // of the file
	Degraded bool   // nothing can be written
}

// Store adds the metrics of a store, which are read when they are asked for.
// Call it once at most.
func (m *Metrics) Store(read func() Store) {
	counted := func(name, help string, of func(Store) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "heed_" + name, Help: help}, func() float64 { return float64(of(read())) })
	}
	m.registry.MustRegister(
		counted("cache_records_saved_total", "Records of robots.txt files written to the cache file.", func(s Store) uint64 { return s.Saved }),
		counted("cache_records_lost_total", "Records that could not be written to the cache file.", func(s Store) uint64 { return s.Lost }),
		counted("cache_records_damaged_total", "Records of the cache file that could not be verified, and were dropped.", func(s Store) uint64 { return s.Damaged }),
		counted("cache_faults_total", "Failed attempts to read or write the cache file.", func(s Store) uint64 { return s.Faults }),
		counted("cache_files_set_aside_total", "Cache files set aside because they were damaged.", func(s Store) uint64 { return s.SetAside }),
		gauge("cache_records_waiting", "Records to be written to the cache file.", func() float64 { return float64(read().Waiting) }),
		gauge("cache_file_bytes", "Size of the cache file.", func() float64 { return float64(read().Octets) }),
		gauge("cache_degraded", "1 while the cache file cannot be written, else 0.", func() float64 {
			if read().Degraded {
				return 1
			}
			return 0
		}),
	)
}
