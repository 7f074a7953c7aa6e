package origin

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// TestSpellingsOfOneOrigin holds, for each origin, the spellings that must be
// one with it: one origin has one robots.txt.
func TestSpellingsOfOneOrigin(t *testing.T) {
	for _, tt := range []struct {
		want      Origin
		spellings []string // scheme://authority
		reason    string
	}{
		{
			Origin{"http", "a.example", "80"},
			[]string{
				"http://a.example", "HTTP://a.example", "hTTp://A.Example", "http://a.example.", "http://A.EXAMPLE.",
				"http://a.example:80", "http://a.example:0080", "http://a.example:", "http://a.example.:80", "http://a.example.:",
				"http://a．example", "http://a。example", "http://a｡example", "http://a.example。", "http://ａ.ｅxample", "http://a.exa\u00admple",
			},
			"case, trailing dot, default and empty port, full-width letters and dots, soft hyphen",
		},
		{
			Origin{"https", "a.example", "443"},
			[]string{"https://a.example", "HTTPS://A.example:443", "https://a.example.:0443", "https://a.example:"},
			"the other default port",
		},
		{Origin{"http", "a.example", "443"}, []string{"http://a.example:443", "http://a.example:00443"}, "http to 443 is neither"},
		{Origin{"https", "a.example", "80"}, []string{"https://a.example:80", "https://a.example.:080"}, "https to 80 is neither"},
		{
			Origin{"http", "xn--bcher-kva.example", "80"},
			[]string{"http://bücher.example", "http://BÜCHER.example", "http://xn--bcher-kva.example", "http://XN--BCHER-KVA.EXAMPLE", "http://bu\u0308cher.example.", "http://b\u00fccher。example"},
			"U-label, A-label, composed or not",
		},
		{Origin{"http", "xn--zca.example", "80"}, []string{"http://ß.example", "http://xn--zca.example"}, "ß is not ss, as in browsers"},
		{Origin{"http", "k.example", "80"}, []string{"http://k.example", "http://\u212a.example"}, "the Kelvin sign is a k"},
		{Origin{"http", "r3---sn.example", "80"}, []string{"http://r3---sn.example", "http://R3---SN.example", "http://r3---sn。example"}, "hyphens in the third and fourth place are real"},
		{Origin{"http", "-a-.example", "80"}, []string{"http://-a-.example", "http://-A-.example"}, "hyphens at the ends are odd, but one name"},
		{Origin{"http", "under_score.xn--p1ai", "80"}, []string{"http://under_score.xn--p1ai", "http://UNDER_score.рф"}, "an underscore is fine, beside an IDN too"},
		{Origin{"http", "localhost", "8080"}, []string{"http://localhost:8080", "http://LOCALHOST.:08080"}, "one label"},
		{
			Origin{"http", "127.0.0.1", "80"},
			[]string{"http://127.0.0.1", "http://127.0.0.1.", "http://127.0.0.1:80", "http://１２７.0.0.1", "http://[::ffff:127.0.0.1]", "http://[::FFFF:7f00:1]", "http://[0:0:0:0:0:ffff:127.0.0.1]:80"},
			"an IPv4 address; mapped into IPv6 the same address is dialled",
		},
		{
			Origin{"https", "2001:db8::1", "8443"},
			[]string{"https://[2001:db8::1]:8443", "https://[2001:DB8::1]:8443", "https://[2001:0db8:0:0:0:0:0:1]:08443", "https://[2001:db8::0.0.0.1]:8443"},
			"an IPv6 address",
		},
		{Origin{"http", "::1", "80"}, []string{"http://[::1]", "http://[::1]:", "http://[::1]:80", "http://[0::1]"}, "IPv6 loopback"},
		{Origin{"http", "::7f00:1", "80"}, []string{"http://[::7f00:1]"}, "IPv4-compatible is not IPv4-mapped: another address"},
		{Origin{"http", strings.Repeat("a", 63) + ".example", "80"}, []string{"http://" + strings.Repeat("A", 63) + ".example"}, "the longest label"},
		{Origin{"http", "1.example", "80"}, []string{"http://1.example", "http://①.example"}, "a number may come first"},
		{Origin{"http", "0x7g", "80"}, []string{"http://0x7g", "http://0X7G"}, "not hexadecimal"},
		{Origin{"http", "a.example", "65535"}, []string{"http://a.example:65535"}, "the highest port"},
		{Origin{"http", "a.example", "1"}, []string{"http://a.example:1", "http://a.example:" + strings.Repeat("0", 30) + "1"}, "the lowest, with any zeros"},
	} {
		for _, s := range tt.spellings {
			scheme, authority, _ := strings.Cut(s, "://")
			got, err := Parse(scheme, authority)
			if err != nil {
				t.Errorf("%q (%s): %v", s, tt.reason, err)
			} else if got != tt.want {
				t.Errorf("%q (%s) is %#v, want %#v", s, tt.reason, got, tt.want)
			}
		}
	}
}

