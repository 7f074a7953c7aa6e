package retryafter

import (
	"net/http"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, r := range []struct {
		why, field, date string
		want             time.Duration
	}{
		{"none", "", "", 0},
		{"seconds", "120", "", 2 * time.Minute},
		{"spaces around", " 120 ", "", 2 * time.Minute},
		{"zero is none: the usual pause", "0", "", 0},
		{"a day", "86400", "", 24 * time.Hour},
		{"more than a day", "86401", "", 24 * time.Hour},
		{"more digits than a number has", "99999999999999999999999999", "", 24 * time.Hour},
		{"leading zeros", "0000000000000000000000000005", "", 5 * time.Second},
		{"negative", "-5", "", 0},
		{"a fraction", "1.5", "", 0},
		{"rubbish", "soon", "", 0},
		{"a date", "Fri, 02 Jan 2026 03:14:05 GMT", "", 10 * time.Minute},
		{"an old form of date", "Friday, 02-Jan-26 03:14:05 GMT", "", 10 * time.Minute},
		{"a date that is over", "Fri, 02 Jan 2026 03:04:04 GMT", "", 0},
		{"a date years ahead", "Sun, 02 Jan 2028 03:04:05 GMT", "", 24 * time.Hour},
		{"by the origin's clock, which is a year behind", "Thu, 02 Jan 2025 03:14:05 GMT", "Thu, 02 Jan 2025 03:04:05 GMT", 10 * time.Minute},
		{"a broken Date does not matter", "Fri, 02 Jan 2026 03:14:05 GMT", "today", 10 * time.Minute},
	} {
		h := http.Header{}
		if r.field != "" {
			h.Set("Retry-After", r.field)
		}
		if r.date != "" {
			h.Set("Date", r.date)
		}
		if got := Of(h, now); got != r.want {
			t.Errorf("%s: %v, want %v", r.why, got, r.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"120", "Fri, 02 Jan 2026 03:14:05 GMT", "-1", "99999999999999999999", "\x00"} {
		f.Add(s, s)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, field, date string) {
		h := http.Header{"Retry-After": {field}, "Date": {date}}
		if d := Of(h, now); d < 0 || d > Most {
			t.Fatalf("%q, %q: %v", field, date, d)
		}
	})
}
