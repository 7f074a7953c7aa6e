package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"heed/internal/agent"
)

// identify finds out who asks: whether the client may use the proxy at all,
// and the product tokens of its User-Agent, as the origin will see it. It also
// stops a request that has been here before.
func (p *Proxy) identify(x *exchange) error {
	addr := x.entry.Client.Addr().Unmap()
	if x.tunnel != nil {
		addr = x.tunnel.client
	}
	if !p.AllowClient(addr) {
		return &problem{kind: kindClientRefused, cause: fmt.Errorf("%s is not among the clients that may use this proxy (clients.allow)", addr)}
	}
	if p.beenHere(x.in.Header["Via"]) {
		return &problem{kind: kindLoop, cause: errors.New("the request has passed this proxy before (Via)")}
	}
	h := x.in.Header
	if hasToken(h["Connection"], "user-agent") { // then the origin is told of none, and nobody passes for another
		delete(h, "User-Agent")
	}
	x.entry.Tokens = agent.Tokens(h["User-Agent"])
	return nil
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
