package proxy

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"heed/internal/audit"
	"heed/internal/origin"
	"heed/policy"
)

// Report mode: what politeness forbids is decided, logged, counted and marked as
// ever, and forwarded all the same. It is asked for where something is about to
// be denied and nowhere else, so that it cannot be left over from anything.

// isPolite tells of the kinds that report mode forwards: what a robots.txt says
// of a URL, or the operator in its place, or that nobody knows what it says; and
// that a client does not say who it is, or asks too fast. All
// others are a matter of safety, of access, or of a request that cannot be
// served; what is not listed is denied in every mode.
func (k *kind) isPolite() bool {
	switch k {
	case kindDisallowed, kindOverride, kindRestricted, kindDenied, kindUnreachable, kindRobotsPending, kindIdentity, kindPaced:
		return true
	}
	return false
}

// enforced returns err, unless that is a matter of politeness which the mode has
// reported: then it is noted, and the exchange goes on with the check after the
// one that found it. A check that may find one passes it through here itself: no
// other is left out for it.
func (p *Proxy) enforced(x *exchange, err error) error {
	if err == nil {
		return nil
	}
	if pr := problemOf(err); pr.kind.isPolite() && !isFailure(pr) && p.reports(x) {
		x.report(pr)
		return nil
	}
	return err
}

// isFailure tells of a robots.txt that was not waited for to the end: something
// failed, or the client went away.
func isFailure(pr *problem) bool {
	return pr.kind == kindRobotsPending && !errors.Is(pr, context.DeadlineExceeded)
}

// denies tells whether the exchange ends with a denial: because something kept a
// decision from being made, or because of the decision.
func (p *Proxy) denies(x *exchange) bool {
	return x.err != nil || !x.entry.Decision.Allowed && !x.late && !p.reportsDecision(x)
}

// reportsDecision tells whether a decision that disallows is reported. One that
// has no reason was not made, and a robots.txt that is unreachable though its
// fetch did not say so does not exist: those are defects, and nothing is
// forwarded for them. Where the origin as a whole cannot be talked to, so that its robots.txt is
// unreachable, trying is harmless: it meets the same checks as that did.
func (p *Proxy) reportsDecision(x *exchange) bool {
	e, unreachable := x.entry, x.entry.Decision.Reason == policy.ReasonUnreachable
	if e.Decision.Reason == 0 || unreachable && (e.Snapshot == nil || e.Snapshot.Access != policy.Unreachable) {
		return false
	}
	pr := denialOf(e)
	if !pr.kind.isPolite() && !(unreachable && pr.kind.down) || !p.reports(x) {
		return false
	}
	x.report(pr)
	return true
}

// reports tells whether the mode of an exchange is report.
func (p *Proxy) reports(x *exchange) bool {
	if p.Reports == nil || x.origin == (origin.Origin{}) {
		return false
	}
	own := ""
	if x.client != nil {
		own = x.client.Mode
	}
	return p.Reports(x.origin, own)
}

// report notes what would have been denied. Of several problems the first is
// what a client would have been told; that it came too soon besides shows in what
// is noted of its pace.
func (x *exchange) report(pr *problem) {
	if !x.entry.Report {
		x.entry.Report, x.entry.Denial = true, denialFor(pr)
	}
}

// denialFor is what is noted of a problem.
func denialFor(pr *problem) audit.Denial {
	d := audit.Denial{Reason: pr.kind.name}
	if pr.kind != kindDisallowed && pr.kind != kindOverride {
		d.Cause = pr.Error()
	}
	return d
}

// denied notes that the exchange is not forwarded, whatever was reported of it.
func (x *exchange) denied() {
	x.entry.Verdict = audit.Denied
	x.entry.Report, x.entry.Denial = false, audit.Denial{}
}

// decisionField is the Robots-Decision field of what is reported.
func (p *Proxy) decisionField(x *exchange) string {
	return robotsDecision(p.explain(x.entry, nil), x.entry)
}

// tellReport puts into words that an exchange was forwarded all the same.
func (out *explanation) tellReport(e *audit.Entry) {
	pr := reportedProblem(e)
	out.Type, out.Title, out.Status = out.made.join(problemPages, pr.kind.name), "Forwarded in report mode", http.StatusOK
	out.Detail, out.Remedy = out.made.sentence(pr.Error()), remedyOf(pr.kind, e)
	note := "The mode is report, so this was forwarded and marked. In the mode enforce it would have been denied, with " +
		strconv.Itoa(pr.kind.status) + " (" + pr.kind.title + ")."
	if e.IsPacedToo() {
		note += " It came before its turn, too, for which that would have denied it by itself."
	}
	if out.Note != "" {
		note += " " + out.Note
	}
	out.Note = note
}

// reportedProblem is what a recorded exchange would have been denied for.
func reportedProblem(e *audit.Entry) *problem {
	k := kindNamed(e.Denial.Reason)
	if k == nil {
		k = kindDenied
	}
	if e.Denial.Cause == "" && e.Decision.Reason != 0 {
		return &problem{kind: k, cause: denialOf(e).cause}
	}
	return &problem{kind: k, cause: errors.New(e.Denial.Cause)}
}
