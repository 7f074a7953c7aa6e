package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"heed/internal/origin"
	"heed/internal/retryafter"
	"heed/policy"
)

const (
	// drainOctets and drainTime bound what is read of a body that does not
	// matter, so that its connection can be used again: most origins have no
	// robots.txt, and are asked for a page next.
	drainOctets = 16 << 10
	drainTime   = 500 * time.Millisecond

	// robotsTxt is the path of every robots.txt (RFC 9309 §2.3).
	robotsTxt = "/robots.txt"
)

// answer is what came of one retrieval.
type answer struct {
	access     policy.Access
	status     int           // HTTP status last obtained, 0 if none
	hops       []string      // URLs redirected to
	octets     []byte        // the decoded body, at most limit+1, when it is new
	charset    string        // that they are declared to be in
	validators validators    // of the body
	confirmed  bool          // the body that is known is the body still
	body       *body         // octets compiled
	kept       []byte        // octets, where they are to be kept
	told       bool          // the fields told how long to use the answer
	life       time.Duration // that
	hopTold    bool          // and those of a redirect how long to use that
	hopLife    time.Duration // the least that one told
	retryAfter time.Duration // what an unreachable origin asked for, 0 if nothing
	err        error         // why the origin is unreachable, else nil
	requests   int           // requests sent
	retried    bool          // one of them was a second try
	waited     time.Duration // at the gate
}

func unreachable(err error) answer {
	return answer{access: policy.Unreachable, err: err}
}

// fail makes the answer unreachable. It keeps what is known so far.
func (a *answer) fail(err error) {
	if n := len(a.hops); n > 0 {
		err = fmt.Errorf("after the redirect to %s: %w", brief(a.hops[n-1]), err)
	}
	a.access, a.octets, a.confirmed, a.err = policy.Unreachable, nil, false, err
}

// retriever asks for a robots.txt and follows where it is sent. It remembers
// nothing.
type retriever struct {
	transport    http.RoundTripper
	lookup       func(ctx context.Context, addr string) ([]netip.Addr, error) // nil: addresses are not known
	gate         *gate
	turn         func(context.Context, origin.Origin) (Turn, error) // nil: there are none
	userAgent    string
	limit        int
	maxRedirects int
	timeout      time.Duration
}

// retrieval is one retrieval.
type retrieval struct {
	*retriever
	ctx      context.Context
	progress progress      // depart: it is let through the gate for the first time; an error ends it
	left     time.Duration // of its time, which does not run at the gate
	known    known         // what is known already
	now      Turn          // of the request that is made
	answer   answer
}

// known is a body that is known already and the URL it came from. Without
// validators there is none.
type known struct {
	url        string
	validators validators
}

// retrieve makes one retrieval (RFC 9309 §2.3.1).
func (r *retriever) retrieve(ctx context.Context, o origin.Origin, k known, p progress) answer {
	v := &retrieval{retriever: r, ctx: ctx, progress: p, left: r.timeout, known: k}
	if err := v.follow(o); err != nil {
		v.answer.fail(err)
	}
	return v.answer
}

// follow makes a request, and one for each redirect.
func (v *retrieval) follow(first origin.Origin) error {
	o, at := first, &url.URL{Scheme: first.Scheme, Host: first.Authority(), Path: robotsTxt}
	for {
		to, err := v.pass(o, at)
		if err != nil || to == nil {
			return err
		}
		if err := v.checkHop(first, to, v.answer.hops); err != nil {
			return err
		}
		v.answer.hops = append(v.answer.hops, to.String())
		at = to
		if o, err = origin.Parse(to.Scheme, to.Host); err != nil {
			return err
		}
	}
}

// pass waits at the gate, and visits.
func (v *retrieval) pass(o origin.Origin, at *url.URL) (to *url.URL, err error) {
	addresses, err := v.resolve(o)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	turn, err := v.await(v.ctx, o)
	if err != nil {
		v.answer.waited += time.Since(asked)
		return nil, err
	}
	defer turn.End()
	v.now = turn
	leave, err := v.gate.enter(v.ctx, addresses)
	v.answer.waited += time.Since(asked)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := v.progress.depart(); err != nil {
		return nil, err
	}
	err = v.within(func(ctx context.Context) (err error) {
		to, err = v.visit(ctx, at)
		return err
	})
	return to, err
}

// within has something done in what is left of the time.
func (v *retrieval) within(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(v.ctx, v.left)
	defer cancel()
	began := time.Now()
	defer func() { v.left -= time.Since(began) }()
	if err := do(ctx); err != nil {
		return explain(ctx, err)
	}
	return nil
}

// resolve finds the addresses that an origin has.
func (v *retrieval) resolve(o origin.Origin) (addresses []netip.Addr, err error) {
	if v.lookup == nil {
		return nil, nil
	}
	err = v.within(func(ctx context.Context) (err error) {
		addresses, err = v.lookup(ctx, o.Addr())
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errResolving, err)
		}
		return err
	})
	return addresses, err
}

