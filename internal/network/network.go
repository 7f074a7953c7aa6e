// Package network tells what counts as one machine: of clients that share what is
// due to them, and of servers that are not to be asked too much, whatever their
// names.
package network

import "net/netip"

// Of returns the address itself, or of IPv6 the /64 around it, in which whoever has
// one address can choose others. An IPv4 address in IPv6 is the IPv4 address, a
// zone counts for nothing. The zero Addr has the zero Prefix.
func Of(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	network, _ := a.Prefix(bits) // which fails for the zero Addr alone
	return network
}
