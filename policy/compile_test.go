package policy_test

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"weak"

	"heed/policy"
)

func TestCompileDoesNotRetainTheBody(t *testing.T) {
	body := []byte(everyone + "Disallow: /private\n# " + strings.Repeat("x", 1<<20))
	watched := weak.Make(&body[0])
	p := policy.Compile(body, policy.Options{Limit: len(body)})
	body = nil
	runtime.GC()
	if watched.Value() != nil {
		t.Error("the body is still held")
	}
	if d := p.Decide(nil, "/private"); d.Rule() != "Disallow: /private" {
		t.Errorf("got %v", d)
	}
	if p.Size() > 1024 {
		t.Errorf("a file of one rule is said to hold %d octets", p.Size())
	}
}

func TestSizeIsAboutWhatIsHeld(t *testing.T) {
	const copies = 2000
	held := make([]*policy.Policy, copies)
	before := heapInUse()
	for i := range held {
		held[i] = policy.Compile(typical, policy.Options{})
	}
	got := float64(heapInUse()-before) / copies
	if size := float64(held[0].Size()); got < size*0.7 || got > size*1.5 {
		t.Errorf("Size says %.0f octets, %.0f are held", size, got)
	}
	runtime.KeepAlive(held)
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestZeroPolicyIsThatOfAnEmptyFile(t *testing.T) {
	empty := policy.Compile(nil, policy.Options{})
	var zero policy.Policy
	if got, want := zero.Decide(nil, "/x"), empty.Decide(nil, "/x"); got.Clone(100) != want.Clone(100) || !got.Allowed {
		t.Errorf("got %v, want %v", got, want)
	}
	if zero.Names("*") || zero.Truncated() {
		t.Errorf("the zero Policy names %t, is truncated %t", zero.Names("*"), zero.Truncated())
	}
}

func TestNames(t *testing.T) {
	const longName = "a-name-that-is-longer-than-any-crawler-has-a-reason-to-have-one-by-far"
	p := policy.Compile([]byte("User-agent: Example_Bot/2\nUser-agent: MJ12bot\nUser-agent: *bot\nUser-agent: "+
		strings.ToUpper(longName)+"\n"), policy.Options{})
	for token, want := range map[string]bool{
		"example_bot":   true,
		"EXAMPLE_BOT":   true,
		"Example_Bot/2": false,
		"Example":       false,
		"mj12BOT":       true,
		"MJ":            false,
		"*":             false,
		"bot":           false,
		longName:        true,
		longName + "x":  false,
	} {
		if got := p.Names(token); got != want {
			t.Errorf("%q: got %t, want %t", token, got, want)
		}
	}
	if star := policy.Compile([]byte("User-agent: * (everyone)\n"), policy.Options{}); !star.Names("*") {
		t.Error("a star followed by white space names nobody")
	}
}

// What a compiler wrote before must not be seen in what it writes next.
func TestCompilingAgainMakesTheSame(t *testing.T) {
	bodies := [][]byte{nil, typical, []byte("x:y"), []byte("User-agent: a\nDisallow: /*a*b\nUser-agent: b\nUser-agent: a\nAllow: /?%3a\n")}
	var first []*policy.Policy
	for _, body := range bodies {
		first = append(first, policy.Compile(body, policy.Options{}))
	}
	for range 3 {
		for i := range bodies {
			i = len(bodies) - 1 - i
			if got := policy.Compile(bodies[i], policy.Options{}); !reflect.DeepEqual(got, first[i]) {
				t.Errorf("%q: compiled again it comes out as %+v, not %+v", bodies[i], got, first[i])
			}
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []struct{ body, token, target string }{
		{string(typical), "ExampleBot", "/section-7/private/press/x.pdf"},
		{"\xef\xbbUser-agent *\rDisallow:/*a*b$\n\rallow:/%2a?%3A#\x00", "*", "//a%2f../b?:"},
		{"user agent: é\nuser-agent:\n:\n\nDIASLLOW: \xff$$", "", "/\xff$$"},
		{strings.Repeat("User-agent: a\nDisallow: /a*a*a*b\n", 20), "A", "/aaaaaaaaaaaaaaaaaaaa"},
	} {
		f.Add([]byte(seed.body), seed.token, seed.target)
	}
	f.Fuzz(func(t *testing.T, body []byte, token, target string) {
		tokens := []string{token}
		p := policy.Compile(body, policy.Options{})
		d := p.Decide(tokens, target)
		s := &policy.Snapshot{Rules: p}
		forwarded := s.Decide(policy.Tokens{Main: tokens}, target)

		lines := 1 + bytes.Count(body, []byte("\n")) + bytes.Count(body, []byte("\r"))
		if d.Line > lines || d.GroupLine > lines || (d.Line > 0) != (d.Reason == policy.ReasonRule) {
			t.Errorf("%+v of a file of %d lines at most", d, lines)
		}
		if !d.Allowed && !strings.HasPrefix(d.Rule(), "Disallow: ") {
			t.Errorf("disallowed by %q", d.Rule())
		}
		if forwarded.Allowed && !d.Allowed {
			t.Errorf("a proxy would forward what is disallowed: %v; %v", forwarded, d)
		}
		if forwarded.Form == "" && forwarded != d {
			t.Errorf("a proxy decides %+v, the reading is %+v", forwarded, d)
		}
		if d.String() == "" || forwarded.String() == "" {
			t.Error("a decision says nothing")
		}
		if !reflect.DeepEqual(p, policy.Compile(body, policy.Options{})) {
			t.Error("compiled again, the body comes out otherwise")
		}
		clear(body)
		if again := p.Decide(tokens, target); again != d {
			t.Errorf("without the body the decision is %+v, not %+v", again, d)
		}
	})
}
