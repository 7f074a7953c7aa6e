package app

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"heed/internal/agent"
	"heed/internal/config"
	"heed/internal/origin"
	"heed/internal/quota"
	"heed/proxy"
)

// NewClients returns the clients that a configuration names, with the file of
// credentials read; nil if it names none. Who stands in that file alone is a
// client with a name and nothing else. What they have used is counted by quotas.
func NewClients(c config.Clients, quotas *quota.Keeper) (*agent.Clients, error) {
	lines, err := c.Credentials()
	if err != nil {
		return nil, fmt.Errorf("reading clients.htpasswd: %w", err)
	}
	filed := map[string]agent.Hash{}
	for _, l := range lines {
		filed[l.Name] = l.Hash
	}
	var all []agent.Known
	for _, n := range c.Named {
		k := agent.Known{Client: clientOf(n, quotas), Hash: agent.Hash(n.Password), Addresses: n.Addresses}
		if k.Hash == "" {
			k.Hash = filed[n.Name]
		}
		delete(filed, n.Name)
		all = append(all, k)
	}
	for name, hash := range filed {
		all = append(all, agent.Known{Client: &agent.Client{Name: name}, Hash: hash})
	}
	if len(all) == 0 {
		return nil, nil
	}
	return agent.NewClients(all), nil
}

func clientOf(n config.Client, quotas *quota.Keeper) *agent.Client {
	c := &agent.Client{
		Name: n.Name, Purpose: string(n.Purpose), Project: string(n.Project), Contact: string(n.Contact),
		Token: n.Token, UserAgent: n.UserAgent, From: n.From,
		HTTPS: n.HTTPS, Mode: n.Mode, Hold: time.Duration(n.Hold), Quota: quotas.Account(n.Name),
	}
	if len(n.Destinations) > 0 {
		c.MayAsk = func(host string) bool {
			return slices.ContainsFunc(n.Destinations, func(h config.HostPattern) bool { return h.Matches(host) })
		}
	}
	return c
}

// clientsOf says who may use the proxy without a name.
func clientsOf(c config.Clients) func(netip.Addr) bool {
	return func(a netip.Addr) bool {
		return a.IsLoopback() || slices.ContainsFunc(c.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
	}
}

// requirementOf returns the strictest for a word that is not known.
func requirementOf(c config.Identity) proxy.Requirement {
	switch c.Require {
	case config.RequireAny:
		return proxy.AnyClient
	case config.RequireToken:
		return proxy.ClientWithToken
	default:
		return proxy.NamedClient
	}
}

var modes = map[string]proxy.Mode{
	config.Intercept: proxy.Intercept,
	config.Tunnel:    proxy.Tunnel,
	config.Deny:      proxy.Deny,
}

// modeNamed denies where a mode is not known.
func modeNamed(name string) proxy.Mode {
	if m, known := modes[name]; known {
		return m
	}
	return proxy.Deny
}

// modeOf looks exceptions up in order. Where one fits and the client has a mode of
// its own too, the stricter of the two counts: an exception is about the host and
// a client's mode about the client, and neither was written with the other in
// mind. A client's mode alone goes before that of all.
func modeOf(c config.HTTPS) func(origin.Origin, *agent.Client) (proxy.Mode, string) {
	return func(o origin.Origin, client *agent.Client) (proxy.Mode, string) {
		own, of := modeNamed(c.Mode), ""
		has := client != nil && client.HTTPS != ""
		if has {
			own, of = modeNamed(client.HTTPS), "https of the client "+client.Name
		}
		for _, e := range c.Exceptions {
			if !e.Host.Matches(o.Host) {
				continue
			}
			if m := modeNamed(e.Mode); !has || stricter(m, own) {
				return m, e.Reason
			}
			break
		}
		return own, of
	}
}

// stricter reports whether a mode lets less through unseen than another: deny
// nothing at all, intercept nothing, tunnel everything.
func stricter(a, b proxy.Mode) bool {
	rank := [...]int{proxy.Tunnel: 0, proxy.Intercept: 1, proxy.Deny: 2}
	return rank[a] > rank[b]
}
