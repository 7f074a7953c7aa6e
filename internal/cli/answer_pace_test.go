package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"heed/policy"
)

// paceText returns what is shown of a pace to ExampleBot at half past nine UTC.
func paceText(robots string, also ...string) (text, asJSON string) {
	rules := policy.Compile([]byte(robots), policy.Options{})
	nine := time.Date(2026, 1, 2, 10, 30, 0, 0, time.FixedZone("", 3600))
	p := paceOf(rules, policy.Tokens{Main: []string{"ExampleBot"}, Also: also}, nine, time.Minute)
	data, err := json.Marshal(p.data())
	if err != nil {
		return p.lines(), err.Error()
	}
	return p.lines(), string(data)
}

func TestThePaceIsShownAsItIsNow(t *testing.T) {
	const agent = "User-agent: *\n"
	for _, c := range []struct{ reason, robots, text, json string }{
		{"nothing is asked for", agent + "Disallow: /\n", "", "null"},
		{
			"closed until noon", agent + "Visit-time: 1200-1300\nVisit-time: 2000-2100\n",
			"  visit   closed now, opens at 12:00 UTC (in 2h30m0s, line 2), by Visit-time: 1200-1300 (line 2), Visit-time: 2000-2100 (line 3)\n",
			`{"interval_seconds":0,"visit_time":{"open":false,"opens_in_seconds":9000,"line":2}}`,
		},
		{
			"closed until tomorrow", agent + "Visit-time: 0000-0005\n",
			"  visit   closed now, opens at 00:00 UTC (in 14h30m0s, line 2), by Visit-time: 0000-0005 (line 2)\n",
			`{"interval_seconds":0,"visit_time":{"open":false,"opens_in_seconds":52200,"line":2}}`,
		},
		{
			"open, with a rate of this hour", agent + "Visit-time: 0900-1000\nCrawl-delay: 1\nRequest-rate: 1/4 0900-1000\nRequest-rate: 1/8 1000-1100\n",
			"  pace    4s between requests by Request-rate: 1/4 0900-1000 (line 4)\n  visit   open now by Visit-time: 0900-1000 (line 2)\n",
			`{"interval_seconds":4,"line":4,"record":"Request-rate: 1/4 0900-1000","visit_time":{"open":true}}`,
		},
		{
			"as long as is granted", agent + "Crawl-delay: 60\n",
			"  pace    1m0s between requests by Crawl-delay: 60 (line 2)\n", `{"interval_seconds":60,"line":2,"record":"Crawl-delay: 60"}`,
		},
		{
			"longer than is granted", agent + "Crawl-delay: 60.5\n",
			"  pace    1m0.5s between requests by Crawl-delay: 60.5 (line 2), cut to 1m0s by pace.max_delay\n",
			`{"interval_seconds":60.5,"line":2,"record":"Crawl-delay: 60.5","cut_to_seconds":60}`,
		},
		{
			"no pause is one that was written", agent + "Crawl-delay: 0\n",
			"  pace    0s between requests by Crawl-delay: 0 (line 2)\n", `{"interval_seconds":0,"line":2,"record":"Crawl-delay: 0"}`,
		},
		{
			"what others wrote is cleaned", agent + "Crawl-delay: \x1b[2J\n",
			"  unread  \"Crawl-delay: \\x1b[2J\" (line 2), which decides nothing: \"\\x1b[2J\" is no number of seconds, such as 10 or 0.5\n",
			`{"interval_seconds":0,"unread":[{"line":2,"kind":"crawl-delay","value":"\u001b[2J","error":"\"\\x1b[2J\" is no number of seconds, such as 10 or 0.5"}]}`,
		},
	} {
		text, data := paceText(c.robots)
		if text != c.text || data != c.json {
			t.Errorf("%s:\ngot  %s%s\nwant %s%s", c.reason, text, data, c.text, c.json)
		}
	}
}

func TestHoursThatNeverMeetAreTold(t *testing.T) {
	text, data := paceText("User-agent: ExampleBot\nVisit-time: 0900-1000\nDisallow:\nUser-agent: b\nVisit-time: 1100-1200\n", "b")
	if !strings.Contains(text, "closed, and never open to all these names together, by Visit-time: 0900-1000 (line 2), Visit-time: 1100-1200 (line 5)") ||
		!strings.Contains(data, `"visit_time":{"open":false,"opens_in_seconds":86400,"line":5}`) {
		t.Errorf("%s%s", text, data)
	}
}

func TestOfManyRecordsTheFirstAreShown(t *testing.T) {
	text, _ := paceText("User-agent: *\n" + strings.Repeat("Visit-time: 0900-1000\nCrawl-delay: x\n", 9))
	if strings.Count(text, "Visit-time: ") != 5 || !strings.Contains(text, " and 4 more\n") ||
		strings.Count(text, "Crawl-delay: ") != 5 || !strings.HasSuffix(text, "  unread  4 more; heed lint lists them\n") {
		t.Error(text)
	}
}
