package fetch

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/origin"
)

// realBodies are the robots.txt of real origins, where they are at hand.
var realBodies = sync.OnceValue(func() []string {
	file, err := os.Open("../../shared/conformance/real-dev.jsonl.gz")
	if err != nil {
		return nil
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	var all []string
	lines := bufio.NewScanner(z)
	for lines.Buffer(nil, 16<<20); lines.Scan(); {
		var row struct {
			Robots []byte `json:"robots_b64"`
		}
		if json.Unmarshal(lines.Bytes(), &row) == nil && !seen[string(row.Robots)] {
			seen[string(row.Robots)] = true
			all = append(all, string(row.Robots))
		}
	}
	return all
})

// bodiesOf says which robots.txt each of many origins has: one of the real ones,
// else one that is made up.
func bodiesOf(b *testing.B) func(i int) string {
	b.Helper()
	if real := realBodies(); len(real) > 0 {
		return func(i int) string { return real[i%len(real)] }
	}
	b.Log("../shared/conformance is not there: the bodies are made up")
	return func(i int) string {
		return fmt.Sprintf("User-agent: *\nDisallow: /private/%d/\n%s", i%6000, strings.Repeat("Disallow: /x\n", i%100))
	}
}

// full is a fetcher that knows so many origins, each with validators as origins
// have them.
func full(b *testing.B, origins int) (*Fetcher, []origin.Origin) {
	b.Helper()
	f := newFetcher(b, Config{Transport: answers(404, ""), MemoryBytes: 1 << 40})
	all := make([]origin.Origin, origins)
	body := bodiesOf(b)
	for i := range all {
		all[i] = host(i)
		f.memory.put(all[i], known1(f, all[i], i, body(i)))
	}
	runtime.GC() // not while lookups are measured
	return f, all
}

func known1(f *Fetcher, o origin.Origin, i int, body string) *entry {
	a := answer{status: 200, octets: []byte(body), body: f.memory.bodies.share([]byte(body), "")}
	a.validators = newValidators(`"`+strconv.FormatInt(int64(i)*0x9e3779b9, 16)+`-59a"`, "Fri, 02 Jan 2026 03:04:05 GMT")
	return f.lifetimes.next(nil, o.RobotsURL(), a, momentOf(time.Now()), 0)
}

func sizes(b *testing.B, run func(b *testing.B, origins int)) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("origins=%d", n), func(b *testing.B) {
			if n > 100_000 && testing.Short() {
				b.Skip("a million origins take a while")
			}
			run(b, n)
		})
	}
}

// BenchmarkMemory tells what origins take: on the heap, and charged.
func BenchmarkMemory(b *testing.B) {
	sizes(b, func(b *testing.B, origins int) {
		body := bodiesOf(b)
		body(0)
		for b.Loop() {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			f := newFetcher(b, Config{Transport: answers(404, ""), MemoryBytes: 1 << 40})
			for i := range origins {
				o := host(i)
				f.memory.put(o, known1(f, o, i, body(i)))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			s := f.Stats()
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-heap")
			b.ReportMetric(float64(s.Octets)/(1<<20), "MiB-charged")
			b.ReportMetric(float64(s.Bodies), "bodies")
			runtime.KeepAlive(f)
		}
	})
}

func BenchmarkSnapshotFresh(b *testing.B) {
	sizes(b, func(b *testing.B, origins int) {
		f, all := full(b, origins)
		ctx := context.Background()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i = (i + 7919) % len(all)
			if _, err := f.Snapshot(ctx, all[i]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Crawls ask some origins far more often than others.
func BenchmarkSnapshotFreshZipf(b *testing.B) {
	sizes(b, func(b *testing.B, origins int) {
		f, all := full(b, origins)
		ctx := context.Background()
		order := zipf(all, 1)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			if _, err := f.Snapshot(ctx, order[i%len(order)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSnapshotFreshZipfParallel(b *testing.B) {
	sizes(b, func(b *testing.B, origins int) {
		f, all := full(b, origins)
		ctx := context.Background()
		var seed atomic.Uint64
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			order := zipf(all, seed.Add(1))
			for i := 0; pb.Next(); i++ {
				if _, err := f.Snapshot(ctx, order[i%len(order)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// zipf is an order in which origins are asked, as often as Zipf's law has it.
func zipf(all []origin.Origin, seed uint64) []origin.Origin {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 1, uint64(len(all)-1))
	order := make([]origin.Origin, 1<<16)
	for i := range order {
		order[i] = all[z.Uint64()]
	}
	return order
}

func BenchmarkSnapshotFreshParallel(b *testing.B) {
	sizes(b, func(b *testing.B, origins int) {
		f, all := full(b, origins)
		ctx := context.Background()
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			i := rand.IntN(len(all))
			for pb.Next() {
				i = (i + 7919) % len(all)
				if _, err := f.Snapshot(ctx, all[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func BenchmarkSnapshotOneOriginParallel(b *testing.B) {
	f, all := full(b, 1)
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := f.Snapshot(ctx, all[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFetch(b *testing.B) {
	f := newFetcher(b, Config{Transport: answers(200, closedFile)})
	ctx := context.Background()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, err := f.Snapshot(ctx, host(i)); err != nil {
			b.Fatal(err)
		}
	}
}
