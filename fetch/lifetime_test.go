package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

var errDown = errors.New("connection refused by the test")

func TestAnAnswerIsFreshFor24Hours(t *testing.T) {
	for _, status := range []int{200, 204, 404} {
		synctest.Test(t, func(t *testing.T) {
			transport := &counted{answer: answers(status, "", "Cache-Control: max-age=31536000")}
			f := newFetcher(t, Config{Transport: transport})
			o := at(t, "a.example")
			start := time.Now()
			s := snapshot(t, f, o)
			if !s.FreshUntil.Equal(start.Add(24*time.Hour)) || !s.Checked.Equal(start) || s.RetryAfter != 0 || s.Attempts != 0 {
				t.Errorf("%d: fresh until %v, checked %v, pause %v, attempts %d", status, s.FreshUntil, s.Checked, s.RetryAfter, s.Attempts)
			}
			time.Sleep(23*time.Hour - 1)
			if snapshot(t, f, o); transport.asked.Load() != 1 {
				t.Errorf("%d: asked again while fresh", status)
			}
			time.Sleep(time.Hour + 1)
			if _, ok := f.Remembered(o, time.Now()); ok {
				t.Errorf("%d: remembered as fresh after 24 hours", status)
			}
			if again := snapshot(t, f, o); transport.asked.Load() != 2 || !again.Checked.Equal(start.Add(24*time.Hour)) {
				t.Errorf("%d: %d requests after 24 hours, want 2", status, transport.asked.Load())
			}
		})
	}
}

func TestAnUnreachableOriginIsAskedAfterGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: fails(errDown)}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		for i, least := range []time.Duration{1, 2, 4, 8, 16, 32, 48, 48} {
			s := snapshot(t, f, o)
			if s.Access != policy.Unreachable || s.Attempts != i+1 || s.Err != errDown.Error() || allowed(s, "/") || s.Rules != nil {
				t.Fatalf("attempt %d: %+v", i+1, s)
			}
			least *= time.Minute
			most := min(least*5/4, time.Hour)
			if s.RetryAfter < least || s.RetryAfter > most {
				t.Fatalf("pause %d is %v, want %v to %v", i+1, s.RetryAfter, least, most)
			}
			time.Sleep(s.RetryAfter - 1)
			if again := snapshot(t, f, o); !reflect.DeepEqual(again, s) || transport.asked.Load() != int64(i+1) {
				t.Fatalf("asked during the pause")
			}
			time.Sleep(1)
		}
		transport.becomes(answers(200, closedFile))
		s := snapshot(t, f, o)
		if s.Access != policy.Successful || s.Attempts != 0 || s.Err != "" || s.RetryAfter != 0 || !allowed(s, "/") {
			t.Errorf("after it came back: %+v", s)
		}
	})
}

func TestRetryAfterIsHonouredUpTo24Hours(t *testing.T) {
	for _, r := range []struct {
		status int
		field  string
		want   time.Duration
	}{
		{429, "120", 2 * time.Minute},
		{503, "7200", 2 * time.Hour},
		{500, "5", 5 * time.Second},
		{503, "999999", 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport := &counted{answer: answers(r.status, closedFile, "Retry-After: "+r.field)}
			f := newFetcher(t, Config{Transport: transport})
			o := at(t, "a.example")
			s := snapshot(t, f, o)
			if s.Access != policy.Unreachable || s.RetryAfter != r.want || allowed(s, "/") {
				t.Errorf("%d, Retry-After %s: %+v", r.status, r.field, s)
			}
			time.Sleep(r.want - 1)
			if snapshot(t, f, o); transport.asked.Load() != 1 {
				t.Errorf("%d, Retry-After %s: asked before", r.status, r.field)
			}
			time.Sleep(1)
			if snapshot(t, f, o); transport.asked.Load() != 2 {
				t.Errorf("%d, Retry-After %s: not asked after", r.status, r.field)
			}
		})
	}
}

func TestTheLastRulesAreUsedOnFor30DaysAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		good := snapshot(t, f, o)
		end := good.Fetched.Add(30 * 24 * time.Hour)
		transport.becomes(answers(503, ""))
		time.Sleep(24 * time.Hour)
		for i := 1; ; i++ {
			s := snapshot(t, f, o)
			if !time.Now().Before(end) {
				break
			}
			if s.Access != policy.Unreachable || s.Status != 503 || s.Err != "status 503" || s.Attempts != i ||
				s.Rules != good.Rules || s.Fetched != good.Fetched || s.StaleSince != good.FreshUntil || s.Size != len(closedFile) {
				t.Fatalf("stale, attempt %d: %+v", i, s)
			}
			if !allowed(s, "/public") || allowed(s, "/private/x") {
				t.Fatal("the last rules are not followed")
			}
			time.Sleep(min(s.RetryAfter, time.Until(end)))
		}
		asked := transport.asked.Load()
		s := snapshot(t, f, o)
		if s.Rules != nil || !s.StaleSince.IsZero() || !s.Fetched.IsZero() || s.Size != 0 || s.Access != policy.Unreachable || allowed(s, "/public") {
			t.Errorf("after 30 days: %+v", s)
		}
		if asked != transport.asked.Load() {
			t.Error("asked twice at the end of the 30 days")
		}
		time.Sleep(365 * 24 * time.Hour)
		if s := snapshot(t, f, o); allowed(s, "/public") {
			t.Error("allowed after a year without an answer")
		}
		if n := f.Stats().Bodies; n != 0 {
			t.Errorf("%d bodies kept", n)
		}
	})
}

