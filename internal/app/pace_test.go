package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
	"heed/internal/config"
)

const (
	curl = "curl/8.5.0" // is held for 3 s
	wget = "Wget/1.21"  // for two minutes
)

// TestARobotsTxtThatWaitsForItsTurnHoldsNobodyForLongerThanAPage: a site that is
// known by http is asked for by https, whose robots.txt is not.
func TestARobotsTxtThatWaitsForItsTurnHoldsNobodyForLongerThanAPage(t *testing.T) {
	atSite(t, 8, nil, func(s *site) {
		if a := s.get("http://a.example/1", wget, 0); a.status != 200 {
			t.Fatalf("%d: %s", a.status, a.body)
		}
		a := s.get("https://a.example/2", curl, 5*time.Second)
		if a.status != 429 || a.took != 0 || a.retry != 16*time.Second {
			t.Errorf("%d after %v, Retry-After %v: %v", a.status, a.took, a.retry, a.err)
		}
		if field := a.header.Get("Robots-Decision"); !strings.HasPrefix(field, `paced;reason="crawl-delay";interval=8.000;retry=16;agent="curl";robots="https://a.example/robots.txt";id="`) {
			t.Errorf("Robots-Decision: %s", field)
		}
		if e := s.last(); e.Reason != "paced" || e.Pace.Cause != "crawl-delay" || e.Pace.Until.IsZero() || e.RobotsWait != 0 || e.PaceWait != 0 {
			t.Errorf("recorded as %s, %+v, after %v and %v", e.Reason, e.Pace, e.RobotsWait, e.PaceWait)
		}
		time.Sleep(a.retry)
		if a := s.get("https://a.example/2", curl, 5*time.Second); a.status != 200 || a.took > time.Second {
			t.Errorf("who comes back: %d after %v: %s %v", a.status, a.took, a.body, a.err)
		}
		if got, want := s.visits(), "0 http /robots.txt, 8 http /1, 16 https /robots.txt, 24 https /2"; got != want {
			t.Errorf("it went %s; want %s", got, want)
		}
	})
}

// TestWhoIsHeldForLongWaitsForTheTurnOfARobotsTxtToo, for longer than robots.wait.
func TestWhoIsHeldForLongWaitsForTheTurnOfARobotsTxtToo(t *testing.T) {
	atSite(t, 15, nil, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		a := s.get("https://a.example/2", wget, 0)
		if a.status != 200 || a.took < 30*time.Second || a.took > 31*time.Second {
			t.Errorf("%d after %v: %s", a.status, a.took, a.body)
		}
		if e := s.last(); e.PaceWait < 30*time.Second || e.PaceWait > 31*time.Second || e.RobotsWait > time.Second || e.Pace.Cause != "crawl-delay" {
			t.Errorf("recorded as waiting %v for its turn (%+v), %v for robots.txt", e.PaceWait, e.Pace, e.RobotsWait)
		}
		a = s.get("https://a.example/private", wget, 0)
		if e := s.last(); a.status != 403 || e.PaceWait != 0 || e.Pace != (audit.Pace{}) {
			t.Errorf("%d, %+v", a.status, e.Pace)
		}
	})
}

// TestARuleThatIsWaitedForIsToldWithTheWait.
func TestARuleThatIsWaitedForIsToldWithTheWait(t *testing.T) {
	atSite(t, 15, nil, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		a := s.get("https://a.example/private", wget, 0)
		if e := s.last(); a.status != 403 || e.PaceWait < 14*time.Second || e.Pace.Cause != "crawl-delay" || e.Pace.Interval != 15*time.Second {
			t.Errorf("%d, %v, %+v", a.status, e.PaceWait, e.Pace)
		}
	})
}

// TestTheTimeForARobotsTxtBeginsWithItsTurn: one that is slow is waited for as
// long as any.
func TestTheTimeForARobotsTxtBeginsWithItsTurn(t *testing.T) {
	atSite(t, 15, nil, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		s.slow = time.Minute
		a := s.get("https://a.example/2", wget, 0)
		if a.status != 503 || a.took < 25*time.Second || a.took > 26*time.Second {
			t.Errorf("%d after %v: %s", a.status, a.took, a.body)
		}
		if e := s.last(); e.RobotsWait < 9*time.Second || e.RobotsWait > 10*time.Second {
			t.Errorf("waited %v for robots.txt, %v for its turn", e.RobotsWait, e.PaceWait)
		}
	})
}

