package stall_test

import (
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/stall"
)

func TestWatchCountsWaitsAlone(t *testing.T) {
	const limit = time.Minute
	for _, tt := range []struct {
		why  string
		do   func(w *stall.Watch)
		late int
	}{
		{"nothing was waited for", func(*stall.Watch) { time.Sleep(time.Hour) }, 0},
		{"a wait that is too long", func(w *stall.Watch) { w.Begin(); time.Sleep(time.Hour); w.Done() }, 1},
		{"waits that are short, and much between", func(w *stall.Watch) {
			for range 100 {
				w.Begin()
				time.Sleep(limit - time.Second)
				w.Done()
				time.Sleep(time.Hour)
			}
		}, 0},
		{"one that is too long behind one that is not", func(w *stall.Watch) {
			w.Begin()
			time.Sleep(time.Second)
			w.Done()
			w.Begin()
			time.Sleep(time.Hour)
			w.Done()
		}, 1},
		{"it goes on", func(w *stall.Watch) {
			for range 2 {
				w.Begin()
				time.Sleep(2 * limit)
				w.Done()
			}
		}, 2},
		{"the end comes in a wait", func(w *stall.Watch) { w.Begin(); time.Sleep(limit / 2); w.End(); time.Sleep(time.Hour) }, 0},
		{"a wait behind the end", func(w *stall.Watch) { w.End(); w.Begin(); time.Sleep(time.Hour) }, 0},
		{"no limit", func(w *stall.Watch) { w.Limit = 0; w.Begin(); time.Sleep(time.Hour) }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			late := 0
			w := &stall.Watch{Limit: limit, Late: func() { late++ }}
			tt.do(w)
			synctest.Wait()
			if late != tt.late {
				t.Errorf("%s: late %d times, want %d", tt.why, late, tt.late)
			}
		})
	}
}

// TestNilWatchBoundsNothing: a method that looked into it would panic.
func TestNilWatchBoundsNothing(*testing.T) {
	var w *stall.Watch
	w.Begin()
	w.Done()
	w.End()
}
