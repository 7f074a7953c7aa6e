package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"heed/internal/audit"
	"heed/internal/dial"
	"heed/policy"
)

// deny returns the answer to an exchange that is not forwarded: because a rule
// says so, or because x.err kept a decision from being made.
func (p *Proxy) deny(x *exchange) *http.Response {
	x.entry.Verdict = audit.Denied
	why := x.err
	if why == nil {
		why = denialOf(x.entry)
	}
	return p.answer(x, problemOf(why))
}

// failed returns the answer to an exchange that was to be forwarded and could
// not be.
func (p *Proxy) failed(x *exchange, err error) *http.Response {
	pr := problemOf(err)
	if !pr.kind.after {
		x.entry.Verdict = audit.Denied
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

// answer builds the response for a problem, in the form the client wants.
func (p *Proxy) answer(x *exchange, pr *problem) *http.Response {
	x.entry.Reason = pr.kind.name
	x.entry.Status = pr.kind.status
	if pr.kind != kindDisallowed && pr.kind != kindOverride {
		x.entry.Err = pr.Error()
	}
	e := p.explain(x.entry, pr)
	contentType, body := e.render(x.in.Header["Accept"])
	v := make([]string, 0, 8) // of fields that have one value
	one := func(value string) []string {
		v = append(v, value)
		return v[len(v)-1 : len(v) : len(v)]
	}
	h := http.Header{
		"Content-Type":           one(contentType),
		"Content-Length":         one(strconv.Itoa(len(body))),
		"Cache-Control":          one("no-store"),
		"Proxy-Status":           one(p.proxyStatus(e, pr)),
		"Vary":                   one("Accept, User-Agent"),
		"X-Content-Type-Options": one("nosniff"),
	}
	if field := robotsDecision(e, x.entry); field != "" {
		h["Robots-Decision"] = one(field)
	}
	if pr.retry > 0 {
		h["Retry-After"] = one(strconv.Itoa(pr.retrySeconds()))
	}
	if contentType == typeHTML {
		h["Content-Security-Policy"] = one(pagePolicy)
	}
	words := e.Title
	if x.in.Method == http.MethodConnect {
		words = phrase(e)
	}
	return newResponse(x.in, pr.kind.status, words, h, body)
}

// newResponse makes a response of heed's own. The phrase is only seen where
// the response is written to the connection as it is: at CONNECT.
func newResponse(in *http.Request, status int, phrase string, h http.Header, body []byte) *http.Response {
	resp := &http.Response{
		Status:        strconv.Itoa(status) + " " + phrase,
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        h,
		Body:          http.NoBody,
		ContentLength: int64(len(body)),
		Request:       in,
	}
	if in.Method != http.MethodHead {
		resp.Body = readCloser(body)
	}
	return resp
}
