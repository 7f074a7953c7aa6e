package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"heed/internal/agent"
	"heed/internal/audit"
)

// identify finds out who asks: which client, whether it may use the proxy at all,
// and its product tokens, by the User-Agent that the origin will see. It also
// stops a request that has been here before.
func (p *Proxy) identify(x *exchange) error {
	if err := p.findClient(x); err != nil {
		return err
	}
	if p.beenHere(x.in.Header["Via"]) {
		return &problem{kind: kindLoop, cause: errors.New("the request has passed this proxy before (Via)")}
	}
	h := x.in.Header
	if hasToken(h["Connection"], "user-agent") { // then the origin is told of none, and nobody passes for another
		delete(h, "User-Agent")
	}
	x.entry.Tokens = x.client.Tokens(h["User-Agent"])
	return nil
}

// findClient finds the client by its credentials or, without any, by its address,
// and refuses whoever may not use the proxy. What is inside a tunnel is the
// CONNECT's client's: credentials there are not for heed, and are dropped like any
// field that speaks to a proxy.
func (p *Proxy) findClient(x *exchange) error {
	if x.tunnel != nil {
		return nil // newExchange has it, and connect let it in
	}
	addr := x.entry.Client.Addr().Unmap()
	if fields := x.in.Header["Proxy-Authorization"]; len(fields) > 0 && p.Clients.HavePasswords() {
		client, err := p.Clients.Authenticate(fields, addr)
		if err != nil {
			return credentialsProblem(err)
		}
		x.isOf(client)
		return nil
	}
	x.isOf(p.Clients.At(addr))
	switch {
	case x.client != nil || p.AllowClient(addr):
		return nil
	case p.Clients.HavePasswords():
		return &problem{kind: kindCredentials, cause: fmt.Errorf("%s is not among the addresses that may use this proxy without credentials, and none were sent (clients.allow, clients.named)", addr)}
	default:
		return &problem{kind: kindClientRefused, cause: fmt.Errorf("%s is not among the clients that may use this proxy (clients.allow)", addr)}
	}
}

// credentialsProblem puts why credentials are nobody's into the terms of an
// answer. The name that they claim is not told: it may be a password.
func credentialsProblem(err error) error {
	if errors.Is(err, agent.ErrBusy) {
		return &problem{kind: kindOverload, retry: retryPending, cause: err}
	}
	return &problem{kind: kindCredentials, cause: err}
}

// isOf says whose the exchange is; nil is nobody whom the configuration names.
func (x *exchange) isOf(c *agent.Client) {
	x.client = c
	if c != nil {
		x.entry.Identity = &audit.Identity{Name: c.Name, Purpose: c.Purpose, Project: c.Project, Contact: c.Contact}
	}
}

// client returns the other end of the connection, whose text is given: that of
// all requests on it. It is zero if that is no address.
func (c *clientConn) client(text string) netip.AddrPort {
	if known := c.remote.Load(); known != nil {
		return *known
	}
	at, _ := netip.ParseAddrPort(text)
	c.remote.Store(&at)
	return at
}

// beenHere looks for this instance's own name in Via (RFC 9110 §7.6.3).
func (p *Proxy) beenHere(via []string) bool {
	for _, v := range via {
		if strings.Contains(v, p.Via) {
			return true
		}
	}
	return false
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
