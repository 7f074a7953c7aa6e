package lint

import (
	"strings"

	"heed/policy"
)

// record checks a line that is neither a rule nor a user-agent line.
func (c *checker) record(l policy.Line) {
	value := string(l.Value.Of(c.body))
	if l.Kind != policy.Sitemap {
		c.groups.addRecord()
	}
	switch l.Kind {
	case policy.Sitemap:
		c.sitemap(l, value)
	case policy.CrawlDelay:
		_, err := policy.ParseCrawlDelay(value)
		c.inGroup(l, BadCrawlDelay, err)
	case policy.RequestRate:
		_, err := policy.ParseRequestRate(value)
		c.inGroup(l, BadRequestRate, err)
	case policy.VisitTime:
		_, err := policy.ParseVisitTime(value)
		c.inGroup(l, BadVisitTime, err)
	}
}

// sitemap checks a Sitemap record (sitemaps.org: the complete URL).
func (c *checker) sitemap(l policy.Line, value string) {
	if isWholeURL(value) {
		return
	}
	c.add(RelativeSitemap, l, l.Value, 0,
		"crawlers pass over a sitemap that is not given by its whole URL, as %s is not; write https://, the host and the path", quote(value))
}

// isWholeURL tells whether value has a scheme and a host. Whether what follows is
// escaped as it should be is another matter.
func isWholeURL(value string) bool {
	scheme, rest, _ := strings.Cut(value, "://")
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	return (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && host != "" && !strings.ContainsAny(host, " \t")
}

// inGroup checks a record that belongs to a group; err is what is wrong with
// its value.
func (c *checker) inGroup(l policy.Line, code Code, err error) {
	if err != nil {
		c.add(code, l, l.Value, 0, "crawlers pass over this record: %v; write a value of that form, or leave it out", err)
	}
	if len(c.groups.all) == 0 {
		c.add(RecordBeforeGroup, l, l.Key, 0,
			"%s is for the crawlers of a group, and stands before any: it counts for nobody; put it below the user-agent line", quote(l.Key.Of(c.body)))
	}
}