// TestAnOriginThatWantsToBeLeftAloneIsToldOfAtOnce, though its robots.txt of
// another scheme is not known.
func TestAnOriginThatWantsToBeLeftAloneIsToldOfAtOnce(t *testing.T) {
	short := func(c *config.Config) { c.Pace.Hold = config.Duration(200 * time.Millisecond) }
	for retry, want := range map[time.Duration]string{5 * time.Second: "retry-after", 50 * time.Second: "retry-after"} {
		atSite(t, 0, short, func(s *site) {
			s.busy = retry
			if a := s.get("https://a.example/1", curl, 0); a.status != 429 {
				t.Fatal(a.status)
			}
			a := s.get("http://a.example/2", curl, 5*time.Second)
			if a.status != 429 || a.took != 0 || a.retry < retry || !strings.Contains(a.header.Get("Robots-Decision"), `paced;reason="`+want+`"`) {
				t.Errorf("%d after %v, Retry-After %v, %v", a.status, a.took, a.retry, a.header)
			}
			if a := s.get("http://a.example/3", wget, 0); a.status != 200 || a.took < retry-time.Second {
				t.Errorf("who is held for longer: %d after %v: %s", a.status, a.took, a.body)
			}
		})
	}
}

// TestAClientThatAsksForRobotsTxtItselfIsHeldForItsTurn, which is that of heed's
// own fetch before it.
func TestAClientThatAsksForRobotsTxtItselfIsHeldForItsTurn(t *testing.T) {
	atSite(t, 8, nil, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		a := s.get("https://a.example/robots.txt", curl, 5*time.Second)
		if a.status != 429 || a.took != 0 || a.retry != 16*time.Second || !strings.Contains(a.header.Get("Robots-Decision"), `paced;reason="crawl-delay"`) {
			t.Fatalf("%d after %v, Retry-After %v: %v", a.status, a.took, a.retry, a.err)
		}
		if a := s.get("https://a.example/robots.txt", wget, 0); a.status != 200 {
			t.Errorf("who is held for longer: %d: %s", a.status, a.body)
		}
		if got, want := s.visits(), "0 http /robots.txt, 8 http /1, 16 https /robots.txt, 24 https /robots.txt"; got != want {
			t.Errorf("it went %s; want %s", got, want)
		}
	})
}

// TestWhoGoesAwayWaitsNoLonger for the turn of a robots.txt.
func TestWhoGoesAwayWaitsNoLonger(t *testing.T) {
	atSite(t, 15, nil, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		if a := s.get("https://a.example/2", wget, 5*time.Second); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("%d: %v", a.status, a.err)
		}
		time.Sleep(time.Millisecond)
		if e := s.last(); e.Reason != "client-gone" || e.PaceWait < 4*time.Second || e.Duration > 6*time.Second {
			t.Errorf("recorded as %s after %v, of which %v for its turn", e.Reason, e.Duration, e.PaceWait)
		}
	})
}

// TestReportModeForwardsWhatTheTurnOfARobotsTxtWouldRefuse, at once, and marks it.
func TestReportModeForwardsWhatTheTurnOfARobotsTxtWouldRefuse(t *testing.T) {
	report := func(c *config.Config) { c.Mode = config.Report }
	atSite(t, 8, report, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		a := s.get("https://a.example/private", curl, 5*time.Second)
		if field := a.header.Get("Robots-Decision"); a.status != 200 || a.took != 0 || !strings.HasPrefix(field, `paced;report;reason="crawl-delay";interval=8.000;`) {
			t.Errorf("%d after %v, %s", a.status, a.took, field)
		}
		if e := s.last(); !e.Report || e.Reason != "paced" || e.IsPacedToo() {
			t.Errorf("recorded as %s, %+v", e.Reason, e.Denial)
		}
	})
}

// TestReportModeMarksWhatCameTooSoonBesides being disallowed: its hold was used up
// by the turn of its robots.txt.
func TestReportModeMarksWhatCameTooSoonBesides(t *testing.T) {
	report := func(c *config.Config) { c.Mode = config.Report }
	atSite(t, 2, report, func(s *site) {
		s.get("http://a.example/1", wget, 0)
		a := s.get("https://a.example/private", curl, 5*time.Second)
		field := a.header.Get("Robots-Decision")
		if a.status != 200 || !strings.HasPrefix(field, `disallowed;report;reason="rule";`) || !strings.Contains(field, `;paced="crawl-delay";interval=2.000;`) {
			t.Errorf("%d after %v, %s", a.status, a.took, field)
		}
		if e := s.last(); e.Reason != "disallowed" || !e.IsPacedToo() || e.PaceWait < 1900*time.Millisecond {
			t.Errorf("recorded as %s, %+v, after %v", e.Reason, e.Pace, e.PaceWait)
		}
	})
}
