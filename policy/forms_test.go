package policy

import (
	"slices"
	"strings"
	"testing"
)

func targetsOf(all []form) []string {
	var targets []string
	for _, f := range all {
		targets = append(targets, f.target)
	}
	return targets
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		why    string
		target string
		want   []string
	}{
		{"the usual target", "/a/b.html?c=d", nil},
		{"a name with a dot", "/.well-known/x", nil},
		{"merged or not", "//a/../b", []string{"/b", "//b"}},
		{"removed before and after merging", "/a//../b//c", []string{"/b/c", "/a/b//c", "/a/b/c"}},
		{"escaped slash", "/a%2fb", []string{"/a/b"}},
		{"backslash and escaped slash, each by itself and both", `/a\b%2Fc`, []string{"/a/b%2Fc", "/a%5Cb/c", "/a/b/c"}},
		{"the query", "/a?b=%2f", []string{"/a?b=/"}},
		{"path and query", "/./a?b=%2f", []string{"/a?b=%2F", "/./a?b=/", "/a?b=/"}},
		{"nothing in the query to decode", "/a?b=%20", nil},
	} {
		if got := targetsOf(forms(nil, c.target, false)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q:\ngot  %q\nwant %q", c.why, c.target, got, c.want)
		}
	}
}

// Rules with an encoded query are compared with every target that has one.
func TestFormsForRulesWithAnEncodedQuery(t *testing.T) {
	for target, want := range map[string][]form{
		"/a":       nil,
		"/a?b=c":   {{"/a?b=c", compareQueryDecoded}},
		"/a?b=%2F": {{"/a?b=/", compareQueryDecoded}},
		"//a?b":    {{"/a?b", comparePlain}, {"//a?b", compareQueryDecoded}, {"/a?b", compareQueryDecoded}},
	} {
		if got := forms(nil, target, true); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", target, got, want)
		}
	}
}

func TestRemoveDotSegments(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"/a/b/c/./../../g", "/a/g"}, // RFC 3986 §5.2.4
		{"/", "/"},
		{"/.", "/"},
		{"/..", "/"},
		{"/a/.", "/a/"},
		{"/a/..", "/"},
		{"/a/b/..", "/a/"},
		{"/../../a", "/a"},
		{"/a//../b", "/a/b"},
		{"/a/..//b", "//b"},
		{"/a/.../b", "/a/.../b"},
		{"/.a/..b/c.", "/.a/..b/c."},
	} {
		if got := removeDotSegments(c.path); got != c.want {
			t.Errorf("%q: got %q, want %q", c.path, got, c.want)
		}
	}
}

func FuzzForms(f *testing.F) {
	for _, seed := range []string{
		"/", "", "*", "/a/b?c", "//a/../b//c", `/a\b%2Fc/./..?d=%2f`, "/%2e%2E/.%2e/x", "/a%%2f?%3a#",
		`/%2f\..\%2F//..//.?%2f%2a%24`, "/.well-known?", "/.?", "/..", "/x/.%", "/?//../%5c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		target = withSlash(target)
		for _, decoded := range []bool{false, true} {
			all := forms(nil, target, decoded)
			if len(all) > mostForms {
				t.Errorf("%d forms, more than %d", len(all), mostForms)
			}
			if len(all) > 0 && !hasForms(target, decoded) {
				t.Errorf("hasForms denies the forms %q", targetsOf(all))
			}
			seen := map[form]bool{{normalTarget(target), comparePlain}: true}
			for _, f := range all {
				if seen[f] {
					t.Errorf("form %q is repeated", f.target)
				}
				seen[f] = true
				if !strings.HasPrefix(f.target, "/") {
					t.Errorf("form %q is no path", f.target)
				}
			}
		}
		path, _, _ := strings.Cut(normalTarget(target), "?")
		clean := removeDotSegments(mergeSlashes(path))
		for _, left := range []string{"//", "/./", "/../"} {
			if strings.Contains(clean, left) {
				t.Errorf("%q is left in %q", left, clean)
			}
		}
		if again := removeDotSegments(clean); again != clean {
			t.Errorf("%q comes to %q when it is cleaned again", clean, again)
		}
	})
}