func TestRulesThatGetTooOldDuringAPauseAreDroppedWithoutAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport, StaleFor: 25 * time.Hour})
		o := at(t, "a.example")
		snapshot(t, f, o)
		transport.becomes(answers(503, "", "Retry-After: 36000")) // until hour 34
		time.Sleep(24 * time.Hour)
		if s := snapshot(t, f, o); !allowed(s, "/public") {
			t.Errorf("stale: %+v", s)
		}
		time.Sleep(time.Hour)
		s := snapshot(t, f, o)
		if allowed(s, "/public") || s.RetryAfter != 10*time.Hour || s.Attempts != 1 || s.Err != "status 503" {
			t.Errorf("after the rules got too old: %+v", s)
		}
		time.Sleep(9*time.Hour - 1)
		if snapshot(t, f, o); transport.asked.Load() != 2 {
			t.Errorf("%d requests, want 2: the pause of Retry-After was broken", transport.asked.Load())
		}
		time.Sleep(1)
		if snapshot(t, f, o); transport.asked.Load() != 3 {
			t.Error("not asked after the pause")
		}
	})
}

func TestRulesOlderThan30DaysAreNotUsedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile)}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		time.Sleep(30 * 24 * time.Hour)
		transport.becomes(fails(errDown))
		if s := snapshot(t, f, o); s.Rules != nil || allowed(s, "/public") || !s.StaleSince.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

// A fetch that fails in any way leaves the good copy in use; a 404 does not.
func TestWhatReplacesAGoodCopy(t *testing.T) {
	for _, r := range []struct {
		why    string
		then   script
		access policy.Access
		stale  bool
		public bool
	}{
		{"a transfer cut short", cutShort, policy.Unreachable, true, true},
		{"304 that nobody asked for", answers(304, ""), policy.Unreachable, true, true},
		{"206 that nobody asked for", answers(206, "User-agent: *\nDisallow: /\n"), policy.Unreachable, true, true},
		{"a refused redirect", answers(302, "", "Location: file:///x"), policy.Unreachable, true, true},
		{"429", answers(429, ""), policy.Unreachable, true, true},
		{"404", answers(404, ""), policy.Unavailable, false, true},
		{"other rules", answers(200, "User-agent: *\nDisallow: /\n"), policy.Successful, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport := &counted{answer: answers(200, closedFile)}
			f := newFetcher(t, Config{Transport: transport})
			o := at(t, "a.example")
			snapshot(t, f, o)
			time.Sleep(25 * time.Hour)
			transport.becomes(r.then)
			s := snapshot(t, f, o)
			if s.Access != r.access || s.StaleSince.IsZero() == r.stale || allowed(s, "/public") != r.public {
				t.Errorf("%s: %+v", r.why, s)
			}
			if r.stale && allowed(s, "/private/x") {
				t.Errorf("%s: the last rules are not followed", r.why)
			}
		})
	}
}

// There is no copy of nothing: RFC 9309 §2.3.1.4 asks for complete disallow.
func TestAnOriginThatHadNoRobotsTxtIsClosedWhileUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(404, "")}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		time.Sleep(25 * time.Hour)
		transport.becomes(answers(500, ""))
		if s := snapshot(t, f, o); allowed(s, "/") || s.Access != policy.Unreachable {
			t.Errorf("%+v", s)
		}
	})
}

// onTheWay is an error of what lies between heed and an origin.
type onTheWay bool

func (onTheWay) Error() string     { return "a proxy is down" }
func (o onTheWay) Blameless() bool { return bool(o) }

func TestOwnFaultsAreNotRemembered(t *testing.T) {
	for _, fault := range []error{
		fmt.Errorf("dial tcp: %w", syscall.EMFILE),
		syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL, syscall.ENETDOWN,
		dnsError("dial udp 127.0.0.53:53: socket: too many open files", false),
		dnsError("i/o timeout", true),
		dnsError("read udp 127.0.0.1:52656->127.0.0.53:53: read: connection refused", false),
		dnsError("dial udp 192.0.2.53:53: connect: network is unreachable", false),
		fmt.Errorf("connecting: %w", onTheWay(true)),
	} {
		synctest.Test(t, func(t *testing.T) {
			var last Event
			transport := &counted{answer: fails(fault)}
			f := newFetcher(t, Config{Transport: transport, Observe: Observer{Fetched: func(e Event) { last = e }}})
			o := at(t, "a.example")
			s := snapshot(t, f, o)
			if s.Access != policy.Unreachable || allowed(s, "/") || s.Attempts != 0 || s.RetryAfter != time.Second || last.Remembered {
				t.Errorf("%v: %+v", fault, s)
			}
			transport.becomes(answers(200, ""))
			if s := snapshot(t, f, o); s.Access != policy.Successful || transport.asked.Load() != 2 {
				t.Errorf("%v: still remembered: %+v", fault, s)
			}
			// A copy that is there is used on, and nothing of the fault stays.
			time.Sleep(25 * time.Hour)
			transport.becomes(fails(fault))
			if s := snapshot(t, f, o); s.Access != policy.Unreachable || !allowed(s, "/") || s.StaleSince.IsZero() {
				t.Errorf("%v: with a copy: %+v", fault, s)
			}
			transport.becomes(answers(200, ""))
			if s := snapshot(t, f, o); s.Access != policy.Successful {
				t.Errorf("%v: with a copy, still remembered: %+v", fault, s)
			}
		})
	}
}

