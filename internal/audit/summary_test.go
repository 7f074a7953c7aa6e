package audit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"heed/policy"
)

func written(t *testing.T, s *Summary) string {
	t.Helper()
	var b strings.Builder
	n, err := s.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Errorf("WriteTo: %d, %v; %d octets were written", n, err, b.Len())
	}
	return b.String()
}

func byRule(origin, value string, line int) *Entry {
	return &Entry{Origin: origin, Reason: "disallowed", Decision: policy.Decision{Reason: policy.ReasonRule, Value: value, Line: line}}
}

func TestSummary(t *testing.T) {
	s := NewSummary()
	for range 3 {
		s.Record(byRule("https://b.example", "/x", 2))
	}
	for range 2 {
		s.Record(byRule("https://a.example", "/private/", 12))
	}
	s.Record(&Entry{Origin: "https://a.example", Reason: "robots-unreachable"})
	s.Record(&Entry{Reason: "bad-request"})
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://a.example", Reason: "allowed"})
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://a.example", Reason: "connection-refused", Err: "refused"})
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://a.example", Reason: "client-gone", Err: "it went away"})
	s.Record(&Entry{Verdict: Answered, Origin: "https://a.example", Channel: Connect})
	want := `heed: 10 requests, 3 forwarded, 7 denied
heed: 2 of the forwarded had no whole answer
  3  https://b.example  Disallow: /x (line 2)
  2  https://a.example  Disallow: /private/ (line 12)
  1  (no origin)        bad-request
  1  https://a.example  robots-unreachable
`
	if got := written(t, s); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
}

func TestSummaryTellsWhatReportModeForwarded(t *testing.T) {
	s := NewSummary()
	reported := func(e *Entry) *Entry {
		e.Verdict, e.Report, e.Denial = Forwarded, true, Denial{Reason: e.Reason}
		return e
	}
	for range 2 {
		s.Record(reported(byRule("https://a.example", "/x", 2)))
	}
	s.Record(byRule("https://a.example", "/x", 2)) // of a client whose mode is enforce
	late := reported(&Entry{Origin: "https://a.example", Reason: "robots-pending"})
	late.Reason, late.Err = "connection-refused", "refused"
	s.Record(late)
	paced := reported(&Entry{Origin: "https://b.example", Reason: "paced"})
	paced.Decision = policy.Decision{Allowed: true, Reason: policy.ReasonRule, Value: "/x", Line: 3} // which is not why
	s.Record(paced)
	s.Record(&Entry{Verdict: Forwarded, Origin: "https://a.example", Reason: "allowed"})
	want := `heed: 6 requests, 5 forwarded (4 of them only because of report mode), 1 denied
heed: 1 of the forwarded had no whole answer
  2  https://a.example  Disallow: /x (line 2), forwarded in report mode
  1  https://a.example  Disallow: /x (line 2)
  1  https://a.example  robots-pending, forwarded in report mode
  1  https://b.example  paced, forwarded in report mode
`
	if got := written(t, s); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
}

func TestSummaryTellsTheOperatorsWordFromTheSites(t *testing.T) {
	s := NewSummary()
	e := byRule("https://a.example", "/x", 2)
	e.Decision.Override = &policy.Override{Action: policy.UseOperatorsRules, File: "our-robots.txt"}
	s.Record(e)
	s.Record(&Entry{Origin: "https://b.example", Reason: "override", Decision: policy.Decision{Reason: policy.ReasonOverride, Override: &policy.Override{Reason: "they asked"}}})
	want := `heed: 2 requests, 0 forwarded, 2 denied
  1  https://a.example  Disallow: /x (line 2) of the operator's our-robots.txt
  1  https://b.example  by the operator: they asked
`
	if got := written(t, s); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
}

func TestSummaryNamesTheDialectThatDenied(t *testing.T) {
	s := NewSummary()
	s.Record(byRule("https://a.example", "/x", 2))
	e := byRule("https://a.example", "/x", 2)
	e.Decision.Dialect = "robotstxt"
	s.Record(e)
	s.Record(&Entry{Origin: "https://b.example", Reason: "robots-restricted", Decision: policy.Decision{Reason: policy.ReasonRestricted, Dialect: "rerp"}})
	want := `heed: 3 requests, 0 forwarded, 3 denied
  1  https://a.example  Disallow: /x (line 2)
  1  https://a.example  Disallow: /x (line 2) as robotstxt reads it
  1  https://b.example  robots-restricted
`
	if got := written(t, s); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	if got, want := written(t, NewSummary()), "heed: 0 requests, 0 forwarded, 0 denied\n"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

// TestSummaryIsAPage: a crawl of many origins does not end with as many lines.
func TestSummaryIsAPage(t *testing.T) {
	s := NewSummary()
	for i := range maxCauses + 10 {
		s.Record(byRule(fmt.Sprintf("https://%06d.example", i), "/", 1))
	}
	got := written(t, s)
	if lines := strings.Count(got, "\n"); lines != summaryRows+2 {
		t.Errorf("it has %d lines:\n%s", lines, got)
	}
	if want := fmt.Sprintf("… and %d denials of other origins and rules\n", maxCauses+10-summaryRows); !strings.Contains(got, want) {
		t.Errorf("it does not end with %q:\n%s", want, got)
	}
	if len(s.denied) > maxCauses {
		t.Errorf("%d causes are kept", len(s.denied))
	}
}

// TestSummaryIsFitForATerminal: the text of a rule is the site's, and may hold
// any octet.
func TestSummaryIsFitForATerminal(t *testing.T) {
	s := NewSummary()
	s.Record(byRule("https://a.example", "/\x1b]0;owned\x07\x9b2J\t\v\u202e\xff"+strings.Repeat("x", 16<<10), 3))
	got := written(t, s)
	for _, r := range got {
		if r < ' ' && r != '\n' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0x202e {
			t.Errorf("it holds %U: %q", r, got)
		}
	}
	if len(got) > 500 {
		t.Errorf("it has %d octets", len(got))
	}
	if !strings.Contains(got, "(line 3)") {
		t.Errorf("it does not name the line: %q", got)
	}
}

type broken struct{ after int }

func (b *broken) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestSummarySaysThatItCouldNotBeWritten(t *testing.T) {
	s := NewSummary()
	s.Record(byRule("https://a.example", "/", 1))
	for _, after := range []int{0, 60} {
		if _, err := s.WriteTo(&broken{after}); err == nil {
			t.Errorf("no error of a writer that takes %d octets", after)
		}
	}
}

func TestSummaryIsSafeForConcurrentUse(t *testing.T) {
	s := NewSummary()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				s.Record(byRule("https://a.example", "/", 1))
				_ = written(t, s)
			}
		})
	}
	all.Wait()
	if got := written(t, s); !strings.HasPrefix(got, "heed: 2000 requests, 0 forwarded, 2000 denied\n") {
		t.Errorf("the summary is %s", got)
	}
}
