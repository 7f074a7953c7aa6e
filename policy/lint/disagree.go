package lint

import (
	"fmt"
	"strings"

	"heed/policy"
)

// stranger is who is asked for where a group is for everyone: a crawler that no
// file names, nor a part of it, which is enough for some dialects.
const stranger = "zqxjkv"

// dialects asks each dialect about targets made from each rule, for an agent of
// its group.
func (c *checker) dialects(limit int) {
	rules, names := 0, 0
	for _, g := range c.groups.all {
		rules += len(g.rules)
		for _, a := range g.agents {
			names += 1 + a.line.Value.Len()/4
		}
	}
	if rules == 0 {
		return
	}
	p := prober{checker: c}
	for _, d := range policy.Dialects() {
		p.policies = append(p.policies, policy.Compile(c.body, policy.Options{Limit: limit, Dialect: d}))
		p.names = append(p.names, d.Name())
	}
	// Some dialects can only try one agent and one rule after the other, and
	// may have to look at every octet of an agent's name.
	const budget, least = 4 << 20, 16
	left := max(budget/(rules+names), least)
	for _, g := range c.groups.all {
		agent := g.asked(c.body)
		for _, r := range g.rules {
			switch {
			case agent == "" || r.pattern == "":
			case left == 0:
				c.unprobed++
			default:
				left--
				p.probe(agent, r)
			}
		}
	}
}

// asked returns the first agent of the group, as a crawler would call itself,
// "" if the group is for nobody.
func (g group) asked(body []byte) string {
	for _, a := range g.agents {
		if a.name == "*" {
			return stranger
		}
		if a.name != "" {
			return string(policy.RFC9309.Token(a.line.Value.Of(body)))
		}
	}
	return ""
}

type prober struct {
	*checker
	policies []*policy.Policy // the default first
	names    []string         // of their dialects
}

// probe reports how dialects differ from the default for the targets of a rule:
// each dialect once, with the first target that shows it.
func (p *prober) probe(agent string, r rule) {
	differs := make([]bool, len(p.policies))
	var clauses []string
	for _, target := range targets(r, r.line.Value.Of(p.body)) {
		verdict := p.policies[0].Decide([]string{agent}, target).Allowed
		var others []string
		for i := 1; i < len(p.policies); i++ {
			if !differs[i] && p.policies[i].Decide([]string{agent}, target).Allowed != verdict {
				differs[i] = true
				others = append(others, p.names[i])
			}
		}
		if others != nil {
			clauses = append(clauses, fmt.Sprintf("%s is %s by %s but %s by %s",
				quote(target), word(verdict), p.names[0], word(!verdict), strings.Join(others, ", ")))
		}
	}
	if clauses == nil {
		return
	}
	who := agent
	if agent == stranger {
		who = "a crawler without a group"
	}
	p.add(DialectsDisagree, r.line, r.line.Value, 0,
		"for %s, %s; where that matters, write each crawler's group once, rules with plain paths, and those that say most first", quoteName(who), strings.Join(clauses, "; "))
}

func quoteName(who string) string {
	const most = 60
	return who[:min(len(who), most)]
}

func word(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "disallowed"
}

// targets returns a few targets that a rule is about, and their neighbours: what
// the asterisks match empty or not, the end left open or not, octets escaped or
// not.
func targets(r rule, value []byte) []string {
	const longest = 2048 // octets of a target that crawlers may ask for
	if len(r.pattern) > longest || len(value) > longest {
		return nil
	}
	pattern, end := strings.CutSuffix(r.pattern, "$")
	bare := strings.ReplaceAll(pattern, "*", "")
	all := []string{bare, bare + "x", strings.ReplaceAll(pattern, "*", "x")}
	if end {
		all = append(all, bare+"?x")
	}
	raw := strings.ReplaceAll(strings.TrimSuffix(string(value), "$"), "*", "")
	all = append(all, raw)
	if strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f") {
		all = append(all, strings.NewReplacer("%2F", "/", "%2f", "/").Replace(raw))
	}
	seen := make(map[string]bool, len(all))
	kept := all[:0]
	for _, target := range all {
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		if !seen[target] {
			seen[target] = true
			kept = append(kept, target)
		}
	}
	return kept
}
