package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"heed/internal/audit"
	"heed/internal/pace"
	"heed/internal/retryafter"
	"heed/policy"
)

// pace waits until it is the request's turn at its origin, for as long as a
// request is held. It is the stage before forward: what is denied takes no turn.
// All waits of a request count together, that for robots.txt too: clients do not
// wait for ever.
func (p *Proxy) pace(x *exchange) error {
	if p.Pacer == nil {
		return nil
	}
	asked, err := p.askTurn(x)
	if err == nil && x.turn.Waits() {
		return p.waitTurn(x, asked)
	}
	if err != nil {
		return p.paced(x, asked, err)
	}
	return nil
}

// waitTurn waits for x's turn, and notes for what and for how long.
func (p *Proxy) waitTurn(x *exchange, asked askedPace) error {
	err := x.turn.Wait(x.in.Context())
	x.entry.PaceWait = x.held + x.turn.Waited()
	if err != nil {
		return p.paced(x, asked, err)
	}
	x.entry.Pace = asked.told(x.turn.WaitedFor())
	return nil
}

// askTurn asks for x's turn.
func (p *Proxy) askTurn(x *exchange) (asked askedPace, err error) {
	if x.target == robotsTxt {
		if err := p.learnPace(x); err != nil {
			return asked, err
		}
	}
	if asked = p.askedOf(x); asked.opens > 0 {
		return asked, errClosed
	}
	var at time.Time
	waited := x.entry.RobotsWait + x.held
	if waited == 0 {
		at = x.entry.Start
	}
	return asked, p.Pacer.Ask(x.in.Context(), &x.turn, pace.Request{
		Host: x.origin.Host, Port: x.origin.Port, Addr: x.origin.Addr(), By: askerOf(x), What: x.target,
		Interval: asked.interval, Asks: askedBy[asked.key], Hold: p.holdOf(x) - waited, At: at,
	})
}

// learnPace has the robots.txt fetched that a client asks for itself, before it is
// let through: else nobody knew yet what the site asks for, and heed's own fetch
// would come right after it. What comes of it decides nothing. All that it takes is
// within the hold. An error is that its turn comes too late for that.
func (p *Proxy) learnPace(x *exchange) error {
	if p.operatorDecides(x.origin) {
		return nil
	}
	if _, known := p.Policies.Remembered(x.origin, x.entry.Start); known {
		return nil
	}
	ctx, cancel := context.WithTimeout(x.in.Context(), p.holdOf(x))
	defer cancel()
	_, err := p.awaitFor(ctx, x)
	if refusal, late := errors.AsType[*pace.Refusal](err); late {
		return p.robotsFirst(x, refusal)
	}
	return nil
}

// errClosed is a request outside the site's Visit-time.
var errClosed = errors.New("robots.txt asks for visits at other times of the day (Visit-time)")

// askedPace is what a robots.txt asks of a client at a moment.
type askedPace struct {
	interval time.Duration
	line     int
	key      policy.Kind
	opens    time.Duration // until visits are welcome; 0: they are
}

// askedOf asks the rules that were decided by.
func (p *Proxy) askedOf(x *exchange) (asked askedPace) {
	wanted := p.rulesOf(x).Pace(x.entry.Tokens)
	if wanted == (policy.Pace{}) {
		return asked
	}
	now := time.Now()
	sinceMidnight := now.Sub(now.UTC().Truncate(24 * time.Hour))
	asked.interval, asked.line, asked.key = wanted.Interval(sinceMidnight)
	if x.target == robotsTxt {
		return asked // may be asked for at any time
	}
	if opens, line := wanted.Opens(sinceMidnight); opens > 0 {
		asked.opens, asked.line, asked.key = opens, line, policy.VisitTime
	}
	return asked
}

// rulesOf returns the rules that were decided by, the operator's own included.
// For a robots.txt, which needs none, it is what is known; nil is that there are
// none.
func (p *Proxy) rulesOf(x *exchange) *policy.Policy {
	if s := x.entry.Snapshot; s != nil {
		return s.Rules
	}
	if p.Overrides != nil {
		if r := p.Overrides.Find(x.origin, x.entry.Start); r != nil {
			return r.Rules
		}
	}
	s, _ := p.Policies.Remembered(x.origin, x.entry.Start)
	return s.Rules
}

