package serving

import (
	"strings"
	"testing"
)

func TestHostIsAnAuthority(t *testing.T) {
	for _, c := range []struct {
		why, value string
		want       bool
	}{
		{"a name", "a.example", true},
		{"a name and a port", "a.example:8080", true},
		{"an empty port", "a.example:", true},
		{"nothing, of a target without authority", "", true},
		{"an underscore, which real hosts have", "a_b.example", true},
		{"percent-encoded", "a%62.example", true},
		{"a wildcard is a sub-delimiter", "*.example", true},
		{"an address", "192.0.2.1:80", true},
		{"an address of IPv6", "[2001:db8::1]", true},
		{"with a port", "[2001:db8::1]:443", true},
		{"without brackets", "2001:db8::1", false},
		{"a zone means something on one machine alone", "[fe80::1%25eth0]", false},
		{"a name in brackets", "[a.example]", false},
		{"IPv4 in brackets", "[192.0.2.1]", false},
		{"a bracket alone", "[", false},
		{"something behind the bracket", "[::1]x", false},
		{"two ports", "a.example:80:80", false},
		{"a port that is no number", "a.example:http", false},
		{"two names in one", "a.example,b.example", false},
		{"userinfo", "u@a.example", false},
		{"a path", "a.example/x", false},
		{"a query", "a.example?", false},
		{"a fragment", "a.example#", false},
		{"a backslash", `a.example\`, false},
		{"a blank", "a .example", false},
		{"NUL", "a\x00.example", false},
		{"raw UTF-8", "b\u00fccher.example", false},
	} {
		if got := isHost([]byte(c.value)); got != c.want {
			t.Errorf("%s: %q is one: %v", c.why, c.value, got)
		}
	}
}

// FuzzHost: whatever is one has no octet that ends an authority.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.example:80", "[::1]:443", "[", "]", "[]", ":", "a]b", "[:]", "a,b", "[::1%25x]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if isHost([]byte(s)) && strings.ContainsAny(s, "@/?#\\, \t\r\n\x00") {
			t.Errorf("%q is taken for one", s)
		}
	})
}
