package override

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// told is a report: which override, and when.
type told struct {
	name string
	at   time.Duration // since Watch began
}

func TestEachOverrideIsReportedOnceWhenItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		all := table(t,
			to("month.example", began.AddDate(0, 1, 0)), to("never.example", time.Time{}), to("past.example", began.Add(-time.Hour)),
			to("now.example", began), to("soon.example", began.Add(1500*time.Millisecond)), to("also.example", began.Add(1500*time.Millisecond)),
		)
		var reports []told
		all.Watch(t.Context(), func(r *Record) { reports = append(reports, told{r.For, time.Since(began)}) })
		want := []told{
			{"past.example", 0},
			{"now.example", 0},
			{"soon.example", 1500 * time.Millisecond},
			{"also.example", 1500 * time.Millisecond},
			{"month.example", began.AddDate(0, 1, 0).Sub(began)},
		}
		if !slices.Equal(reports, want) {
			t.Errorf("got %v, want %v", reports, want)
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		table(t, to("a.example", began.AddDate(0, 1, 0))).Watch(ctx, func(*Record) { t.Error("it has not expired") })
		if took := time.Since(began); took != time.Hour {
			t.Errorf("it ended after %v", took)
		}
	})
}
