package bypass

import "strings"

// by is a request of an agent.
func by(host, agent string) request { return request{host: host, target: "/x", agent: agent} }

// agents are D: who asks.
var agents = []row{
	{"D1", "no User-Agent is *, denied", all, by("closed.test", "-"), denied(), nil},
	{"D1", "no User-Agent is *, and none is put in its place", all, by("open.test", "-"), reached(), nothingIsPutIn},
	{"D2", "two lines: the groups of both count", all, request{host: "banned.test", target: "/x", agent: "goodbot/1", fields: []string{"User-Agent: badbot/1"}}, denied(), nil},
	{"D2", "two lines in the other order", all, request{host: "banned.test", target: "/x", agent: "badbot/1", fields: []string{"User-Agent: goodbot/1"}}, denied(), nil},
	{"D3", "a favoured name in a comment frees nobody", all, by("named.test", "evil (goodbot)"), denied(), nil},
	{"D3", "nor behind the main name", all, by("named.test", "evil/1 goodbot/1"), denied(), nil},
	{"D3", "nor before a name that is banned", all, by("named.test", "goodbot/1 badbot/1"), denied(), nil},
	{"D3", "a name in a comment binds", all, by("banned.test", "Mozilla/5.0 (compatible; badbot/0.1)"), denied(), nil},
	{"D3", "the main name in a comment counts", all, by("named.test", "Mozilla/5.0 (compatible; goodbot/0.1; +https://good.test)"), reached(), nil},
	{"D4", "another token, longer", all, by("named.test", "goodbot-evil/1"), denied(), nil},
	{"D4", "another token, with something before", all, by("named.test", "notgoodbot/1"), denied(), nil},
	{"D4", "another token, with an underscore", all, by("named.test", "goodbot_/1"), denied(), nil},
	{"D5", "case does not matter, allowed", all, by("named.test", "GOODBOT/2"), reached(), nil},
	{"D5", "case does not matter, denied", all, by("banned.test", "BadBot/2"), denied(), nil},
	{"D7", "octets that are no ASCII", raw, by("closed.test", "b\xc3\xb6t\xff/1"), denied(), nil},
	{"D7", "60 kB", all, by("closed.test", strings.Repeat("x", 60_000)), denied(), nil},
	{"D7", "60 kB of names", all, by("banned.test", strings.Repeat("a/1 ", 15_000)), reached(), nil},
	{"D7", "a banned name behind 60 kB", all, by("banned.test", strings.Repeat("x", 60_000)+" badbot/1"), refused(400, 403), nil},
	{"D7", "NUL", raw, by("open.test", "a\x00b"), refused(400), nil},
	{"D7", "empty", raw, request{host: "closed.test", target: "/x", agent: "-", fields: []string{"User-Agent:"}}, denied(), nil},
	{"D8", "each request by its own", p | c | m, request{}, outcome{}, changesOnAConnection},
}

func nothingIsPutIn(x *trial) {
	x.check(x.send())
	if strings.Contains(strings.ToLower(x.around(x.mark)), "user-agent") {
		x.Errorf("the origin got a User-Agent:\n%s", x.around(x.mark))
	}
}

// changesOnAConnection has another name in each request of a connection.
func changesOnAConnection(x *trial) {
	const host = "named.test"
	conn, err := x.open(x.channel, host)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	for i, who := range []struct {
		agent string
		want  outcome
	}{{"goodbot/1", reached()}, {"badbot/1", denied()}, {"goodbot/1", reached()}, {"-", denied()}, {"goodbot/2", reached()}} {
		one := *x
		one.mark = "n" + itoa(i) + x.mark[1:]
		one.request, one.want = by(host, who.agent), who.want
		a, err := send(conn, "GET", one.octets(host))
		if err != nil {
			x.Fatal(err)
		}
		one.check(a)
	}
}
