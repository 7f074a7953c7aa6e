package fetch

import (
	"context"
	"testing"

	"heed/internal/origin"
)

func full(b *testing.B, origins int) (*Fetcher, []origin.Origin) {
	b.Helper()
	f := newFetcher(b, Config{Transport: answers(200, closedFile), MemoryBytes: 1 << 40})
	all := make([]origin.Origin, origins)
	for i := range all {
		all[i] = host(i)
		f.memory.put(all[i], filled(f.memory, all[i], closedFile))
	}
	return f, all
}

func BenchmarkSnapshotFresh(b *testing.B) {
	f, all := full(b, 100_000)
	ctx := context.Background()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i = (i + 7919) % len(all)
		if _, err := f.Snapshot(ctx, all[i]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshotFreshParallel(b *testing.B) {
	f, all := full(b, 100_000)
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := 0
		for pb.Next() {
			i = (i + 7919) % len(all)
			if _, err := f.Snapshot(ctx, all[i]); err != nil {
				b.Fatal(err)
			}
		}
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