// TestParseRefuses holds the exact texts, which become the body of a 400.
func TestParseRefuses(t *testing.T) {
	label64, name254 := strings.Repeat("a", 64), strings.Repeat("a.", 126)+"aa"
	for _, tt := range []struct{ scheme, authority, want, reason string }{
		{"ftp", "a.example", `scheme "ftp" is not http or https`, "A10"},
		{"ws", "a.example", `scheme "ws" is not http or https`, "A10"},
		{"gopher", "a.example", `scheme "gopher" is not http or https`, "A10"},
		{"", "a.example", `scheme "" is not http or https`, "none"},
		{"http ", "a.example", `scheme "http " is not http or https`, "a blank"},
		{"ʜttp", "a.example", `scheme "ʜttp" is not http or https`, "a look-alike"},
		{"httpſ", "a.example", `scheme "httpſ" is not http or https`, "folding is ASCII's alone: ſ is no s"},

		{"http", "user:secret@a.example", "authority has userinfo: credentials do not belong in a URL (RFC 9110 §4.2.4)", "A5; the text must not repeat them"},
		{"http", "@a.example", "authority has userinfo: credentials do not belong in a URL (RFC 9110 §4.2.4)", "A5, empty"},
		{"http", "open.test@closed.test", "authority has userinfo: credentials do not belong in a URL (RFC 9110 §4.2.4)", "A5, a host in its place"},

		{"http", "a.example:0", `port "0" is not between 1 and 65535`, "A7"},
		{"http", "a.example:000", `port "000" is not between 1 and 65535`, "A7"},
		{"http", "a.example:65536", `port "65536" is not between 1 and 65535`, "A7"},
		{"http", "a.example:65616", `port "65616" is not between 1 and 65535`, "A7: 80 modulo 65536"},
		{"http", "a.example:18446744073709551696", `port "18446744073709551696" is not between 1 and 65535`, "80 modulo 2^64"},
		{"http", "a.example:+80", `port "+80" is not a number`, "A7"},
		{"http", "a.example:-80", `port "-80" is not a number`, "A7"},
		{"http", "a.example:http", `port "http" is not a number`, "A7: a name"},
		{"http", "a.example:8 0", `port "8 0" is not a number`, "a blank"},
		{"http", "a.example:0x50", `port "0x50" is not a number`, "hexadecimal"},
		{"http", "a.example:８０", `port "８０" is not a number`, "full-width digits"},
		{"http", "a.example:80/x", `port "80/x" is not a number`, "a path"},
		{"http", "a.example:80:80", `authority "a.example:80:80": an IPv6 address must be in brackets`, "two ports"},

		{"http", "[a.example]", `host "[a.example]" is not an IPv6 address`, "A11: a name in brackets"},
		{"http", "[127.0.0.1]", `host "[127.0.0.1]" is not an IPv6 address`, "A11: IPv4 in brackets"},
		{"http", "[v1.a]", `host "[v1.a]" is not an IPv6 address`, "a future address (RFC 3986 IPvFuture)"},
		{"http", "[]", `host "[]" is not an IPv6 address`, "empty brackets"},
		{"http", "[::1", `authority "[::1" has no closing bracket`, "an open bracket"},
		{"http", "[::1]a", `authority "[::1]a" has octets between the address and the port`, "something after the bracket"},
		{"http", "[::1].:80", `authority "[::1].:80" has octets between the address and the port`, "a dot after the bracket"},
		{"http", "::1", `authority "::1": an IPv6 address must be in brackets`, "IPv6 without brackets"},
		{"http", "[fe80::1%25eth0]", `host "[fe80::1%25eth0]" has a zone, which has no meaning beyond this machine (RFC 6874 §4)`, "A11: a zone"},
		{"http", "[fe80::1%eth0]", `host "[fe80::1%eth0]" has a zone, which has no meaning beyond this machine (RFC 6874 §4)`, "A11: a zone"},
		{"http", "[::ffff:127.0.0.1%lo]", `host "[::ffff:127.0.0.1%lo]" has a zone, which has no meaning beyond this machine (RFC 6874 §4)`, "a zone on a mapped address"},
		{"http", "[::ffff:0177.0.0.1]", `host "[::ffff:0177.0.0.1]" is not an IPv6 address`, "octal inside IPv6"},

		{"http", "2130706433", `host "2130706433" is a number but not an IPv4 address of four decimal parts`, "A11: decimal"},
		{"http", "0x7f000001", `host "0x7f000001" is a number but not an IPv4 address of four decimal parts`, "A11: hexadecimal"},
		{"http", "0X7F000001", `host "0x7f000001" is a number but not an IPv4 address of four decimal parts`, "A11: hexadecimal"},
		{"http", "0x7f.0.0.0x1", `host "0x7f.0.0.0x1" is a number but not an IPv4 address of four decimal parts`, "hexadecimal parts"},
		{"http", "0x", `host "0x" is a number but not an IPv4 address of four decimal parts`, "an empty hexadecimal, which is zero to some"},
		{"http", "127.1", `host "127.1" is a number but not an IPv4 address of four decimal parts`, "A11: short"},
		{"http", "127.0.1", `host "127.0.1" is a number but not an IPv4 address of four decimal parts`, "short"},
		{"http", "0177.0.0.1", `host "0177.0.0.1" is a number but not an IPv4 address of four decimal parts`, "A11: octal"},
		{"http", "127.0.0.01", `host "127.0.0.01" is a number but not an IPv4 address of four decimal parts`, "octal or decimal"},
		{"http", "127.0.0.256", `host "127.0.0.256" is a number but not an IPv4 address of four decimal parts`, "beyond an octet"},
		{"http", "1.2.3.4.5", `host "1.2.3.4.5" is a number but not an IPv4 address of four decimal parts`, "five parts"},
		{"http", "a.example.1", `host "a.example.1" is a number but not an IPv4 address of four decimal parts`, "a name that ends in a number"},
		{"http", "２１３０７０６４３３", `host "2130706433" is a number but not an IPv4 address of four decimal parts`, "full-width digits"},
		{"http", "127。1", `host "127.1" is a number but not an IPv4 address of four decimal parts`, "a full-width dot"},

		{"http", "", "host is empty", "nothing"},
		{"http", ":80", "host is empty", "a port alone"},
		{"http", ".", "host is empty", "the root"},
		{"http", "a..example", `host "a..example" has an empty label`, "an empty label"},
		{"http", ".a.example", `host ".a.example" has an empty label`, "at the start"},
		{"http", "a.example..", `host "a.example." has an empty label`, "two trailing dots"},
		{"http", "a.example.。", `host "a.example." has an empty label`, "two of two kinds"},
		{"http", label64 + ".example", `host "` + label64 + `.example" has a label of more than 63 octets`, "A15"},
		{"http", name254, "host of 254 octets is longer than a name can be (253)", "A15"},
		{"http", strings.Repeat("ü", 1<<15), "host of 65536 octets is longer than a name can be", "64 KiB, not repeated in the text"},

		{"http", "%63losed.test", `host "%63losed.test" has the octet '%', which no host name has`, "A13: never decoded"},
		{"http", `closed.test\.open.test`, `host "closed.test\\.open.test" has the octet '\\', which no host name has`, "A13: a backslash"},
		{"http", "closed.test#.open.test", `host "closed.test#.open.test" has the octet '#', which no host name has`, "A13: a fragment"},
		{"http", "closed.test?", `host "closed.test?" has the octet '?', which no host name has`, "A2"},
		{"http", "closed.test/", `host "closed.test/" has the octet '/', which no host name has`, "A2"},
		{"http", " a.example", `host " a.example" has the octet ' ', which no host name has`, "A2: a blank"},
		{"http", "a.example ", `host "a.example " has the octet ' ', which no host name has`, "A2: a blank"},
		{"http", "a\x00.example", `host "a\x00.example" has the octet '\x00', which no host name has`, "A15: NUL"},
		{"http", "a\r\n.example", `host "a\r\n.example" has the octet '\r', which no host name has`, "line ends"},
		{"http", "a\x7f.example", `host "a\x7f.example" has the octet '\x7f', which no host name has`, "DEL"},
		{"http", "*.example", `host "*.example" has the octet '*', which no host name has`, "a wildcard"},
		{"http", "a,b.example", `host "a,b.example" has the octet ',', which no host name has`, "a list"},

		{"http", "closed.test／x", `host "closed.test／x" stands for "closed.test/x", which has the octet '/' that no host name has`, "a full-width slash"},
		{"http", "open.test＠closed.test", `host "open.test＠closed.test" stands for "open.test@closed.test", which has the octet '@' that no host name has`, "a full-width at sign"},
		{"http", "a.example：8080", `host "a.example：8080" stands for "a.example:8080", which has the octet ':' that no host name has`, "a full-width colon"},
		{"http", "closed.test＃", `host "closed.test＃" stands for "closed.test#", which has the octet '#' that no host name has`, "a full-width hash"},
		{"http", "closed.test？", `host "closed.test？" stands for "closed.test?", which has the octet '?' that no host name has`, "a full-width question mark"},
		{"http", "％63losed.test", `host "％63losed.test" stands for "%63losed.test", which has the octet '%' that no host name has`, "a full-width percent sign"},
		{"http", "℀.example", `host "℀.example" stands for "a/c.example", which has the octet '/' that no host name has`, "a character that is three, one a slash"},
		{"http", "［::1］", `authority "［::1］": an IPv6 address must be in brackets`, "full-width brackets"},

		{"http", "xn--a.example", `host "xn--a.example" is not a host name: idna: invalid label "\u0080"`, "A12: a fake A-label, of a control octet"},
		{"http", "xn--a-.example", `host "xn--a-.example" is not a host name: idna: invalid label "a-"`, "A12: of plain ASCII"},
		{"http", "XN--example-.test", `host "xn--example-.test" is not a host name: idna: invalid label "example-"`, "A12: in upper case"},
		{"http", "xn--.example", `host "xn--.example" is not a host name: idna: invalid label ""`, "A12: of nothing"},
		{"http", "xn--bcher-kva8.example", `host "xn--bcher-kva8.example" is not a host name: idna: invalid label "bcher-kva8"`, "A12: that does not decode"},
		{"http", "a\u200d.example", "host \"a\\u200d.example\" is not a host name: idna: invalid label \"a\\u200d\"", "a joiner between nothing"},
		{"http", "\u00ad", "host \"\\u00ad\" is not a host name: idna: invalid label \"\"", "a soft hyphen alone"},
		{"http", "a\xff.example", `host "a\xff.example" is not a host name: it has octets that no name can have`, "not UTF-8"},
	} {
		got, err := Parse(tt.scheme, tt.authority)
		if err == nil {
			t.Errorf("%q, %.80q (%s) is %v, want an error", tt.scheme, tt.authority, tt.reason, got)
			continue
		}
		if err.Error() != tt.want {
			t.Errorf("%q, %.80q (%s)\nhave %s\nwant %s", tt.scheme, tt.authority, tt.reason, err, tt.want)
		}
		if got != (Origin{}) {
			t.Errorf("%q, %.80q (%s): an error and an origin, %v", tt.scheme, tt.authority, tt.reason, got)
		}
	}
}

