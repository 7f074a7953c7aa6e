package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"heed/internal/audit"
	"heed/internal/dial"
	"heed/internal/pace"
	"heed/policy"
)

// deny returns the answer to an exchange that is not forwarded: because a rule
// says so, or because x.err kept a decision from being made.
func (p *Proxy) deny(x *exchange) *http.Response {
	x.denied()
	if x.err != nil {
		return p.answer(x, problemOf(x.err))
	}
	return p.answer(x, denialOf(x.entry))
}

// failed returns the answer to an exchange that was to be forwarded and could
// not be.
func (p *Proxy) failed(x *exchange, err error) *http.Response {
	pr := problemOf(err)
	if !pr.kind.after {
		x.denied()
	}
	return p.answer(x, pr)
}

// denialOf puts a decision into the terms of an answer. One of the operator,
// though by a rule of a file, is the operator's and not that of the site. One
// that rests on nothing that is known here is a denial like any other, and does not pass for
// the word of the site's owner.
func denialOf(e *audit.Entry) *problem {
	if e.Decision.Override != nil {
		return &problem{kind: kindOverride, cause: errors.New(e.Decision.String())}
	}
	switch e.Decision.Reason {
	case policy.ReasonRule:
		return &problem{kind: kindDisallowed, cause: errors.New(e.Decision.String())}
	case policy.ReasonRestricted:
		return &problem{kind: kindRestricted, cause: restricted(e)}
	case policy.ReasonUnreachable:
		return unreachable(e)
	}
	return &problem{kind: kindDenied, cause: errors.New(e.Decision.String())}
}

func restricted(e *audit.Entry) error {
	status := ""
	if e.Snapshot != nil {
		status = fmt.Sprintf(" with status %d", e.Snapshot.Status)
	}
	if e.Decision.Dialect == "" {
		return fmt.Errorf("robots.txt itself is refused%s, which counts as a complete restriction here (robots.refused)", status)
	}
	return fmt.Errorf("robots.txt itself is refused%s, which is a complete restriction as %s reads it", status, e.Decision.Dialect)
}

// unreachable tells of an unreachable robots.txt. Where that is because the
// whole origin is, that is what the client is told: to call it a matter of
// robots.txt would send its owner looking in the wrong place. It is a denial all
// the same.
//
// A zero Retry-After would make a client hammer, so there is always one where
// the state passes.
func unreachable(e *audit.Entry) *problem {
	pr := &problem{kind: kindUnreachable, retry: retryPending, cause: errors.New("robots.txt is unreachable, which means complete disallow (RFC 9309 §2.3.1.4)")}
	if s := e.Snapshot; s != nil {
		// Behind a redirect the fault is another's, and this origin may be well.
		if refusal, ok := errors.AsType[*pace.Refusal](s.Cause); ok {
			e.Pace = audit.Pace{Cause: refusal.Cause.String(), Interval: refusal.Interval, Until: time.Now().Add(refusal.Retry)}
			return &problem{kind: kindPaced, retry: refusal.Retry, cause: s.Cause}
		}
		own := len(s.Hops) == 0
		if own && as[*dial.ProhibitedError](s.Cause) { // waiting would not help
			return &problem{kind: kindAddress, cause: s.Cause}
		}
		pr.retry = max(min(time.Until(s.Checked.Add(s.RetryAfter)), s.RetryAfter), time.Second) // the clock may have been set back
		if s.Err != "" {
			pr.cause = errors.New(s.Err)
		}
		if own && s.Cause != nil {
			if k := problemOf(s.Cause).kind; k.down {
				pr.kind = k
			}
		}
	}
	return pr
}

// ownAnswer is an answer of heed's own with what it is made of, in one piece of
// memory: a crawler that is denied often should not cost more than one that is
// not.
type ownAnswer struct {
	explanation explanation
	response    http.Response
	values      [4]string // of the fields that differ from answer to answer
	body        ownBody
}

// ownBody is a body that is all there.
type ownBody struct {
	bytes.Reader
	room *bodyRoom // what it was made in; nil if it is not to be used again
}

// bodyRoom holds the page of an ordinary denial.
type bodyRoom [8 << 10]byte

var bodyRooms = sync.Pool{New: func() any { return new(bodyRoom) }}

// Close gives the room back. Nothing can be read any more.
func (b *ownBody) Close() error {
	if b.room != nil {
		b.Reset(nil)
		bodyRooms.Put(b.room)
		b.room = nil
	}
	return nil
}

// The values of fields that are the same in many answers. Nobody writes to them.
var (
	asText    = []string{typeText}
	asHTML    = []string{typeHTML}
	asProblem = []string{typeProblem}
	noStore   = []string{"no-store"}
	noSniff   = []string{"nosniff"}
	variedBy  = []string{"Accept, User-Agent"}
	confined  = []string{pagePolicy}
	challenge = []string{`Basic realm="heed", charset="UTF-8"`} // RFC 7617 §2
)

// answer builds the response for a problem, in the form the client wants.
func (p *Proxy) answer(x *exchange, pr *problem) *http.Response {
	x.entry.Reason = pr.kind.name
	x.entry.Status = pr.kind.status
	if pr.kind != kindDisallowed && pr.kind != kindOverride {
		x.entry.Err = pr.Error()
	}
	a := new(ownAnswer)
	e := &a.explanation
	p.explainTo(e, x.entry, pr)
	a.body.room = bodyRooms.Get().(*bodyRoom)
	contentType, body := e.render(a.body.room[:0], x.in.Header["Accept"])
	values := a.values[:0]
	one := func(value string) []string {
		values = append(values, value)
		return values[len(values)-1 : len(values) : len(values)]
	}
	h := http.Header{
		"Content-Type":           contentType,
		"Content-Length":         one(e.made.number(len(body))),
		"Cache-Control":          noStore,
		"Proxy-Status":           one(p.proxyStatus(e, pr)),
		"Vary":                   variedBy,
		"X-Content-Type-Options": noSniff,
	}
	if field := robotsDecision(e, x.entry); field != "" {
		h["Robots-Decision"] = one(field)
	}
	if pr.kind == kindCredentials {
		h["Proxy-Authenticate"] = challenge
	}
	if pr.retry > 0 {
		h["Retry-After"] = one(e.made.number(pr.retrySeconds()))
	}
	x.addRateLimits(h, pr)
	if contentType[0] == typeHTML {
		h["Content-Security-Policy"] = confined
	}
	words := e.Title
	if x.in.Method == http.MethodConnect {
		words = phrase(e)
	}
	a.response.Status = e.made.join(e.made.number(pr.kind.status), " ", words)
	return a.respond(x.in, pr.kind.status, h, body)
}

// respond completes the response. Its Status is only seen where it is written to
// the connection as it is: at CONNECT.
func (a *ownAnswer) respond(in *http.Request, status int, h http.Header, body []byte) *http.Response {
	resp := &a.response
	resp.StatusCode, resp.Header, resp.Request = status, h, in
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.Body, resp.ContentLength = &a.body, int64(len(body))
	if in.Method == http.MethodHead {
		resp.Body = http.NoBody
		_ = a.body.Close()
		return resp
	}
	a.body.Reset(body)
	return resp
}
