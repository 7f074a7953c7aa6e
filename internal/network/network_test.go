package network

import (
	"net/netip"
	"testing"
)

func TestOf(t *testing.T) {
	for _, r := range []struct{ why, addr, want string }{
		{"IPv4 is itself", "192.0.2.7", "192.0.2.7/32"},
		{"IPv6 is the network of a host", "2001:db8:0:1:a:b:c:d", "2001:db8:0:1::/64"},
		{"IPv4 in IPv6 is IPv4", "::ffff:192.0.2.7", "192.0.2.7/32"},
		{"a zone counts for nothing", "fe80::1%eth0", "fe80::/64"},
	} {
		if got := Of(netip.MustParseAddr(r.addr)); got.String() != r.want {
			t.Errorf("%s: %v, want %s", r.why, got, r.want)
		}
	}
	if got := Of(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("no address is of %v", got)
	}
}