func TestOtherFaultsOfTheNetworkAreTheOrigins(t *testing.T) {
	for _, fault := range []error{
		errDown, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		dnsError("no such host", false), dnsError("server misbehaving", false), context.DeadlineExceeded,
		onTheWay(false),
	} {
		if ours(fault) {
			t.Errorf("%v counts as heed's own", fault)
		}
	}
	if ours(nil) {
		t.Error("no error counts as heed's own")
	}
}

func TestPause(t *testing.T) {
	l := lifetimes{retryMin: time.Minute, retryMax: time.Hour}
	for _, r := range []struct {
		why        string
		n          int
		retryAfter time.Duration
		jitter     float64
		want       time.Duration
	}{
		{"first, no jitter", 1, 0, 0, time.Minute},
		{"first, half of the jitter", 1, 0, 0.5, time.Minute + 7500*time.Millisecond},
		{"second", 2, 0, 0, 2 * time.Minute},
		{"sixth", 6, 0, 0, 32 * time.Minute},
		{"the cap leaves room for the jitter", 7, 0, 0, 48 * time.Minute},
		{"never above the cap", 7, 0, 1, time.Hour},
		{"no overflow", 1 << 40, 0, 1, time.Hour},
		{"what the origin asked for", 1, 90 * time.Second, 0.9, 90 * time.Second},
		{"less than the usual pause, if it asks for that", 3, time.Second, 0.9, time.Second},
		{"that it asks for, again and again", 4, time.Second, 0, time.Minute},
		{"and again", 6, time.Second, 0, 4 * time.Minute},
		{"more than the usual pause", 7, 20 * time.Hour, 0.9, 20 * time.Hour},
	} {
		if got := l.pause(r.n, r.retryAfter, r.jitter); got != r.want {
			t.Errorf("%s: %v, want %v", r.why, got, r.want)
		}
	}
	equal := lifetimes{retryMin: time.Minute, retryMax: time.Minute}
	if got := equal.pause(3, 0, 0.9); got != time.Minute {
		t.Errorf("equal bounds: %v", got)
	}
}

func TestADeadlineHasPassedWhenEitherClockSaysSo(t *testing.T) {
	now := momentOf(time.Now())
	const hour = int64(time.Hour)
	for _, r := range []struct {
		why      string
		now      moment
		deadline moment
		want     bool
	}{
		{"before, by both", now, now.plus(1), false},
		{"at the deadline", now, now, true},
		{"after, by both", now.plus(1), now, true},
		{"no deadline", now, moment{}, true},
		{"the machine slept", moment{now.wall + 2*hour, now.mono}, now.plus(time.Hour), true},
		{"the clock was set back", moment{now.wall - 24*hour, now.mono + hour}, now.plus(time.Hour), true},
		{"the clock was set back, and the time is not over", moment{now.wall - 24*hour, now.mono + hour - 1}, now.plus(time.Hour), false},
	} {
		if got := r.deadline.over(r.now); got != r.want {
			t.Errorf("%s: %v", r.why, got)
		}
	}
}

func TestNegativeStaleForMeansThatNoCopyIsUsedOn(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{-1: 0, 0: DefaultStaleFor, time.Hour: time.Hour} {
		if got := staleFor(d); got != want {
			t.Errorf("%v becomes %v, want %v", d, got, want)
		}
	}
}

// A fault of heed's own on the way on from an origin that redirected says
// nothing about it either; but it was asked, and is not at every request.
func TestAnOriginThatRedirectedIsNotAskedAtOnceAfterAnOwnFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		broken := true
		f := newFetcher(t, Config{Transport: script(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.URL.Host == "a.example":
				asked++
				return response(302, "", "Location: https://b.example/"), nil
			case broken:
				return nil, dnsError("i/o timeout", true)
			}
			return response(200, ""), nil
		})})
		o := at(t, "a.example")
		for range 1000 {
			if s := snapshot(t, f, o); s.Access != policy.Unreachable || allowed(s, "/") || s.Attempts != 0 {
				t.Fatalf("%+v", s)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if asked > 10 {
			t.Errorf("%d requests in ten seconds, want ten at most", asked)
		}
		broken = false
		time.Sleep(time.Second)
		if s := snapshot(t, f, o); s.Access != policy.Successful {
			t.Errorf("still remembered: %+v", s)
		}
	})
}
