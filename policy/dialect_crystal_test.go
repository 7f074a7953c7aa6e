package policy_test

import (
	"slices"
	"testing"

	"heed/policy"
)

// The robots library for Crystal: the same reading as robotstxt for Ruby, so the
// same Dialect. A sentence of its documentation a row.

func TestCrystalReadsAsRobotstxt(t *testing.T) {
	const robots = "useragent: one\nUser-Agent: two\nALLOW: /shop/open\ndisallow: /shop\nSitemap: https://a.example/map\nHost: a.example\n\n" +
		"User-agent: Exa*Bot\nDisallow: /*.pdf$\nDisallow: /a%2fb\nAllow: /\nDisallow: /never\n"
	checkReadings(t, policy.Robotstxt, []verdict{
		{"the five keys, in any case", robots, "one", "/shop", 4, disallowed},
		{"a section of one or more agents, then one or more rules", robots, "two", "/shop", 4, disallowed},
		{"the first section with an agent that matches", robots, "one", "/a.pdf", 0, allowed},
		{"a star in an agent is any run of characters", robots, "ExampleBot", "/a.pdf", 9, disallowed},
		{"the first rule that matches is authoritative", robots, "two", "/shop/open", 3, allowed},
		{"no matter what stands below", robots, "ExampleBot", "/never", 11, allowed},
		{"no rule matches: allowed", robots, "one", "/x", 0, allowed},
		{"no section matches: allowed", robots, "Nobody", "/shop", 0, allowed},
		{"escapes are normalised", robots, "two", "/%73hop", 4, disallowed},
		{"but those of /?=&", robots, "ExampleBot", "/a/b", 11, allowed},
		{"which meet themselves", robots, "ExampleBot", "/a%2Fb", 10, disallowed},
		{"a star in a pattern is any run of characters", robots, "ExampleBot", "/x/y.pdf", 9, disallowed},
		{"a $ at its end: the entire path", robots, "ExampleBot", "/a.pdf/x", 11, allowed},
		{"or the entire path with query", robots, "ExampleBot", "/a?b=.pdf", 9, disallowed},
		{"or the path before the query", robots, "ExampleBot", "/a.pdf?b", 9, disallowed},
	})
}

func TestCrystalSitemaps(t *testing.T) {
	const robots = "Sitemap: https://a.example/1\n" + everyone + "sitemap: https://a.example/2\nDisallow: /\n"
	got := recordsOf(policy.Robotstxt, robots, policy.Sitemap)
	if want := []string{"https://a.example/1", "https://a.example/2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
