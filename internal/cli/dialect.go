package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"heed/internal/override"
	"heed/policy"
)

// everyDialect in place of a name asks for all dialects.
const everyDialect = "all"

// dialects returns those that --dialect asks for; nil without it.
func (c *checkCmd) dialects() ([]policy.Dialect, error) {
	switch {
	case c.Dialect == "":
		return nil, nil
	case c.all():
		return policy.Dialects(), nil
	}
	d, err := policy.DialectNamed(c.Dialect)
	if err != nil {
		return nil, &failure{err: fmt.Errorf("--dialect: %w", err), hint: "give one of these names, or all to compare them"}
	}
	return []policy.Dialect{d}, nil
}

// all reports whether all dialects are asked for.
func (c *checkCmd) all() bool { return strings.EqualFold(c.Dialect, everyDialect) }

// asker answers for URLs. It compiles each robots.txt once for each dialect.
type asker struct {
	source   source
	who      policy.Tokens
	dialects []policy.Dialect // none: as the proxy would
	compiled map[reading]*policy.Policy
}

// reading is a robots.txt as a dialect reads it. The fetcher has one Policy for
// all snapshots of the same file, whatever charset each declares.
type reading struct {
	file    *policy.Policy
	utf8    bool
	dialect policy.Dialect
}

// ask answers for one URL, as each of the dialects in their order.
func (k *asker) ask(ctx context.Context, url string) []answer {
	o, target, err := splitURL(url)
	now := time.Now()
	if r := k.source.overrides.Find(o, now); err == nil && r != nil {
		return []answer{k.overridden(url, r, target, now)}
	}
	var s *policy.Snapshot
	if err == nil {
		s, err = k.source.get(ctx, o)
	}
	first := answer{URL: url, who: k.who, now: now, granted: k.source.granted, asked: k.who.Main, fetched: k.source.fetches, snapshot: s, fault: err}
	if len(k.dialects) == 0 {
		if err == nil {
			first.outcome = outcomeOf(s)
			first.rules, first.decision = s.Rules, s.Decide(k.who, target)
			if first.decision.Dialect == "" {
				first.decider = first.decision.Token
			}
		}
		return []answer{first}
	}
	answers := make([]answer, len(k.dialects))
	for i, d := range k.dialects {
		answers[i] = first
		answers[i].dialect = d
		if err == nil {
			k.answerAs(&answers[i], target)
		}
	}
	return answers
}

// overridden answers as the operator has it, of which no robots.txt is asked.
func (k *asker) overridden(url string, r *override.Record, target string, now time.Time) answer {
	a := answer{URL: url, who: k.who, now: now, granted: k.source.granted, asked: k.who.Main, fetched: true, rules: r.Rules, decision: r.Decide(k.who, target)}
	if a.decision.Dialect == "" {
		a.decider = a.decision.Token
	}
	switch r.Action {
	case policy.AllowOrigin, policy.HoldUnavailable:
		a.outcome = policy.AllowAll
	case policy.UseOperatorsRules:
		a.outcome = policy.FollowRules
	default:
		a.outcome = policy.DisallowAll
	}
	return a
}

// answerAs answers as the dialect of a. For the default that is what the proxy
// would do if it were not cautious, for others their reading alone.
func (k *asker) answerAs(a *answer, target string) {
	s := *a.snapshot
	if s.Rules != nil {
		if a.rules, a.fault = k.compile(a.snapshot, a.dialect); a.fault != nil {
			return
		}
	}
	if a.dialect == policy.RFC9309 {
		s.Rules, s.Cautious = a.rules, false
		a.outcome, a.decision = outcomeOf(&s), s.Decide(k.who, target)
		a.decider = a.decision.Token
		return
	}
	if a.fetched {
		a.outcome = a.dialect.Outcome(s.Status)
	}
	a.asked = agentsFor(a.dialect, k.who, a.rules)
	if a.outcome != policy.FollowRules || a.rules == nil {
		a.rules = nil
		a.decision = decideWithoutRules(a.dialect, a.outcome, a.asked, target)
		return
	}
	a.decision, a.decider = decideAlone(a.rules, a.asked, target)
}

// compile returns the rules of a snapshot as a dialect reads them.
func (k *asker) compile(s *policy.Snapshot, d policy.Dialect) (*policy.Policy, error) {
	if s.Body == nil && s.Size > 0 {
		return nil, fmt.Errorf("of %s only the rules were kept", s.URL)
	}
	key := reading{s.Rules, s.UTF8, d}
	if rules := k.compiled[key]; rules != nil {
		return rules, nil
	}
	if k.compiled == nil {
		k.compiled = make(map[reading]*policy.Policy)
	}
	k.compiled[key] = policy.Compile(s.Body, policy.Options{Limit: k.source.limit, Dialect: d, Decoded: s.UTF8})
	return k.compiled[key], nil
}

// outcomeOf is what heed itself makes of the answer to a request for robots.txt.
func outcomeOf(s *policy.Snapshot) policy.Outcome {
	switch {
	case s.Rules != nil:
		return policy.FollowRules
	case s.Restricted():
		return policy.DisallowAll
	case s.Access == policy.Unavailable:
		return policy.AllowAll
	}
	return policy.Defer
}

// agentsFor returns the names by which a dialect other than the default knows a
// client. There is at least one.
func agentsFor(d policy.Dialect, who policy.Tokens, rules *policy.Policy) (agents []string) {
	switch {
	case d == policy.RERP && len(who.Fields) > 0:
		return who.Fields // it looks for names in a whole field
	case d == policy.Google && rules != nil:
		for _, token := range who.Also {
			if rules.Names(token) {
				agents = append(agents, token)
			}
		}
	}
	agents = append(append([]string(nil), who.Main...), agents...)
	if len(who.Main) == 0 {
		agents = append([]string{"*"}, agents...)
	}
	return agents
}

// decideAlone is a reading by itself: each of the agents must be allowed. It
// returns which of them decided.
func decideAlone(rules *policy.Policy, agents []string, target string) (d policy.Decision, decider string) {
	first := rules.Decide(agents[:1], target)
	for i := 1; i < len(agents) && first.Allowed; i++ {
		if next := rules.Decide(agents[i:i+1], target); !next.Allowed {
			return next, agents[i]
		}
	}
	return first, agents[0]
}

// decideWithoutRules is what a dialect says where there are no rules. If it has
// no word on that, the decision has no Reason.
func decideWithoutRules(d policy.Dialect, o policy.Outcome, agents []string, target string) policy.Decision {
	empty := policy.Compile(nil, policy.Options{Dialect: d}).Decide(agents, target)
	if empty.Reason == policy.ReasonRobotsTxt {
		return empty
	}
	decision := policy.Decision{Dialect: d.Name()}
	switch o {
	case policy.AllowAll:
		decision.Allowed, decision.Reason = true, policy.ReasonUnavailable
	case policy.DisallowAll:
		decision.Reason = policy.ReasonRestricted
	case policy.Defer, policy.FollowRules: // rules to follow, which could not be had
		decision.Reason = policy.ReasonUnreachable
	case policy.LeaveOpen:
	}
	return decision
}

// worst is the exit status for several answers.
type worst struct {
	all    bool // a dialect that disallows counts more than one that cannot tell
	status int
}

func (w *worst) add(s int) {
	if w.all && w.status > 0 && s > 0 {
		w.status = min(w.status, s)
		return
	}
	w.status = max(w.status, s)
}

func (w *worst) err() error {
	if w.status == 0 {
		return nil
	}
	return status(w.status)
}
