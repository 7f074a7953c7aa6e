package proxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"heed/internal/audit"
)

// record completes the exchange's entry and hands it on. It runs last, for
// every exchange, also one that panicked.
func (p *Proxy) record(x *exchange) {
	e := x.entry
	x.settleQuota(e.Verdict)
	x.entry = nil // whoever comes too late must not write into another's
	e.BytesIn += x.body.n.Load()
	e.BytesOut += x.w.written
	if c := x.w.conn; c != nil && e.Verdict != audit.Answered { // else the exchanges inside count
		e.BytesIn += c.received.Load()
		e.BytesOut += c.sent.Load()
	}
	if x.w.status != 0 {
		e.Status = x.w.status
	}
	if cut := x.w.cut; cut != nil && e.Err == "" {
		e.Err = "reading the origin's answer: " + cut.Error()
		if errors.Is(cut, context.Canceled) {
			e.Reason = kindClientGone.name
		}
	}
	if lost := x.w.lost; lost != nil && e.Err == "" && e.Reason == "" {
		e.Err, e.Reason = "sending the answer: "+lost.Error(), kindClientGone.name
	}
	if ending := p.ending.Load(); ending != nil && (*ending).Err() != nil && e.Reason == kindClientGone.name {
		e.Err = "heed was told to end, and waited as long as it may: " + e.Err
	}
	carried(x.quotaAccount(), e)
	p.account(e)
}

// account hands an entry on that is complete but for its end. Nobody has it after
// it.
func (p *Proxy) account(e *audit.Entry) {
	e.Duration = time.Since(e.Start)
	if e.Report && e.Verdict != audit.Forwarded { // such as a page of heed's own
		e.Report, e.Denial = false, audit.Denial{}
	}
	if e.Reason == "" {
		e.Reason = reasonOf(e)
	}
	p.Recent.Record(e)
	p.Record(e)
	*e = audit.Entry{}
	entries.Put(e)
}

// reasonOf is the reason of what no problem has ended.
func reasonOf(e *audit.Entry) string {
	switch {
	case e.Verdict == audit.Denied:
		return kindInternal.name
	case e.Report:
		return e.Denial.Reason
	default:
		return "allowed"
	}
}

// entries are used over and over: an entry is the largest part of what recording
// an exchange would leave to the garbage collector.
var entries = sync.Pool{New: func() any { return new(audit.Entry) }}
