package dial

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
)

func newDialer(t *testing.T, c Config) *Dialer {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func prefixes(s ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, p := range s {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// Each range by its first and last address (refused), and by the public
// addresses just before and just after it (open).
func TestSpecialRangesAreRefusedAndTheirNeighboursAreNot(t *testing.T) {
	for _, r := range []struct {
		what    string
		refused []string
		open    []string
	}{
		{"unspecified", []string{"0.0.0.0", "::"}, nil},
		{"this network", []string{"0.0.0.1", "0.255.255.255"}, []string{"1.0.0.0"}},
		{"private (RFC 1918)", []string{"10.0.0.0", "10.255.255.255"}, []string{"9.255.255.255", "11.0.0.0"}},
		{"CGNAT", []string{"100.64.0.0", "100.127.255.255"}, []string{"100.63.255.255", "100.128.0.0"}},
		{"loopback", []string{"127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"}, []string{"126.255.255.255", "128.0.0.0"}},
		{"link-local", []string{"169.254.0.0", "169.254.255.255", "fe80::", "fe80::1%lo", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, []string{"169.253.255.255", "169.255.0.0"}},
		{"metadata", []string{"169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"}, []string{"168.63.129.15", "168.63.129.17"}},
		{"private (RFC 1918)", []string{"172.16.0.0", "172.31.255.255"}, []string{"172.15.255.255", "172.32.0.0"}},
		{"protocol assignments", []string{"192.0.0.0", "192.0.0.255"}, []string{"191.255.255.255", "192.0.1.0"}},
		{"documentation", []string{"192.0.2.0", "192.0.2.255"}, []string{"192.0.1.255", "192.0.3.0"}},
		{"AS112", []string{"192.31.196.0", "192.31.196.255"}, []string{"192.31.195.255", "192.31.197.0"}},
		{"AMT", []string{"192.52.193.0", "192.52.193.255"}, []string{"192.52.192.255", "192.52.194.0"}},
		{"6to4 relay", []string{"192.88.99.0", "192.88.99.255"}, []string{"192.88.98.255", "192.88.100.0"}},
		{"private (RFC 1918)", []string{"192.168.0.0", "192.168.255.255"}, []string{"192.167.255.255", "192.169.0.0"}},
		{"AS112", []string{"192.175.48.0", "192.175.48.255"}, []string{"192.175.47.255", "192.175.49.0"}},
		{"benchmarks", []string{"198.18.0.0", "198.19.255.255"}, []string{"198.17.255.255", "198.20.0.0"}},
		{"documentation", []string{"198.51.100.0", "198.51.100.255"}, []string{"198.51.99.255", "198.51.101.0"}},
		{"documentation", []string{"203.0.113.0", "203.0.113.255"}, []string{"203.0.112.255", "203.0.114.0"}},
		{"multicast", []string{"224.0.0.0", "239.255.255.255", "ff00::", "ff02::1"}, []string{"223.255.255.255"}},
		{"reserved", []string{"240.0.0.0", "255.255.255.254"}, nil},
		{"broadcast", []string{"255.255.255.255"}, nil},
		{"NAT64", []string{"64:ff9b::", "64:ff9b::8.8.8.8", "64:ff9b::127.0.0.1", "64:ff9b::ffff:ffff", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"}, nil},
		{"outside global unicast", []string{"64:ff9a::1", "64:ff9b:2::", "1fff:ffff::1", "4000::", "::127.0.0.1", "::ffff:0:127.0.0.1"}, []string{"2000::", "3ffe:ffff::1"}},
		{"discard-only", []string{"100::", "100::ffff:ffff:ffff:ffff"}, nil},
		{"Teredo", []string{"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"}, []string{"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
		{"protocol assignments", []string{"2001:1::1", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"}, []string{"2001:200::"}},
		{"documentation", []string{"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"}, []string{"2001:db7:ffff::", "2001:db9::"}},
		{"6to4", []string{"2002::", "2002:808:808::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, []string{"2001:ffff:ffff::", "2003::"}},
		{"AS112", []string{"2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"}, []string{"2620:4f:7fff:ffff::", "2620:4f:8001::"}},
		{"documentation", []string{"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"}, []string{"3ffe:ffff:ffff::", "3fff:1000::"}},
		{"segment routing", []string{"5f00::", "5f00:ffff::1"}, nil},
		{"unique local", []string{"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, nil},
		{"site-local", []string{"fec0::", "feff::1"}, nil},
	} {
		d := newDialer(t, Config{})
		for _, s := range r.refused {
			addr := netip.MustParseAddr(s)
			err := d.check("a.example", netip.AddrPortFrom(addr, 80).String(), netip.AddrPort{})
			var prohibited *ProhibitedError
			if !errors.As(err, &prohibited) {
				t.Errorf("%s: %s: err = %v, want a ProhibitedError", r.what, s, err)
				continue
			}
			// Metadata addresses lie in other ranges too; they are named first.
			if !strings.Contains(prohibited.Why, r.what) && !strings.Contains(prohibited.Why, "metadata") {
				t.Errorf("%s: %s: the error says %q", r.what, s, prohibited.Why)
			}
		}
		for _, s := range r.open {
			addr := netip.MustParseAddr(s)
			if err := d.check("a.example", netip.AddrPortFrom(addr, 80).String(), netip.AddrPort{}); err != nil {
				t.Errorf("just outside %s: %v", r.what, err)
			}
		}
	}
}

func TestEveryRangeTheGuardRefusesHasAWord(t *testing.T) {
	for _, p := range append(ssrf.IPv4DeniedPrefixes, ssrf.IPv6DeniedPrefixes...) {
		if why := describe(p.Addr().Next()); strings.HasPrefix(why, "it is") {
			t.Errorf("%s has no word: %s", p, why)
		}
	}
}

func TestAllowOpensWhatItCoversAndNothingElse(t *testing.T) {
	for _, r := range []struct {
		why   string
		allow []netip.Prefix
		addr  string
		open  bool
	}{
		{"the range itself", prefixes("127.0.0.0/8"), "127.0.0.1:80", true},
		{"any port", prefixes("127.0.0.0/8"), "127.0.0.1:65535", true},
		{"one address of a range", prefixes("10.1.2.3/32"), "10.1.2.3:80", true},
		{"its neighbour stays closed", prefixes("10.1.2.3/32"), "10.1.2.4:80", false},
		{"host bits set in the prefix", prefixes("127.0.0.1/8"), "127.9.9.9:80", true},
		{"IPv6 loopback", prefixes("::1/128"), "[::1]:80", true},
		{"IPv4 loopback does not open IPv6 loopback", prefixes("127.0.0.0/8"), "[::1]:80", false},
		{"a mapped address is its IPv4 address", prefixes("127.0.0.0/8"), "[::ffff:127.0.0.1]:80", true},
		{"a mapped address is refused as its IPv4 address", nil, "[::ffff:127.0.0.1]:80", false},
		{"a mapped public address is public", nil, "[::ffff:8.8.8.8]:80", true},
		{"a mapped prefix is an IPv4 prefix", prefixes("::ffff:127.0.0.0/104"), "127.0.0.1:80", true},
		{"a zone does not hide link-local", prefixes("fe80::/10"), "[fe80::1%lo]:80", true},
		{"metadata needs its own range", prefixes("127.0.0.0/8", "10.0.0.0/8"), "169.254.169.254:80", false},
		{"metadata in public space", prefixes("168.63.129.16/32"), "168.63.129.16:80", true},
		{"NAT64 opened, public inside", prefixes("64:ff9b::/96"), "[64:ff9b::8.8.8.8]:80", true},
		{"NAT64 opened, loopback inside", prefixes("64:ff9b::/96"), "[64:ff9b::127.0.0.1]:80", false},
		{"NAT64 opened, metadata inside", prefixes("64:ff9b::/96"), "[64:ff9b::169.254.169.254]:80", false},
		{"NAT64 and loopback opened", prefixes("64:ff9b::/96", "127.0.0.0/8"), "[64:ff9b::127.0.0.1]:80", true},
		{"loopback opened, NAT64 not", prefixes("127.0.0.0/8"), "[64:ff9b::127.0.0.1]:80", false},
		{"6to4 opened, public inside", prefixes("2002::/16"), "[2002:808:808::1]:80", true},
		{"6to4 opened, private inside", prefixes("2002::/16"), "[2002:a00:1::1]:80", false},
		{"every IPv6 address does not open IPv4", prefixes("::/0"), "127.0.0.1:80", false},
		{"every IPv4 address", prefixes("0.0.0.0/0"), "192.168.1.1:80", true},
	} {
		d := newDialer(t, Config{Allow: r.allow})
		err := d.check("a.example", r.addr, netip.AddrPort{})
		if (err == nil) != r.open {
			t.Errorf("%s: allow %v, %s: err = %v, want open %v", r.why, r.allow, r.addr, err, r.open)
		}
	}
}

func TestOwnListenersAreRefusedWhateverIsAllowed(t *testing.T) {
	_, eth, _ := net.ParseCIDR("8.8.4.4/24")
	eth.IP = net.ParseIP("8.8.4.4")
	for _, r := range []struct {
		why     string
		deny    string
		addr    string
		refused bool
	}{
		{"itself", "127.0.0.1:3128", "127.0.0.1:3128", true},
		{"another port", "127.0.0.1:3128", "127.0.0.1:3130", false},
		{"another loopback address", "127.0.0.1:3128", "127.0.0.2:3128", false},
		{"the mapped spelling", "127.0.0.1:3128", "[::ffff:127.0.0.1]:3128", true},
		{"a listener given in the mapped spelling", "[::ffff:127.0.0.1]:3128", "127.0.0.1:3128", true},
		{"an unspecified address reaches this machine", "127.0.0.1:3128", "0.0.0.0:3128", true},
		{"the IPv6 unspecified address too", "127.0.0.1:3128", "[::]:3128", true},
		{"a listener everywhere: loopback", "0.0.0.0:3128", "127.0.0.1:3128", true},
		{"a listener everywhere, both families", "[::]:3128", "127.7.7.7:3128", true},
		{"a listener everywhere: an interface's address", "[::]:3128", "8.8.4.4:3128", true},
		{"a listener everywhere: not another machine", "[::]:3128", "8.8.4.5:3128", false},
		{"a listener everywhere: not another port", "[::]:3128", "8.8.4.4:80", false},
	} {
		d := newDialer(t, Config{
			Allow: prefixes("0.0.0.0/0", "::/0"),
			Deny:  []netip.AddrPort{netip.MustParseAddrPort(r.deny)},
		})
		d.interfaces = func() ([]net.Addr, error) { return []net.Addr{eth}, nil }
		err := d.check("a.example", r.addr, netip.MustParseAddrPort(r.addr))
		var prohibited *ProhibitedError
		if errors.As(err, &prohibited) != r.refused {
			t.Errorf("%s: listener %s, address %s: err = %v", r.why, r.deny, r.addr, err)
		}
	}
}

func TestAMachineThatHidesItsAddressesIsNotAWayIn(t *testing.T) {
	d := newDialer(t, Config{Deny: []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:3128")}})
	d.interfaces = func() ([]net.Addr, error) { return nil, errors.New("not permitted") }
	if err := d.check("a.example", "8.8.8.8:3128", netip.AddrPort{}); err == nil {
		t.Error("an address that may be our own was let through")
	}
	if err := d.check("a.example", "8.8.8.8:80", netip.AddrPort{}); err != nil {
		t.Errorf("another port: %v", err)
	}
}

func TestANamedAddressIsLetThroughForExactlyItsPort(t *testing.T) {
	d := newDialer(t, Config{})
	named := netip.MustParseAddrPort("127.0.0.1:8080")
	for _, r := range []struct {
		addr string
		open bool
	}{
		{"127.0.0.1:8080", true},
		{"[::ffff:127.0.0.1]:8080", true},
		{"127.0.0.1:8081", false},
		{"127.0.0.2:8080", false},
		{"[::1]:8080", false},
	} {
		if err := d.check("a.example", r.addr, named); (err == nil) != r.open {
			t.Errorf("%s: err = %v, want open %v", r.addr, err, r.open)
		}
	}
}

func TestARefusalNamesTheAddressTheHostAndTheRemedy(t *testing.T) {
	d := newDialer(t, Config{
		Allow: prefixes("64:ff9b::/96"),
		Deny:  []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:3128")},
	})
	for _, r := range []struct{ host, addr, want string }{
		{"a.example", "10.0.0.1:80", "connecting to 10.0.0.1:80 for a.example is prohibited: 10.0.0.0/8 is private (RFC 1918); allow-address opens such a range"},
		{"10.0.0.1", "10.0.0.1:80", "connecting to 10.0.0.1:80 is prohibited: 10.0.0.0/8 is private (RFC 1918); allow-address opens such a range"},
		{"a.example", "[fe80::1]:443", "connecting to [fe80::1]:443 for a.example is prohibited: fe80::/10 is link-local (RFC 4291); allow-address opens such a range"},
		{"a.example", "[4000::1]:443", "connecting to [4000::1]:443 for a.example is prohibited: it is outside global unicast (2000::/3); allow-address opens such a range"},
		{"a.example", "[64:ff9b::7f00:1]:443", "connecting to [64:ff9b::7f00:1]:443 for a.example is prohibited: it stands for 127.0.0.1, and 127.0.0.0/8 is loopback; allow-address opens such a range"},
		{"localhost", "127.0.0.1:3128", "connecting to 127.0.0.1:3128 for localhost is prohibited: it is heed's own listener"},
		{"localhost", "rubbish", `checking the address "rubbish": not an ip:port`},
	} {
		err := d.check(r.host, r.addr, netip.AddrPort{})
		if err == nil || err.Error() != r.want {
			t.Errorf("%s for %s:\n got %v\nwant %s", r.addr, r.host, err, r.want)
		}
	}
}

func TestNewNamesWhatItCannotUse(t *testing.T) {
	for _, r := range []struct {
		c    Config
		want string
	}{
		{Config{Allow: []netip.Prefix{{}}}, `allowed address range "invalid Prefix" is not a prefix: write it as 127.0.0.0/8 or ::1/128`},
		{Config{ConnectTo: []ConnectTo{{FromHost: "a b"}}}, `connect-to "a b:::": HOST1: host "a b" has the octet ' ', which no host name has`},
	} {
		if _, err := New(r.c); err == nil || err.Error() != r.want {
			t.Errorf("got %v\nwant %s", err, r.want)
		}
	}
}
