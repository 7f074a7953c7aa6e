package replay

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"heed/internal/agent"
	"heed/policy"
)

// verdict is what becomes of an exchange.
type verdict uint8

const (
	denied verdict = iota
	forwarded
	reported // forwarded only because the mode is report
	unknown  // it cannot be told
)

func (v verdict) String() string {
	return [...]string{"denied", "forwarded", "reported", "unknown"}[v]
}

// outcome is what another configuration would have made of an exchange.
type outcome struct {
	verdict verdict
	why     string // in a few words: the rule, the override, the reason; of unknown what is not known
	reason  string // one word
	rule    string
	line    int
	same    bool // it rests on the same rule
}

// before is what became of the exchange.
func (x *exchange) before() outcome {
	o := outcome{verdict: denied, reason: x.reason, rule: x.rule, line: x.line, same: true}
	switch {
	case x.report:
		o.verdict = reported
	case x.forwarded:
		o.verdict, o.reason = forwarded, "allowed"
	}
	o.why = x.why()
	return o
}

// why says on what a denial of the log rests.
func (x *exchange) why() string {
	switch {
	case x.reason == "" || standsOf(x.reason) != decidedAgain:
		return x.reason
	case x.rule != "":
		return ruleAt(x.rule, x.line)
	case x.override != "":
		return "by the operator: " + x.because
	}
	return x.reason
}

// stands is what can be said anew of what was denied for a reason.
type stands uint8

const (
	whatever     stands = iota // it is denied in any configuration that this package knows of
	unlessReport               // it is denied, unless the mode is report
	decidedAgain               // it was robots.txt's word, or the operator's in its place
)

// standsOf tells of a reason. Those of an origin that cannot be talked to are
// how a robots.txt is unreachable. A reason that is not known here stands.
func standsOf(reason string) stands {
	switch reason {
	case "", "disallowed", "override", "robots-restricted", "denied", "robots-unreachable",
		"dns-error", "dns-timeout", "connection-refused", "unroutable", "connection-timeout",
		"tls-certificate", "tls-alert", "tls-error", "proxy-error", "proxy-timeout":
		return decidedAgain
	case "identity", "paced", "robots-pending":
		return unlessReport
	}
	return whatever
}

// after decides an exchange again.
func (c *Config) after(ctx context.Context, x *exchange) outcome {
	standing := standsOf(x.reason)
	client := c.client(x)
	switch {
	case standing == whatever:
		return x.before()
	case standing == unlessReport:
		return c.keep(x, client)
	}
	d, missing := c.decide(ctx, x, client)
	switch {
	case missing != "" && c.reports(x, client): // whatever it says
		return outcome{verdict: forwarded, reason: "unknown", why: missing, same: true}
	case missing != "":
		return outcome{verdict: unknown, reason: "unknown", why: missing}
	case d == nil:
		return c.keep(x, client)
	}
	o := outcome{verdict: denied, reason: d.Reason.String(), rule: d.Rule(), line: d.Line, why: whyOf(d)}
	switch {
	case d.Allowed:
		o.verdict = forwarded
	case c.reports(x, client):
		o.verdict = reported
	}
	o.same = o.line == x.line && (o.rule == x.rule || !utf8.ValidString(o.rule)) && (d.Override == nil) == (x.override == "")
	return o
}

// keep is what becomes of an exchange of which nothing is decided again: the mode
// may be another.
func (c *Config) keep(x *exchange, client *agent.Client) outcome {
	o := x.before()
	switch {
	case o.verdict == denied && c.reports(x, client):
		o.verdict = reported
	case o.verdict == reported && !c.reports(x, client):
		o.verdict = denied
	}
	return o
}

// decide returns the decision, nil where the operator's word stays as it was, or
// what is not known to make one.
func (c *Config) decide(ctx context.Context, x *exchange, client *agent.Client) (_ *policy.Decision, missing string) {
	who := c.tokens(x, client)
	switch {
	case x.target == "/robots.txt":
		return &policy.Decision{Allowed: true, Reason: policy.ReasonRobotsTxt}, ""
	case isLossy(x.target):
		return nil, "the log has not all octets of the path"
	case !c.Configured && x.override != "":
		if x.action == policy.UseOperatorsRules.String() && (c.Token != "" || c.Decide != nil) {
			return nil, "it was decided by a file of the operator's, which only a configuration tells"
		}
		return nil, ""
	case c.Configured:
		at := x.start
		if at.IsZero() {
			at = time.Now()
		}
		if r := c.Overrides.Find(x.origin, at); r != nil {
			d := r.Decide(who, x.target)
			return &d, ""
		}
	}
	s, err := c.Robots.Snapshot(ctx, x.origin)
	if err != nil {
		return nil, err.Error()
	}
	var d policy.Decision
	if c.Decide != nil {
		d = c.Decide(s, who, x.target)
	} else {
		d = s.Decide(who, x.target)
	}
	if d.Reason == 0 {
		return nil, "the dialect has no word on the status of this robots.txt"
	}
	return &d, ""
}

// client returns the client of the configuration that is tried; nil for none.
func (c *Config) client(x *exchange) *agent.Client {
	if named := c.Named[x.clientName]; named != nil {
		return named
	}
	if c.At == nil || !x.client.IsValid() {
		return nil
	}
	return c.At(x.client.Addr().Unmap())
}

// tokens is who asks then.
func (c *Config) tokens(x *exchange, client *agent.Client) policy.Tokens {
	switch {
	case c.Token != "":
		return policy.Tokens{Main: []string{c.Token}}
	case client == nil || client.UserAgent == "" && client.Token == "":
		return x.tokens
	case client.UserAgent != "":
		return client.Tokens(nil)
	}
	t := policy.Tokens{Main: []string{client.Token}, Fields: x.tokens.Fields}
	for _, names := range [...][]string{x.tokens.Main, x.tokens.Also} {
		for _, name := range names {
			if name != "*" && !strings.EqualFold(name, client.Token) {
				t.Also = append(t.Also, name)
			}
		}
	}
	return t
}

// reports tells whether the mode is report; without one it is what it was.
func (c *Config) reports(x *exchange, client *agent.Client) bool {
	if c.Reports == nil {
		return x.report
	}
	mode := ""
	if client != nil {
		mode = client.Mode
	}
	return c.Reports(x.origin, mode)
}

// whyOf says on what a decision rests.
func whyOf(d *policy.Decision) string {
	why := d.Reason.String()
	switch {
	case d.Rule() != "":
		why = ruleAt(d.Rule(), d.Line)
	case d.Override != nil:
		why = "by the operator: " + d.Override.Reason
	case d.Reason == policy.ReasonUnreachable:
		why = "robots-unreachable"
	case d.Reason == policy.ReasonRestricted:
		why = "robots-restricted"
	}
	if d.Dialect != "" && d.Rule() != "" {
		why += " as " + d.Dialect + " reads it"
	}
	return why
}
