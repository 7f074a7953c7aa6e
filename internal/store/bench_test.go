package store

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heed/internal/store/storetest"
)

// million adds a million records to the benchmarks: they take a minute and a
// gigabyte.
var million = flag.Bool("million", false, "benchmark with 1,000,000 records too")

func sizes() []int {
	if *million {
		return []int{10_000, 100_000, 1_000_000}
	}
	return []int{10_000, 100_000}
}

// benchBody gives half of the origins one of a few bodies, the others one of
// their own, about as long as the median of real files.
func benchBody(n int) string {
	if n%2 == 0 {
		n %= 100
	}
	var b strings.Builder
	fmt.Fprintf(&b, "User-agent: *\nDisallow: /private-%d/\n", n)
	for i := range 16 {
		fmt.Fprintf(&b, "Disallow: /section/%d/\nAllow: /public\n", (n*31+i*7)%997)
	}
	return b.String()
}

// filled returns a file with records of n origins, and how long that took.
func filled(b *testing.B, path string, n int) (*File, time.Duration) {
	b.Helper()
	f := begin(b, Config{Path: path})
	began := time.Now()
	for i := range n {
		f.Save(numbered(i), storetest.Successful(benchBody(i)))
		if f.Counts().Waiting > flushAt {
			flush(b, f)
		}
	}
	flush(b, f)
	took := time.Since(began)
	if c := f.Counts(); c.Lost > 0 || c.Saved != uint64(n) {
		b.Fatalf("%+v: want %d saved", c, n)
	}
	return f, took
}

// BenchmarkFile measures, at each size: how many records a second are saved and
// written, what one takes in the file, one Load, and opening the file.
func BenchmarkFile(b *testing.B) {
	for _, n := range sizes() {
		path := filepath.Join(b.TempDir(), DefaultName)
		var f *File
		b.Run(fmt.Sprintf("save/%d", n), func(b *testing.B) {
			for b.Loop() {
				if f != nil {
					_ = f.Close()
					path = filepath.Join(b.TempDir(), DefaultName)
				}
				var took time.Duration
				f, took = filled(b, path, n)
				b.ReportMetric(float64(n)/took.Seconds(), "records/s")
				b.ReportMetric(float64(f.Counts().Octets)/float64(n), "octets/record")
			}
		})
		f, _ = filled(b, path+"2", n)
		path += "2"
		b.Run(fmt.Sprintf("load/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok, err := f.Load(context.Background(), numbered(rand.IntN(n))); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
		b.Run(fmt.Sprintf("stats/%d", n), func(b *testing.B) {
			for b.Loop() {
				if s, err := f.Stats(context.Background()); err != nil || s.Records != n {
					b.Fatalf("%+v, %v", s, err)
				}
			}
		})
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("open/%d", n), func(b *testing.B) {
			for b.Loop() {
				f, err := Open(Config{Path: path})
				if err != nil {
					b.Fatal(err)
				}
				_ = f.Close()
			}
		})
	}
}
