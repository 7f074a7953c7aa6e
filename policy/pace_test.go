package policy_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"heed/policy"
)

func paceOf(robots string, t policy.Tokens) policy.Pace {
	return policy.Compile([]byte(robots), policy.Options{}).Pace(t)
}

// TestEveryValueHasItsInterval has each value that anyone may write, for better
// or worse, in line 2.
func TestEveryValueHasItsInterval(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		record, reason string
		want           time.Duration
	}{
		{"Crawl-delay: 10", "seconds", 10 * time.Second},
		{"crawl-DELAY 10", "a key in any case, the colon forgiven as that of rules is", 10 * time.Second},
		{"Crawl-delay: 0.0001", "it is obeyed, though nobody will notice", 100 * time.Microsecond},
		{"Crawl-delay: 0", "no pause, and it is said by which line", 0},
		{"Crawl-delay: 86400", "a day", 24 * time.Hour},
		{"Crawl-delay: 1000000000", "31 years are taken for a day: hardly any requests are wanted", 24 * time.Hour},
		{"Crawl-delay: " + strings.Repeat("9", 400), "no number is too long for that", 24 * time.Hour},
		{"Crawl-delay: -1", "cannot be read", none},
		{"Crawl-delay: 1e9", "not digits: cannot be read", none},
		{"Crawl-delay: abc", "cannot be read", none},
		{"Crawl-delay:", "empty: cannot be read", none},
		{"Crawl-delay: 10s", "a unit would have to be guessed, as in 10m", none},
		{"Crawl-delay: 5 seconds", "the same", none},
		{"Crawl-delay: 0,5", "a comma is the point of some and parts the thousands of others", none},
		{"Crawl-delay: +1", "not digits", none},
		{"Request-rate: 1/10m", "a rate spaced evenly", 10 * time.Minute},
		{"Request-rate: 30/1m", "two seconds", 2 * time.Second},
		{"Request-rate: 1/25h", "more than a day is a day", 24 * time.Hour},
		{"Request-rate: 0/0", "cannot be read", none},
		{"Request-rate: 1/0", "cannot be read", none},
		{"Request-rate: 0/5", "nothing at all is for a Disallow to say", none},
		{"Request-rate: 1/5 2500-9999", "at hours that there are not: cannot be read", none},
		{"Request-rate: 1/5 0000-0000", "the whole day", 5 * time.Second},
		{"Request-rate: 1/5 1100-1259", "it is noon", 5 * time.Second},
		{"Request-rate: 1/5 2200-0559", "it is noon", none},
		{"Visit-time: 1100-1259", "asks for no interval", none},
	} {
		robots := everyone + c.record + "\nDisallow: /x\n"
		p := paceOf(robots, policy.Tokens{})
		d, line, key := p.Interval(12 * time.Hour)
		if c.want == none {
			if d != 0 || line != 0 || key != policy.Blank {
				t.Errorf("%.40q (%s): %v by line %d (%s), want none", c.record, c.reason, d, line, key)
			}
			continue
		}
		if d != c.want || line != 2 || !strings.HasPrefix(strings.ToLower(c.record), key.String()) {
			t.Errorf("%.40q (%s): %v by line %d (%s), want %v by line 2", c.record, c.reason, d, line, key, c.want)
		}
		if text := strings.Replace(c.record, "DELAY 10", "DELAY: 10", 1); p.Text(line) != text {
			t.Errorf("the text of line 2 is %.40q, want %.40q", p.Text(line), text)
		}
	}
}

