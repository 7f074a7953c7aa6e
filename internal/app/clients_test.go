package app

import (
	"encoding/base64"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heed/internal/agent"
	"heed/internal/config"
	"heed/internal/origin"
	"heed/proxy"
)

// Of the passwords s3cret and pass:word, at the least cost.
const (
	newsHash = "$2y$04$AD1A3iIt2lMTttaqScQ32.aqrgucA7P9AvA7InBOC4uF/wgO6zVbm"
	shopHash = "$2y$04$xYuu4z11KCHMOtySTlm4YO8ON3zB5QxH//2..IVGafbwoU6Fip226"
)

func TestClientsAreThoseOfTheConfigurationAndItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, []byte("shop:"+shopHash+"\nalone:"+newsHash+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clients, err := NewClients(config.Clients{Htpasswd: file, Named: []config.Client{
		{Name: "news", Password: newsHash, Token: "NewsBot", UserAgent: "NewsBot/1.0", From: "a@b.example", Purpose: "p", Project: "q", Contact: "c", HTTPS: "deny", Hold: config.Duration(time.Minute)},
		{Name: "shop", Destinations: []config.HostPattern{"a.example", "*.b.example"}},
		{Name: "there", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	who := func(text string) *agent.Client {
		c, err := clients.Authenticate([]string{"Basic " + base64.StdEncoding.EncodeToString([]byte(text))}, netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return c
	}
	news := *who("news:s3cret")
	if news.MayAsk != nil {
		t.Error("news may not ask for everything")
	}
	if want := (agent.Client{Name: "news", Token: "NewsBot", UserAgent: "NewsBot/1.0", From: "a@b.example", Purpose: "p", Project: "q", Contact: "c", HTTPS: "deny", Hold: time.Minute}); news.Name != want.Name || news.Token != want.Token ||
		news.UserAgent != want.UserAgent || news.From != want.From || news.Purpose != want.Purpose || news.Project != want.Project || news.Contact != want.Contact || news.HTTPS != want.HTTPS || news.Hold != want.Hold {
		t.Errorf("news is %+v, want %+v", news, want)
	}
	shop := who("shop:pass:word")
	for host, want := range map[string]bool{"a.example": true, "www.a.example": false, "b.example": false, "www.b.example": true} {
		if shop.MayAsk(host) != want {
			t.Errorf("shop and %s: %t", host, !want)
		}
	}
	if alone := who("alone:s3cret"); alone.Name != "alone" || alone.Token != "" || alone.MayAsk != nil {
		t.Errorf("who stands in the file alone is %+v", alone)
	}
	if there := clients.At(netip.MustParseAddr("10.1.2.3")); there == nil || there.Name != "there" {
		t.Errorf("the client there is %+v", there)
	}
	if c, err := NewClients(config.Clients{}, nil); c != nil || err != nil {
		t.Errorf("nobody: %v, %v", c, err)
	}
	if _, err := NewClients(config.Clients{Htpasswd: file + ".absent"}, nil); err == nil {
		t.Error("a file that is not there is no fault")
	}
}

func TestOfAnExceptionAndAClientsModeTheStricterCounts(t *testing.T) {
	const tunnel, intercept, deny = config.Tunnel, config.Intercept, config.Deny
	for _, row := range []struct {
		global, exception, client string
		want                      proxy.Mode
		why                       string
	}{
		{intercept, "", "", proxy.Intercept, "nobody says otherwise"},
		{intercept, "", tunnel, proxy.Tunnel, "the client's goes before that of all"},
		{deny, "", intercept, proxy.Intercept, "also where it is less strict"},
		{tunnel, "", "odd", proxy.Deny, "a mode nobody knows denies"},
		{intercept, tunnel, "", proxy.Tunnel, "an exception alone"},
		{intercept, tunnel, intercept, proxy.Intercept, "the client is to be looked at"},
		{intercept, tunnel, deny, proxy.Deny, "the client may not at all"},
		{intercept, tunnel, tunnel, proxy.Tunnel, "both alike"},
		{tunnel, intercept, tunnel, proxy.Intercept, "the host is to be looked at"},
		{tunnel, deny, intercept, proxy.Deny, "the host may not be asked for at all"},
		{tunnel, "odd", tunnel, proxy.Deny, "an exception nobody knows denies"},
	} {
		c := config.HTTPS{Mode: row.global}
		if row.exception != "" {
			c.Exceptions = []config.Exception{{Host: "a.example", Mode: row.exception, Reason: "of the host"}}
		}
		got, of := modeOf(c)(origin.Origin{Scheme: "https", Host: "a.example", Port: "443"}, &agent.Client{Name: "news", HTTPS: row.client})
		if got != row.want {
			t.Errorf("all %s, exception %q, client %q: %v, want %v: %s", row.global, row.exception, row.client, got, row.want, row.why)
		}
		if (of == "") != (row.exception+row.client == "") {
			t.Errorf("all %s, exception %q, client %q: the reason is %q", row.global, row.exception, row.client, of)
		}
	}
}

func TestARequirementNobodyKnowsIsTheStrictest(t *testing.T) {
	for word, want := range map[string]proxy.Requirement{
		config.RequireAny: proxy.AnyClient, config.RequireToken: proxy.ClientWithToken, config.RequireNamed: proxy.NamedClient, "": proxy.NamedClient, "odd": proxy.NamedClient,
	} {
		if got := requirementOf(config.Identity{Require: word}); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}
