package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/elazarl/goproxy"

	"heed/internal/audit"
	"heed/internal/origin"
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
}

// connect decides on a CONNECT. Every path of it returns an action: goproxy
// relays one that no handler answered (https.go:201).
func (p *Proxy) connect(x *exchange, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	mode, err := p.admit(x)
	if err != nil || !x.entry.Decision.Allowed {
		x.err = err
		ctx.Resp = p.deny(x)
		ctx.Resp.Close = true
		return &goproxy.ConnectAction{Action: goproxy.ConnectReject}, ""
	}
	t := &tunnel{origin: x.origin, client: x.entry.Client.Addr().Unmap(), mode: mode}
	return &goproxy.ConnectAction{
		Action: goproxy.ConnectHijack,
		Hijack: func(_ *http.Request, _ net.Conn, _ *goproxy.ProxyCtx) { p.accept(x, t) },
	}, ""
}

// admit checks what can be checked before anything inside is seen. With
// interception that is little, on purpose: a denial inside the tunnel is shown
// by every client, one at CONNECT by few.
func (p *Proxy) admit(x *exchange) (Mode, error) {
	if err := p.identify(x); err != nil {
		return Deny, err
	}
	if !p.ConnectPort(x.origin.Port) {
		return Deny, &problem{kind: kindPortRefused, cause: fmt.Errorf("port %s is not among those that may be tunnelled to (connect_ports)", x.origin.Port)}
	}
	mode, reason := p.Mode(x.origin)
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
	return mode, p.decideTarget(x, "/")
}

// accept takes the connection over, says 200, and looks at the client's first
// octet: the scheme is what is really spoken, not what the port suggests.
func (p *Proxy) accept(x *exchange, t *tunnel) {
	client := x.w.conn
	var upstream net.Conn
	if t.mode == Tunnel && t.origin.Scheme == "https" {
		var err error
		if upstream, err = p.Dial(x.in.Context(), "tcp", t.origin.Addr()); err != nil {
			p.refuse(x, client, err)
			return
		}
		defer func() { _ = upstream.Close() }()
	}
	x.entry.Verdict, x.entry.Status = audit.Answered, http.StatusOK
	_ = client.SetDeadline(time.Now().Add(p.Timeouts.TLSHandshake))
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = client.Close()
		return
	}
	first, err := client.first()
	if err != nil {
		_ = client.Close()
		return
	}
	_ = client.SetDeadline(time.Time{})
	const handshake = 0x16 // content type of a TLS record (RFC 8446 §5.1)
	switch {
	case first != handshake:
		p.inside.plain.deliver(client, t)
	case t.mode == Intercept || t.origin.Host == Host:
		p.inside.tls.deliver(client, t)
	case upstream != nil:
		x.entry.Verdict = audit.Forwarded
		p.relay(x, client, upstream)
	default:
		p.Log.Info().Stringer("origin", t.origin).Msg("TLS in a tunnel that may carry plain HTTP only was closed")
		_ = client.Close()
	}
}

// refuse answers a CONNECT whose origin cannot be connected to, on the
// connection that goproxy has already taken over.
func (p *Proxy) refuse(x *exchange, client net.Conn, err error) {
	x.entry.Verdict = audit.Forwarded
	resp := p.failed(x, err)
	resp.Close = true
	_ = client.SetWriteDeadline(time.Now().Add(p.Timeouts.TLSHandshake))
	_ = resp.Write(client) // a client that went away is no fault
	_ = client.Close()
}