// visit makes one request. It returns where the answer redirects to, or nil
// when it completed the answer.
func (v *retrieval) visit(ctx context.Context, at *url.URL) (*url.URL, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := v.send(ctx, at)
	if err == nil && v.isConditional(at) && resp.StatusCode == http.StatusNotModified && !v.known.validators.areMeantBy(resp.Header) {
		_ = resp.Body.Close()
		v.known = known{} // what there is now, it tells whoever does not have the other body
		resp, err = v.send(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	v.answer.status = resp.StatusCode
	to, err := v.take(resp, at)
	if resp.StatusCode >= 300 {
		drain(resp.Body, cancel)
	}
	return to, err
}

// send makes a request, and once in a retrieval makes it again: it may have
// met a kept connection that the origin had closed, or a moment's overload.
func (v *retrieval) send(ctx context.Context, at *url.URL) (*http.Response, error) {
	resp, err := v.roundTrip(ctx, at)
	if err == nil || v.answer.retried || ctx.Err() != nil || !connectionLost(err) {
		return resp, err
	}
	v.answer.retried = true
	return v.roundTrip(ctx, at)
}

func (v *retrieval) roundTrip(ctx context.Context, at *url.URL) (*http.Response, error) {
	ctx, phase := watch(ctx, v.now.Send)
	v.answer.requests++
	resp, err := v.transport.RoundTrip(v.request(ctx, at))
	if err != nil {
		return nil, phase.of(err)
	}
	v.now.Answered(resp.StatusCode, retryafter.Of(resp.Header, time.Now()))
	return resp, nil
}

// request has our own fields and no others. An Accept-Encoding that is set
// keeps the transport from decoding without a bound.
func (v *retrieval) request(ctx context.Context, at *url.URL) *http.Request {
	req := &http.Request{
		Method:     http.MethodGet,
		URL:        at,
		Host:       at.Host,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header: http.Header{
			"User-Agent":      {v.userAgent},
			"Accept":          {"text/plain, */*;q=0.1"},
			"Accept-Encoding": {"gzip"},
		},
	}
	if v.isConditional(at) {
		v.known.validators.put(req.Header)
	}
	return req.WithContext(ctx)
}

// isConditional reports whether the body is asked for only if it is another
// than the one that is known. That one came from one URL.
func (v *retrieval) isConditional(at *url.URL) bool {
	return v.known.validators != "" && v.known.url == at.String()
}

// take turns a response into an access result, or into the redirect's target.
func (v *retrieval) take(resp *http.Response, at *url.URL) (*url.URL, error) {
	a, code := &v.answer, resp.StatusCode
	switch {
	case !spoken(resp):
		return nil, fmt.Errorf("answer in %s, which was not agreed on", resp.Proto)
	case code == http.StatusPartialContent:
		return nil, fmt.Errorf("status 206 (part of the file), which nobody asked for")
	case code >= 200 && code <= 299:
		octets, err := readBody(resp, v.limit)
		if err != nil {
			return nil, err
		}
		a.access, a.octets, a.charset = policy.Successful, octets, charsetOf(resp.Header)
		a.useFor(resp.Header)
		return nil, nil
	case code == http.StatusNotModified && v.isConditional(at):
		a.access, a.confirmed = policy.Successful, true
		a.useFor(resp.Header)
		return nil, nil
	case isRedirect(code):
		a.useRedirectFor(resp.Header)
		return target(at, resp)
	case code == http.StatusTooManyRequests, code >= 500 && code <= 599:
		a.retryAfter = retryafter.Of(resp.Header, time.Now())
		return nil, fmt.Errorf("status %d", code)
	case code >= 400 && code <= 499:
		a.access = policy.Unavailable
		a.useFor(resp.Header)
		return nil, nil
	}
	return nil, fmt.Errorf("status %d, which is no answer to this request", code)
}

// useFor notes the validators of an answer, and for how long it may be used.
func (a *answer) useFor(h http.Header) {
	a.validators = validatorsOf(h)
	a.life, a.told = freshnessOf(h, time.Now())
}

// useRedirectFor notes for how long a redirect may be used. One that says
// nothing, or that it is not to be kept, says nothing of where it leads.
func (a *answer) useRedirectFor(h http.Header) {
	if life, told := freshnessOf(h, time.Now()); told && life > 0 && (!a.hopTold || life < a.hopLife) {
		a.hopTold, a.hopLife = true, life
	}
}

// spoken reports whether a response is in HTTP/1, or in HTTP/2 as negotiated:
// a status line that says "HTTP/2.0" does not count. An empty Proto is that of
// a response made in memory.
func spoken(resp *http.Response) bool {
	switch {
	case resp.Proto == "" || resp.ProtoMajor == 1:
		return true
	case resp.ProtoMajor == 2:
		return resp.TLS != nil && resp.TLS.NegotiatedProtocol == "h2"
	}
	return false
}

// drain reads what little may be left of a body. cancel ends it when the
// origin takes its time.
func drain(body io.Reader, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainOctets)
}
