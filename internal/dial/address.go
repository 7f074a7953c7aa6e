package dial

import (
	"fmt"
	"net"
	"net/netip"

	"code.dny.dev/ssrf"
)

// ProhibitedError is a connection refused because of the address it would
// have gone to. No packet was sent.
type ProhibitedError struct {
	Host string         // the host asked for, before any ConnectTo rule
	Addr netip.AddrPort // the address that was about to be connected to
	Why  string         // e.g. "127.0.0.0/8 is loopback"
}

// Error names the address, the host that led to it and what would open it.
func (e *ProhibitedError) Error() string {
	of := ""
	if addr, err := netip.ParseAddr(e.Host); err != nil || addr.Unmap() != e.Addr.Addr() {
		of = " for " + e.Host
	}
	return fmt.Sprintf("connecting to %s%s is prohibited: %s", e.Addr, of, e.Why)
}

// special says in words what the ranges are that the guard refuses: the IANA
// registries of special-purpose addresses, of RFC 6890, and what lies outside
// global unicast (2000::/3). The first that contains an address describes it.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata service"},
	{netip.MustParsePrefix("169.254.169.254/32"), "a cloud's metadata service"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud's metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud's metadata service"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud's metadata service"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud's metadata service"},
	{netip.MustParsePrefix("0.0.0.0/32"), "unspecified"},
	{netip.MustParsePrefix("0.0.0.0/8"), `"this network" (RFC 791)`},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space (CGNAT, RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112 (RFC 7535)"},
	{netip.MustParsePrefix("192.52.193.0/24"), "AMT (RFC 7450)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay anycast (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "limited broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved (RFC 1112)"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64 (RFC 6052)"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64 of the local network (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), "discard-only (RFC 6666)"},
	{netip.MustParsePrefix("2001::/32"), "Teredo (RFC 4380)"},
	{netip.MustParsePrefix("2001::/23"), "for protocol assignments (RFC 2928)"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "6to4 (RFC 3056)"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation (RFC 9637)"},
	{netip.MustParsePrefix("5f00::/16"), "for segment routing (RFC 9602)"},
	{netip.MustParsePrefix("fc00::/7"), "private (unique local, RFC 4193)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "private (site-local, RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// wireserver is the one metadata address that lies in public space (Azure).
var wireserver = netip.MustParsePrefix("168.63.129.16/32")

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// newGuard returns the judge of addresses. Ports are none of its business:
// which ports a client may ask for is decided by the proxy.
func newGuard(allow []netip.Prefix) (*ssrf.Guardian, error) {
	var v4, v6 []netip.Prefix
	for _, p := range allow {
		switch {
		case !p.IsValid():
			return nil, fmt.Errorf("allowed address range %q is not a prefix: write it as 127.0.0.0/8 or ::1/128", p)
		case p.Addr().Is4():
			v4 = append(v4, p)
		case p.Addr().Is4In6() && p.Bits() >= 96:
			v4 = append(v4, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96))
		default:
			v6 = append(v6, p)
		}
	}
	return ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithDeniedV4Prefixes(wireserver),
		ssrf.WithAllowedV4Prefixes(v4...),
		ssrf.WithAllowedV6Prefixes(v6...),
	), nil
}

// ownListener is why heed's own listeners are refused.
const ownListener = "it is heed's own listener"

// check is asked by the dialer about the address it is to connect to.
func (d *Dialer) check(host, address string, named netip.AddrPort) error {
	got, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("checking the address %q: %w", address, err)
	}
	got = plain(got)
	if d.own(got) {
		return &ProhibitedError{Host: host, Addr: got, Why: ownListener}
	}
	if got == named {
		return nil
	}
	if why := d.refuses(got.Addr()); why != "" {
		return &ProhibitedError{Host: host, Addr: got, Why: why + "; allow-address opens such a range"}
	}
	return nil
}

// refuses says why an address is refused; empty when it is not. The IPv4
// address that NAT64 or 6to4 would deliver to is judged as itself.
func (d *Dialer) refuses(addr netip.Addr) string {
	if d.guard.SafeAddr(addr) != nil {
		return describe(addr)
	}
	if inner, ok := embedded(addr); ok && d.guard.SafeAddr(inner) != nil {
		return fmt.Sprintf("it stands for %s, and %s", inner, describe(inner))
	}
	return ""
}

// describe says which special range an address is in.
func describe(addr netip.Addr) string {
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return fmt.Sprintf("%s is %s", s.prefix, s.what)
		}
	}
	if addr.Is6() && !ssrf.IPv6GlobalUnicast.Contains(addr) {
		return "it is outside global unicast (2000::/3)"
	}
	return "it is in a special-purpose range (RFC 6890)"
}

// embedded returns the IPv4 address inside a NAT64 (RFC 6052 §2.1) or 6to4
// (RFC 3056 §2) address.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	a := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(a[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(a[2:6])), true
	}
	return netip.Addr{}, false
}

// plain drops what makes two spellings of one address differ: the IPv6 form of
// an IPv4 address, and the zone.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// own reports whether an address reaches one of heed's listeners. Connecting
// to an unspecified address reaches this machine, so it counts as each of its
// addresses.
func (d *Dialer) own(got netip.AddrPort) bool {
	for _, l := range *d.deny.Load() {
		if l.Port() != got.Port() {
			continue
		}
		if l.Addr() == got.Addr() || got.Addr().IsUnspecified() {
			return true
		}
		if l.Addr().IsUnspecified() && d.local(got.Addr()) {
			return true
		}
	}
	return false
}

// local reports whether an address belongs to this machine. When the machine
// will not say, every address does: it is asked only about heed's own ports.
func (d *Dialer) local(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	all, err := d.interfaces()
	if err != nil {
		return true
	}
	for _, a := range all {
		ipnet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if ip, ok := netip.AddrFromSlice(ipnet.IP); ok && ip.Unmap() == addr {
			return true
		}
	}
	return false
}