// askerOf is who shares turns with others: a client that has a name is one,
// wherever it asks from.
func askerOf(x *exchange) (by pace.Asker) {
	switch {
	case x.client != nil:
		by.Client = x.client.Name
	case x.tunnel != nil:
		by.Addr = x.tunnel.client
	default:
		by.Addr = x.entry.Client.Addr()
	}
	if len(x.entry.Tokens.Main) > 0 {
		by.Agent = x.entry.Tokens.Main[0]
	}
	return by
}

// holdOf is how long a request may wait.
func (p *Proxy) holdOf(x *exchange) time.Duration {
	if x.client != nil && x.client.Hold > 0 {
		return x.client.Hold
	}
	return p.Hold(x.entry.Tokens)
}

// paced puts a turn that did not come into the terms of an answer.
func (p *Proxy) paced(x *exchange, asked askedPace, err error) error {
	var refusal *pace.Refusal
	switch {
	case errors.Is(err, errClosed):
		x.entry.Pace = audit.Pace{Cause: visitTime, Line: asked.line, Until: time.Now().Add(asked.opens)}
		return &problem{kind: kindPaced, retry: asked.opens, cause: fmt.Errorf("%w, line %d", err, asked.line)}
	case !errors.As(err, &refusal):
		return &problem{kind: kindClientGone, cause: fmt.Errorf("waiting for its turn: %w", err)}
	}
	x.entry.Pace = asked.told(refusal.Cause, refusal.Interval)
	x.entry.Pace.Until = time.Now().Add(refusal.Retry)
	return &problem{kind: kindPaced, retry: refusal.Retry, cause: err}
}

// visitTime is the cause of a refusal that no turn was asked for.
const visitTime = "visit-time"

// askedBy is how the records that ask for an interval are called by the pacer.
var askedBy = map[policy.Kind]pace.Cause{policy.CrawlDelay: pace.Site, policy.RequestRate: pace.Rate}

// told puts what the pacer says of a turn into an entry, with the line where it is
// the site that asks, and with what it asks for where that is cut.
func (a askedPace) told(cause pace.Cause, interval time.Duration) audit.Pace {
	t := audit.Pace{Cause: cause.String(), Interval: interval}
	if cause == pace.Site || cause == pace.Rate {
		t.Line = a.line
		if a.interval > interval {
			t.Asked = a.interval
		}
	}
	return t
}

// departure is an exchange that is about to go out.
type departure struct {
	*exchange
	proxy *Proxy
}

// Send has the request go out when it may, now that it has a connection.
func (d *departure) Send(ctx context.Context) error {
	x, p := d.exchange, d.proxy
	err := x.turn.Send(ctx)
	if x.turn.IsTimed() {
		x.entry.PaceWait = x.held + x.turn.Waited()
	}
	if err == nil {
		return nil
	}
	return p.enforced(x, p.paced(x, p.askedOf(x), err))
}

// answered tells the pacer what the origin said.
func (x *exchange) answered(resp *http.Response) {
	after := time.Duration(0)
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		after = retryafter.Of(resp.Header, time.Now())
	}
	x.turn.Answered(resp.StatusCode, after)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		x.turn.End() // what follows is no request
	}
}

// paceTunnel asks for the turn of a tunnel that is not read, before it is
// accepted. It is one request, whatever is in it.
func (p *Proxy) paceTunnel(x *exchange) error {
	if p.Pacer == nil {
		return nil
	}
	if asked, err := p.askTurn(x); err != nil {
		return p.paced(x, asked, err)
	}
	return nil
}

// relayInTurn waits for the turn of a tunnel that is not read, and lets it
// through. The client was told that it is there: clients give up a CONNECT sooner
// than what is inside.
func (p *Proxy) relayInTurn(x *exchange, upstream net.Conn) {
	upstream, err := p.awaitTunnel(x, upstream)
	switch {
	case err != nil:
		x.entry.Verdict = audit.Forwarded
		_ = p.failed(x, err).Body.Close()
		_ = x.w.conn.Close()
	case x.err != nil: // others came first, or the client left; the log alone can say so
		_ = p.deny(x).Body.Close()
		_ = x.w.conn.Close()
	default:
		p.relay(x, upstream)
	}
	if !x.left && upstream != nil {
		_ = upstream.Close()
	}
}

