package proxy

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/origin"
)

// Of the passwords s3cret and pass:word, at the least cost.
const (
	newsHash = "$2y$04$AD1A3iIt2lMTttaqScQ32.aqrgucA7P9AvA7InBOC4uF/wgO6zVbm"
	shopHash = "$2y$04$xYuu4z11KCHMOtySTlm4YO8ON3zB5QxH//2..IVGafbwoU6Fip226"
)

const (
	asNews = "news:s3cret"
	asShop = "shop:pass:word"
)

// credentials is the field line of a name and a password.
func credentials(text string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(text))
}

// newsClient is one with everything that the configuration can say.
func newsClient() *agent.Client {
	return &agent.Client{
		Name: "news", Purpose: "an archive", Project: "P-17", Contact: "lab@a.example",
		Token: "NewsBot", UserAgent: "NewsBot/1.0 (+https://a.example/bot)", From: "bots@a.example",
	}
}

// named gives a proxy the clients news and shop, by passwords; further ones are
// known by an address.
func named(further ...agent.Known) func(*Config) {
	return func(c *Config) {
		c.Clients = agent.NewClients(append(further,
			agent.Known{Client: newsClient(), Hash: newsHash},
			agent.Known{Client: &agent.Client{Name: "shop"}, Hash: shopHash},
		))
	}
}

