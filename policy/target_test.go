package policy_test

import (
	"testing"

	"heed/policy"
)

func TestTargetOf(t *testing.T) {
	for _, c := range []struct{ why, url, want string }{
		{"a path", "https://a.example/x/y", "/x/y"},
		{"a path and a query", "https://a.example/x?y=z", "/x?y=z"},
		{"no path", "https://a.example", "/"},
		{"a query without a path", "https://a.example?x", "/?x"},
		{"an empty query", "https://a.example/x?", "/x?"},
		{"parameters without a path", "https://a.example;x", "/;x"},
		{"a fragment is cut", "https://a.example/x#y", "/x"},
		{"a fragment before the path is all", "https://a.example#/x", "/"},
		{"user and port", "https://u:p@a.example:8443/x", "/x"},
		{"an IPv6 address", "https://[2001:db8::1]:8080/x", "/x"},
		{"no scheme", "a.example/x", "/x"},
		{"no scheme, two slashes", "//a.example/x", "/x"},
		{"a scheme within the query is none", "a.example/x?u=http://b.example/y", "/x?u=http://b.example/y"},
		{"a URL within the path", "https://a.example/http://b.example/y", "/http://b.example/y"},
		{"nothing is decoded or removed", "https://a.example//x/../%7e%2F", "//x/../%7e%2F"},
		{"a NUL ends it", "https://a.example/x\x00y", "/x"},
		{"nothing", "", "/"},
		{"a name alone is an authority", "x", "/"},
	} {
		if got := policy.TargetOf(c.url); got != c.want {
			t.Errorf("%s: %q: got %q, want %q", c.why, c.url, got, c.want)
		}
	}
}
