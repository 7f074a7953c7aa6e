package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"heed/internal/agent"
	"heed/internal/origin"
	"heed/internal/override"
	"heed/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// robots has one robots.txt for all origins but unknown.example.
type robots struct {
	rules *policy.Policy
	asked atomic.Int64
}

func (r *robots) Snapshot(_ context.Context, o origin.Origin) (*policy.Snapshot, error) {
	r.asked.Add(1)
	if o.Host == "unknown.example" {
		return nil, errors.New("its robots.txt is not kept")
	}
	return &policy.Snapshot{Rules: r.rules}, nil
}

func those(text string) *robots {
	return &robots{rules: policy.Compile([]byte(text), policy.Options{})}
}

const closed = "User-agent: *\nDisallow: /private/\n\nUser-agent: NewsBot\nDisallow: /news\n"

// line is one of an exchange: of a path of a.example, that ExampleBot asked for,
// with more members, which go before those.
func line(path, verdict, reason, more string) string {
	return `{"level":"info",` + more + `"id":"x","client":"10.0.0.1:1","channel":"plain","origin":"http://a.example","path":"` + path +
		`","tokens":["ExampleBot"],"verdict":"` + verdict + `","reason":"` + reason + `","time":"2026-03-04T05:06:07.000Z","message":"exchange"}`
}