// awaitTunnel waits for the turn of a tunnel, and connects where that has waited,
// too. err is that of the connection; x has that of the turn.
func (p *Proxy) awaitTunnel(x *exchange, upstream net.Conn) (_ net.Conn, err error) {
	if x.turn.Waits() {
		in := x.in
		ctx, stop := x.w.conn.attend(in.Context())
		x.in = in.WithContext(ctx)
		defer func() {
			stop()
			x.in = in
		}()
		x.err = p.enforced(x, p.waitTurn(x, p.askedOf(x)))
	}
	if x.err == nil && upstream == nil {
		if upstream, err = p.Dial(x.in.Context(), "tcp", x.origin.Addr()); err != nil {
			return nil, err
		}
	}
	if x.err == nil {
		x.err = (&departure{x, p}).Send(x.in.Context())
	}
	return upstream, nil
}

// paceTold is what a request had to wait for, as it is told.
type paceTold struct {
	Cause    string  `json:"cause,omitempty"`    // one of a bounded set
	Interval float64 `json:"interval,omitempty"` // seconds between two requests
	Asked    float64 `json:"asked,omitempty"`    // seconds, where the site asks for more than is kept
	Line     int     `json:"line,omitempty"`     // of robots.txt
	Waited   float64 `json:"waited,omitempty"`   // seconds
	Until    string  `json:"until,omitempty"`    // when to come back, RFC 3339 in UTC
}

func tellPace(e *audit.Entry) *paceTold {
	if e.Pace.Cause == "" && e.PaceWait == 0 {
		return nil
	}
	t := &paceTold{Cause: e.Pace.Cause, Interval: e.Pace.Interval.Seconds(), Asked: e.Pace.Asked.Seconds(), Line: e.Pace.Line, Waited: e.PaceWait.Round(time.Millisecond).Seconds()}
	if !e.Pace.Until.IsZero() && e.Verdict == audit.Denied {
		t.Until = e.Pace.Until.UTC().Add(time.Second - 1).Format(time.RFC3339) // never too early
	}
	return t
}

// appendFacts appends the lines of an explanation.
func (t *paceTold) appendFacts(all []Fact) []Fact {
	if t == nil {
		return all
	}
	cause := paceWords[t.Cause]
	if t.Line > 0 {
		cause += " (line " + strconv.Itoa(t.Line) + ")"
	}
	return append(all,
		Fact{"Paced by", cause, ""},
		Fact{"Interval", inSeconds(t.Interval), ""},
		Fact{"Site asks for", inSeconds(t.Asked), ""},
		Fact{"Waited", inSeconds(t.Waited), ""},
		Fact{"Come back", t.Until, ""},
	)
}

// inSeconds is a number with its unit; empty for 0.
func inSeconds(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + " s"
}

// paceWords are the causes as people are told.
var paceWords = map[string]string{
	pace.Site.String():          "Crawl-delay of the site's robots.txt",
	pace.Rate.String():          "Request-rate of the site's robots.txt",
	visitTime:                   "Visit-time of the site's robots.txt",
	pace.Floor.String():         "the operator of this proxy (pace.min_interval)",
	pace.RetryAfter.String():    "Retry-After of the site",
	pace.BackOff.String():       "429 or 503 of the site",
	pace.Slow.String():          "slow answers of the site (pace.target_concurrency)",
	pace.Concurrency.String():   "requests to the site that are under way (pace.per_origin)",
	pace.SharedAddress.String(): "requests to its address that are under way (pace.per_address)",
	pace.Queue.String():         "requests to the site that wait (pace.queue)",
}

// params appends the parameters of Robots-Decision.
func (t *paceTold) params(i item) item {
	if t == nil {
		return i
	}
	i = i.text("reason", t.Cause)
	i = i.seconds("interval", duration(t.Interval)).seconds("asked", duration(t.Asked))
	return i.number("line", t.Line)
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