func TestThePaceIsTheLongestOfTheGroupsThatCount(t *testing.T) {
	const robots = "Crawl-delay: 99\nUser-agent: one\nCrawl-delay: 2\nUser-agent: two\nDisallow: /\n\n" + // lines 1–6
		"User-agent: *\nDisallow: /\nCrawl-delay: 3\n\nUser-agent: three\nDisallow: /\nCrawl-delay: 4\nRequest-rate: 1/5\n\n" + // 7–15
		"User-agent: One\nAllow: /\nCrawl-delay: abc\nCrawl-delay: 7\nCrawl-delay: 6\n\nUser-agent: free\nDisallow: /x\n" // 16–22
	for _, c := range []struct {
		reason     string
		main, also []string
		want       time.Duration // seconds
		line       int
	}{
		{"the longest of both groups that name it", []string{"ONE"}, nil, 7, 19},
		{"a record between user-agent lines is all those agents'", []string{"two"}, nil, 2, 3},
		{"the group for everyone", []string{"other"}, nil, 3, 9},
		{"nobody in particular", nil, nil, 3, 9},
		{"the same by its name", []string{"*"}, nil, 3, 9},
		{"a Request-rate that is longer than the Crawl-delay", []string{"three"}, nil, 5, 14},
		{"a group that asks for nothing, whatever that for everyone does", []string{"free"}, nil, 0, 0},
		{"each of several main tokens counts", []string{"free", "two", "three"}, nil, 5, 14},
		{"one without a group by that for everyone", []string{"two", "other", "another"}, nil, 3, 9},
		{"a further name can make it longer", []string{"other"}, []string{"three"}, 5, 14},
		{"and not shorter", []string{"other"}, []string{"two"}, 3, 9},
		{"nor does a group free", []string{"other"}, []string{"free"}, 3, 9},
		{"one without a group does not count", []string{"two"}, []string{"another"}, 2, 3},
	} {
		p := paceOf(robots, policy.Tokens{Main: c.main, Also: c.also})
		if d, line, _ := p.Interval(0); d != c.want*time.Second || line != c.line {
			t.Errorf("%s: %v by line %d, want %vs by line %d", c.reason, d, line, int(c.want), c.line)
		}
	}
}

func TestOfEqualIntervalsTheFirstLineIsTold(t *testing.T) {
	for _, robots := range []string{
		everyone + "Crawl-delay: 5\nCrawl-delay: 5\nRequest-rate: 1/5\n",
		everyone + "Crawl-delay: 5\nDisallow: /\n" + everyone + "Crawl-delay: 5\n",
		everyone + "Request-rate: 1/5 0000-2359\nCrawl-delay: 5\n",
	} {
		if d, line, _ := paceOf(robots, policy.Tokens{}).Interval(0); d != 5*time.Second || line != 2 {
			t.Errorf("%q: %v by line %d", robots, d, line)
		}
	}
}

func TestARateCountsInItsHours(t *testing.T) {
	const robots = everyone + "Crawl-delay: 2\nRequest-rate: 1/10 0600-0759\nRequest-rate: 1/20 0700-0800\nRequest-rate: 1/1 0900-1000\nRequest-rate: 1/30 2300-0059\n"
	for _, c := range []struct {
		at   time.Duration
		want time.Duration // seconds
		line int
	}{
		{6*time.Hour - 1, 2, 2},
		{6 * time.Hour, 10, 3},
		{7 * time.Hour, 20, 4},
		{8*time.Hour + 59*time.Second, 20, 4},
		{8*time.Hour + time.Minute, 2, 2},
		{9 * time.Hour, 2, 2},
		{23 * time.Hour, 30, 6},
		{0, 30, 6},
		{24 * time.Hour, 30, 6},
		{-time.Hour, 30, 6},
		{31 * time.Hour, 20, 4},
	} {
		if d, line, _ := paceOf(robots, policy.Tokens{}).Interval(c.at); d != c.want*time.Second || line != c.line {
			t.Errorf("at %v: %v by line %d, want %vs by line %d", c.at, d, line, int(c.want), c.line)
		}
	}
}