func replayed(t *testing.T, c Config, log ...string) (Summary, []Change) {
	t.Helper()
	tally, all := NewTally(), []Change(nil)
	err := Read(t.Context(), "log", strings.NewReader(strings.Join(log, "\n")), c, tally, func(c *Change) error {
		all = append(all, *c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tally.Summary(10), all
}

func mode(report bool) func(origin.Origin, string) bool {
	return func(_ origin.Origin, client string) bool { return client == "report" || report && client == "" }
}

// TestWhatBecomesOfAnExchange, by what became of it and what is tried.
func TestWhatBecomesOfAnExchange(t *testing.T) {
	const rule = `"rule":"Disallow: /private/","line":2,`
	enforce, report := mode(false), mode(true)
	table, err := override.New([]override.Record{
		{Host: "a.example", Override: policy.Override{Action: policy.AllowOrigin, Reason: "agreed"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		why         string
		line        string
		try         Config
		same        bool
		then, after string // of a change
	}{
		{"allowed, and is", line("/x", "forwarded", "allowed", ""), Config{}, true, "", ""},
		{"allowed, though the origin failed", line("/x", "forwarded", "dns-error", ""), Config{}, true, "", ""},
		{"denied, and is", line("/private/x", "denied", "disallowed", rule), Config{}, true, "", ""},
		{"newly disallowed", line("/private/x", "forwarded", "allowed", ""), Config{}, false, "forwarded", "denied"},
		{"newly disallowed, though the origin failed", line("/private/x", "forwarded", "connection-refused", ""), Config{}, false, "forwarded", "denied"},
		{"newly disallowed, and reported", line("/private/x", "forwarded", "allowed", ""), Config{Reports: report}, true, "", ""},
		{"newly allowed", line("/x", "denied", "disallowed", rule), Config{}, false, "denied", "forwarded"},
		{"the origin could not be talked to, now there are rules", line("/x", "denied", "dns-error", ""), Config{}, false, "denied", "forwarded"},
		{"reported, and stays so without a mode", line("/private/x", "forwarded", "disallowed", rule+`"report":true,`), Config{}, true, "", ""},
		{"reported, and enforced", line("/private/x", "forwarded", "disallowed", rule+`"report":true,`), Config{Reports: enforce}, false, "reported", "denied"},
		{"reported, failed, and enforced", line("/private/x", "forwarded", "dns-error", rule+`"report":true,"denial":"disallowed",`), Config{Reports: enforce}, false, "reported", "denied"},
		{"denied, and reported", line("/private/x", "denied", "disallowed", rule), Config{Reports: report}, false, "denied", "reported"},

		{"what is denied in any configuration", line("/x", "denied", "client-refused", ""), Config{Reports: report}, true, "", ""},
		{"for a reason that is not known here", line("/x", "denied", "of-a-later-heed", ""), Config{Reports: report}, true, "", ""},
		{"an address", line("/x", "denied", "address-prohibited", ""), Config{Reports: report}, true, "", ""},
		{"too fast stays denied", line("/x", "denied", "paced", ""), Config{}, true, "", ""},
		{"unless the mode is report", line("/x", "denied", "paced", ""), Config{Reports: report}, false, "denied", "reported"},
		{"a late robots.txt is not there in time", line("/x", "denied", "robots-pending", ""), Config{}, true, "", ""},
		{"reported without a name, and enforced", line("/x", "forwarded", "identity", `"report":true,`), Config{Reports: enforce}, false, "reported", "denied"},

		{"by another token", line("/news", "forwarded", "allowed", ""), Config{Token: "NewsBot"}, false, "forwarded", "denied"},
		{"by a client's token", line("/news", "forwarded", "allowed", `"client_name":"news",`), Config{Configured: true, Named: map[string]*agent.Client{"news": {Token: "NewsBot"}}}, false, "forwarded", "denied"},
		{"by a client's field", line("/news", "forwarded", "allowed", `"client_name":"news",`), Config{Configured: true, Named: map[string]*agent.Client{"news": {UserAgent: "NewsBot/1"}}}, false, "forwarded", "denied"},
		{"a client by its address", line("/private/x", "denied", "disallowed", rule), Config{Reports: mode(false), Configured: true, At: agent.NewClients([]agent.Known{{Client: &agent.Client{Name: "n", Mode: "report"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}).At}, false, "denied", "reported"},
		{"further names restrict", line("/news", "forwarded", "allowed", `"also":["NewsBot"],"tokens":["ExampleBot","NewsBot"],`), Config{}, false, "forwarded", "denied"},

		{"an override stays without a configuration", line("/private/x", "forwarded", "allowed", `"override":"a.example","override_action":"allow",`), Config{}, true, "", ""},
		{"and denies", line("/x", "denied", "override", `"override":"a.example","override_action":"disallow",`), Config{Token: "NewsBot"}, true, "", ""},
		{"unless it is reported", line("/x", "denied", "override", `"override":"a.example","override_action":"disallow",`), Config{Reports: report}, false, "denied", "reported"},
		{"was reported", line("/x", "forwarded", "override", `"report":true,"override":"a.example","override_action":"disallow",`), Config{Reports: enforce}, false, "reported", "denied"},
		{"it is not in the configuration any more", line("/private/x", "forwarded", "allowed", `"override":"a.example","override_action":"allow",`), Config{Configured: true}, false, "forwarded", "denied"},
		{"a new one", line("/private/x", "denied", "disallowed", rule), Config{Configured: true, Overrides: table}, false, "denied", "forwarded"},
		{"robots.txt itself", line("/robots.txt", "forwarded", "allowed", ""), Config{}, true, "", ""},
		{"a tunnel is decided as a whole", strings.Replace(line("a.example:443", "forwarded", "allowed", ""), `"plain"`, `"connect"`, 1), Config{}, true, "", ""},
	} {
		tt.try.Robots = those(closed)
		s, all := replayed(t, tt.try, tt.line)
		if s.Requests != 1 || s.Unknown+s.Unread > 0 || (s.Same == 1) != tt.same || len(all) != 1-s.Same {
			t.Errorf("%s: %+v", tt.why, s)
			continue
		}
		if !tt.same && (all[0].Before != tt.then || all[0].After != tt.after) {
			t.Errorf("%s: %+v", tt.why, all[0])
		}
	}
}

func TestAChangeIsToldWhole(t *testing.T) {
	_, all := replayed(t, Config{Robots: those(closed), Token: "NewsBot"},
		line("/news?q=1", "forwarded", "allowed", ""),
		line("/private/<x>", "denied", "disallowed", `"rule":"Disallow: /private/","line":2,`))
	want := []Change{
		{"x", "http://a.example/news?q=1", []string{"NewsBot"}, "forwarded", "denied", "rule", "Disallow: /news", 5, "allowed", "", 0},
		{"x", "http://a.example/private/<x>", []string{"NewsBot"}, "denied", "forwarded", "no-match", "", 0, "disallowed", "Disallow: /private/", 2},
	}
	if got, expected := fmt.Sprint(all), fmt.Sprint(want); got != expected {
		t.Errorf("got\n%s\nwant\n%s", got, expected)
	}
}

func TestWhatIsNotKnownIsCountedAndNamed(t *testing.T) {
	unknown := strings.Replace(line("/x", "forwarded", "allowed", ""), "a.example", "unknown.example", 1)
	byFile := line("/x", "forwarded", "allowed", `"override":"a.example","override_action":"file",`)
	s, _ := replayed(t, Config{Robots: those(closed), Token: "NewsBot"}, unknown, unknown, line(`/caf\ufffd`, "forwarded", "allowed", ""), byFile)
	want := `[{http://unknown.example its robots.txt is not kept 2} {http://a.example it was decided by a file of the operator's, which only a configuration tells 1} {http://a.example the log has not all octets of the path 1}]`
	if s.Unknown != 4 || fmt.Sprint(s.Unknowns) != want {
		t.Errorf("%+v", s)
	}
	// In report mode it is forwarded, whatever it is.
	if s, _ := replayed(t, Config{Robots: those(closed), Reports: mode(true)}, unknown); s.Same != 1 {
		t.Errorf("in report mode: %+v", s)
	}
	left := func(*policy.Snapshot, policy.Tokens, string) policy.Decision { return policy.Decision{} }
	if s, _ := replayed(t, Config{Robots: those(closed), Decide: left}, line("/x", "forwarded", "allowed", "")); s.Unknown != 1 {
		t.Errorf("where a dialect has no word: %+v", s)
	}
}

// TestNoLineIsLostSilently: each is one of something, and what cannot be read is
// named by its place.
func TestNoLineIsLostSilently(t *testing.T) {
	good := line("/x", "forwarded", "allowed", "")
	s, _ := replayed(t, Config{Robots: those(closed)},
		good,
		`{"level":"info","message":"ready"}`,
		``,
		"  \t\r",
		line("/", "answered", "own-page", ""),
		`{"torn":`,
		`not JSON`,
		`["exchange"]`,
		line("/x", "forwarded\x00", "allowed", ""),
		line("/x", "pondered", "allowed", ""),
		strings.Replace(good, `"path":"/x",`, "", 1),
		strings.Replace(good, `"reason":"allowed"`, `"reason":7`, 1),
		strings.Replace(good, "http://a.example", "gopher://a.example", 1),
		strings.Replace(good, `["ExampleBot"]`, `"ExampleBot"`, 1),
		strings.Replace(good, `["ExampleBot"]`, `[7]`, 1),
		line("/x", "forwarded", "allowed", `"also":["a","b"],`),
		strings.TrimSuffix(good, "}"),
	)
	want := []string{
		"log:6: not JSON: heed writes JSON lines with log.format json, and wherever its log is no terminal",
		"log:7: not JSON: heed writes JSON lines with log.format json, and wherever its log is no terminal",
		"log:8: a JSON array in place of an object",
		`log:9: its verdict "forwarded\x00" is none that heed writes`,
		`log:10: its verdict "pondered" is none that heed writes`,
		"log:11: it has no path",
		"log:12: it has no reason",
		`log:13: its origin "gopher://a.example" is none: scheme "gopher" is not http or https`,
		"log:14: its tokens is no array",
		"log:15: its tokens has something else than texts",
		"log:16: it has more further tokens (also) than tokens",
		"log:17: not JSON: heed writes JSON lines with log.format json, and wherever its log is no terminal",
	}
	var got []string
	for _, f := range s.Faults {
		got = append(got, f.Error())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s.Requests != 1 || s.Same != 1 || s.Passed != 3 || s.Answered != 1 || s.Unread != len(want) {
		t.Errorf("%+v", s)
	}
}

func TestCausesAreBoundedAndCountedAll(t *testing.T) {
	var log strings.Builder
	for i := range 2*mostCauses + 10 {
		fmt.Fprintln(&log, strings.Replace(line("/private/x", "forwarded", "allowed", ""), "a.example", fmt.Sprintf("o%d.example", i%(mostCauses+5)), 1))
	}
	for range 2 * mostFaults {
		fmt.Fprintln(&log, "torn")
	}
	tally := NewTally()
	if err := Read(t.Context(), "log", strings.NewReader(log.String()), Config{Robots: Remember(those(closed), 1<<30)}, tally, nil); err != nil {
		t.Fatal(err)
	}
	s := tally.Summary(3)
	shown := 0
	for _, r := range s.Denied {
		shown += r.N
	}
	if s.NowDenied != 2*mostCauses+10 || shown != s.NowDenied || len(s.Denied) != 4 || s.Denied[3].Why != "others" || len(s.Faults) != mostFaults || s.Unread != 2*mostFaults {
		t.Errorf("%+v", s)
	}
	if len(tally.all.nowDenied) > mostCauses+1 {
		t.Errorf("%d causes are kept", len(tally.all.nowDenied))
	}
}

func TestReadingThatFailsIsTold(t *testing.T) {
	tally, log := NewTally(), strings.NewReader(line("/x", "forwarded", "allowed", "")+"\n")
	err := Read(t.Context(), "audit.log", io.MultiReader(log, iotest.ErrReader(errors.New("the disk is gone"))), Config{Robots: those(closed)}, tally, nil)
	if err == nil || err.Error() != "reading audit.log: the disk is gone" || tally.Summary(0).Requests != 1 {
		t.Errorf("%v, %+v", err, tally.Summary(0))
	}
	full := errors.New("no room")
	err = Read(t.Context(), "audit.log", strings.NewReader(line("/private/x", "forwarded", "allowed", "")), Config{Robots: those(closed)}, NewTally(), func(*Change) error { return full })
	if !errors.Is(err, full) || strings.Contains(err.Error(), "reading") {
		t.Errorf("%v", err)
	}
}

func TestRobotsTxtFilesAreRemembered(t *testing.T) {
	from := those(closed)
	m := Remember(from, 20*perOrigin)
	ask := func(host string) {
		s, err := m.Snapshot(t.Context(), origin.Origin{Scheme: "http", Host: host, Port: "80"})
		if (err != nil) != (host == "unknown.example") || (s == nil) != (err != nil) {
			t.Errorf("%s: %v, %v", host, s, err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { ask("a.example"); ask("unknown.example") })
	}
	all.Wait()
	if n := from.asked.Load(); n != 2 {
		t.Errorf("asked %d times, want twice", n)
	}
	for i := range 100 {
		ask(fmt.Sprintf("o%d.example", i))
	}
	own := m.(*memory)
	if n := own.cache.Len(); n < 2 || n > 20 || own.room < 0 {
		t.Errorf("%d are remembered, and room for %d octets is left", n, own.room)
	}
	var held int
	for _, o := range own.cache.Keys() {
		r, _ := own.cache.Peek(o)
		held += r.size
	}
	if held+own.room != 20*perOrigin {
		t.Errorf("%d octets are held and %d left of %d", held, own.room, 20*perOrigin)
	}
	ask("o99.example")
	if n := from.asked.Load(); n != 102 {
		t.Errorf("asked %d times, want 102", n)
	}
	ask("a.example") // it had to make room
	if n := from.asked.Load(); n != 103 {
		t.Errorf("asked %d times, want 103", n)
	}
}

// FuzzALineIsReadOrRefused: whatever it has, and as encoding/json reads it.
func FuzzALineIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{line("/x", "forwarded", "allowed", `"also":["b"],"tokens":["a","b"],`), line("/x", "denied", "disallowed", `"report":true,`), `{"message":"exchange"}`, `{}`, `{"torn`, "\x00"} {
		f.Add(seed)
	}
	c := Config{Robots: those(closed)}
	f.Fuzz(func(t *testing.T, text string) {
		var r reader
		var x exchange
		kind, err := r.read([]byte(text), &x)
		if err != nil || kind != asked {
			return
		}
		_ = c.after(t.Context(), &x)
		var want struct {
			Origin, Path, Verdict, Reason, Message string
			Tokens                                 []string
		}
		if json.Unmarshal([]byte(text), &want) != nil || strings.Count(text, `"path"`)+strings.Count(text, `"origin"`) > 2 || strings.Contains(text, `\u`) {
			return // stricter, or of two members of one name it takes the last, or escapes of names
		}
		if !x.connect && x.target != strings.ToValidUTF8(want.Path, "\ufffd") && strings.ToValidUTF8(x.target, "\ufffd") != want.Path && !strings.EqualFold(want.Path, x.target) {
			t.Errorf("the path is %q, encoding/json reads %q", x.target, want.Path)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var log strings.Builder
	for i := range 10_000 {
		log.WriteString(strings.Replace(line(fmt.Sprintf("/news/%d?q=1", i), "forwarded", "allowed", `"proto":"HTTP/2.0","method":"GET","status":200,"bytes_in":0,"bytes_out":5120,"ms":12.25,"robots_ms":0,"origin_ms":11.5,"group":"*",`), "a.example", fmt.Sprintf("o%d.example", i%100), 1) + "\n")
	}
	c := Config{Robots: Remember(those(closed), 64<<20)}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := Read(b.Context(), "log", strings.NewReader(log.String()), c, NewTally(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
