package proxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heed/internal/app"
	"heed/internal/audit"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/logfile"
	"heed/internal/metrics"
	"heed/internal/origin"
	"heed/policy"
	"heed/proxy"
)

// median is a robots.txt of the usual size and kind: some 40 lines, a few of
// them with wildcards, and groups for crawlers by name.
const median = `# robots.txt
User-agent: *
Crawl-delay: 10
Allow: /misc/*.css$
Allow: /misc/*.js$
Allow: /misc/*.png
Allow: /themes/*.css
Disallow: /includes/
Disallow: /misc/
Disallow: /modules/
Disallow: /profiles/
Disallow: /scripts/
Disallow: /themes/
Disallow: /CHANGELOG.txt
Disallow: /cron.php
Disallow: /INSTALL.txt
Disallow: /install.php
Disallow: /LICENSE.txt
Disallow: /UPGRADE.txt
Disallow: /admin/
Disallow: /comment/reply/
Disallow: /filter/tips/
Disallow: /node/add/
Disallow: /search/
Disallow: /user/register/
Disallow: /user/login/
Disallow: /*?sort=
Disallow: /?q=admin/

User-agent: GPTBot
User-agent: CCBot
User-agent: ExampleBot
Disallow: /private/
Disallow: /*/print$
Allow: /private/welcome

User-agent: BadBot
Disallow: /

Sitemap: https://a.example/sitemap.xml
`

var accountAgents = []string{
	"Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.org/bot)",
	"curl/8.5",
}

var accountTargets = []string{
	"/",
	"/blog/2024/05/a-page-about-things?utm_source=feed&page=2",
	"/wiki/Caf%C3%A9_au_lait",
	"/files/report.v1.2.pdf",
	"/a/./b/../c",
	"/find?q=a%20b%2Fc",
	"/products/1234-blue-widget",
	"/%7Euser/index.html",
}

// BenchmarkAccount is all that an exchange costs which a proxy without policy,
// log and metrics would not do: who asks, what a warm robots.txt says, a line in
// a file, the counters, and what is kept for /why.
func BenchmarkAccount(b *testing.B) {
	for _, c := range []struct {
		name            string
		agents, targets []string
	}{
		{"bot/page", accountAgents[:1], accountTargets[1:2]},
		{"curl/page", accountAgents[1:], accountTargets[1:2]},
		{"bot/escaped", accountAgents[:1], accountTargets[2:3]},
		{"bot/query", accountAgents[:1], accountTargets[5:6]},
		{"bot/dots", accountAgents[:1], accountTargets[4:5]},
		{"all", accountAgents, accountTargets},
	} {
		b.Run(c.name, func(b *testing.B) {
			take := account(b)
			requests := requestsOf(c.agents)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				take(requests[i%len(requests)], c.targets[i/2%len(c.targets)])
			}
		})
	}
	b.Run("all at once", func(b *testing.B) {
		take := account(b)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			requests := requestsOf(accountAgents)
			for i := 0; pb.Next(); i++ {
				take(requests[i%len(requests)], accountTargets[i/2%len(accountTargets)])
			}
		})
	})
}

func requestsOf(agents []string) []*http.Request {
	var all []*http.Request
	for _, agent := range agents {
		r := httptest.NewRequestWithContext(context.Background(), "GET", "http://a.example/page", nil)
		r.Header.Set("User-Agent", agent)
		r.RemoteAddr = "127.0.0.1:40000"
		all = append(all, r)
	}
	return all
}

// account returns a function that takes an exchange through the stages, set up as
// heed serve does it.
func account(b *testing.B) func(*http.Request, string) {
	b.Helper()
	c := config.Default()
	robots := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(median))
	}))
	b.Cleanup(robots.Close)
	host, port, _ := strings.Cut(robots.Listener.Addr().String(), ":")
	c.ConnectTo = []dial.ConnectTo{{FromHost: "a.example", FromPort: "80", ToHost: host, ToPort: port}}
	c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	fetcher, err := app.NewFetcher(c, "1.2.3")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(fetcher.Close)
	file, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() })
	count := metrics.New("1.2.3", metrics.Gauges{
		Tunnels: func() int { return 0 }, RobotsOrigins: func() int { return 0 }, RobotsBytes: func() int64 { return 0 },
		Overrides: func() int { return 0 }, OverridesExpired: func() int { return 0 },
	})
	lines := logfile.New(logfile.Config{Out: file})
	b.Cleanup(func() { _ = lines.Close() }) // before the file: what is registered last is done first
	line := audit.Lines(lines)
	var last policy.Decision
	a := proxy.NewAccount(proxy.Config{
		Policies: atHand{fetcher},
		Record:   func(e *audit.Entry) { line(e); count.Exchange(e); last = e.Decision },
	})
	o, err := origin.Parse("http", "a.example")
	if err != nil {
		b.Fatal(err)
	}
	if a.Take(requestsOf(accountAgents)[0], o, "/private/x"); last.Allowed || last.Line != 33 {
		b.Fatalf("the decision is %v", last)
	}
	return func(r *http.Request, target string) { a.Take(r, o, target) }
}

// atHand is a fetcher that nobody waits for.
type atHand struct{ fetcher }

type fetcher interface {
	Remembered(o origin.Origin, at time.Time) (policy.Snapshot, bool)
	Snapshot(ctx context.Context, o origin.Origin) (policy.Snapshot, error)
}

// Await is not called.
func (f atHand) Await(ctx context.Context, o origin.Origin, _ proxy.Patience) (policy.Snapshot, proxy.Held, error) {
	s, err := f.Snapshot(ctx, o)
	return s, proxy.Held{}, err
}
