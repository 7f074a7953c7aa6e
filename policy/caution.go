package policy

// compileOthers reads the body in other octets, if there are some, and as all
// other dialects do, if they are to count.
func (p *Policy) compileOthers(body []byte, o Options) {
	other, cautious := o.Other, o.Cautious
	o.Other, o.Cautious, o.Strict = nil, false, false
	last := p
	if other != nil {
		last.next = Compile(other, o)
		last = last.next
	}
	if !cautious {
		return
	}
	for _, d := range Dialects() {
		if d != o.Dialect {
			o.Dialect = d
			last.next = Compile(body, o)
			last = last.next
		}
	}
}

// decideByOthers replaces d if another dialect disallows the target or a form of
// it. There are others only if the rules were compiled with Options.Cautious, or
// with Options.Other.
func (p *Policy) decideByOthers(d *Decision, t Tokens, target string) {
	if p.next == nil {
		return
	}
	targets, octets := []string{target}, len(target)
	for _, f := range forms(nil, target, p.queries) {
		targets = append(targets, f.target)
		octets += len(f.target)
	}
	for other := p.next; other != nil; other = other.next {
		if other.dialect.name == p.dialect.name { // the body in other octets
			if other.restrictAsItself(d, t, target); !d.Allowed {
				return
			}
			continue
		}
		if other.isCostly(t, octets) {
			*d = Decision{Reason: ReasonCostly, Dialect: other.dialect.name}
			return
		}
		if other.restrictAny(d, t, targets); !d.Allowed {
			return
		}
	}
}

// restrictAsItself replaces d if p disallows the target or a form of it, as it
// would if there were no other rules.
func (p *Policy) restrictAsItself(d *Decision, t Tokens, target string) {
	var next Decision
	p.decideTokens(&next, t, target, p.dialect.comparable(target, new(pathBuffer)), comparePlain)
	if next.Allowed {
		p.decideForms(&next, t, target)
	}
	if !next.Allowed {
		*d = next
	}
}

// restrictAny replaces d if the dialect of p disallows one of targets, the first
// of which is the target as received and the others forms of it.
func (p *Policy) restrictAny(d *Decision, t Tokens, targets []string) {
	restrict := func(i int, next *Decision) bool {
		if next.Allowed {
			return false
		}
		if i > 0 {
			next.Form = targets[i]
		}
		*d = *next
		return true
	}
	if p.dialect.choice == everyEqual {
		for i, target := range targets {
			var next Decision
			if p.decideTokens(&next, t, target, p.dialect.comparable(target, new(pathBuffer)), comparePlain); restrict(i, &next) {
				return
			}
		}
		return
	}
	for _, agent := range p.agentsOf(t) {
		m := p.groupFor(agent) // once: it may take long to find
		for i, target := range targets {
			var next Decision
			if p.judge(&next, agent, m, target, p.dialect.comparable(target, new(pathBuffer))); restrict(i, &next) {
				return
			}
		}
	}
}

// agentsOf returns what the dialect of p, which obeys one group alone, looks for
// in user-agent lines.
func (p *Policy) agentsOf(t Tokens) []string {
	switch {
	case p.dialect.choice == firstWithin && len(t.Fields) > 0:
		return t.Fields
	case len(t.Main) > 0:
		return t.Main
	}
	return everyone
}
