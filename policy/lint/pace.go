package lint

import (
	"strings"
	"time"

	"heed/policy"
)

// delay is the Crawl-delay of a group, the longest so far.
type delay struct {
	line   int // 0: there is none
	length time.Duration
}

// pace checks a Crawl-delay, a Request-rate or a Visit-time.
func (c *checker) pace(l policy.Line, value string) {
	switch l.Kind {
	case policy.CrawlDelay:
		c.crawlDelay(l, value)
	case policy.RequestRate:
		rate, err := policy.ParseRequestRate(value)
		if c.readable(l, BadRequestRate, err) && rate.Interval() > policy.LongestInterval {
			c.tooLong(l, BadRequestRate, value)
		}
	default:
		_, err := policy.ParseVisitTime(value)
		c.readable(l, BadVisitTime, err)
	}
	if len(c.groups.all) == 0 {
		c.add(RecordBeforeGroup, l, l.Key, 0,
			"%s is for the crawlers of a group, and stands before any: it counts for nobody; put it below the user-agent line", quote(l.Key.Of(c.body)))
	}
}

// readable tells whether a value can be read; err is why not.
func (c *checker) readable(l policy.Line, code Code, err error) bool {
	if err != nil {
		c.add(code, l, l.Value, 0, "crawlers pass over this record: %v; write a value of that form, or leave it out", err)
	}
	return err == nil
}

func (c *checker) tooLong(l policy.Line, code Code, value string) {
	c.add(code, l, l.Value, 0,
		"%s is more than a day between two requests: heed takes it for a day, others may pass over it or never come again; write \"Disallow: /\" to keep crawlers away, else less", quote(value))
}

func (c *checker) crawlDelay(l policy.Line, value string) {
	length, err := policy.ParseCrawlDelay(value)
	if !c.readable(l, BadCrawlDelay, err) {
		return
	}
	if length > policy.LongestInterval {
		c.tooLong(l, BadCrawlDelay, value)
	} else if strings.Contains(value, ".") {
		c.add(CrawlDelayFraction, l, l.Value, 0,
			"crawlers that read whole seconds alone, such as those with Python's urllib.robotparser, pass over this record, while heed waits %v; write whole seconds", length)
	}
	if len(c.groups.all) == 0 {
		return
	}
	if other := &c.groups.all[len(c.groups.all)-1].delay; other.line == 0 {
		*other = delay{l.Number, length}
	} else if length != other.length {
		c.add(SeveralCrawlDelays, l, l.Value, other.line,
			"the group has another Crawl-delay in line %d: heed obeys the longer one, other crawlers the first or the last; leave one, or part the groups by a rule such as \"Disallow:\" if they are meant for different crawlers", other.line)
		if length > other.length {
			*other = delay{l.Number, length}
		}
	}
}