// local is a client that is known by its address, which is that of the test.
func local(c *agent.Client) agent.Known {
	return agent.Known{Client: c, Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

func requires(r Requirement) func(*Config) { return func(c *Config) { c.Require = r } }

func nobodyElse(c *Config) { c.AllowClient = func(netip.Addr) bool { return false } }

// TestAClientIsPresentedAsItIsConfigured on every channel, over both versions:
// to the origin, in the decision and in the record.
func TestAClientIsPresentedAsItIsConfigured(t *testing.T) {
	r := start(t, func(c *Config) { c.Clients = agent.NewClients([]agent.Known{local(newsClient())}) })
	sent := make(chan http.Header, 10)
	forAll(t, r, func(_ http.ResponseWriter, req *http.Request) { sent <- req.Header.Clone() }, func(t *testing.T, c channel) {
		r.policies.set(c.origin, rules(c.origin, "User-agent: NewsBot\nDisallow: /private\n\nUser-agent: python-requests\nDisallow: /\n"))
		for _, fields := range [][]string{
			{"User-Agent: python-requests/2.32", "From: me@elsewhere.example"},
			{"From: one@elsewhere.example", "From: two@elsewhere.example"},
			nil,
		} {
			if resp := c.do(t, "GET", "/x", nil, fields...); resp.StatusCode != 200 {
				t.Fatalf("%q: %s: %s", fields, resp.Status, whole(t, resp))
			}
			h := <-sent
			if ua, from := h["User-Agent"], h["From"]; len(ua) != 1 || ua[0] != "NewsBot/1.0 (+https://a.example/bot)" || len(from) != 1 || from[0] != "bots@a.example" {
				t.Errorf("%q: the origin got User-Agent %q, From %q", fields, ua, from)
			}
		}
		resp := c.do(t, "GET", "/private", nil, "User-Agent: python-requests/2.32", "Accept: application/problem+json")
		var told struct {
			Agent  string
			Tokens []string
			Client audit.Identity
		}
		if err := json.NewDecoder(resp.Body).Decode(&told); err != nil || resp.StatusCode != 403 {
			t.Fatalf("%s: %v", resp.Status, err)
		}
		who := audit.Identity{Name: "news", Purpose: "an archive", Project: "P-17", Contact: "lab@a.example"}
		if told.Agent != "newsbot" || len(told.Tokens) != 1 || told.Client != who {
			t.Errorf("the denial tells of %+v", told)
		}
		for {
			e := r.entryOf(t, c.as)
			if e.Identity == nil || *e.Identity != who || len(e.Tokens.Main) != 1 || e.Tokens.Main[0] != "NewsBot" {
				t.Errorf("recorded as %+v", e)
			}
			if e.Verdict == audit.Denied {
				break
			}
		}
	})
}

// TestAReplacedFieldStandsWhereTheClientsDid, and whatever Connection names it
// goes on.
func TestAReplacedFieldStandsWhereTheClientsDid(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t, named())
	for _, row := range []struct {
		why    string
		fields []string
		want   string // the fields behind Host, but for Via
	}{
		{"among others, as it is spelled", []string{"X-One: 1", "user-agent: python/3", "x-two: 2", "FROM: me@elsewhere.example", "X-Three: 3"}, "X-One: 1|user-agent: NewsBot/1.0 (+https://a.example/bot)|x-two: 2|FROM: bots@a.example|X-Three: 3"},
		{"several become one", []string{"User-Agent: a", "X-One: 1", "User-Agent: b"}, "User-Agent: NewsBot/1.0 (+https://a.example/bot)|X-One: 1|From: bots@a.example"},
		{"behind the others where there was none", []string{"X-One: 1"}, "X-One: 1|From: bots@a.example|User-Agent: NewsBot/1.0 (+https://a.example/bot)"},
		{"named by Connection", []string{"Connection: User-Agent, From", "User-Agent: a", "X-One: 1", "From: me@elsewhere.example"}, "User-Agent: NewsBot/1.0 (+https://a.example/bot)|X-One: 1|From: bots@a.example"},
	} {
		if a := r.get(t, "http://"+host+"/", append(row.fields, credentials(asNews))...); a.StatusCode != 204 {
			t.Fatalf("%s: %s: %s", row.why, a.Status, a.body)
		}
		var lines []string
		for line := range strings.SplitSeq(strings.TrimSpace(<-seen), "\r\n") {
			if !strings.HasPrefix(line, "GET ") && !strings.HasPrefix(line, "Host:") && !strings.HasPrefix(line, "Via:") {
				lines = append(lines, line)
			}
		}
		if got := strings.Join(lines, "|"); got != row.want {
			t.Errorf("%s: the origin got\n%s\nwant\n%s", row.why, got, row.want)
		}
	}
}

// TestCredentialsSayWhoAsks, each time anew, and before the address does.
func TestCredentialsSayWhoAsks(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, req.Header.Get("Proxy-Authorization"))
	})
	for _, row := range []struct {
		why    string
		set    []func(*Config)
		fields []string
		status int
		reason string
		client string
	}{
		{"by credentials", []func(*Config){named()}, []string{credentials(asNews)}, 200, "allowed", "news"},
		{"by others", []func(*Config){named()}, []string{credentials(asShop)}, 200, "allowed", "shop"},
		{"before the address", []func(*Config){named(local(&agent.Client{Name: "here"}))}, []string{credentials(asShop)}, 200, "allowed", "shop"},
		{"by the address", []func(*Config){named(local(&agent.Client{Name: "here"}))}, nil, 200, "allowed", "here"},
		{"nobody, who may ask", []func(*Config){named()}, nil, 200, "allowed", ""},
		{"a wrong password where none is needed", []func(*Config){named(local(&agent.Client{Name: "here"}))}, []string{credentials("shop:x")}, 407, "credentials", ""},
		{"an unknown name", []func(*Config){named()}, []string{credentials("nobody:x")}, 407, "credentials", ""},
		{"another scheme", []func(*Config){named()}, []string{"Proxy-Authorization: Bearer s3cret"}, 407, "credentials", ""},
		{"two fields", []func(*Config){named()}, []string{credentials(asNews), credentials(asNews)}, 407, "credentials", ""},
		{"nobody has a password", nil, []string{credentials("shop:x")}, 200, "allowed", ""},
		{"an address in no list", []func(*Config){named(), nobodyElse}, nil, 407, "credentials", ""},
		{"with credentials it may", []func(*Config){named(), nobodyElse}, []string{credentials(asShop)}, 200, "allowed", "shop"},
		{"an address of a client is in a list", []func(*Config){named(local(&agent.Client{Name: "here"})), nobodyElse}, nil, 200, "allowed", "here"},
		{"an address in no list, where nobody has a password", []func(*Config){nobodyElse}, []string{credentials(asShop)}, 403, "client-refused", ""},
	} {
		r := start(t, row.set...)
		a := r.get(t, o+"/x", row.fields...)
		e := r.entry(t)
		name := ""
		if e.Identity != nil {
			name = e.Identity.Name
		}
		if a.StatusCode != row.status || e.Reason != row.reason || name != row.client {
			t.Errorf("%s: %s, %s, client %q: %s", row.why, a.Status, e.Reason, name, a.body)
		}
		if (e.Verdict == audit.Forwarded) != (row.status == 200) {
			t.Errorf("%s: the verdict is %v", row.why, e.Verdict)
		}
		if challenge := a.Header.Get("Proxy-Authenticate"); (challenge == `Basic realm="heed", charset="UTF-8"`) != (row.status == 407) {
			t.Errorf("%s: Proxy-Authenticate %q", row.why, challenge)
		}
		if row.status == 200 && a.body != "" {
			t.Errorf("%s: the origin got %q", row.why, a.body)
		}
	}
}

