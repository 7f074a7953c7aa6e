package proxy

import "heed/policy"

// robotsTxt may always be requested (RFC 9309 §2.2.2), so that deciding on it
// needs no robots.txt.
const robotsTxt = "/robots.txt"

// decide asks the robots.txt of x's own origin whether x's client may request
// x's target, or the operator, where there is an override for that origin: then
// robots.txt is neither asked for nor waited for. One snapshot answers for the
// whole exchange.
func (p *Proxy) decide(x *exchange) error { return p.decideTarget(x, x.target) }

func (p *Proxy) decideTarget(x *exchange, target string) error {
	if target == robotsTxt {
		x.entry.Decision = policy.Decision{Allowed: true, Reason: policy.ReasonRobotsTxt}
		return nil
	}
	if p.overridden(x.origin, x.entry, target) {
		return nil
	}
	s, known := p.Policies.Remembered(x.origin, x.entry.Start)
	if !known {
		var err error
		if s, err = p.awaitRobots(x); err != nil {
			err = p.enforced(x, err)
			x.late = err == nil
			return err
		}
	}
	x.entry.Consult(&s)
	x.entry.Decision = x.entry.Snapshot.Decide(x.entry.Tokens, target)
	if !known && p.Pacer != nil { // others may wait for what it says
		p.Pacer.Teach(x.origin.Host, p.askedOf(x).interval)
	}
	return nil
}