func TestForms(t *testing.T) {
	for _, tt := range []struct{ scheme, authority, url, field, dial, robots string }{
		{"http", "a.example", "http://a.example", "a.example", "a.example:80", "http://a.example/robots.txt"},
		{"https", "a.example:443", "https://a.example", "a.example", "a.example:443", "https://a.example/robots.txt"},
		{"https", "a.example:80", "https://a.example:80", "a.example:80", "a.example:80", "https://a.example:80/robots.txt"},
		{"http", "[::1]", "http://[::1]", "[::1]", "[::1]:80", "http://[::1]/robots.txt"},
		{"http", "[::1]:8080", "http://[::1]:8080", "[::1]:8080", "[::1]:8080", "http://[::1]:8080/robots.txt"},
		{"http", "192.0.2.1:8080", "http://192.0.2.1:8080", "192.0.2.1:8080", "192.0.2.1:8080", "http://192.0.2.1:8080/robots.txt"},
	} {
		o, err := Parse(tt.scheme, tt.authority)
		if err != nil {
			t.Fatal(err)
		}
		if o.String() != tt.url || o.Authority() != tt.field || o.Addr() != tt.dial || o.RobotsURL() != tt.robots {
			t.Errorf("%s://%s: String %s, Authority %s, Addr %s, RobotsURL %s; want %s, %s, %s, %s", tt.scheme, tt.authority,
				o, o.Authority(), o.Addr(), o.RobotsURL(), tt.url, tt.field, tt.dial, tt.robots)
		}
	}
}