// TestAnAnswerToWrongCredentialsTellsNothingOfThem: neither which names there are
// nor what was sent.
func TestAnAnswerToWrongCredentialsTellsNothingOfThem(t *testing.T) {
	r := start(t, named(), func(c *Config) {
		line, record := audit.Log(c.Log), c.Record
		c.Record = func(e *audit.Entry) { line(e); record(e) }
	})
	var first string
	for _, sent := range []string{"news:hunter2", "hunter2:s3cret"} {
		a := r.get(t, "http://a.example/x", credentials(sent), "Accept: application/problem+json")
		e := r.entry(t)
		told := strings.NewReplacer(e.ID, "ID").Replace(a.body + a.Header.Get("Proxy-Status"))
		if first == "" {
			first = told
		}
		if a.StatusCode != 407 || told != first || strings.Contains(told+e.Err, "hunter2") || !strings.Contains(told, "NAME:PASSWORD@HOST:PORT") {
			t.Errorf("%s: %s: %s", sent, a.Status, told)
		}
	}
	if log := r.log.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, `"reason":"credentials"`) {
		t.Errorf("the log is %s", log)
	}
}

// TestATunnelIsOfTheClientOfItsConnect: credentials inside are neither looked at
// nor sent on.
func TestATunnelIsOfTheClientOfItsConnect(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t, named(), nobodyElse)
	for _, inside := range []string{credentials(asShop), credentials("news:wrong"), "X: y"} {
		w := r.dial(t)
		if a := w.send(t, "CONNECT "+host+" HTTP/1.1\r\nHost: "+host+"\r\n"+credentials(asNews)+"\r\n\r\n"); a.StatusCode != 200 {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
		if a := w.send(t, "GET /x HTTP/1.1\r\nHost: "+host+"\r\n"+inside+"\r\n\r\n"); a.StatusCode != 204 {
			t.Errorf("%s: %s: %s", inside, a.Status, a.body)
		}
		if sent := <-seen; strings.Contains(sent, "Proxy-Authorization") || !strings.Contains(sent, "\r\nUser-Agent: NewsBot/1.0") {
			t.Errorf("%s: the origin got\n%s", inside, sent)
		}
		if _, err := io.WriteString(w, "malformed\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if a := w.read(t, "GET"); a.StatusCode != 400 {
			t.Errorf("malformed: %s", a.Status)
		}
		for range 3 { // the CONNECT, and both inside
			if e := r.entry(t); e.Identity == nil || e.Identity.Name != "news" {
				t.Errorf("%s: recorded as %+v", inside, e)
			}
		}
	}
}

