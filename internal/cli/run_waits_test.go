package cli

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/pace"
)

// shared is a text that one writes while another reads.
type shared struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func held(host string, waiting int, longest, interval, next time.Duration) pace.Host {
	return pace.Host{Host: host, Waiting: waiting, Longest: pace.Seconds(longest), Interval: pace.Seconds(interval), Next: pace.Seconds(next), Cause: "crawl-delay"}
}

// TestLinesTellOfLongWaitsNowAndThen: where standard error is no terminal. One of
// a second is told of, then one every half minute at a host.
func TestLinesTellOfLongWaitsNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out shared
		began := time.Now()
		end := tellWaits(&out, func(int) pace.State {
			waited := time.Since(began)
			return pace.State{Hosts: []pace.Host{
				held("a.example", 7, waited, 2*time.Second, 1200*time.Millisecond),
				held("b.example", 1, 500*time.Millisecond, 2*time.Second, time.Second),
			}}
		})
		time.Sleep(900 * time.Millisecond)
		if out.String() != "" {
			t.Errorf("after less than a second: %s", out.String())
		}
		time.Sleep(64 * time.Second)
		end()
		end()
		said := out.String()
		want := "heed: a.example is asked every 2 s (Crawl-delay): 7 requests wait, the next goes in 1.2 s\n"
		if said != strings.Repeat(want, 3) {
			t.Errorf("in a minute and four seconds:\n%s, want three times\n%s", said, want)
		}
	})
}

// TestACrawlThatWaitsAtManyHostsIsNoFlood: so many are named, then it is left to
// the summary.
func TestACrawlThatWaitsAtManyHostsIsNoFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		n := 0
		end := tellWaits(&out, func(limit int) pace.State {
			s := pace.State{}
			for range limit {
				n++
				s.Hosts = append(s.Hosts, held(fmt.Sprintf("%d.example", n), 1, 2*time.Second, 2*time.Second, time.Second))
			}
			return s
		})
		time.Sleep(5 * time.Minute)
		end()
		if lines := strings.Count(out.String(), "\n"); lines != hostsSaid+1 || !strings.HasSuffix(out.String(), "more hosts; the end tells for how long they did\n") {
			t.Errorf("%d lines:\n%s", lines, out.String())
		}
	})
}

func TestWaitsAreToldByTheirCause(t *testing.T) {
	second := pace.Seconds(time.Second)
	for _, row := range []struct {
		host pace.Host
		want string
	}{
		{pace.Host{Waiting: 2, Cause: "request-rate", Interval: 5 * second, Next: 3 * second}, "a.example is asked every 5 s (Request-rate): 2 requests wait, the next goes in 3 s"},
		{pace.Host{Waiting: 1, Cause: "min-interval", Interval: second, Next: second / 2}, "a.example is asked every 1 s (pace.min_interval): 1 request waits, the next goes in 0.5 s"},
		{pace.Host{Waiting: 1, Cause: "retry-after", Held: 90 * second, Told: true, Next: 90 * second, Interval: second}, "a.example asked to be left alone (Retry-After) for 90 s: 1 request waits"},
		{pace.Host{Waiting: 1, Cause: "back-off", Held: 4 * second, Next: 4 * second, Interval: second}, "a.example answered 429 or 503 and is left alone for 4 s: 1 request waits"},
		{pace.Host{Waiting: 3, Cause: "back-off", Next: 4 * second, Interval: 8 * second}, "a.example is asked every 8 s (it answered 429 or 503): 3 requests wait, the next goes in 4 s"},
		{pace.Host{Waiting: 1, Cause: "slow-answers", Next: second, Interval: 2 * second}, "a.example is asked every 2 s (slow answers): 1 request waits, the next goes in 1 s"},
		{pace.Host{Waiting: 9, Cause: "concurrency"}, "a.example has as many requests under way as it may (pace.per_origin): 9 requests wait"},
		{pace.Host{Waiting: 9, Cause: "address", Interval: 2 * second}, "a.example has an address with as many requests under way as it may (pace.per_address): 9 requests wait"},
		{pace.Host{Waiting: 9, Cause: "crawl-delay", Interval: 2 * second}, "a.example is asked every 2 s (Crawl-delay): 9 requests wait"},
	} {
		row.host.Host = "a.example"
		if got := waitText(row.host); got != "heed: "+row.want {
			t.Errorf("%s:\n%s, want\n%s", row.host.Cause, got, "heed: "+row.want)
		}
	}
	for c := pace.Site; c <= pace.Queue; c++ {
		if waitCauses[c.String()]+intervalCauses[c.String()] == "" {
			t.Errorf("there are no words for %s", c)
		}
	}
}