func TestWithinIsTheStringAndPartOfWhatBeginsWithIt(t *testing.T) {
	for _, tt := range []struct {
		reason            string
		scheme, authority string
		s                 string
		part              bool
	}{
		{"a request-target as most clients write it", "http", "a.example", "http://a.example/x?y", true},
		{"a port of its own", "http", "a.example:8080", "http://a.example:8080/x", true},
		{"the default port is written", "http", "a.example:80", "http://a.example:80/x", true},
		{"nothing but the origin", "https", "a.example", "https://a.example", true},
		{"more of a name", "http", "a.example", "http://a.example.b.example/", true}, // the text is the same
		{"upper case", "HTTP", "A.example", "HTTP://A.example/x", false},
		{"a trailing dot, and a port", "http", "a.example.:81", "http://a.example.:81/x", false},
		{"another port", "http", "a.example:8080", "http://a.example:808", false},
		{"an address in brackets", "http", "[::1]:81", "http://[::1]:81/", false},
		{"an address without", "http", "[::1]", "http://::1/", false},
		{"origin-form", "http", "a.example", "/x", false},
		{"nothing", "http", "a.example", "", false},
	} {
		o, err := Parse(tt.scheme, tt.authority)
		if err != nil {
			t.Fatal(err)
		}
		got := o.Within(tt.s)
		if got != o.String() {
			t.Errorf("%s: %q, want %q", tt.reason, got, o.String())
		}
		if part := tt.s != "" && unsafe.StringData(got) == unsafe.StringData(tt.s); part != tt.part {
			t.Errorf("%s: part of it %v, want %v", tt.reason, part, tt.part)
		}
	}
}

