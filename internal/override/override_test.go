package override

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// to is an override for an origin or a host that says its own name.
func to(what string, expires time.Time) Record {
	r := Record{Override: policy.Override{Action: policy.AllowOrigin, Reason: what, Expires: expires}, Host: what}
	if scheme, authority, isOrigin := strings.Cut(what, "://"); isOrigin {
		o, err := origin.Parse(scheme, authority)
		if err != nil {
			panic(err)
		}
		r.Origin, r.Host = o, ""
	}
	return r
}

func table(t testing.TB, records ...Record) *Table {
	t.Helper()
	all, err := New(records)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parse(t testing.TB, url string) origin.Origin {
	t.Helper()
	scheme, authority, _ := strings.Cut(url, "://")
	o, err := origin.Parse(scheme, authority)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheClosestOverrideCounts(t *testing.T) {
	never, past := time.Time{}, now
	all := table(t,
		to("*.example", never), to("*.a.example", never), to("a.example", never), to("https://a.example", never), to("http://a.example:8080", never),
		to("*.b.a.example", past), to("c.example", past), to("https://d.example", past), to("d.example", now.Add(1)),
		to("::1", never), to("192.0.2.1", never),
	)
	for _, tt := range []struct{ why, url, want string }{
		{"the very origin", "https://a.example", "https://a.example"},
		{"by its other spelling", "https://A.example.:443", "https://a.example"},
		{"the host on another scheme", "http://a.example", "a.example"},
		{"the host on another port", "https://a.example:8443", "a.example"},
		{"an origin with a port", "http://a.example:8080", "http://a.example:8080"},
		{"the longest name above", "https://x.a.example", "*.a.example"},
		{"levels above", "https://z.y.x.a.example", "*.a.example"},
		{"the shorter name above", "https://x.b.example", "*.example"},
		{"the longest has expired, the next one counts", "https://x.b.a.example", "*.a.example"},
		{"the host has expired, the name above counts", "https://c.example", "*.example"},
		{"the origin has expired, its host has a moment left", "https://d.example", "d.example"},
		{"a name is not below itself", "https://example", ""},
		{"nor below one that it merely ends in", "https://aexample", ""},
		{"none", "https://a.test", ""},
		{"an address", "http://192.0.2.1", "192.0.2.1"},
		{"an IPv6 address", "http://[::1]:81", "::1"},
		{"another address", "http://192.0.2.2", ""},
	} {
		got := ""
		if r := all.Find(parse(t, tt.url), now); r != nil {
			if got = r.For; r.Reason != got {
				t.Errorf("%s: of %q the name is %q", tt.why, r.Reason, got)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s has %q, want %q", tt.why, tt.url, got, tt.want)
		}
	}
}

func TestNoTableHasNoOverrides(t *testing.T) {
	var none *Table
	if none.Find(parse(t, "https://a.example"), now) != nil || none.Len() != 0 || none.Expired(now) != nil {
		t.Error("a nil table has some")
	}
	none.Watch(t.Context(), func(*Record) { t.Error("and reports some") })
}

func TestExpiryIsTheFirstMomentWithoutEffect(t *testing.T) {
	all := table(t, to("a.example", now.Add(time.Hour)), to("b.example", now), to("c.example", now.Add(-1)), to("d.example", time.Time{}))
	for at, want := range map[time.Time]string{
		now.Add(-2):              "",
		now.Add(-1):              "c.example",
		now:                      "c.example b.example",
		now.Add(time.Hour - 1):   "c.example b.example",
		now.Add(time.Hour):       "c.example b.example a.example",
		now.AddDate(1000, 0, 0):  "c.example b.example a.example",
		now.AddDate(-1000, 0, 0): "",
	} {
		var names []string
		for _, r := range all.Expired(at) {
			names = append(names, r.For)
			if all.Find(origin.Origin{Scheme: "https", Host: r.For, Port: "443"}, at) != nil {
				t.Errorf("at %v %s has expired and counts", at, r.For)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("at %v have expired: %q, want %q", at, got, want)
		}
	}
	if all.Len() != 4 {
		t.Errorf("there are %d overrides, want 4", all.Len())
	}
}

func TestRecordsThatMakeNoSenseAreRefused(t *testing.T) {
	both := to("https://a.example", now)
	both.Host = "a.example"
	rules := policy.Compile([]byte("User-agent: *\n"), policy.Options{})
	lost, stray := to("a.example", now), to("a.example", now)
	lost.Action, stray.Rules = policy.UseOperatorsRules, rules
	for why, tt := range map[string]struct {
		records []Record
		want    string
	}{
		"neither origin nor host":    {[]Record{{}}, "overrides[0]: applies to an origin or to a host, to one of the two"},
		"both":                       {[]Record{both}, "overrides[0]: applies to an origin or to a host, to one of the two"},
		"the same origin twice":      {[]Record{to("https://a.example", now), to("HTTPS://a.example:443", now)}, "overrides[1]: there is another for https://a.example"},
		"the same host twice":        {[]Record{to("a.example", now), to("a.example", now)}, "overrides[1]: there is another for a.example"},
		"the same names twice":       {[]Record{to("*.a.example", now), to("a.example", now), to("*.a.example", now)}, "overrides[2]: there is another for *.a.example"},
		"a file without its rules":   {[]Record{lost}, "overrides[0]: a.example: rules belong to the action file, and to no other"},
		"rules that nobody asks for": {[]Record{stray}, "overrides[0]: a.example: rules belong to the action file, and to no other"},
	} {
		if _, err := New(tt.records); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", why, err, tt.want)
		}
	}
}

func TestARecordDecidesByItsOwnRules(t *testing.T) {
	r := to("https://a.example", time.Time{})
	r.Action, r.Rules = policy.UseOperatorsRules, policy.Compile([]byte("User-agent: *\nDisallow: /x\n"), policy.Options{})
	found := table(t, r).Find(parse(t, "https://a.example"), now)
	if d := found.Decide(policy.Tokens{}, "/x"); d.Allowed || d.Line != 2 || d.Override != &found.Override {
		t.Errorf("/x is %v", d)
	}
	if d := found.Decide(policy.Tokens{}, "/y"); !d.Allowed {
		t.Errorf("/y is %v", d)
	}
}

// tenThousand is a table of as many origins, hosts and names, and an origin
// that none of them is for.
func tenThousand(b testing.TB) (*Table, origin.Origin, origin.Origin) {
	records := make([]Record, 0, 10_000)
	for i := range 10_000 / 4 {
		records = append(records,
			to(fmt.Sprintf("https://o%d.example", i), now.Add(time.Hour)), to(fmt.Sprintf("http://o%d.example:8080", i), time.Time{}),
			to(fmt.Sprintf("h%d.example", i), now.Add(time.Hour)), to(fmt.Sprintf("*.w%d.example", i), time.Time{}))
	}
	return table(b, records...), parse(b, "https://a.b.c.w77.example"), parse(b, "https://a.b.c.d.example")
}

func TestDecidingByAnOverrideAllocatesNothing(t *testing.T) {
	all, hit, miss := tenThousand(t)
	who := policy.Tokens{Main: []string{"ExampleBot"}}
	if n := testing.AllocsPerRun(100, func() {
		if !all.Find(hit, now).Decide(who, "/x").Allowed || all.Find(miss, now) != nil {
			t.Error("the wrong one was found")
		}
	}); n > 0 {
		t.Errorf("it allocates %v times", n)
	}
}

func BenchmarkFindAmongTenThousand(b *testing.B) {
	all, hit, miss := tenThousand(b)
	for name, o := range map[string]origin.Origin{"hit": hit, "miss": miss} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all.Find(o, now)
			}
		})
	}
}
