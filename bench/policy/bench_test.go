package main

import (
	"path/filepath"
	"sync"
	"testing"
)

// The work of the command as Go benchmarks, as benchstat wants them. An
// operation is one pass through all files, so that every participant does the
// same work however long it is given; ns/query, ns/file and ns/octet stand
// beside it.
//
// Unlike the command's, these rounds are not interleaved, and the collector
// may use other cores (-cpu 1 takes them away).

// realFiles are the files and, by participant, those that it fails on.
var realFiles = sync.OnceValues(func() (*realData, error) {
	all, err := readCorpus(filepath.Join("..", defaultData)) // a test runs in its folder
	if err != nil {
		return nil, err
	}
	failed := make([]map[*file]error, len(participants))
	for i, p := range participants {
		_, failed[i] = compare(p, all, googleVerdicts)
	}
	return &realData{all: all, pair: all.without(failed[:2]...), trio: all.without(failed...)}, nil
})

// realData are the files: all, those that both participants with a compiled
// form read, and those that every participant reads.
type realData struct{ all, pair, trio *corpus }

func needReal(b *testing.B) *realData {
	b.Helper()
	data, err := realFiles()
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func benchmark(b *testing.B, t task) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		t.pass()
	}
	passes := float64(b.N)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/passes/float64(t.ops), "ns/"+t.of)
	if t.octets > 0 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/passes/float64(t.octets), "ns/octet")
	}
}

func BenchmarkDecide(b *testing.B) {
	data := needReal(b)
	for _, p := range participants[:2] {
		b.Run(p.name, func(b *testing.B) {
			t, err := decideTask(p, data.pair)
			if err != nil {
				b.Fatal(err)
			}
			benchmark(b, t)
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	data := needReal(b)
	for _, p := range participants[:2] {
		b.Run(p.name, func(b *testing.B) { benchmark(b, compileTask(p, data.all)) })
	}
}

func BenchmarkParseAndDecide(b *testing.B) {
	data := needReal(b)
	for _, p := range participants {
		b.Run(p.name, func(b *testing.B) { benchmark(b, queryTask(p, data.trio, 7)) })
	}
}
