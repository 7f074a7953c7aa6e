package policy

import "strings"

// decideByOneGroup is decide for a dialect that obeys one group alone.
func (p *Policy) decideByOneGroup(d *Decision, agents []string, target, path string) {
	if len(agents) == 0 {
		agents = everyone
	}
	p.judge(d, agents[0], p.groupFor(agents[0]), target, path)
	for _, agent := range agents[1:] {
		if !d.Allowed {
			return
		}
		var next Decision
		if p.judge(&next, agent, p.groupFor(agent), target, path); !next.Allowed {
			*d = next
		}
	}
}

// judge fills the zero Decision d with what the group of the mention m says to
// an agent; nil stands for no group.
func (p *Policy) judge(d *Decision, agent string, m *mention, target, path string) {
	s := search{policy: p, token: agent, mention: m}
	if m != nil {
		if p.nameAt(m) == global {
			s.token = global
		}
		s.rule = p.deciding(p.groups[m.group].rules.plain, path, nil)
	}
	s.explain(d, target)
}

// groupFor returns the user-agent line by which a dialect that obeys one group
// alone finds the group of an agent, nil if there is none.
func (p *Policy) groupFor(agent string) *mention {
	agent = strings.ToLower(agent)
	for i := range p.mentions {
		m := &p.mentions[i]
		if p.isGroup(m) && p.dialect.choice.fits(strings.ToLower(p.nameAt(m)), agent) {
			return m
		}
	}
	for i := range p.mentions {
		m := &p.mentions[i]
		if p.isGroup(m) && p.nameAt(m) == global && p.dialect.choice != firstSimilar {
			return m
		}
	}
	return nil
}

// isGroup tells whether what a user-agent line names is a group for the dialect.
func (p *Policy) isGroup(m *mention) bool {
	rules := p.sets[p.groups[m.group].rules.plain]
	return !p.dialect.needsRules || rules.ordered.from < rules.ordered.to
}

// groupsFor returns the places of the groups that count for a crawler with the
// given product tokens.
func (p *Policy) groupsFor(tokens []string) []uint32 {
	var groups []uint32
	if p.dialect.choice != everyEqual {
		if len(tokens) == 0 {
			tokens = everyone
		}
		for _, agent := range tokens {
			if m := p.groupFor(agent); m != nil {
				groups = append(groups, m.group)
			}
		}
		return groups
	}
	add := func(t *token) {
		for _, at := range p.named[t.mentions.from:t.mentions.to] {
			groups = append(groups, p.mentions[at].group)
		}
	}
	for _, name := range tokens {
		if name != global {
			add(p.tokenNamed(name))
		}
	}
	if groups == nil {
		add(&p.global)
	}
	return groups
}

// fits tells whether the name on a user-agent line is the agent's, both being in
// lower case.
func (c choice) fits(name, agent string) bool {
	switch c {
	case everyEqual:
		return name == agent
	case firstSimilar:
		return strings.Contains(name, agent) || containsGlob(agent, name)
	case firstCompletion:
		return strings.HasPrefix(name, agent)
	case firstWithin:
		return name != "" && name != global && strings.Contains(agent, name)
	case firstAround:
		return strings.Contains(name, agent)
	}
	return false
}

// containsGlob tells whether text has a part that the glob matches, in which '*'
// is any run of octets.
func containsGlob(text, glob string) bool {
	for literal := range strings.SplitSeq(glob, "*") {
		at := strings.Index(text, literal)
		if at < 0 {
			return false
		}
		text = text[at+len(literal):]
	}
	return true
}