func TestItOpensAtItsVisitTime(t *testing.T) {
	const h, m = time.Hour, time.Minute
	for _, c := range []struct {
		reason, records string
		at, wait        time.Duration
		line            int
	}{
		{"before it", "Visit-time: 0600-0845", 5*h + 30*m, 30 * m, 2},
		{"to the nanosecond", "Visit-time: 0600-0845", 6*h - 1, 1, 2},
		{"from its first minute", "Visit-time: 0600-0845", 6 * h, 0, 0},
		{"to the end of its last", "Visit-time: 0600-0845", 8*h + 46*m - 1, 0, 0},
		{"then on the next day", "Visit-time: 0600-0845", 8*h + 46*m, 21*h + 14*m, 2},
		{"open over midnight, before it", "Visit-time: 2200-0559", 23 * h, 0, 0},
		{"open over midnight, after it", "Visit-time: 2200-0559", 5*h + 59*m, 0, 0},
		{"closed by day", "Visit-time: 2200-0559", 6*h + 1, 16*h - 1, 2},
		{"the whole day", "Visit-time: 0000-0000", 12 * h, 0, 0},
		{"the whole day in another way", "Visit-time: 0600-0559", 12 * h, 0, 0},
		{"hours that there are not decide nothing", "Visit-time: 2500-9999", 12 * h, 0, 0},
		{"nor beside one that can be read", "Visit-time: 2500-9999\nVisit-time: 0600-0700", 12 * h, 18 * h, 3},
		{"of several any is open", "Visit-time: 0600-0700\nVisit-time: 1200-1300", 12*h + 30*m, 0, 0},
		{"the next of several opens", "Visit-time: 0600-0700\nVisit-time: 1200-1300", 8 * h, 4 * h, 3},
		{"the first of several on the next day", "Visit-time: 0600-0700\nVisit-time: 1200-1300", 14 * h, 16 * h, 2},
		{"they may meet", "Visit-time: 0600-0700\nVisit-time: 0701-0800", 7*h + m, 0, 0},
		{"one of them is the whole day", "Visit-time: 0600-0700\nVisit-time: 1200-1200", 14 * h, 0, 0},
		{"a rate opens and closes nothing", "Request-rate: 1/5 0600-0700", 14 * h, 0, 0},
		{"a minute before midnight", "Visit-time: 2359-0000", 1*h + 0*m, 23*h - m, 2},
		{"of both groups that name it any is open", "Visit-time: 0600-0700\nDisallow: /\n" + everyone + "Visit-time: 1200-1300", 12 * h, 0, 0},
	} {
		wait, line := paceOf(everyone+c.records+"\n", policy.Tokens{}).Opens(c.at)
		if wait != c.wait || line != c.line {
			t.Errorf("%s: %q at %v opens in %v by line %d, want %v by line %d", c.reason, c.records, c.at, wait, line, c.wait, c.line)
		}
	}
}

func TestEveryNameMustBeOpen(t *testing.T) {
	const robots = "User-agent: one\nVisit-time: 0600-0900\nDisallow: /\nUser-agent: two\nVisit-time: 0800-1000\nVisit-time: 1200-1300\nDisallow: /\n" +
		"User-agent: three\nVisit-time: 1100-1100\nDisallow: /\nUser-agent: four\nVisit-time: 2000-2100\n"
	one, both := []string{"one"}, []string{"two", "three"}
	for _, c := range []struct {
		reason     string
		main, also []string
		at, wait   time.Duration // hours
		line       int
	}{
		{"its own is", one, nil, 7, 0, 0},
		{"a further name's is not", one, both, 7, 1, 5},
		{"both are", one, both, 8, 0, 0},
		{"its own is not", one, both, 10, 22, 5},
		{"another's is, which alone does not help", one, both, 12, 20, 5},
		{"they never are together: to be asked again in a day", one, []string{"four"}, 7, 24, 12},
		{"each of the main ones", []string{"one", "two"}, nil, 12, 20, 5},
		{"one without any does not matter", []string{"other", "four"}, nil, 20, 0, 0},
	} {
		wait, line := paceOf(robots, policy.Tokens{Main: c.main, Also: c.also}).Opens(c.at * time.Hour)
		if wait != c.wait*time.Hour || line != c.line {
			t.Errorf("%s: %v by line %d, want %dh by line %d", c.reason, wait, line, int(c.wait), c.line)
		}
	}
}

// A Visit-time of the whole day begins nothing, though it has a first minute.
func TestWhatOpensIsWhatWasClosed(t *testing.T) {
	const robots = "User-agent: one\nVisit-time: 0600-0600\nDisallow: /\nUser-agent: two\nVisit-time: 0600-0700\n"
	wait, line := paceOf(robots, policy.Tokens{Main: []string{"one", "two"}}).Opens(5 * time.Hour)
	if wait != time.Hour || line != 5 {
		t.Errorf("opens in %v by line %d, want an hour by line 5", wait, line)
	}
}

func TestItIsOpenInEveryMinuteOfItsHours(t *testing.T) {
	for _, value := range []string{"0000-2359", "0103-0104", "0000-0103", "2200-0559", "0103-0102", "2359-0000", "0104-2336"} {
		hours, err := policy.ParseVisitTime(value)
		if err != nil {
			t.Fatal(err)
		}
		p := paceOf(everyone+"Visit-time: "+value+"\n", policy.Tokens{})
		for now := time.Duration(0); now < 24*time.Hour; now += time.Minute {
			if wait, _ := p.Opens(now); (wait == 0) != hours.Contains(now) {
				t.Errorf("%s at %v: opens in %v", value, now, wait)
			}
		}
	}
}

