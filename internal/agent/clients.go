package agent

import (
	"net/netip"
	"slices"
)

// Known is a client and how it is known.
type Known struct {
	*Client
	Hash      Hash           // of its password; "" for none
	Addresses []netip.Prefix // that it asks from; no range is that of two clients
}

// Clients are those that the configuration names. Make one with NewClients; nil
// has none. It is safe for concurrent use.
type Clients struct {
	passwords *passwords // nil: no client has one
	ranges    map[netip.Prefix]*Client
	lengths   [2][]int // of the ranges, IPv4's and IPv6's, the longest first
}

// NewClients returns the clients, each of which has a name of its own.
func NewClients(all []Known) *Clients {
	c := &Clients{ranges: map[netip.Prefix]*Client{}}
	secrets := map[string]secret{}
	for _, k := range all {
		if k.Hash != "" {
			secrets[k.Name] = secret{k.Client, k.Hash}
		}
		for _, p := range k.Addresses {
			c.ranges[p] = k.Client
			if lengths := c.lengthsOf(p.Addr()); !slices.Contains(*lengths, p.Bits()) {
				*lengths = append(*lengths, p.Bits())
			}
		}
	}
	for i := range c.lengths {
		slices.SortFunc(c.lengths[i], func(a, b int) int { return b - a })
	}
	if len(secrets) > 0 {
		c.passwords = newPasswords(secrets)
	}
	return c
}

func (c *Clients) lengthsOf(a netip.Addr) *[]int {
	if a.Is4() {
		return &c.lengths[0]
	}
	return &c.lengths[1]
}

// At returns the client that an address stands for, by the longest range that
// has it; nil if none has. An address with a zone is in none, as it is in no
// netip.Prefix. It allocates nothing.
func (c *Clients) At(addr netip.Addr) *Client {
	if c == nil || addr.Zone() != "" {
		return nil
	}
	for _, bits := range *c.lengthsOf(addr) {
		p, err := addr.Prefix(bits)
		if err != nil {
			continue // there is no address
		}
		if client := c.ranges[p]; client != nil {
			return client
		}
	}
	return nil
}

// HavePasswords reports whether a client can be known by credentials.
func (c *Clients) HavePasswords() bool { return c != nil && c.passwords != nil }
