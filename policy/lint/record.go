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
	case policy.CrawlDelay, policy.RequestRate, policy.VisitTime:
		c.pace(l, value)
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