// Of a client with more names than there is room for all groups of the file
// count, which can only restrict.
func TestTooManyNamesWithHoursAreHeldToAll(t *testing.T) {
	robots := "User-agent: other\nVisit-time: 1200-1300\nRequest-rate: 1/60 0600-0700\nDisallow: /\n"
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("bot%d", i))
		robots += fmt.Sprintf("User-agent: bot%d\nVisit-time: 0%d00-1259\nRequest-rate: 1/%d 0000-2359\nDisallow: /\n", i, i, i+1)
	}
	for _, c := range []struct {
		names    int
		interval time.Duration // seconds
		wait     time.Duration // hours, from six
		line     int
	}{
		{6, 6, 0, 0},
		{7, 60, 6, 2},
	} {
		p := paceOf(robots, policy.Tokens{Main: names[:1], Also: names[1:c.names]})
		d, _, _ := p.Interval(6 * time.Hour)
		wait, line := p.Opens(6 * time.Hour)
		if d != c.interval*time.Second || wait != c.wait*time.Hour || line != c.line {
			t.Errorf("%d names: %v, opens in %v by line %d, want %+v", c.names, d, wait, line, c)
		}
	}
}

// Groups are found as a dialect finds them, and end where it ends them.
func TestThePaceFollowsTheDialect(t *testing.T) {
	const robots = "User-agent: MJ12bot\nDisallow: /\nCrawl-delay: 1\n\nUser-agent: other\nDisallow: /\n\nCrawl-delay: 2\n\nUser-agent: *\nDisallow: /\nCrawl-delay: 3\n"
	for _, c := range []struct {
		dialect policy.Dialect
		agent   string
		want    time.Duration
		reason  string
	}{
		{policy.RFC9309, "MJ12bot", 1, "digits belong to the name"},
		{policy.Google, "MJ12bot", 3, "they do not"},
		{policy.RERP, "Mozilla/5.0 (MJ12bot)", 1, "the name is within the field"},
		{policy.RFC9309, "other", 2, "a blank line ends nothing"},
		{policy.Koster1996, "other", 0, "it ends the record"},
		{policy.ApeTest, "oth", 0, "the first that begins so, whose record has ended"},
		{policy.Robotstxt, "bot", 1, "the first that has it inside"},
		{policy.Koster1996, "nobody", 3, "the record for everyone"},
	} {
		p := policy.Compile([]byte(robots), policy.Options{Dialect: c.dialect})
		pace := p.Pace(policy.Tokens{Main: []string{c.agent}})
		if d, _, _ := pace.Interval(0); d != c.want*time.Second {
			t.Errorf("%s, %s (%s): %v, want %ds", c.dialect, c.agent, c.reason, d, int(c.want))
		}
	}
	byField := policy.Compile([]byte(robots), policy.Options{Dialect: policy.RERP}).
		Pace(policy.Tokens{Main: []string{"nobody"}, Fields: []string{"Mozilla/5.0 (MJ12bot)"}})
	if d, _, _ := byField.Interval(0); d != time.Second {
		t.Errorf("rerp looks for names in fields: %v", d)
	}
	cautious := policy.Compile([]byte(robots), policy.Options{Cautious: true}).Pace(policy.Tokens{Main: []string{"bot"}})
	if d, _, _ := cautious.Interval(0); d != 3*time.Second {
		t.Errorf("caution asks no other dialect for its pace: %v", d)
	}
}

func TestAFileThatSaysNothingOfPaceHasTheZeroPace(t *testing.T) {
	var none *policy.Policy
	for reason, p := range map[string]policy.Pace{
		"no robots.txt":        none.Pace(policy.Tokens{}),
		"an empty one":         new(policy.Policy).Pace(policy.Tokens{}),
		"no such record":       paceOf(string("User-agent: *\nDisallow: /\nSitemap: /s\n"), policy.Tokens{}),
		"one before any group": paceOf("Crawl-delay: 5\nUser-agent: *\nDisallow:\n", policy.Tokens{}),
		"one of another group": paceOf("User-agent: a\nCrawl-delay: 5\nDisallow:\n", policy.Tokens{}),
		"none that can be read": paceOf("User-agent: *\nCrawl-delay: x\nRequest-rate: x\nVisit-time: x\n",
			policy.Tokens{}),
	} {
		if p != (policy.Pace{}) {
			t.Errorf("%s: %+v", reason, p)
		}
	}
	var zero policy.Pace
	d, line, key := zero.Interval(time.Hour)
	wait, at := zero.Opens(time.Hour)
	if d != 0 || line != 0 || key != policy.Blank || wait != 0 || at != 0 || zero.Text(1) != "" {
		t.Errorf("the zero Pace says %v %d %s, %v %d, %q", d, line, key, wait, at, zero.Text(1))
	}
}

