package proxy

import (
	"time"

	"heed/internal/audit"
)

// record completes the exchange's entry and hands it on. It runs last, for
// every exchange, also one that panicked.
func (p *Proxy) record(x *exchange) {
	e := x.entry
	e.Duration = time.Since(e.Start)
	e.BytesIn = x.body.n
	if x.w.status != 0 {
		e.Status = x.w.status
	}
	e.BytesOut += x.w.written
	if x.w.cut != nil && e.Err == "" {
		e.Err = "reading the origin's answer: " + x.w.cut.Error()
	}
	if e.Reason == "" {
		e.Reason = "allowed"
		if e.Verdict == audit.Denied {
			e.Reason = kindInternal.name
		}
	}
	p.Recent.Record(e)
	p.Record(e)
}
