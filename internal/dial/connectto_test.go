package dial

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestParseConnectTo(t *testing.T) {
	for _, r := range []struct {
		why  string
		in   string
		want ConnectTo
		text string // empty: as in
	}{
		{"all parts", "a.example:443:b.example:8443", ConnectTo{"a.example", "443", "b.example", "8443"}, ""},
		{"any host", ":80:127.0.0.1:8080", ConnectTo{"", "80", "127.0.0.1", "8080"}, ""},
		{"any port, port kept", "a.example::127.0.0.1:", ConnectTo{"a.example", "", "127.0.0.1", ""}, ""},
		{"host kept", "a.example:80::8080", ConnectTo{"a.example", "80", "", "8080"}, ""},
		{"an exception", "a.example:::", ConnectTo{"a.example", "", "", ""}, ""},
		{"nothing", ":::", ConnectTo{}, ""},
		{"IPv6 on both sides", "[::1]:80:[2001:db8::1]:81", ConnectTo{"::1", "80", "2001:db8::1", "81"}, ""},
		{"one spelling of an IPv6 address", "[0:0::1]:80:[::ffff:127.0.0.1]:81", ConnectTo{"::1", "80", "127.0.0.1", "81"}, "[::1]:80:127.0.0.1:81"},
		{"upper case and a trailing dot", "A.Example.:80:LOCALHOST:81", ConnectTo{"a.example", "80", "localhost", "81"}, "a.example:80:localhost:81"},
		{"an IDN is its A-label", "bücher.example:80::", ConnectTo{"xn--bcher-kva.example", "80", "", ""}, "xn--bcher-kva.example:80::"},
		{"leading zeros of a port", "a:0080::08080", ConnectTo{"a", "80", "", "8080"}, "a:80::8080"},
	} {
		got, err := ParseConnectTo(r.in)
		if err != nil || got != r.want {
			t.Errorf("%s: ParseConnectTo(%q) = %+v, %v; want %+v", r.why, r.in, got, err, r.want)
			continue
		}
		text := r.text
		if text == "" {
			text = r.in
		}
		if got.String() != text {
			t.Errorf("%s: String() = %q, want %q", r.why, got, text)
		}
	}
}

func TestParseConnectToErrors(t *testing.T) {
	for _, r := range []struct{ in, want string }{
		{"", `connect-to "" has 1 parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)`},
		{"a:80:b", `connect-to "a:80:b" has 3 parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)`},
		{"a:80:b:80:c", `connect-to "a:80:b:80:c" has 5 parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)`},
		{":80:::1:80", `connect-to ":80:::1:80" has 6 parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)`},
		{":80:[::1:80", `connect-to ":80:[::1:80" has 3 parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)`},
		{"a:http::", `connect-to "a:http::": PORT1: port "http" is not a number`},
		{"a:+80::", `connect-to "a:+80::": PORT1: port "+80" is not a number`},
		{"a:::65536", `connect-to "a:::65536": PORT2: port "65536" is not between 1 and 65535`},
		{"a:0::", `connect-to "a:0::": PORT1: port "0" is not between 1 and 65535`},
		{"a:::99999999999999999999", `connect-to "a:::99999999999999999999": PORT2: port "99999999999999999999" is not between 1 and 65535`},
		{"a b:::", `connect-to "a b:::": HOST1: host "a b" has the octet ' ', which no host name has`},
		{"::user@b:", `connect-to "::user@b:": HOST2: authority has userinfo: credentials do not belong in a URL (RFC 9110 §4.2.4)`},
		{"::[b]:", `connect-to "::[b]:": HOST2: host "[b]" is not an IPv6 address`},
		{"::[fe80::1%eth0]:", `connect-to "::[fe80::1%eth0]:": HOST2: host "[fe80::1%eth0]" has a zone, which has no meaning beyond this machine (RFC 6874 §4)`},
		{"::127.1:80", `connect-to "::127.1:80": HOST2: host "127.1" is a number but not an IPv4 address of four decimal parts`},
		{"\xb2:::", `connect-to "\xb2:::": HOST1: host "\xb2" is not a host name: it has octets that no name can have`},
		{"..:::", `connect-to "..:::": HOST1: host "." has an empty label`},
	} {
		got, err := ParseConnectTo(r.in)
		if err == nil {
			t.Errorf("ParseConnectTo(%q) = %+v, want the error %s", r.in, got, r.want)
		} else if err.Error() != r.want {
			t.Errorf("ParseConnectTo(%q):\n got %s\nwant %s", r.in, err, r.want)
		}
	}
}

