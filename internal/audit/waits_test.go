package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const second = time.Second

func TestSummaryTellsForWhatRequestsWaited(t *testing.T) {
	s := NewSummary()
	for range 23 {
		s.Record(&Entry{Verdict: Forwarded, Origin: "https://a.example", Reason: "allowed", PaceWait: 2 * second, Pace: Pace{Cause: "crawl-delay", Interval: 2 * second, Line: 3}})
	}
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://a.example", Reason: "allowed", PaceWait: 1500 * time.Millisecond, Pace: Pace{Cause: "retry-after", Interval: second}})
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://b.example", Reason: "allowed", PaceWait: 30 * second, Pace: Pace{Cause: "crawl-delay", Interval: 30 * second, Asked: 100 * second}})
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://c.example", Reason: "allowed", PaceWait: 99 * time.Millisecond, Pace: Pace{Cause: "concurrency"}})
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://c.example", Reason: "allowed"})
	until := time.Now().Add(second)
	for range 2 {
		s.Record(&Entry{Origin: "https://a.example", Reason: "paced", Pace: Pace{Cause: "crawl-delay", Interval: 2 * second, Line: 3, Until: until}})
	}
	s.Record(&Entry{Origin: "https://a.example", Reason: "paced", PaceWait: second, Pace: Pace{Cause: "retry-after", Until: until}})
	s.Record(&Entry{Origin: "https://d.example", Reason: "paced", Pace: Pace{Cause: "visit-time", Line: 7, Until: until}})
	want := `heed: 31 requests, 27 forwarded, 4 denied
  2  https://a.example  paced: Crawl-delay 2 s
  1  https://a.example  paced: Retry-After
  1  https://d.example  paced: Visit-time
heed: too soon, and answered 429: 4 requests; --hold has requests wait for longer
heed: waited 46 s at https://a.example, 23 requests, Crawl-delay 2 s
heed: waited 30 s at https://b.example, 1 request, Crawl-delay 100 s cut to 30 s
heed: waited 2.5 s at https://a.example, 2 requests, Retry-After
`
	if got := written(t, s); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
}

// TestWaitsAreAPage: a crawl that waits at many origins does not end with as many
// lines, nor keep them all.
func TestWaitsAreAPage(t *testing.T) {
	s := NewSummary()
	for i := range maxCauses + 10 {
		s.Record(&Entry{Verdict: Forwarded, Origin: fmt.Sprintf("https://%06d.example", i), PaceWait: second, Pace: Pace{Cause: "crawl-delay", Interval: second}})
	}
	got := written(t, s)
	if lines := strings.Count(got, "\n"); lines != summaryRows+2 {
		t.Errorf("it has %d lines:\n%s", lines, got)
	}
	if want := fmt.Sprintf("heed: … and %d s at other origins, %[1]d requests\n", maxCauses+10-summaryRows); !strings.HasSuffix(got, want) {
		t.Errorf("it does not end with %q:\n%s", want, got)
	}
	if len(s.waits.of) > maxCauses {
		t.Errorf("%d causes are kept", len(s.waits.of))
	}
}