func TestPacesCanBeCompared(t *testing.T) {
	p := policy.Compile([]byte("User-agent: a\nUser-agent: b\nCrawl-delay: 5\nVisit-time: 0600-0700\nDisallow:\nUser-agent: c\nCrawl-delay: 6\n"), policy.Options{})
	pace := func(name string) policy.Pace { return p.Pace(policy.Tokens{Main: []string{name}}) }
	if pace("a") != pace("B") || pace("a") == pace("c") || pace("c") == (policy.Pace{}) {
		t.Errorf("a %+v, b %+v, c %+v", pace("a"), pace("B"), pace("c"))
	}
	if size := reflect.TypeFor[policy.Pace]().Size(); size > 64 {
		t.Errorf("a Pace has %d octets, and is copied much", size)
	}
	if text := pace("a").Text(2); text != "" {
		t.Errorf("there is no record in line 2: %q", text)
	}
}

func TestTheRecordsOfPaceAreToldWithTheirFaults(t *testing.T) {
	const robots = "Crawl-delay: 1\nUser-agent: one\nCrawl-delay: -1\nSitemap: /s\nFoo: x\nRequest-rate: 1/5\nDisallow:\n" +
		"User-agent: *\nVisit-time: 2500-9999\nRequest-rate: 0/0\nDisallow: /\nUser-agent: two\nCrawl-delay: 1e9\n"
	var got []string
	p := policy.Compile([]byte(robots), policy.Options{})
	for r, err := range p.PaceRecords(policy.Tokens{Main: []string{"one", "other"}, Also: []string{"three"}}) {
		got = append(got, fmt.Sprintf("%d %s=%s %v", r.Line, r.Key, r.Value, err))
	}
	want := []string{
		`3 Crawl-delay=-1 "-1" is no number of seconds, such as 10 or 0.5`,
		`6 Request-rate=1/5 <nil>`,
		`9 Visit-time=2500-9999 "2500-9999" is no time of day such as 0600-0845: "2500" is no time from 0000 to 2359`,
		`10 Request-rate=0/0 "0/0" is no rate, which is requests a time such as 1/5 or 100/24h`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	var none *policy.Policy
	for r := range none.PaceRecords(policy.Tokens{}) {
		t.Errorf("of no file: %+v", r)
	}
	for range p.PaceRecords(policy.Tokens{}) {
		break // it must stop then
	}
}

func TestPaceAllocatesNothing(t *testing.T) {
	const robots = everyone + "Crawl-delay: 5\nRequest-rate: 1/10 0600-0800\nVisit-time: 0600-0845\nVisit-time: 1200-1300\nDisallow: /\n" +
		"User-agent: OtherBot\nVisit-time: 0700-0900\n"
	p := policy.Compile([]byte(robots), policy.Options{})
	tokens := policy.Tokens{Main: []string{"ExampleBot"}, Also: []string{"OtherBot", "Another"}}
	if n := testing.AllocsPerRun(100, func() {
		pace := p.Pace(tokens)
		pace.Interval(7 * time.Hour)
		pace.Opens(7 * time.Hour)
		pace.Opens(14 * time.Hour)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAPaceTakesSixteenOctets: of a group the longest interval is kept alone, and
// a file without any of these records takes what it took.
func TestAPaceTakesSixteenOctets(t *testing.T) {
	size := func(record string, times int) int {
		return policy.Compile([]byte(everyone+strings.Repeat(record+"\n", times)), policy.Options{}).Size()
	}
	for _, c := range []struct {
		record, like string
		times, want  int
	}{
		{"Crawl-delay: 5", "Unknown-key: 5", 1, 16},
		{"Crawl-delay: 5", "Unknown-key: 5", 100, 16},
		{"Crawl-delay: x", "Unknown-key: x", 1, 0},
		{"Visit-time: 0600-0800", "Unknown-ke: 0600-0800", 3, 48},
	} {
		if got := size(c.record, c.times) - size(c.like, c.times); len(c.record) != len(c.like) || got != c.want {
			t.Errorf("%d of %q take %d octets more than %q, want %d", c.times, c.record, got, c.like, c.want)
		}
	}
}

// TestThePaceOfRealFiles compares it with the naive reading, for whom each file
// names and for everyone.
func TestThePaceOfRealFiles(t *testing.T) {
	needReal(t)
	files, paced, closed := 0, 0, 0
	eachRealFile(t, func(file *realFile) {
		p := compileWhole(file.Robots)
		files++
		names := map[string]bool{"*": true}
		for r := range p.Records() {
			for _, value := range r.Group {
				names[string(policy.RFC9309.Token([]byte(value)))] = true
			}
		}
		for name := range names {
			who := policy.Tokens{Main: []string{name}}
			pace, want := p.Pace(who), naivePace(p, policy.RFC9309, who)
			for _, now := range []time.Duration{0, 5 * time.Hour, 14*time.Hour + 30*time.Minute} {
				d, line, key := pace.Interval(now)
				wantD, wantLine, wantKey := want.interval(now)
				wait, opening := pace.Opens(now)
				wantWait, wantOpening := want.opens(now)
				if d != wantD || line != wantLine || key != wantKey || wait != wantWait || opening != wantOpening {
					t.Errorf("%.300q: %s at %v: %v by line %d (%s), opens in %v by line %d", file.Robots, name, now, d, line, key, wait, opening)
				}
				if wait > 0 {
					closed++
				}
			}
			if pace != (policy.Pace{}) {
				paced++
			}
		}
	})
	if paced < 500 || closed < 5 {
		t.Errorf("of %d files %d have a pace, %d are closed at some time: too few to have tried anything", files, paced, closed)
	}
}

// hostilePace are files that make a client's pace as slow as can be, in 500 KiB.
var hostilePace = map[string]string{
	"delays":  everyone + strings.Repeat("Crawl-delay:1\n", 36_000),
	"windows": everyone + strings.Repeat("Visit-time:0000-0001\n", 24_000),
	"rates":   everyone + strings.Repeat("Request-rate:1/5 0000-0001\n", 18_000),
	"groups":  strings.Repeat("User-agent:*\nVisit-time:0000-0001\nAllow:\n", 12_000),
	"bad":     everyone + strings.Repeat("Crawl-delay:x\n", 36_000),
}

func TestHostilePaceIsFoundInTime(t *testing.T) {
	const most = 500 * time.Millisecond // many times what it takes; the square of n takes seconds
	for name, body := range hostilePace {
		p := policy.Compile([]byte(body), policy.Options{})
		start := time.Now()
		pace := p.Pace(policy.Tokens{})
		pace.Interval(0)
		pace.Opens(12 * time.Hour)
		if took := time.Since(start); took > most {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func BenchmarkPace(b *testing.B) {
	tokens := policy.Tokens{Main: []string{"ExampleBot"}, Also: []string{"OtherBot"}}
	without := policy.Compile([]byte(strings.Replace(string(typical), "Crawl-delay: 5\n", "", 1)), policy.Options{})
	hours := policy.Compile([]byte(everyone+"Crawl-delay: 5\nRequest-rate: 1/10 0600-0800\nVisit-time: 0600-0845\n"), policy.Options{})
	some := policy.Compile(typical, policy.Options{})
	for _, c := range []struct {
		name   string
		policy *policy.Policy
	}{{"nil", nil}, {"none", without}, {"some", some}, {"hours", hours}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.policy.Pace(tokens)
			}
		})
		pace := c.policy.Pace(tokens)
		b.Run(c.name+"/interval", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pace.Interval(7 * time.Hour)
			}
		})
		b.Run(c.name+"/opens", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pace.Opens(7 * time.Hour)
			}
		})
	}
	for name, body := range hostilePace {
		p := policy.Compile([]byte(body), policy.Options{})
		b.Run("hostile="+name, func(b *testing.B) {
			for b.Loop() {
				pace := p.Pace(tokens)
				pace.Interval(0)
				pace.Opens(12 * time.Hour)
			}
		})
	}
}
