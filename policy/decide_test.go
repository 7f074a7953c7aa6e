package policy_test

import (
	"strings"
	"sync"
	"testing"

	"heed/policy"
)

func TestDecideDoesNotAllocate(t *testing.T) {
	p := policy.Compile(typical, policy.Options{})
	s := &policy.Snapshot{Rules: p}
	tokens := policy.Tokens{Main: []string{"ExampleBot"}, Also: []string{"OtherBot", "GPTBot"}}
	both := []string{"ExampleBot", "MJ12bot"}
	for _, c := range []struct{ why, target string }{
		{"no rule matches", "/articles/2026/page.html?id=17"},
		{"a literal rule matches", "/section-7/private/x"},
		{"a rule with a wildcard matches", "/section-7/x.pdf"},
		{"the target holds escapes that are normal", "/caf%C3%A9?x"},
		{"a segment begins with a dot", "/.well-known/x"},
		{"/robots.txt", "/robots.txt"},
	} {
		if n := testing.AllocsPerRun(100, func() { p.Decide(tokens.Main, c.target) }); n != 0 {
			t.Errorf("%s: Policy.Decide: %v allocations", c.why, n)
		}
		if n := testing.AllocsPerRun(100, func() { p.Decide(both, c.target) }); n != 0 {
			t.Errorf("%s: Policy.Decide, two tokens: %v allocations", c.why, n)
		}
		if n := testing.AllocsPerRun(100, func() { s.Decide(tokens, c.target) }); n != 0 {
			t.Errorf("%s: Snapshot.Decide: %v allocations", c.why, n)
		}
		if n := testing.AllocsPerRun(100, func() { s.Decide(policy.Tokens{}, c.target) }); n != 0 {
			t.Errorf("%s: Snapshot.Decide, no tokens: %v allocations", c.why, n)
		}
	}
}

func TestDecideIsSafeForConcurrentUse(t *testing.T) {
	s := &policy.Snapshot{Rules: policy.Compile(typical, policy.Options{})}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				for _, target := range []string{"/section-7/private/x", "//section-7/private/x", "/%73ection-7/private/x"} {
					if d := s.Decide(only("ExampleBot"), target); d.Allowed {
						t.Errorf("%s: %v", target, d)
					}
				}
			}
		})
	}
	all.Wait()
}

func TestDecideWithALongToken(t *testing.T) {
	name := strings.Repeat("Long-", 100)
	p := policy.Compile([]byte("User-agent: "+name+"\nDisallow: /\n"), policy.Options{})
	if d := p.Decide([]string{strings.ToUpper(name)}, "/x"); d.Allowed {
		t.Errorf("got %v", d)
	}
	if d := p.Decide([]string{name + "x"}, "/x"); d.Reason != policy.ReasonNoGroup {
		t.Errorf("got %v", d)
	}
}
