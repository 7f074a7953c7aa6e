package policy

import (
	"slices"
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

// naiveRule is a rule of the reference.
type naiveRule struct {
	pattern string
	allow   bool
	line    int
}

// naiveRules is the reference for the choice of groups: the rules of all groups
// that name one of the tokens, else of those for "*".
func naiveRules(body string, tokens []string) []naiveRule {
	type naiveGroup struct {
		names []string
		rules []naiveRule
	}
	var groups []naiveGroup
	inNames := false
	for l := range Lines([]byte(body)) {
		value := body[l.Value.Start:l.Value.End]
		switch l.Kind {
		case UserAgent:
			if !inNames {
				groups = append(groups, naiveGroup{})
			}
			inNames = true
			g := &groups[len(groups)-1]
			g.names = append(g.names, strings.ToLower(string(RFC9309.nameOf([]byte(value)))))
		case Allow, Disallow:
			inNames = false
			if len(groups) == 0 || value == "" || value[0] != '/' && value[0] != '*' {
				continue
			}
			g := &groups[len(groups)-1]
			pattern := string(appendNormal(nil, value, ofPattern))
			g.rules = append(g.rules, naiveRule{pattern, l.Kind == Allow, l.Number})
		}
	}
	collect := func(tokens ...string) (rules []naiveRule, found bool) {
		for _, g := range groups {
			for _, token := range tokens {
				if slices.Contains(g.names, strings.ToLower(token)) {
					rules, found = append(rules, g.rules...), true
				}
			}
		}
		return rules, found
	}
	if rules, found := collect(slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return t == "*" })...); found {
		return rules
	}
	rules, _ := collect("*")
	return rules
}

// naiveDecide is the reference for the choice of a rule: every rule is tried, in
// no order. It returns the zero rule if none matches.
func naiveDecide(rules []naiveRule, path string, c comparison) naiveRule {
	var best naiveRule
	for _, r := range rules {
		if c == compareQueryDecoded {
			r.pattern = decodeQuery(r.pattern)
		}
		if !naiveMatch(r.pattern, path) {
			continue
		}
		switch {
		case best.line == 0, len(r.pattern) > len(best.pattern):
			best = r
		case len(r.pattern) < len(best.pattern):
		case r.allow && !best.allow, r.allow == best.allow && r.line < best.line:
			best = r
		}
	}
	return best
}

func FuzzMatch(f *testing.F) {
	for _, seed := range []struct{ robots, path string }{
		{"Disallow: /*ab*abc$\nAllow: /a", "/ababc"},
		{"Allow: /a*\nDisallow: /a$\nDisallow: /*", "/a"},
		{"Disallow: *\nAllow: *$\nAllow: /**$", "/"},
		{"Allow: /a$b\nAllow: /%24*%2a", "/a$b*"},
		{"Disallow: /*aba*aba\nAllow: /*b$", "/ababa"},
		{"Disallow: /?%3a*\nAllow: /*?:", "/?:%3A"},
		{"Allow: /%c3%a9\nDisallow: /é", "/%C3%a9"},
		{"Disallow: /a\nAllow: /ab\nDisallow: /abc$\nAllow: /abc\nDisallow: /ab***", "/abc"},
		{"Disallow: /a\nUser-agent: a\nAllow: /ab\nUser-agent: *\nAllow: /a\nUser-agent: b\nUser-agent: a\nDisallow: /abc", "/abc"},
		{"Disallow: /*a\nDisallow: /*b\nDisallow: /*c*d\nDisallow: /*ef\nAllow: /*ef$\nDisallow: /x*y", "/abcdef"},
	} {
		f.Add(seed.robots, seed.path)
	}
	f.Fuzz(func(t *testing.T, robots, path string) {
		if len(robots) > 1000 || len(path) > 1000 {
			return // the reference takes their product
		}
		target := withSlash(path)
		path = normalTarget(target)
		robots = "User-agent: *\n" + robots
		p := Compile([]byte(robots), Options{})
		for _, tokens := range [][]string{nil, {"a"}, {"B"}, {"a", "b"}, {"*", "c"}} {
			rules := naiveRules(robots, tokens)
			for _, c := range []comparison{comparePlain, compareQueryDecoded} {
				var d Decision
				p.decide(&d, tokens, target, path, c)
				want := naiveDecide(rules, path, c)
				if d.Line != want.line || d.Line > 0 && (d.Allowed != want.allow || d.Pattern != want.pattern) {
					t.Errorf("tokens %q, path %q, comparison %d: got %v, want %v", tokens, path, c, d, want)
				}
			}
		}
	})
}

// A name repeated for one group must not make its rules be tried once for each:
// a file of such lines and rules would take time by the product of both.
func TestRepeatedNameIsMentionedOnce(t *testing.T) {
	p := Compile([]byte("User-agent: *\nUser-agent: *\nUser-agent: a\nUser-agent: A\nDisallow: /\nUser-agent: a\n"), Options{})
	if got := p.global.mentions; got.to-got.from != 1 {
		t.Errorf("%d mentions of the star for one group", got.to-got.from)
	}
	if got := p.tokenNamed("a").mentions; got.to-got.from != 2 {
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
