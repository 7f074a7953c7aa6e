package origin

import (
	"errors"
	"strings"
	"testing"
)

// saying is a Closest that says of each, an origin or a host, its own name.
func saying(t testing.TB, all ...string) *Closest[string] {
	t.Helper()
	c := new(Closest[string])
	for _, what := range all {
		if err := say1(t, c, what); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return c
}

func say1(t testing.TB, c *Closest[string], what string) error {
	t.Helper()
	if !strings.Contains(what, "://") {
		return c.Add(Origin{}, what, what)
	}
	return c.Add(parsed(t, what), "", what)
}

func parsed(t testing.TB, url string) Origin {
	t.Helper()
	scheme, authority, _ := strings.Cut(url, "://")
	o, err := Parse(scheme, authority)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheClosestCounts(t *testing.T) {
	all := saying(t, "*.example", "*.a.example", "a.example", "https://a.example", "http://a.example:8080", "::1", "not-this.b.example", "*.not-this.b.example")
	for _, tt := range []struct{ why, url, want string }{
		{"the very origin", "https://A.example.:443", "https://a.example"},
		{"an origin with a port", "http://a.example:8080", "http://a.example:8080"},
		{"the host on another scheme", "http://a.example", "a.example"},
		{"the longest name above", "https://z.x.a.example", "*.a.example"},
		{"the shorter name above", "https://x.b.example", "*.example"},
		{"the host does not count, nor the name above it", "https://not-this.b.example", "*.example"},
		{"nor does what is closest for one below", "https://x.not-this.b.example", "*.example"},
		{"a name is not below itself", "https://example", ""},
		{"nor below one that it merely ends in", "https://xexample", ""},
		{"an address", "http://[::1]:81", "::1"},
		{"nothing is said", "https://a.test", ""},
	} {
		got, found := all.Find(parsed(t, tt.url), func(v string) bool { return !strings.Contains(v, "not-this") })
		if got != tt.want || found != (tt.want != "") {
			t.Errorf("%s: of %s is said %q, %v; want %q", tt.why, tt.url, got, found, tt.want)
		}
	}
	if got, _ := all.Find(parsed(t, "https://not-this.b.example"), nil); got != "not-this.b.example" || all.Len() != 8 {
		t.Errorf("where all count %q does, of %d", got, all.Len())
	}
	if got, found := new(Closest[string]).Find(parsed(t, "https://a.b.example"), nil); found {
		t.Errorf("the zero value says %q", got)
	}
}

func TestNothingIsSaidTwiceOrOfNothing(t *testing.T) {
	all := saying(t, "https://a.example", "a.example", "*.a.example")
	for _, what := range []string{"https://a.example:443", "a.example", "*.a.example"} {
		if err := say1(t, all, what); !errors.Is(err, ErrSaidTwice) {
			t.Errorf("%s a second time: %v", what, err)
		}
	}
	if all.Add(Origin{}, "", "") == nil || all.Add(parsed(t, "https://b.example"), "b.example", "") == nil {
		t.Error("something is said of nothing, or of two things at once")
	}
}

func TestFindingAllocatesNothing(t *testing.T) {
	all, o := saying(t, "*.a.example", "b.example"), parsed(t, "https://x.y.a.example")
	not := "*.a.example"
	if n := testing.AllocsPerRun(100, func() {
		if _, found := all.Find(o, func(v string) bool { return v != not }); found {
			t.Error("it counts")
		}
	}); n > 0 {
		t.Errorf("it allocates %v times", n)
	}
}
