package policy

import (
	"strings"
	"testing"
	"time"
)

// naiveMatch is the reference for the matcher: it fills a table of whether the
// pattern from i on matches the path from j on.
func naiveMatch(pattern, path string) bool {
	matches := make([][]bool, len(pattern)+1)
	for i := range matches {
		matches[i] = make([]bool, len(path)+1)
	}
	for j := range matches[len(pattern)] {
		matches[len(pattern)][j] = true // what is left of the path does not matter
	}
	for i := len(pattern) - 1; i >= 0; i-- {
		for j := len(path); j >= 0; j-- {
			switch pattern[i] {
			case '*':
				matches[i][j] = matches[i+1][j] || j < len(path) && matches[i][j+1]
			case '$':
				matches[i][j] = j == len(path)
			default:
				matches[i][j] = j < len(path) && pattern[i] == path[j] && matches[i+1][j+1]
			}
		}
	}
	return matches[0][0]
}

// naiveFirst is the reference for the choice of a rule: every rule is tried, in
// no order.
func naiveFirst(p *Policy, rules []rule, path string) *rule {
	var best *rule
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if !naiveMatch(p.patternOf(r), path) {
			continue
		}
		switch {
		case best == nil, r.patternLen > best.patternLen:
			best = r
		case r.patternLen < best.patternLen:
		case r.allow && !best.allow, r.allow == best.allow && r.line < best.line:
			best = r
		}
	}
	return best
}

func FuzzMatch(f *testing.F) {
	for _, seed := range []struct{ rules, path string }{
		{"Disallow: /*ab*abc$\nAllow: /a", "/ababc"},
		{"Allow: /a*\nDisallow: /a$\nDisallow: /*", "/a"},
		{"Disallow: *\nAllow: *$\nAllow: /**$", "/"},
		{"Disallow: /a$b\nAllow: /%24*%2a", "/a$b*"},
		{"Disallow: /*aba*aba\nAllow: /*b$", "/ababa"},
		{"Disallow: /?%3a*\nAllow: /*?:", "/?:%3A"},
		{"Allow: /%c3%a9\nDisallow: /é", "/%C3%a9"},
	} {
		f.Add(seed.rules, seed.path)
	}
	f.Fuzz(func(t *testing.T, rules, path string) {
		if len(rules) > 1000 || len(path) > 1000 {
			return // the reference takes their product
		}
		path = normaliseTarget(withSlash(path))
		p := Compile([]byte("User-agent: *\n"+rules), Options{})
		for _, g := range p.groups {
			for _, s := range []span{g.rules, g.decoded} {
				rules := p.rules[s.from:s.to]
				got, want := p.firstMatch(rules, path, nil), naiveFirst(p, rules, path)
				if got != want {
					t.Errorf("path %q: got %v, want %v", path, got, want)
				}
			}
		}
	})
}

// A name repeated for one group must not make its rules be tried once for each:
// a file of such lines and rules would take time by the product of both.
func TestRepeatedNameIsMentionedOnce(t *testing.T) {
	p := Compile([]byte("User-agent: *\nUser-agent: *\nUser-agent: a\nUser-agent: A\nDisallow: /\nUser-agent: a\n"), Options{})
	if got := p.global; got.to-got.from != 1 {
		t.Errorf("%d mentions of the star for one group", got.to-got.from)
	}
	if got := p.mentionsOf("a"); got.to-got.from != 2 {
		t.Errorf("%d mentions of a name for two groups", got.to-got.from)
	}
}

// A matcher that tries every place for every '*' takes seconds for this. The
// best of a few runs counts, so that a busy machine is not taken for a slow
// matcher.
func TestHostileRulesAreDecidedInLinearTime(t *testing.T) {
	const enough = 500 * time.Millisecond // it takes about 10 ms
	pattern := "Disallow: /*" + strings.Repeat("a*", 50) + "b\n"
	body := "User-agent: *\n" + strings.Repeat(pattern, DefaultLimit/len(pattern))
	path := "/b" + strings.Repeat("a", 8<<10)
	p := Compile([]byte(body), Options{})

	best := time.Hour
	for range 5 {
		start := time.Now()
		d := p.Decide(nil, path)
		best = min(best, time.Since(start))
		if d.Reason != ReasonNoMatch {
			t.Fatalf("got %v, want no match", d)
		}
	}
	if best > enough {
		t.Errorf("the best of 5 decisions took %v, more than %v", best, enough)
	}
}
