package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// valuesOfRobots: what a robots.txt asks for, well or badly written, as the gaps
// that the origin sees.
var valuesOfRobots = []scenario{
	{"that ask for an interval", intervalsOfValues},
	{"of Visit-time", visitTimes},
}

// hours is a Visit-time around a time of day.
func hours(now time.Time, from, to time.Duration) string {
	now = now.UTC()
	return now.Add(from).Format("1504") + "-" + now.Add(to).Format("1504")
}

func intervalsOfValues(t *testing.T) {
	const none = -1
	rows := []struct {
		why, records string
		interval     time.Duration // between requests; none: they may come at once
	}{
		{"a fraction", "Crawl-delay: 0.5", 500 * time.Millisecond},
		{"a rate", "Request-rate: 1/3", 3 * time.Second},
		{"a rate of several is spaced evenly", "Request-rate: 3/3", time.Second},
		{"the longer of both counts", "Crawl-delay: 1\nRequest-rate: 1/2", 2 * time.Second},
		{"two in one group: the longer counts", "Crawl-delay: 2\nCrawl-delay: 1", 2 * time.Second},
		{"two in one group, the other way round", "Crawl-delay: 1\nCrawl-delay: 2", 2 * time.Second},
		{"two groups for one client count as one", "Crawl-delay: 1\n\nUser-agent: *\nCrawl-delay: 2", 2 * time.Second},
		{"its own group counts, not that for others", "Crawl-delay: 5\nDisallow: /private\n\nUser-agent: ExampleBot\nCrawl-delay: 1", time.Second},
		{"names without a rule between them are of one group", "Crawl-delay: 2\n\nUser-agent: ExampleBot\nCrawl-delay: 1", 2 * time.Second},
		{"a rate in its hours", "Request-rate: 1/2 " + hours(time.Now(), -time.Hour, time.Hour), 2 * time.Second},
		{"a rate out of its hours", "Request-rate: 1/2 " + hours(time.Now(), 2*time.Hour, 3*time.Hour), none},
		{"nothing", "Disallow: /private", none},
		{"zero", "Crawl-delay: 0", none},
		{"a negative number decides nothing", "Crawl-delay: -1", none},
		{"an exponent decides nothing", "Crawl-delay: 1e9", none},
		{"a word decides nothing", "Crawl-delay: abc", none},
		{"a tenth of a millisecond", "Crawl-delay: 0.0001", none},
		{"a bad one beside a good one", "Crawl-delay: abc\nCrawl-delay: 1", time.Second},
		{"a rate of nothing decides nothing", "Request-rate: 0/0", none},
		{"a rate in no time decides nothing", "Request-rate: 1/0", none},
		{"hours that there are not decide nothing", "Visit-time: 2500-9999", none},
	}
	robots := map[string]string{}
	host := func(i int) string { return fmt.Sprintf("value%d.example", i) }
	for i, r := range rows {
		robots[host(i)] = "User-agent: *\n" + r.records + "\n"
	}
	p := newPaced(t, robots, nil, "hold: 20s\n")
	ctx := within(t, time.Minute)
	var all sync.WaitGroup
	for i, r := range rows {
		a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
		all.Go(func() {
			for _, path := range numbered("/", 4) {
				if got := a.insist(ctx, "http://"+host(i)+path); got.status != 200 || got.err != nil {
					t.Errorf("%s: %d, %v", r.why, got.status, got.err)
				}
			}
			visits := p.visits(host(i))
			if len(visits) != 5 {
				t.Errorf("%s: %d requests came, want 5", r.why, len(visits))
				return
			}
			for n := 1; n < len(visits); n++ {
				gap := visits[n].at.Sub(visits[n-1].at)
				switch {
				case r.interval == none && gap > 5*time.Second, r.interval != none && gap < r.interval-measured:
					t.Errorf("%s (%q): a gap of %v, want %v", r.why, r.records, gap, r.interval)
				}
			}
			// It is no longer than it has to be either, on the whole.
			if took, want := visits[4].at.Sub(visits[0].at), 4*max(r.interval, 0); took > want+5*time.Second {
				t.Errorf("%s (%q): five requests took %v, want %v", r.why, r.records, took, want)
			}
			t.Logf("%s: five requests in %v", r.why, visits[4].at.Sub(visits[0].at).Round(time.Millisecond))
		})
	}
	all.Wait()

	long := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	p.origin.mu.Lock()
	p.origin.robots["long.example"] = "User-agent: *\nCrawl-delay: 1000000000\n"
	p.origin.mu.Unlock()
	got := long.get(ctx, "http://long.example/")
	if got.status != 429 || got.retry() < 25*time.Second || got.retry() > 30*time.Second {
		t.Errorf("Crawl-delay: 1000000000: %d, Retry-After %v; want 429 and the 30 s of pace.max_delay", got.status, got.retry())
	}
	if v := p.visits("long.example"); len(v) != 1 {
		t.Errorf("%d requests came, want that for robots.txt alone", len(v))
	}
}

func visitTimes(t *testing.T) {
	now := time.Now()
	opens := now.UTC().Add(2 * time.Hour).Truncate(time.Minute)
	p := newPaced(t, map[string]string{
		"closed.example": "User-agent: *\nVisit-time: " + hours(now, 2*time.Hour, 3*time.Hour) + "\n",
		"open.example":   "User-agent: *\nVisit-time: " + hours(now, -2*time.Hour, 2*time.Hour) + "\n",
		"mixed.example":  "User-agent: *\nVisit-time: " + hours(now, 2*time.Hour, 3*time.Hour) + "\nCrawl-delay: 1\nDisallow: /private\n\nUser-agent: OtherBot\nDisallow:\n",
	}, nil, "")
	ctx := within(t, time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	for _, scheme := range []string{"http", "https"} {
		for _, host := range []string{"closed.example", "mixed.example"} {
			got := a.get(ctx, scheme+"://"+host+"/page")
			until := time.Until(opens)
			if got.status != http.StatusTooManyRequests || got.retry() < until-2*time.Second || got.retry() > until+2*time.Second {
				t.Errorf("%s://%s: %d, Retry-After %v, %v; want 429 and its opening in %v", scheme, host, got.status, got.retry(), got.err, until)
			}
			if d := got.fields.Get("Robots-Decision"); !strings.HasPrefix(d, "paced;") || !strings.Contains(d, "visit-time") {
				t.Errorf("%s: Robots-Decision: %s", host, d)
			}
			if v := p.visits(host, "/page"); len(v) > 0 {
				t.Errorf("%s was visited out of its hours: %+v", host, v)
			}
		}
	}
	if got := a.get(ctx, "http://open.example/page"); got.status != 200 {
		t.Errorf("in its hours: %d, %s", got.status, got.body)
	}
	if got := a.insist(ctx, "http://closed.example/robots.txt"); got.status != 200 {
		t.Errorf("robots.txt out of the hours: %d; it may always be asked for", got.status)
	}
	other := p.newAsker(t, "127.0.0.1", "OtherBot/1.0", http11)
	if got := other.insist(ctx, "http://mixed.example/other"); got.status != 200 {
		t.Errorf("a client whose group has no hours: %d, %s", got.status, got.body)
	}
}