func TestWhoMustSayWhoItIs(t *testing.T) {
	const browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
	const bot = "User-Agent: ExampleBot/1.0"
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	here := named(local(&agent.Client{Name: "here"}))
	onlyHere := func(c *Config) { c.Clients = agent.NewClients([]agent.Known{local(&agent.Client{Name: "here"})}) }
	for _, row := range []struct {
		why     string
		require Requirement
		set     func(*Config)
		fields  []string
		reason  string
		says    string
	}{
		{"anybody", AnyClient, named(), []string{browser}, "allowed", ""},
		{"a name of its own", ClientWithToken, named(), []string{bot}, "allowed", ""},
		{"a browser's", ClientWithToken, named(), []string{browser}, "identity", "identity.require"},
		{"none", ClientWithToken, named(), nil, "identity", "identity.require"},
		{"an asterisk", ClientWithToken, named(), []string{"User-Agent: *"}, "identity", "identity.require"},
		{"none that goes on", ClientWithToken, named(), []string{bot, "Connection: user-agent"}, "identity", "identity.require"},
		{"a token that is configured", ClientWithToken, named(), []string{browser, credentials(asNews)}, "allowed", ""},
		{"a name that has no token", ClientWithToken, named(), []string{browser, credentials(asShop)}, "identity", "clients.named"},
		{"no name, which credentials could give", NamedClient, named(), []string{bot}, "credentials", "identity.require: named"},
		{"no name, which an address could give", NamedClient, func(c *Config) {
			c.Clients = agent.NewClients([]agent.Known{{Client: &agent.Client{Name: "there"}, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}})
		}, []string{bot}, "identity", "clients.named"},
		{"a name by credentials", NamedClient, named(), []string{bot, credentials(asShop)}, "allowed", ""},
		{"a name by credentials, and a token", NamedClient, named(), []string{browser, credentials(asNews)}, "allowed", ""},
		{"a name without a token", NamedClient, named(), []string{browser, credentials(asShop)}, "identity", "product token"},
		{"a name by address", NamedClient, here, []string{bot}, "allowed", ""},
		{"a name by address without a token", NamedClient, onlyHere, nil, "identity", "product token"},
	} {
		r := start(t, row.set, requires(row.require))
		a := r.get(t, o+"/x", row.fields...)
		if e := r.entry(t); e.Reason != row.reason || !strings.Contains(a.body, row.says) {
			t.Errorf("%s: %s, %s: %s", row.why, a.Status, e.Reason, a.body)
		}
		if want := map[string]int{"allowed": 200, "identity": 403, "credentials": 407}[row.reason]; a.StatusCode != want {
			t.Errorf("%s: %s, want %d", row.why, a.Status, want)
		}
		if a := r.get(t, "http://heed.internal/ca.pem", row.fields...); a.StatusCode != 200 {
			t.Errorf("%s: heed's own page: %s", row.why, a.Status)
		}
	}
}

