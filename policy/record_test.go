package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"heed/policy"
)

const recorded = "Sitemap: https://a.example/first.xml\n" +
	"Noindex: /x # as nobody reads it\n" +
	"User-agent: One\nCrawl-delay: 5\nUser-agent: two\nDisallow: /a\n" +
	"Request-rate: 1/5\nVisit-time: 0600-0845\nsitemap: https://a.example/second.xml\n" +
	"User-agent: *\nCRAWL-DELAY : 0.5\nHost: a.example\nClean-param: s /p\n" +
	"Content-Usage: train-ai=n\nContent-Signal: search=yes\nLicense: https://a.example/l\n" +
	"User-agent: ONE\nCrawl-delay: 7\n"

func shownRecords(records func(func(policy.Record) bool)) (all []string) {
	for r := range records {
		all = append(all, fmt.Sprintf("%d %s %s=%s %q", r.Line, r.Kind, r.Key, r.Value, r.Group))
	}
	return all
}

// "User-agent: *" and "User-agent: ONE" have no rule between them, and so are one
// group: other records do not part them.
func TestOtherRecordsAreKeptWithTheirLinesAndGroups(t *testing.T) {
	p := policy.Compile([]byte(recorded), policy.Options{})
	want := []string{
		`1 sitemap Sitemap=https://a.example/first.xml []`,
		`2 unknown Noindex=/x []`,
		`4 crawl-delay Crawl-delay=5 ["One" "two"]`,
		`7 request-rate Request-rate=1/5 ["One" "two"]`,
		`8 visit-time Visit-time=0600-0845 ["One" "two"]`,
		`9 sitemap sitemap=https://a.example/second.xml ["One" "two"]`,
		`11 crawl-delay CRAWL-DELAY=0.5 ["*" "ONE"]`,
		`12 host Host=a.example ["*" "ONE"]`,
		`13 clean-param Clean-param=s /p ["*" "ONE"]`,
		`14 content-usage Content-Usage=train-ai=n ["*" "ONE"]`,
		`15 content-signal Content-Signal=search=yes ["*" "ONE"]`,
		`16 license License=https://a.example/l ["*" "ONE"]`,
		`18 crawl-delay Crawl-delay=7 ["*" "ONE"]`,
	}
	if got := shownRecords(p.Records()); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestTheRecordsForACrawlerAreThoseOfItsGroups(t *testing.T) {
	const robots = "Crawl-delay: 1\nUser-agent: one\nDisallow: /\nCrawl-delay: 2\n" +
		"User-agent: *\nAllow: /\nCrawl-delay: 3\nUser-agent: One\nDisallow: /\nCrawl-delay: 4\n"
	p := policy.Compile([]byte(robots), policy.Options{})
	for _, c := range []struct {
		why    string
		tokens []string
		want   []string // values
	}{
		{"all groups of its own", []string{"ONE"}, []string{"2", "4"}},
		{"else that for everyone", []string{"other"}, []string{"3"}},
		{"as for nobody in particular", nil, []string{"3"}},
		{"of several names, those that a group has", []string{"other", "one"}, []string{"2", "4"}},
	} {
		var got []string
		for r := range p.RecordsFor(c.tokens) {
			got = append(got, r.Value)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}
