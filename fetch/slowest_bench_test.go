package fetch

import (
	"math/rand/v2"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkSlowestLookup tells how long lookups take while memory is full and
// each new origin drops another: the median, one in 10,000, and the slowest.
// What else the machine does is in the figures: compare with idle, where
// nothing is written.
func BenchmarkSlowestLookup(b *testing.B) {
	for _, evicting := range []bool{false, true} {
		name := "idle"
		if evicting {
			name = "evicting"
		}
		b.Run(name, func(b *testing.B) {
			sizes(b, func(b *testing.B, origins int) { slowest(b, origins, evicting) })
		})
	}
}

func slowest(b *testing.B, origins int, evicting bool) {
	f, all := full(b, origins)
	f.memory.max = f.memory.used.Load()
	f.memory.mark.Store(f.memory.max)
	body := bodiesOf(b)
	done := make(chan struct{})
	var writer sync.WaitGroup
	var written int
	if evicting {
		writer.Go(func() {
			for i := origins; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				o := host(i)
				f.memory.put(o, known1(f, o, i, body(i)))
				if written++; written%100 == 0 {
					time.Sleep(10 * time.Millisecond) // 10,000 new origins a second; else it is the scheduler that is measured
				}
			}
		})
	}
	var took []time.Duration
	var found int
	before := lockWait()
	for b.Loop() {
		o := all[rand.IntN(len(all))]
		began := time.Now()
		if _, ok := f.Remembered(o, time.Now()); ok {
			found++
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(1e6*(lockWait()-before), "lock-wait-µs")
	close(done)
	writer.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "median-ns")
	b.ReportMetric(float64(took[len(took)-1-len(took)/10_000]), "p9999-ns")
	b.ReportMetric(float64(took[len(took)-1]), "slowest-ns")
	b.ReportMetric(float64(written), "written")
	b.ReportMetric(100*float64(found)/float64(len(took)), "found-%")
}

// lockWait is how long all goroutines have waited for locks, in seconds.
func lockWait() float64 {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}
