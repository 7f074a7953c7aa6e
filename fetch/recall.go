package fetch

import (
	"context"
	"time"

	"heed/internal/origin"
	"heed/internal/retryafter"
	"heed/policy"
)

// recall returns what is known of o: from memory, else from the store; nil if
// that is nothing.
func (f *Fetcher) recall(ctx context.Context, o origin.Origin) *entry {
	if e := f.memory.get(o); e != nil || f.store == nil {
		return e
	}
	r, ok, err := f.store.Load(ctx, o)
	if err != nil || !ok {
		return nil // what the store cannot tell it has reported itself
	}
	if ctx.Err() != nil {
		return nil // given up, and another flight may know more by now
	}
	e := f.entryOf(o, r, momentOf(time.Now()))
	if e != nil {
		f.memory.put(o, e)
	}
	return e
}

// save hands an entry to the store. octets is its body if that is new.
func (f *Fetcher) save(o origin.Origin, e *entry, octets []byte) {
	if f.store != nil {
		f.store.Save(o, recordOf(e, octets))
	}
}

func recordOf(e *entry, octets []byte) Record {
	m := e.rest()
	r := Record{
		Access: e.access, Status: int(e.status), Hops: m.hops,
		FreshUntil: e.freshUntil.time(), FreshFor: time.Duration(e.freshFor) * time.Second,
		Fetched: e.good.time(), Checked: e.good.time(),
	}
	if e.body != nil && !e.body.truncated { // a limit raised since would find it confirmed, and cut, for ever
		r.ETag, r.LastModified = e.validators.split()
	}
	if e.body != nil {
		r.Sum, r.Body, r.Charset = e.body.key.sum, octets, e.body.key.charset
		if e.utf8 {
			r.Charset = "utf-8"
		}
	}
	if f := m.failure; f != nil {
		r.Checked, r.Retry, r.Attempts, r.Err = f.at.time(), f.retry.time(), f.attempts, f.err
		if e.access == policy.Unreachable {
			r.Status, r.Hops = f.status, f.hops
		}
	}
	return r
}

// entryOf is the entry of a record. It trusts no clock but that of now: nothing
// is used for longer than if it had been obtained now, and what claims to have
// been obtained later is not fresh. It is nil for a record that tells nothing.
func (f *Fetcher) entryOf(o origin.Origin, r Record, now moment) *entry {
	e := &entry{url: o.RobotsURL(), access: r.Access, status: status16(r.Status)}
	m := more{hops: r.Hops}
	switch {
	case r.Access > policy.Unreachable:
		return nil
	case r.Access != policy.Unreachable:
		f.recallGood(e, r, now, &m)
	case r.Attempts == 0:
		return nil
	default:
		m.hops = nil
	}
	if r.Attempts > 0 {
		at := recalled(r.Checked, now).earlier(now)
		m.failure = &failure{
			at: at, retry: recalled(r.Retry, now).earlier(at.plus(min(r.Retry.Sub(r.Checked), retryafter.Most))),
			attempts: r.Attempts, err: oneLineOf(r.Err),
		}
		if r.Access == policy.Unreachable {
			m.failure.status, m.failure.hops = r.Status, r.Hops
		}
	}
	if e.access == policy.Successful && e.body == nil {
		return nil
	}
	e.setMore(m)
	return e
}

// recallGood completes e by the last good answer.
func (f *Fetcher) recallGood(e *entry, r Record, now moment, m *more) {
	e.good = recalled(r.Fetched, now)
	e.freshUntil = recalled(r.FreshUntil, now).earlier(e.good.plus(f.lifetimes.freshFor))
	if e.good.wall > now.wall {
		e.good, e.freshUntil = now, now
	}
	e.freshFor = int32(min(max(r.FreshFor, 0), f.lifetimes.freshFor) / time.Second)
	if r.Access != policy.Successful || r.Body == nil {
		return
	}
	e.body, e.size = f.memory.bodies.share(r.Body, r.Charset), int32(len(r.Body))
	e.validators = newValidators(r.ETag, r.LastModified)
	e.utf8 = isUTF8(r.Charset)
	if f.keep {
		m.octets = r.Body
	}
}
