package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/origin"
)

// status serves heed's own pages: http://heed.internal/ through the proxy, or
// the proxy's own address. They have no effects, so only GET and HEAD exist.
func (p *Proxy) status(x *exchange) *http.Response {
	x.entry.Verdict, x.entry.Reason = audit.Answered, "own-page"
	u, err := url.Parse(x.target)
	switch {
	case err != nil:
		x.err = &problem{kind: kindBadRequest, cause: err}
		return p.deny(x)
	case x.in.Method != http.MethodGet && x.in.Method != http.MethodHead:
		return p.noSuchPage(x, fmt.Errorf("heed's own pages answer GET and HEAD, not %s", x.in.Method))
	}
	switch path := u.Path; {
	case path == "/":
		return p.page(x, asHTML, page("start.html", p.startPage()))
	case path == "/ca.pem" || path == "/ca.crt":
		return p.download(x, "application/x-pem-file", "heed-ca.pem", p.Authority.PEM)
	case path == "/ca.der" || path == "/ca.cer":
		return p.download(x, "application/x-x509-ca-cert", "heed-ca.cer", p.Authority.DER)
	case path == "/why" && u.Query().Has("id"):
		return p.whyID(x, u.Query().Get("id"))
	case path == "/why":
		return p.whyURL(x, u.Query())
	case strings.HasPrefix(path, "/problems/"):
		return p.problemPage(x, strings.TrimPrefix(path, "/problems/"))
	default:
		return p.noSuchPage(x, fmt.Errorf("heed has no page %s; the start page is http://%s/", shown(path), Host))
	}
}

type startPage struct{ Name, Version, Fingerprint, Host, Report string }

func (p *Proxy) startPage() startPage {
	return startPage{p.Name, p.Version, p.Authority.Fingerprint, Host, p.ReportNote}
}

// whyID explains a decision that was made.
func (p *Proxy) whyID(x *exchange, id string) *http.Response {
	e := p.Recent.Find(id)
	if e == nil {
		return p.noSuchPage(x, fmt.Errorf("no decision %q is remembered: ids are kept for the last few thousand exchanges; the log has them all", shown(id)))
	}
	return p.explained(x, p.explain(e, problemOfEntry(e)))
}

// whyURL explains what would be decided now for whoever asks, without a request
// for the page itself. It may fetch the robots.txt, so that it is no way to an
// origin for those who may not ask there: they are told that, and no more.
func (p *Proxy) whyURL(x *exchange, q url.Values) *http.Response {
	asked := &exchange{in: x.in, tunnel: x.tunnel, client: x.client}
	if err := asked.readAbsolute(q.Get("url")); err != nil {
		return p.noSuchPage(x, fmt.Errorf("ask /why?id=ID or /why?url=URL&agent=USER-AGENT: %w", err))
	}
	e := &audit.Entry{
		Origin: asked.origin.String(), Target: asked.target,
		Tokens: x.client.Tokens(nil), Identity: x.entry.Identity,
	}
	if names := q["agent"]; len(names) > 0 {
		e.Tokens = agent.Tokens(names)
	}
	asked.entry = e
	if err := p.permit(asked); err != nil {
		return p.explained(x, p.explain(e, problemOf(err)))
	}
	if err := p.foretell(x.in.Context(), asked.origin, e); err != nil {
		x.err = err
		return p.deny(x)
	}
	_ = p.denies(asked) // which notes what is reported
	return p.explained(x, p.explain(e, problemOfEntry(e)))
}

// foretell decides without an exchange.
func (p *Proxy) foretell(ctx context.Context, o origin.Origin, e *audit.Entry) error {
	if p.overridden(o, e, e.Target) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	s, err := p.Policies.Snapshot(ctx, o)
	if err != nil {
		return &problem{kind: kindRobotsPending, retry: retryPending, cause: fmt.Errorf("waiting for %s: %w", o.RobotsURL(), err)}
	}
	e.Snapshot, e.Decision = &s, s.Decide(e.Tokens, e.Target)
	return nil
}

// problemOfEntry is what a recorded exchange was answered with; nil when it
// was allowed, or reported. With a matter of politeness no request is answered
// that was forwarded: its error is that of an answer that broke off.
func problemOfEntry(e *audit.Entry) *problem {
	k := kindNamed(e.Reason)
	if e.Report && (e.Err == "" || k.isPolite()) {
		return nil
	}
	switch {
	case k != nil && k != kindDisallowed && k != kindOverride && k != kindUnreachable:
		return &problem{kind: k, retry: max(time.Until(e.Pace.Until), 0), cause: errors.New(e.Err)}
	case e.Decision.Allowed || e.Verdict == audit.Answered:
		return nil
	default:
		return denialOf(e)
	}
}

// explained answers a question about a decision: 200 whatever was decided.
func (p *Proxy) explained(x *exchange, e *explanation) *http.Response {
	contentType, body := e.render(nil, x.in.Header["Accept"])
	return p.page(x, contentType, body)
}

func (p *Proxy) problemPage(x *exchange, name string) *http.Response {
	k := kindNamed(name)
	if k == nil {
		return p.noSuchPage(x, fmt.Errorf("there is no problem %q", shown(name)))
	}
	return p.page(x, asHTML, page("problem.html", struct {
		Name, Title, Signal, Remedy string
		Status                      int
	}{k.name, k.title, k.signal, remedies[k], k.status}))
}

func (p *Proxy) noSuchPage(x *exchange, err error) *http.Response {
	resp := p.answer(x, &problem{kind: kindNoSuchPage, cause: err})
	x.entry.Verdict = audit.Answered
	return resp
}

func (p *Proxy) page(x *exchange, contentType []string, body []byte) *http.Response {
	h := http.Header{
		"Content-Type":            contentType,
		"Content-Length":          {strconv.Itoa(len(body))},
		"Cache-Control":           noStore,
		"Content-Security-Policy": confined,
		"X-Content-Type-Options":  noSniff,
	}
	a := &ownAnswer{response: http.Response{Status: "200 OK"}}
	return a.respond(x.in, http.StatusOK, h, body)
}

func (p *Proxy) download(x *exchange, contentType, name string, body []byte) *http.Response {
	resp := p.page(x, []string{contentType}, body)
	resp.Header["Content-Disposition"] = []string{`attachment; filename="` + name + `"`}
	return resp
}

// kinds are all ways to end, for looking one up by name.
var kinds = []*kind{
	kindDisallowed, kindOverride, kindRestricted, kindDenied, kindPaced, kindUnreachable, kindRobotsPending, kindClientRefused, kindCredentials, kindIdentity, kindDestination, kindQuota, kindPortRefused, kindTLSDenied,
	kindBadRequest, kindURITooLong, kindNestedConnect, kindHeaderTooLarge, kindExpectation, kindTransferCoding, kindBadBody, kindBodyTimeout, kindVersion, kindLoop, kindInternal, kindOverload, kindNoSuchPage,
	kindAddress, kindDNS, kindDNSTimeout, kindRefused, kindUnroutable, kindConnectTimeout, kindCertificate, kindTLSAlert,
	kindTLS, kindProxy, kindProxyTimeout, kindAnswerTimeout, kindTerminated, kindBadAnswer, kindClientGone,
}

func kindNamed(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return nil
}