// TestWhatAConnectMustSay: credentials, since nobody can be asked for them
// inside; a User-Agent, which many clients send inside alone, only where nothing
// more is seen.
func TestWhatAConnectMustSay(t *testing.T) {
	o := newTLSOrigin(t, false, func(http.ResponseWriter, *http.Request) {})
	onlyThere := func(c *Config) {
		c.Clients = agent.NewClients([]agent.Known{{Client: &agent.Client{Name: "there"}, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}})
	}
	for _, row := range []struct {
		why     string
		mode    Mode
		require Requirement
		set     func(*Config)
		fields  string
		connect string // the reason of the CONNECT; "" is accepted
		inside  string // of a request inside, which has no User-Agent
	}{
		{"no token, and it is looked inside", Intercept, ClientWithToken, named(), "", "", "identity"},
		{"a token at the CONNECT alone", Intercept, ClientWithToken, named(), "User-Agent: ExampleBot/1.0\r\n", "", "identity"},
		{"a token that is configured", Intercept, ClientWithToken, named(), credentials(asNews) + "\r\n", "", "allowed"},
		{"no token, and nothing is seen inside", Tunnel, ClientWithToken, named(), "", "identity", ""},
		{"a token at the CONNECT, and nothing is seen inside", Tunnel, ClientWithToken, named(), "User-Agent: ExampleBot/1.0\r\n", "", ""},
		{"no credentials", Intercept, NamedClient, named(), "", "credentials", ""},
		{"no credentials, of an unread tunnel", Tunnel, NamedClient, named(), "", "credentials", ""},
		{"wrong credentials", Intercept, AnyClient, named(), credentials("news:x") + "\r\n", "credentials", ""},
		{"no name, which nobody has by credentials", Intercept, NamedClient, onlyThere, "", "", "identity"},
		{"the same of an unread tunnel", Tunnel, NamedClient, onlyThere, "", "identity", ""},
	} {
		r := start(t, row.set, requires(row.require), modeIs(row.mode))
		w := r.dial(t)
		a := w.send(t, "CONNECT "+hostOf(o)+" HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n"+row.fields+"\r\n")
		if row.connect != "" {
			if e := r.entry(t); e.Reason != row.connect || a.StatusCode != map[string]int{"identity": 403, "credentials": 407}[row.connect] || e.Verdict != audit.Denied {
				t.Errorf("%s: %s, recorded as %+v", row.why, a.Status, e)
			}
			continue
		}
		if a.StatusCode != 200 {
			t.Errorf("%s: %s: %s", row.why, a.Status, a.body)
			continue
		}
		if row.inside == "" {
			continue
		}
		in := r.secure(t, w, "127.0.0.1", "http/1.1")
		if a := in.send(t, "GET /x HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n"); a.StatusCode == 407 {
			t.Errorf("%s: a request inside was asked for credentials", row.why)
		}
		if e := r.entryOf(t, audit.Intercepted); e.Reason != row.inside {
			t.Errorf("%s: inside %s: %s", row.why, e.Reason, e.Err)
		}
	}
}

// TestAHostThatIsNotForTheClient is denied on every channel before its robots.txt
// is asked for, inside a tunnel where that can be read.
func TestAHostThatIsNotForTheClient(t *testing.T) {
	client := newsClient()
	client.MayAsk = func(host string) bool { return host == "a.example" }
	only := func(c *Config) { c.Clients = agent.NewClients([]agent.Known{local(client)}) }
	r := start(t, only)
	forAll(t, r, func(http.ResponseWriter, *http.Request) { t.Error("it was forwarded") }, func(t *testing.T, c channel) {
		for _, target := range []string{"/x", "/robots.txt"} {
			resp := c.do(t, "GET", target, nil)
			if body := whole(t, resp); resp.StatusCode != 403 || !strings.Contains(body, "destinations in clients.named") {
				t.Errorf("%s: %s: %s", target, resp.Status, body)
			}
			if e := r.entryOf(t, c.as); e.Reason != "destination-refused" || e.Verdict != audit.Denied {
				t.Errorf("%s: recorded as %+v", target, e)
			}
		}
	})
	r.proxy.ahead.running.Wait()
	if len(r.policies.asked) > 0 {
		t.Errorf("robots.txt was asked for: %v", r.policies.asked)
	}
	r = start(t, only, modeIs(Tunnel))
	if a := r.send(t, "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\n"); a.StatusCode != 403 || a.Status != "403 Host is not for this client" {
		t.Errorf("an unread tunnel: %s", a.Status)
	}
	if e := r.entry(t); e.Reason != "destination-refused" || len(r.policies.asked) > 0 {
		t.Errorf("recorded as %+v, asked for %v", e, r.policies.asked)
	}
	if a := r.get(t, "http://heed.internal/"); a.StatusCode != 200 {
		t.Errorf("heed's own pages: %s", a.Status)
	}
}

func TestTheModeOfATunnelIsThatOfItsClient(t *testing.T) {
	r := start(t, named(), func(c *Config) {
		c.Mode = func(_ origin.Origin, client *agent.Client) (Mode, string) {
			if client != nil && client.Name == "news" {
				return Deny, "https of the client news"
			}
			return Intercept, ""
		}
	})
	const connect = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n"
	if a := r.send(t, connect+credentials(asNews)+"\r\n\r\n"); a.StatusCode != 403 || !strings.Contains(a.body, "(https.mode): https of the client news") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if a := r.send(t, connect+credentials(asShop)+"\r\n\r\n"); a.StatusCode != 200 {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}
