package proxy

import (
	"errors"
	"fmt"

	"heed/internal/origin"
)

// Requirement is who a client must be for its requests to be forwarded.
type Requirement uint8

const (
	// AnyClient is whoever may use the proxy.
	AnyClient Requirement = iota
	// ClientWithToken has a product token: one that is configured, or one of its
	// User-Agent.
	ClientWithToken
	// NamedClient has a name in the configuration, and a product token.
	NamedClient
)

// permit checks what the configuration says of the client, before a robots.txt
// is asked: that it says who it is, and that it may ask for this host.
func (p *Proxy) permit(x *exchange) error {
	if err := p.enforced(x, p.mustSayWho(x)); err != nil {
		return err
	}
	return x.mayAsk(x.origin)
}

// mustSayWho denies a client that has not said who it is as it has to.
func (p *Proxy) mustSayWho(x *exchange) error {
	if err := p.mustBeNamed(x); err != nil {
		return err
	}
	if p.Require != AnyClient && len(x.entry.Tokens.Main) == 0 {
		return &problem{kind: kindIdentity, cause: errors.New("the User-Agent has no product token: it is missing, or a browser's, and clients have to say who they are here (identity.require)")}
	}
	return nil
}

// mustBeNamed denies a client without a name where it needs one. Many clients
// send credentials only when they are asked to, so that is done wherever they
// can have some; but not inside a tunnel, where the question would be the
// origin's to them.
func (p *Proxy) mustBeNamed(x *exchange) error {
	switch {
	case p.Require != NamedClient || x.client != nil:
		return nil
	case x.tunnel == nil && p.Clients.HavePasswords():
		return &problem{kind: kindCredentials, cause: errors.New("no credentials were sent, and only clients that have a name may ask here (identity.require: named)")}
	default:
		return &problem{kind: kindIdentity, cause: errors.New("this client has no name here, and only those that have one may ask (identity.require: named); the operator of this proxy can give it one in clients.named, by its address or a password")}
	}
}

// mayAsk denies a host that is not for the client.
func (x *exchange) mayAsk(o origin.Origin) error {
	if c := x.client; c != nil && c.MayAsk != nil && !c.MayAsk(o.Host) {
		return &problem{kind: kindDestination, cause: fmt.Errorf("the client %s may not ask for %s (destinations in clients.named)", c.Name, o.Host)}
	}
	return nil
}