func TestUnmarshalTextKeepsTheOldRuleOnAnError(t *testing.T) {
	c := ConnectTo{FromHost: "a.example"}
	if err := c.UnmarshalText([]byte("x")); err == nil || c.FromHost != "a.example" {
		t.Errorf("UnmarshalText: %+v, %v", c, err)
	}
	if err := c.UnmarshalText([]byte("b.example:80::81")); err != nil || c != (ConnectTo{"b.example", "80", "", "81"}) {
		t.Errorf("UnmarshalText: %+v, %v", c, err)
	}
	if text, err := c.MarshalText(); err != nil || string(text) != "b.example:80::81" {
		t.Errorf("MarshalText: %s, %v", text, err)
	}
}

func TestTheFirstRuleThatMatchesIsApplied(t *testing.T) {
	var rules []ConnectTo
	for _, s := range []string{
		"a.example:80:127.0.0.1:8080", // one host, one port
		"keep.example:::",             // an exception from the rules below
		"b.example::[::1]:",           // the port stays
		"c.example:443::8443",         // the host stays
		"d.example::name.example:99",  // to a name
		"[2001:db8::1]:80::82",
		":443:127.0.0.1:8443", // all that is left on 443
	} {
		c, err := ParseConnectTo(s)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, c)
	}
	d := newDialer(t, Config{ConnectTo: rules})
	for _, r := range []struct{ why, host, port, target, named string }{
		{"host and port match", "a.example", "80", "127.0.0.1:8080", "127.0.0.1:8080"},
		{"case and a trailing dot do not matter", "A.EXAMPLE.", "80", "127.0.0.1:8080", "127.0.0.1:8080"},
		{"another port falls to a later rule", "a.example", "443", "127.0.0.1:8443", "127.0.0.1:8443"},
		{"another port that no rule has", "a.example", "81", "a.example:81", ""},
		{"a longer name is another name", "xa.example", "80", "xa.example:80", ""},
		{"an exception ends the search", "keep.example", "443", "keep.example:443", ""},
		{"the port stays, the address is named with it", "b.example", "1234", "[::1]:1234", "[::1]:1234"},
		{"the host stays and is not named", "c.example", "443", "c.example:8443", ""},
		{"a name is not an address", "d.example", "80", "name.example:99", ""},
		{"an IPv6 host in another spelling", "2001:DB8:0::1", "80", "[2001:DB8:0::1]:82", ""},
		{"any host", "z.example", "443", "127.0.0.1:8443", "127.0.0.1:8443"},
	} {
		to, err := d.target(net.JoinHostPort(r.host, r.port))
		if err != nil {
			t.Fatal(err)
		}
		want := netip.AddrPort{}
		if r.named != "" {
			want = netip.MustParseAddrPort(r.named)
		}
		if to.addr() != r.target || to.named != want || to.asked != r.host {
			t.Errorf("%s: %s:%s goes to %+v, want %s (named %s)", r.why, r.host, r.port, to, r.target, want)
		}
	}
}

func FuzzParseConnectTo(f *testing.F) {
	for _, s := range []string{"a.example:443:127.0.0.1:8443", ":80:[::1]:", ":::", "[::1", "bücher.example:1:2:3", "a::b", "[:]:::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseConnectTo(s)
		if err != nil {
			if c != (ConnectTo{}) || !strings.HasPrefix(err.Error(), "connect-to ") {
				t.Fatalf("ParseConnectTo(%q) = %+v, %v", s, c, err)
			}
			return
		}
		again, err := ParseConnectTo(c.String())
		if err != nil || again != c {
			t.Fatalf("%q prints as %q, which reads as %+v, %v; not %+v", s, c, again, err, c)
		}
		if c.FromHost != "" && !c.matches(c.FromHost, "80") && c.FromPort == "" {
			t.Fatalf("%q does not match its own host", s)
		}
	})
}
