package app

import (
	"net/netip"
	"testing"
	"time"

	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/origin"
	"heed/proxy"
)

func TestUserAgentNamesHeedAndLeadsToItsOperator(t *testing.T) {
	for _, row := range []struct{ contact, want, why string }{
		{"", "heed/1.2.3", "nobody to name"},
		{"https://lab.example/crawl", "heed/1.2.3 (+https://lab.example/crawl)", "as crawlers do"},
	} {
		if got := userAgent("1.2.3", row.contact); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

func TestStaleForOfZeroMeansNotAtAll(t *testing.T) {
	if got := staleFor(0); got >= 0 {
		t.Errorf("0 becomes %v, which the fetcher takes for its default", got)
	}
	if got := staleFor(config.Duration(time.Hour)); got != time.Hour {
		t.Errorf("1h becomes %v", got)
	}
}

func TestModeOfTheFirstExceptionThatMatchesCounts(t *testing.T) {
	mode := modeOf(config.HTTPS{Mode: config.Intercept, Exceptions: []config.Exception{
		{Host: "*.bank.example", Mode: config.Tunnel, Reason: "pinned certificates"},
		{Host: "www.bank.example", Mode: config.Deny},
		{Host: "odd.example", Mode: "whatever"},
	}})
	for _, row := range []struct {
		host string
		want proxy.Mode
		why  string
	}{
		{"www.bank.example", proxy.Tunnel, "the pattern stands before the name"},
		{"bank.example", proxy.Intercept, "a pattern is for names below"},
		{"notbank.example", proxy.Intercept, "below means behind a dot"},
		{"odd.example", proxy.Deny, "a mode nobody knows denies"},
	} {
		got, _ := mode(origin.Origin{Scheme: "https", Host: row.host, Port: "443"}, nil)
		if got != row.want {
			t.Errorf("%s: %v, want %v: %s", row.host, got, row.want, row.why)
		}
	}
}

func TestPortsAndClientsAreThoseOfTheConfiguration(t *testing.T) {
	port := portsOf([]config.Ports{{First: 80, Last: 80}, {First: 1024, Last: 2000}})
	for p, want := range map[string]bool{"80": true, "81": false, "1023": false, "1024": true, "2000": true, "2001": false, "65536": false, "": false} {
		if port(p) != want {
			t.Errorf("port %q: %v", p, !want)
		}
	}
	client := clientsOf(config.Clients{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for a, want := range map[string]bool{"127.0.0.1": true, "::1": true, "10.1.2.3": true, "10.2.0.1": false, "2001:db8::1": false} {
		if client(netip.MustParseAddr(a)) != want {
			t.Errorf("client %s: %v", a, !want)
		}
	}
}

func TestRobotsTxtIsFetchedAsTheConfigurationSays(t *testing.T) {
	for _, cautious := range []bool{false, true} {
		c := config.Default()
		c.Policy.Cautious = cautious
		f := fetcherConfig(c, new(dial.Dialer), nil, "1.2.3")
		if f.Cautious != cautious {
			t.Errorf("policy.cautious: %v: the fetcher is told %v", cautious, f.Cautious)
		}
		if f.KeepBodies {
			t.Error("heed serve would keep the bodies of all robots.txt files")
		}
	}
}
