package config

import (
	"fmt"
	"net/netip"
	"strings"

	"heed/internal/origin"
)

// HostPattern names hosts: a lower-case A-label or IP address without
// brackets, or *.NAME for every host below NAME, but not NAME itself.
type HostPattern string

// UnmarshalText reads a host in any of its spellings, or *. and a name.
func (h *HostPattern) UnmarshalText(text []byte) error {
	name, below := strings.CutPrefix(string(text), "*.")
	_, addrErr := netip.ParseAddr(name)
	o, err := origin.Parse("https", bracketed(name))
	if err != nil || addrErr != nil && strings.ContainsAny(name, ":[]") {
		return fault("is not a host; write example.com, *.example.com or an address, without scheme, port and path")
	}
	if below && addrErr == nil {
		return fault("has nothing below it: *. goes before a name, not an address")
	}
	if below {
		o.Host = "*." + o.Host
	}
	*h = HostPattern(o.Host)
	return nil
}

// Destination is a host pattern or a network: where a connection goes to.
type Destination struct {
	Host    HostPattern  // "" if it is a network
	Network netip.Prefix // the zero Prefix if it is a host
}

// UnmarshalText reads a network, an address as the network of itself, or what
// HostPattern reads.
func (d *Destination) UnmarshalText(text []byte) error {
	if _, err := netip.ParseAddr(string(text)); err == nil || strings.Contains(string(text), "/") {
		network, err := parsePrefix(string(text))
		if err != nil {
			return err
		}
		*d = Destination{Network: network}
		return nil
	}
	var host HostPattern
	if err := host.UnmarshalText(text); err != nil {
		return fault("is neither a host nor a network; write example.com, *.example.com, 10.0.0.0/8 or an address, without scheme and port")
	}
	*d = Destination{Host: host}
	return nil
}

// String returns the form that UnmarshalText reads.
func (d Destination) String() string {
	if d.Host == "" {
		return d.Network.String()
	}
	return string(d.Host)
}

// MarshalText returns String.
func (d Destination) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Matches reports whether a canonical host, a name or an address without
// brackets, is meant. A network has addresses alone: no name is resolved.
func (d Destination) Matches(host string) bool {
	if d.Host != "" {
		return d.Host.Matches(host)
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && d.Network.Contains(addr.Unmap())
}

// bracketed writes a bare IPv6 address as an authority does.
func bracketed(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		return "[" + host + "]"
	}
	return host
}

// Matches reports whether a canonical host (origin.Origin's) is meant: the
// very name, or, for *.a.example, any name below a.example.
func (h HostPattern) Matches(host string) bool {
	if below, wild := strings.CutPrefix(string(h), "*"); wild {
		return strings.HasSuffix(host, below)
	}
	return host == string(h)
}

// parsePrefix reads a network in CIDR form, or an address as the network of
// itself.
func parsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		addr, addrErr := netip.ParseAddr(text)
		if addrErr != nil || addr.Zone() != "" {
			return netip.Prefix{}, fault("is neither a network nor an address; write for example 10.0.0.0/8, 127.0.0.1 or fd00::/8")
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, fault(fmt.Sprintf("is an IPv4 address in IPv6 form, which matches nothing; write %s", p.Addr().Unmap()))
	}
	if p != p.Masked() {
		return netip.Prefix{}, fault(fmt.Sprintf("has octets beyond its prefix; write %s", p.Masked()))
	}
	return p, nil
}