func TestOriginsDifferInSchemeHostOrPort(t *testing.T) {
	seen := map[Origin]string{}
	byString := map[string]string{}
	for _, s := range []string{
		"http://a.example", "https://a.example", "http://a.example:443", "https://a.example:80", "http://a.example:8080",
		"http://b.example", "http://example", "http://a.b.example", "http://a-b.example", "http://a_b.example", "http://ab.example",
		"http://xn--bcher-kva.example", "http://bcher-kva.example", "http://buecher.example", "http://bucher.example",
		"http://[::1]", "http://[::1]:8080", "http://[::1:8080]", "http://1.8080.example", "http://127.0.0.1", "http://[::7f00:1]",
		"http://localhost", "http://http.example", "http://a.example.https",
	} {
		scheme, authority, _ := strings.Cut(s, "://")
		o, err := Parse(scheme, authority)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[o]; ok {
			t.Errorf("%s and %s are one origin", s, other)
		}
		if other, ok := byString[o.String()]; ok {
			t.Errorf("%s and %s are written alike, %s", s, other, o)
		}
		seen[o], byString[o.String()] = s, s
	}
}

func TestALongHostTakesNoLongTime(t *testing.T) {
	var distinct strings.Builder
	for r := rune(0x4e00); distinct.Len() < 64<<10; r++ {
		distinct.WriteRune(r)
	}
	start := time.Now()
	if o, err := Parse("http", distinct.String()); err == nil {
		t.Errorf("a host of %d octets is %.40v", distinct.Len(), o)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

// FuzzParse checks what the rest of heed takes for granted of an origin.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a.example", "A.Example.:0080", "bücher.example", "XN--BCHER-KVA.example", "xn--a", "[::ffff:127.0.0.1]:80", "[fe80::1%25eth0]",
		"127.1", "0x7f000001", "a／b", "a：80", "℀", "r3---SN.рф", "user@a", "a\x00b", "%61", `a\b`, "a.example.。", "א.example", "ǆ.example",
	} {
		f.Add("http", s)
		f.Add("https", s)
	}
	f.Fuzz(func(t *testing.T, scheme, authority string) {
		o, err := Parse(scheme, authority)
		if err != nil {
			if o != (Origin{}) {
				t.Errorf("an error and an origin: %#v", o)
			}
			return
		}
		canonical(t, o)
		for _, spelling := range []string{o.Authority(), o.Addr(), strings.ToUpper(o.Authority())} {
			if again, err := Parse(o.Scheme, spelling); err != nil || again != o {
				t.Errorf("%q, of %q, is %#v (%v), want %#v", spelling, authority, again, err, o)
			}
		}
	})
}

