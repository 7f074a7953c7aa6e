package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/elazarl/goproxy"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/origin"
	"heed/internal/serving"
	"heed/policy"
)

// Mode is what is done with TLS inside a CONNECT.
type Mode uint8

const (
	// Intercept reads inside TLS with heed's CA: every request is decided by
	// its path.
	Intercept Mode = iota
	// Tunnel relays unread: only the origin as a whole is decided.
	Tunnel
	// Deny refuses.
	Deny
)

// String returns the word of the configuration.
func (m Mode) String() string {
	switch m {
	case Intercept:
		return "intercept"
	case Tunnel:
		return "tunnel"
	default:
		return "deny"
	}
}

// tunnel is an accepted CONNECT: what the client asked for, and who it is.
type tunnel struct {
	origin origin.Origin
	client netip.Addr
	mode   Mode
	named  *agent.Client // nil: nobody whom the configuration names
	barred bool          // whatever is asked inside is denied

	// Of the client's TLS, whose goroutine alone touches these.
	seen   bool      // a certificate was sent
	shaken time.Time // when the handshake was over
	used   bool      // something came after it, or it ended
}

// tlsHandshake is the first octet of what a TLS client sends: the content type
// of its record (RFC 8446 §5.1).
const tlsHandshake = 0x16

// connect decides on a CONNECT. Every path of it returns an action: goproxy
// relays one that no handler answered (https.go:201).
func (p *Proxy) connect(x *exchange) (*goproxy.ConnectAction, string) {
	mode, err := p.admit(x)
	if x.err = err; p.denies(x) {
		resp := p.deny(x)
		return takeOver(func() { p.reject(x.w.conn, resp) }), ""
	}
	t := &tunnel{origin: x.origin, client: x.entry.Client.Addr().Unmap(), mode: mode, named: x.client}
	t.barred = p.mustBeNamed(x) != nil || x.mayAsk(x.origin) != nil
	return takeOver(func() { p.accept(x, t) }), ""
}

// takeOver is the one action that goproxy is given: the connection is heed's.
func takeOver(then func()) *goproxy.ConnectAction {
	return &goproxy.ConnectAction{
		Action: goproxy.ConnectHijack,
		Hijack: func(*http.Request, net.Conn, *goproxy.ProxyCtx) { then() },
	}
}

// admit checks what can be checked before anything inside is seen. With
// interception that is little, on purpose: a denial inside the tunnel is shown
// by every client, one at CONNECT by few.
func (p *Proxy) admit(x *exchange) (Mode, error) {
	if err := p.identify(x); err != nil {
		return Deny, err
	}
	if x.origin.Host != Host && p.Clients.HavePasswords() { // inside nobody can be asked for them
		if err := p.mustBeNamed(x); err != nil {
			return Deny, err
		}
	}
	if !p.ConnectPort(x.origin.Port) {
		return Deny, &problem{kind: kindPortRefused, cause: fmt.Errorf("port %s is not among those that may be tunnelled to (connect_ports)", x.origin.Port)}
	}
	mode, reason := p.Mode(x.origin, x.client)
	if x.origin.Scheme == "http" || mode == Intercept || x.origin.Host == Host {
		x.entry.Decision.Allowed = true // to be looked inside; each request is decided
		return mode, nil
	}
	if mode == Deny {
		cause := "https is denied by configuration (https.mode)"
		if reason != "" {
			cause += ": " + reason
		}
		return Deny, &problem{kind: kindTLSDenied, cause: errors.New(cause)}
	}
	x.entry.Tokens = x.client.UnreadTokens(x.in.Header["User-Agent"])
	if err := p.permit(x); err != nil {
		return Deny, err
	}
	if err := p.decideTarget(x, "/"); err != nil || p.denies(x) {
		return mode, err
	}
	if err := p.takeQuota(x); err != nil { // it is not read, so that it is one request
		return mode, err
	}
	return mode, p.enforced(x, p.paceTunnel(x))
}

// accept says 200 and looks at the client's first octet: the scheme is what is
// really spoken, not what the port suggests.
func (p *Proxy) accept(x *exchange, t *tunnel) {
	client := x.w.conn
	var upstream net.Conn
	defer func() {
		if upstream != nil && !x.left {
			_ = upstream.Close()
		}
	}()
	unread := t.mode == Tunnel && t.origin.Scheme == "https"
	if unread && !x.turn.Waits() { // else it is too early for so much as a connection
		var err error
		if upstream, err = p.Dial(x.in.Context(), "tcp", t.origin.Addr()); err != nil {
			x.entry.Verdict = audit.Forwarded
			p.reject(client, p.failed(x, err))
			return
		}
	}
	if t.origin.Scheme == "https" && (t.mode == Intercept || t.origin.Host == Host) {
		p.leafAhead(t.origin.Host)
	}
	x.entry.Verdict, x.entry.Status = audit.Answered, http.StatusOK
	_ = client.SetDeadline(time.Now().Add(p.Timeouts.TLSHandshake))
	if _, err := client.Write(p.established(x)); err != nil {
		_ = client.Close()
		return
	}
	first, err := client.first()
	if err != nil {
		_ = client.Close()
		return
	}
	switch {
	case first != tlsHandshake:
		if x.entry.Report {
			x.entry.Decision = policy.Decision{Allowed: true} // each request inside is decided
		}
		_ = client.SetDeadline(time.Time{})
		go p.serveInside(client, t, nil)
	case t.mode == Intercept || t.origin.Host == Host:
		p.intercept(x, client, t)
	case unread:
		p.relayInTurn(x, upstream)
	default: // the 200 is sent, so that the log alone can say why
		x.err = &problem{kind: kindTLSDenied, cause: errors.New("TLS in a tunnel to port 80, of which plain HTTP was expected")}
		_ = p.deny(x).Body.Close()
		_ = client.Close()
	}
}

// established is the answer to a CONNECT that is accepted. One that is to be
// relayed unread is marked here, or nowhere.
func (p *Proxy) established(x *exchange) []byte {
	answer := []byte("HTTP/1.1 200 Connection established\r\n")
	if x.entry.Report {
		answer = append(answer, "Robots-Decision: "+p.decisionField(x)+"\r\n"...)
	}
	return append(answer, "\r\n"...)
}

// reject answers a CONNECT on the connection that goproxy has taken over. The
// client may have sent more already: its part of a handshake.
func (p *Proxy) reject(client *rawConn, resp *http.Response) {
	resp.Close = true
	resp.Header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	_ = client.SetDeadline(time.Now().Add(p.Timeouts.TLSHandshake))
	_ = resp.Write(client) // a client that went away is no fault
	serving.Linger(client)
	_ = client.Close()
}
