package proxy

import (
	"encoding/json"
	"strings"
	"testing"

	"heed/internal/agent"
)

// TestWhyIsNoWayRound: what would be decided is told of the client that asks, and
// no origin is asked on behalf of who may not.
func TestWhyIsNoWayRound(t *testing.T) {
	bound := func() *agent.Client {
		c := newsClient()
		c.MayAsk = func(host string) bool { return host == "a.example" }
		return c
	}
	here := func(c *Config) { c.Clients = agent.NewClients([]agent.Known{local(bound())}) }
	for _, row := range []struct {
		why     string
		set     func(*Config)
		require Requirement
		query   string
		problem string // "" where there is none
		agent   string
		asked   bool
	}{
		{"a host that is for it, by its own token", here, AnyClient, "url=http://a.example/x", "disallowed", "newsbot", true},
		{"by another name", here, AnyClient, "url=http://a.example/x&agent=OtherBot", "", "otherbot", true},
		{"a host that is not", here, AnyClient, "url=http://b.example/x", "destination-refused", "", false},
		{"by a name that would not help", here, AnyClient, "url=http://b.example/x&agent=OtherBot", "destination-refused", "", false},
		{"nobody, where a name is wanted", named(), NamedClient, "url=http://a.example/x&agent=NewsBot", "credentials", "", false},
		{"nobody, where a token is wanted", named(), ClientWithToken, "url=http://a.example/x", "identity", "", false},
		{"a token, where that is enough", named(), ClientWithToken, "url=http://a.example/x&agent=NewsBot", "disallowed", "newsbot", true},
	} {
		r := start(t, row.set, requires(row.require))
		r.policies.set("http://a.example", rules("http://a.example", "User-agent: NewsBot\nDisallow: /\n"))
		a := r.get(t, "http://heed.internal/why?"+row.query, "Accept: application/json")
		var told struct{ Type, Agent string }
		if err := json.Unmarshal([]byte(a.body), &told); err != nil || a.StatusCode != 200 {
			t.Fatalf("%s: %s: %s", row.why, a.Status, a.body)
		}
		if got := strings.TrimPrefix(told.Type, problemPages); got != row.problem || told.Agent != row.agent {
			t.Errorf("%s: told of %q for %q, want %q for %q", row.why, got, told.Agent, row.problem, row.agent)
		}
		if asked := len(r.policies.asked) > 0; asked != row.asked {
			t.Errorf("%s: the robots.txt was asked for: %t", row.why, asked)
		}
	}
}
