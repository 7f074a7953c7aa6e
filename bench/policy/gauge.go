package main

import (
	"fmt"
	"runtime"
	"time"
)

// sample is what one round found of one participant, by unit.
type sample map[string]float64

// timed runs a task until at least atLeast has passed, whole passes only, after
// one that does not count. The heap is collected before, so that nobody pays
// for what another left.
func timed(t task, atLeast time.Duration) (sample, error) {
	want := t.pass()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	passes, began := 0, time.Now()
	var took time.Duration
	for took < atLeast || passes == 0 {
		if got := t.pass(); got != want {
			return nil, fmt.Errorf("two passes differ: %d and %d answers of one kind", want, got)
		}
		passes++
		took = time.Since(began)
	}
	runtime.ReadMemStats(&after)

	ops := float64(passes * t.ops)
	s := sample{
		"ns/" + t.of:     float64(took.Nanoseconds()) / ops,
		"allocs/" + t.of: float64(after.Mallocs-before.Mallocs) / ops,
	}
	if t.octets > 0 {
		s["ns/octet"] = float64(took.Nanoseconds()) / float64(passes*t.octets)
	}
	return s, nil
}

// held measures how far the heap grows when every file is held in its compiled
// form at once, for each octet of the bodies. Beside it stands what a
// participant says of itself.
func held(p *participant, c *corpus) (sample, error) {
	before := liveHeap()
	judges, err := readClones(p, c)
	if err != nil {
		return nil, err
	}
	grown := liveHeap() - before
	s := sample{"octets/octet": grown / float64(c.octets)}
	said := 0
	for _, j := range judges {
		if own, ok := j.(interface{ Size() int }); ok {
			said += own.Size()
		}
	}
	if said > 0 {
		s["octets/octet, by Size"] = float64(said) / float64(c.octets)
	}
	runtime.KeepAlive(judges)
	return s, nil
}

// liveHeap returns how many octets are in use. It collects twice: what has a
// finalizer or lies in a sync.Pool outlives the first.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
