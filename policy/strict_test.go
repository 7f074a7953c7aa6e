package policy_test

import (
	"strings"
	"testing"

	"heed/policy"
)

func strictly(body string) *policy.Snapshot {
	return &policy.Snapshot{Access: policy.Successful, Rules: policy.Compile([]byte(body), policy.Options{Strict: true})}
}

func TestStrictlyATargetIsWhatRareOriginsTakeItFor(t *testing.T) {
	s := strictly("User-agent: *\nDisallow: /Private\nAllow: /private/open\nDisallow: /q?Secret\n")
	for _, c := range []struct {
		why, target string
		form        string // "": it is allowed
	}{
		{"decoded twice", "/%2550rivate", "/private"},
		{"decoded three times", "/%252550rivate", "/private"},
		{"an encoded backslash for a slash", "/pub%5C..%5CPrivate", "/private"},
		{"an encoded backslash, decoded twice", "/pub%255C..%255CPrivate", "/private"},
		{"an overlong slash", "/%c0%afPrivate", "/private"},
		{"overlong dots", "/pub/%c0%ae%c0%ae/Private", "/private"},
		{"a segment that is nothing but parameters", "/;x/Private", "/private"},
		{"parameters of a dot segment", "/pub/..;x=y/Private", "/private"},
		{"another case", "/PRIVATE/x", "/private/x"},
		{"another case than the rule's", "/private", "/private"},
		{"another case of an encoded letter", "/%50RIVATE", "/private"},
		{"the query too", "/q?sEcret=1", "/q?secret=1"},
		{"an encoded question mark", "/q%3fSecret", "/q?secret"},
		{"what is allowed in any case", "/PRIVATE/OPEN/x", ""},
		{"what no rule is about", "/public;x/%2541", ""},
		{"a percent sign by itself", "/100%25", ""},
	} {
		d := s.Decide(policy.Tokens{}, c.target)
		if d.Allowed != (c.form == "") || d.Form != c.form {
			t.Errorf("%s: %q: allowed %v by %s as %q", c.why, c.target, d.Allowed, d.Rule(), d.Form)
		}
	}
	if d := s.Decide(policy.Tokens{}, "/PRIVATE"); d.Rule() != "Disallow: /Private" || d.Line != 2 {
		t.Errorf("the rule is %q of line %d, not as written", d.Rule(), d.Line)
	}
	plain := &policy.Snapshot{Access: policy.Successful, Rules: policy.Compile([]byte("User-agent: *\nDisallow: /private\n"), policy.Options{})}
	if !plain.Decide(policy.Tokens{}, "/PRIVATE").Allowed {
		t.Error("it counts without being asked for")
	}
}

// Whatever octets are there: none is lost or changed but letters of ASCII.
func TestStrictlyOtherOctetsStayWhatTheyAre(t *testing.T) {
	s := strictly("User-agent: *\nDisallow: /\xe9t\xe9\nDisallow: /\xc3\x89\n")
	for target, allowed := range map[string]bool{"/%E9t%E9": false, "/%C3%89": false, "/%C3%A9": true, "/%E9": true} {
		if d := s.Decide(policy.Tokens{}, target); d.Allowed != allowed {
			t.Errorf("%q: allowed %v", target, d.Allowed)
		}
	}
}

// FuzzStrict: strictly nothing is allowed that is not allowed otherwise.
func FuzzStrict(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /Private\nAllow: /private/x\n", "/%2550rivate")
	f.Add("User-agent: *\nDisallow: /*.PDF$\n", "/a.pdf;x?y")
	f.Add("User-agent: *\nDisallow: /\xff\n", "/%c0%af\\..%255c")
	f.Fuzz(func(t *testing.T, body, target string) {
		if len(target) > 200 || strings.ContainsAny(target, "\r\n") {
			return
		}
		plain := &policy.Snapshot{Access: policy.Successful, Rules: policy.Compile([]byte(body), policy.Options{})}
		if strictly(body).Decide(policy.Tokens{}, target).Allowed && !plain.Decide(policy.Tokens{}, target).Allowed {
			t.Errorf("%q is allowed strictly alone", target)
		}
	})
}
