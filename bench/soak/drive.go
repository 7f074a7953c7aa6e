package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// tally is what has come of it.
type tally struct {
	asked, arrived, forwarded, denied, other, failed, garbage, tunnels, wrongs atomic.Int64

	mu    sync.Mutex
	first []string // wrong decisions, the first of them
}

const mostShown = 20

// wrong notes a wrong decision.
func (t *tally) wrong(format string, args ...any) {
	t.wrongs.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.first) < mostShown {
		t.first = append(t.first, fmt.Sprintf(format, args...))
	}
}

const every = 10 * time.Second

// drive has clients ask for so long, and judges.
func drive(ctx context.Context, p *driven, w *web, t *tally, clients int, long time.Duration) error {
	working, stop := context.WithTimeout(ctx, long)
	defer stop()
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() { newClient(p, w, t, n).work(working) })
	}
	fmt.Printf("%8s %9s %9s %9s %9s %9s %9s %6s %8s %6s %6s\n", "time", "asked", "arrived", "forwarded", "denied", "other", "failed", "wrong", "memory", "fds", "gorout")
	began := time.Now()
	var most, early held
	tick := time.NewTicker(every)
	defer tick.Stop()
	for working.Err() == nil {
		select {
		case <-working.Done():
		case <-tick.C:
		}
		now, err := p.held(ctx)
		if err != nil {
			return err
		}
		t.print(time.Since(began), now)
		most = held{max(most.memory, now.memory), max(most.descriptors, now.descriptors), max(most.goroutines, now.goroutines)}
		if time.Since(began) <= time.Minute+every {
			early = most
		}
	}
	all.Wait()
	quiet, err := settle(ctx, p)
	if err != nil {
		return err
	}
	t.print(time.Since(began), quiet)
	fmt.Printf("most: %d MiB, %d descriptors, %d goroutines; at rest: %d MiB, %d, %d\ngarbage %d, idle tunnels %d\n",
		most.memory>>20, most.descriptors, most.goroutines, quiet.memory>>20, quiet.descriptors, quiet.goroutines, t.garbage.Load(), t.tunnels.Load())
	return t.judge(early, most, quiet)
}

// settle waits until nothing is under way, and idle connections were closed.
func settle(ctx context.Context, p *driven) (now held, err error) {
	for range 10 {
		select {
		case <-ctx.Done():
			return now, context.Cause(ctx)
		case <-time.After(3 * time.Second):
		}
		if now, err = p.held(ctx); err != nil || now.descriptors < 40 {
			return now, err
		}
	}
	return now, nil
}

func (t *tally) print(after time.Duration, now held) {
	fmt.Printf("%8s %9d %9d %9d %9d %9d %9d %6d %5d MiB %5d %6d\n", after.Round(time.Second), t.asked.Load(), t.arrived.Load(), t.forwarded.Load(),
		t.denied.Load(), t.other.Load(), t.failed.Load(), t.wrongs.Load(), now.memory>>20, now.descriptors, now.goroutines)
}

// judge says what is wrong. Memory, descriptors and goroutines may grow in the first
// minute, and then by half at most; at rest little is left of them.
func (t *tally) judge(early, most, quiet held) error {
	var wrong []error
	for _, w := range t.first {
		wrong = append(wrong, errors.New(w))
	}
	if n := t.wrongs.Load(); n > 0 {
		wrong = append(wrong, fmt.Errorf("%d wrong decisions", n))
	}
	if t.denied.Load() == 0 || t.forwarded.Load() == 0 {
		wrong = append(wrong, errors.New("nothing was denied, or nothing forwarded: it shows nothing"))
	}
	for _, one := range []struct {
		what               string
		early, most, quiet int64
		atRest             int64
	}{
		{"octets of memory", early.memory, most.memory, 0, 1},
		{"descriptors", early.descriptors, most.descriptors, quiet.descriptors, 60},
		{"goroutines", early.goroutines, most.goroutines, quiet.goroutines, 80},
	} {
		if one.most > one.early*3/2 {
			wrong = append(wrong, fmt.Errorf("%d %s, after a minute it were %d", one.most, one.what, one.early))
		}
		if one.quiet > one.atRest {
			wrong = append(wrong, fmt.Errorf("%d %s at rest", one.quiet, one.what))
		}
	}
	return errors.Join(wrong...)
}