// FuzzTwoOrigins checks that two that differ are never written alike: no text
// made of one can be forged by the other.
func FuzzTwoOrigins(f *testing.F) {
	f.Add("http", "a.example", "http", "a.example:80")
	f.Add("http", "a:80", "http", "a：80")
	f.Add("https", "[::1]", "http", "[::1]:443")
	f.Add("http", "a", "https", "a.")
	f.Fuzz(func(t *testing.T, scheme1, authority1, scheme2, authority2 string) {
		a, err := Parse(scheme1, authority1)
		if err != nil {
			return
		}
		b, err := Parse(scheme2, authority2)
		if err != nil {
			return
		}
		if same := a == b; same != (a.String() == b.String()) || same != (a.Scheme == b.Scheme && a.Addr() == b.Addr()) {
			t.Errorf("%#v and %#v: equal %t, written %s and %s, dialled %s and %s", a, b, same, a, b, a.Addr(), b.Addr())
		}
	})
}

// canonical fails unless an origin is what the comments of its fields say.
func canonical(t *testing.T, o Origin) {
	t.Helper()
	if o.Scheme != "http" && o.Scheme != "https" {
		t.Errorf("scheme %q", o.Scheme)
	}
	if o.Port == "" || o.Port[0] == '0' || len(o.Port) > 5 || strings.Trim(o.Port, "0123456789") != "" {
		t.Errorf("port %q", o.Port)
	}
	if addr, err := netip.ParseAddr(o.Host); err == nil {
		if addr.String() != o.Host || addr.Zone() != "" || addr.Is4In6() {
			t.Errorf("address %q", o.Host)
		}
		return
	}
	if o.Host == "" || len(o.Host) > 253 || o.Host[0] == '.' || strings.HasSuffix(o.Host, ".") || strings.Contains(o.Host, "..") {
		t.Errorf("host %q", o.Host)
	}
	if rest := strings.Trim(o.Host, "abcdefghijklmnopqrstuvwxyz0123456789-._"); rest != "" {
		t.Errorf("host %q has %q", o.Host, rest)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, authority := range []string{"a.example", "A.Example:8080", "[2001:db8::1]:443", "bücher.example"} {
		b.Run(authority, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse("https", authority); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
