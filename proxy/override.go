package proxy

import (
	"time"

	"heed/internal/audit"
	"heed/internal/origin"
	"heed/policy"
)

// overridden makes the decision where an override does, and tells whether one
// did. No check of another stage is left out for it.
func (p *Proxy) overridden(o origin.Origin, e *audit.Entry, target string) bool {
	if p.Overrides == nil {
		return false
	}
	r := p.Overrides.Find(o, time.Now())
	if r == nil {
		return false
	}
	e.Decision = r.Decide(e.Tokens, target)
	return true
}

// operatorDecides tells whether an override decides for an origin now.
func (p *Proxy) operatorDecides(o origin.Origin) bool {
	return p.Overrides != nil && p.Overrides.Find(o, time.Now()) != nil
}

// overrideTold is an override as it is told. The texts are the operator's.
type overrideTold struct {
	For       string `json:"for"`            // origin or hosts
	Action    string `json:"action"`         // "allow", "disallow", "unavailable" or "file"
	File      string `json:"file,omitempty"` // name of the operator's robots.txt
	Reason    string `json:"reason"`
	Reference string `json:"reference,omitempty"`
	Owner     string `json:"owner"`
	Expires   string `json:"expires,omitempty"` // the last day, or a moment, RFC 3339 in UTC
}

func tell(o *policy.Override) *overrideTold {
	if o == nil {
		return nil
	}
	return &overrideTold{
		For: shown(o.For), Action: o.Action.String(), File: shown(o.File),
		Reason: shown(o.Reason), Reference: shown(o.Reference), Owner: shown(o.Owner), Expires: o.Until(),
	}
}

// params appends the parameters of Robots-Decision.
func (o *overrideTold) params(i item) item {
	if o == nil {
		return i
	}
	i = i.text("override", o.For).text("override-action", o.Action).text("override-file", o.File)
	i = i.text("override-reason", o.Reason).text("override-reference", o.Reference)
	return i.text("override-owner", o.Owner).text("override-expires", o.Expires)
}

// appendFacts appends the lines of a page.
func (o *overrideTold) appendFacts(all []Fact) []Fact {
	if o == nil {
		return all
	}
	return append(all,
		Fact{"Override", o.Action + " for " + o.For, ""},
		Fact{"File", o.File, ""},
		Fact{"Reason", o.Reason, ""},
		Fact{"Reference", o.Reference, ""},
		Fact{"Owner", o.Owner, ""},
		Fact{"Expires", o.Expires, ""},
	)
}
