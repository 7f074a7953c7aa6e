package policy_test

import (
	"testing"
	"time"

	"heed/policy"
)

// FuzzPace compares what a Pace says with a naive reading, minute by minute, of
// the records that RecordsFor finds.
func FuzzPace(f *testing.F) {
	for _, seed := range []struct {
		body, main, also string
		at               time.Duration
	}{
		{everyone + "Crawl-delay: 0.5\nRequest-rate: 1/10m 1300-1659\nVisit-time: 2200-0559\n", "a", "", 14 * time.Hour},
		{"Crawl-delay: 1\nUser-agent: a\nCrawl-delay: 2\nUser-agent: b\nDisallow: /\nVisit-time: 0600-0845\nUser-agent: A\nAllow:\nVisit-time: 0900-1000\nCrawl-delay: 1e9\n", "a", "b", 7 * time.Hour},
		{everyone + "Visit-time: 0600-0700\n\nUser-agent: b\nVisit-time: 0700-0800\nDisallow:\n", "", "b", 0},
		{everyone + "Crawl-delay: 100000\nCrawl-delay: 99999999999999999999\nRequest-rate: 3/1\nRequest-rate: 1/25h 0000-0000\n", "*", "*", -1},
		{"user-agent *\rcrawl-delay 3\rcrawl-delay -1\rvisit-time 2500-9999\rrequest-rate 0/0", "b", "", 1},
		{everyone + "Visit-time: 0000-0001\nVisit-time: 2359-0000\nVisit-time: 1200-1200\n", "", "", 24*time.Hour - 1},
		{"User-agent: a\nRequest-rate: 1/1 0000-0001\nAllow:\nUser-agent: a\nRequest-rate: 1/2 0000-0001\nAllow:\nUser-agent: a\nRequest-rate: 1/3 0000-0001\nAllow:\nUser-agent: a\nRequest-rate: 1/4 0000-0001\n" +
			"Allow:\nUser-agent: a\nRequest-rate: 1/5 0000-0001\nAllow:\nUser-agent: a\nRequest-rate: 1/6 0000-0001\nAllow:\nUser-agent: a\nRequest-rate: 1/7 0000-0001\n", "a", "", 0},
	} {
		for dialect := range policy.Dialects() {
			f.Add([]byte(seed.body), seed.main, seed.also, int64(seed.at), uint8(dialect))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, main, also string, at int64, dialect uint8) {
		d := policy.Dialects()[int(dialect)%len(policy.Dialects())]
		p := policy.Compile(body, policy.Options{Dialect: d})
		who := policy.Tokens{Also: []string{also}}
		if main != "" {
			who.Main = []string{main, also}
		}
		asked := p.Pace(who)
		if asked != p.Pace(who) {
			t.Fatal("asked again it is another")
		}
		now := ((time.Duration(at) % day) + day) % day
		want := naivePace(p, d, who)

		interval, line, key := asked.Interval(time.Duration(at))
		wantInterval, wantLine, wantKey := want.interval(now)
		wait, opening := asked.Opens(time.Duration(at))
		wantWait, wantOpening := want.opens(now)
		if want.timed() > 6 { // it may then be held to all groups of the file
			if interval < wantInterval || wait < wantWait {
				t.Errorf("%v by line %d, opens in %v by line %d; want no less than %v and %v", interval, line, wait, opening, wantInterval, wantWait)
			}
			return
		}
		if interval != wantInterval || line != wantLine || key != wantKey {
			t.Errorf("%v by line %d (%s), want %v by line %d (%s)", interval, line, key, wantInterval, wantLine, wantKey)
		}
		if wait != wantWait || opening != wantOpening {
			t.Errorf("opens in %v by line %d, want %v by line %d", wait, opening, wantWait, wantOpening)
		}
		if line > 0 && asked.Text(line) == "" || opening > 0 && asked.Text(opening) == "" {
			t.Errorf("lines %d and %d have no text", line, opening)
		}
	})
}

const day = 24 * time.Hour

// naive is the records of each name's groups.
type naive [][]policy.Record

// naivePace asks for each name by itself, as Snapshot.Decide does.
func naivePace(p *policy.Policy, d policy.Dialect, t policy.Tokens) (n naive) {
	add := func(name string) {
		var records []policy.Record
		for r := range p.RecordsFor([]string{name}) {
			records = append(records, r)
		}
		n = append(n, records)
	}
	main := t.Main
	if len(main) == 0 {
		main = []string{"*"}
	}
	for _, name := range main {
		add(name)
	}
	for _, name := range t.Also {
		if (d == policy.RFC9309 || d == policy.Google) && p.Names(name) {
			add(name)
		}
	}
	return n
}

// timed is how many records have hours, or might.
func (n naive) timed() (count int) {
	for _, records := range n {
		for _, r := range records {
			if r.Kind == policy.RequestRate || r.Kind == policy.VisitTime {
				count++
			}
		}
	}
	return count
}

func (n naive) interval(now time.Duration) (longest time.Duration, line int, key policy.Kind) {
	for _, records := range n {
		for _, r := range records {
			d, ok := naiveInterval(r, now)
			if d = min(d, day); ok && (line == 0 || d > longest || d == longest && r.Line < line) {
				longest, line, key = d, r.Line, r.Kind
			}
		}
	}
	return longest, line, key
}

func naiveInterval(r policy.Record, now time.Duration) (time.Duration, bool) {
	switch r.Kind {
	case policy.CrawlDelay:
		d, err := policy.ParseCrawlDelay(r.Value)
		return d, err == nil
	case policy.RequestRate:
		rate, err := policy.ParseRequestRate(r.Value)
		if err != nil || !rate.Window.Contains(now) {
			return 0, false
		}
		return rate.Interval(), true
	}
	return 0, false
}

func (n naive) opens(now time.Duration) (wait time.Duration, line int) {
	if n.open(now) {
		return 0, 0
	}
	first := func(fits func(policy.Hours) bool) (line int) {
		for _, records := range n {
			for _, v := range visits(records) {
				if (line == 0 || v.line < line) && fits(v.Hours) {
					line = v.line
				}
			}
		}
		return line
	}
	for then := now.Truncate(time.Minute) + time.Minute; then < now+day; then += time.Minute {
		if n.open(then % day) {
			return then - now, first(func(v policy.Hours) bool { return v.From == then%day && v.From != v.To })
		}
	}
	return day, first(func(v policy.Hours) bool { return !v.Contains(now) })
}

func (n naive) open(now time.Duration) bool {
	for _, records := range n {
		all := visits(records)
		open := len(all) == 0
		for _, v := range all {
			open = open || v.Contains(now)
		}
		if !open {
			return false
		}
	}
	return true
}

type visit struct {
	policy.Hours
	line int
}

func visits(records []policy.Record) (all []visit) {
	for _, r := range records {
		if v, err := policy.ParseVisitTime(r.Value); err == nil && r.Kind == policy.VisitTime {
			all = append(all, visit{v, r.Line})
		}
	}
	return all
}
