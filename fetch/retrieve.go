package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

const (
	// drainOctets and drainTime bound what is read of a body that does not
	// matter, so that its connection can be used again: most origins have no
	// robots.txt, and are asked for a page next.
	drainOctets = 16 << 10
	drainTime   = 500 * time.Millisecond
)

// answer is what came of one retrieval.
type answer struct {
	access     policy.Access
	status     int           // HTTP status last obtained, 0 if none
	hops       []string      // URLs redirected to
	octets     []byte        // the decoded body, at most limit+1, when successful
	utf8       bool          // they were declared to be UTF-8
	body       *body         // octets compiled
	retryAfter time.Duration // what an unreachable origin asked for, 0 if nothing
	err        error         // why the origin is unreachable, else nil
	requests   int           // requests sent
	retried    bool          // one of them was a second try
}

func unreachable(err error) answer {
	return answer{access: policy.Unreachable, err: err}
}

// fail makes the answer unreachable. It keeps what is known so far.
func (a *answer) fail(err error) {
	if n := len(a.hops); n > 0 {
		err = fmt.Errorf("after the redirect to %s: %w", a.hops[n-1], err)
	}
	a.access, a.octets, a.err = policy.Unreachable, nil, err
}

// retriever asks for a robots.txt and follows where it is sent. It remembers
// nothing.
type retriever struct {
	transport    http.RoundTripper
	userAgent    string
	limit        int
	maxRedirects int
}

// retrieve makes one retrieval (RFC 9309 §2.3.1). Its time is that of ctx.
func (r *retriever) retrieve(ctx context.Context, o origin.Origin) answer {
	var a answer
	at := &url.URL{Scheme: o.Scheme, Host: o.Authority(), Path: "/robots.txt"}
	for {
		to, err := r.visit(ctx, at, &a)
		if err != nil {
			a.fail(explain(ctx, err))
			return a
		}
		if to == nil {
			return a
		}
		if err := r.checkHop(o, to, a.hops); err != nil {
			a.fail(err)
			return a
		}
		a.hops = append(a.hops, to.String())
		at = to
	}
}

// visit makes one request. It returns where the answer redirects to, or nil
// when it completed a.
func (r *retriever) visit(ctx context.Context, at *url.URL, a *answer) (*url.URL, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.send(ctx, at, a)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	to, err := r.take(resp, at, a)
	if a.status >= 300 {
		drain(resp.Body, cancel)
	}
	return to, err
}

// send makes a request, and once in a retrieval makes it again: it may have
// met a kept connection that the origin had closed, or a moment's overload.
func (r *retriever) send(ctx context.Context, at *url.URL, a *answer) (*http.Response, error) {
	resp, err := r.roundTrip(ctx, at, a)
	if err == nil || a.retried || ctx.Err() != nil || !connectionLost(err) {
		return resp, err
	}
	a.retried = true
	return r.roundTrip(ctx, at, a)
}

func (r *retriever) roundTrip(ctx context.Context, at *url.URL, a *answer) (*http.Response, error) {
	ctx, phase := watch(ctx)
	a.requests++
	resp, err := r.transport.RoundTrip(r.request(ctx, at))
	if err != nil {
		return nil, phase.of(err)
	}
	return resp, nil
}

// request has our own fields and no others. An Accept-Encoding that is set
// keeps the transport from decoding without a bound.
func (r *retriever) request(ctx context.Context, at *url.URL) *http.Request {
	req := &http.Request{
		Method:     http.MethodGet,
		URL:        at,
		Host:       at.Host,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header: http.Header{
			"User-Agent":      {r.userAgent},
			"Accept":          {"text/plain, */*;q=0.1"},
			"Accept-Encoding": {"gzip"},
		},
	}
	return req.WithContext(ctx)
}

// take turns a response into an access result, or into the redirect's target.
func (r *retriever) take(resp *http.Response, at *url.URL, a *answer) (*url.URL, error) {
	code := resp.StatusCode
	switch {
	case !spoken(resp):
		return nil, fmt.Errorf("answer in %s, which was not agreed on", resp.Proto)
	case code == http.StatusPartialContent:
		return nil, fmt.Errorf("status 206 (part of the file), which nobody asked for")
	case code >= 200 && code <= 299:
		octets, err := readBody(resp, r.limit)
		if err != nil {
			return nil, err
		}
		a.access, a.octets, a.utf8 = policy.Successful, octets, declaresUTF8(resp.Header)
		return nil, nil
	case isRedirect(code):
		return target(at, resp)
	case code == http.StatusTooManyRequests, code >= 500 && code <= 599:
		a.retryAfter = retryAfter(resp.Header, time.Now())
		return nil, fmt.Errorf("status %d", code)
	case code >= 400 && code <= 499:
		a.access = policy.Unavailable
		return nil, nil
	}
	return nil, fmt.Errorf("status %d, which is no answer to this request", code)
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
