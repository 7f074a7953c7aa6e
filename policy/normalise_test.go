package policy

import "testing"

func TestNormalise(t *testing.T) {
	for _, c := range []struct {
		why             string
		text            string
		pattern, target string
	}{
		{"nothing to do", "/a/b?c=d;e", "/a/b?c=d;e", "/a/b?c=d;e"},
		{"every unreserved octet", "/%41%7a%30%2d%2e%5f%7e", "/Az0-._~", "/Az0-._~"},
		{"reserved octets stay as they are", "/:?#[]@!&'()+,;=", "/:?#[]@!&'()+,;=", "/:?#[]@!&'()+,;="},
		{"escapes of reserved octets stay", "/%2f%3F%23%25", "/%2F%3F%23%25", "/%2F%3F%23%25"},
		{"octets that are no URI's", "/ \"<>\\^`{|}\x7f\x00", "/%20%22%3C%3E%5C%5E%60%7B%7C%7D%7F%00", "/%20%22%3C%3E%5C%5E%60%7B%7C%7D%7F%00"},
		{"octets outside ASCII", "/é\xff", "/%C3%A9%FF", "/%C3%A9%FF"},
		{"no escape", "/%%4%zz%", "/%%4%zz%", "/%%4%zz%"},
		{"an escape after a bare percent sign", "/%%41", "/%A", "/%A"},
		{"one pass only", "/%2541", "/%2541", "/%2541"},
		{"a star", "/a*b%2a", "/a*b%2A", "/a%2Ab%2A"},
		{"dollar signs", "/a$b%24$", "/a%24b%24$", "/a%24b%24%24"},
	} {
		if got := string(appendNormal(nil, c.text, ofPattern)); got != c.pattern {
			t.Errorf("%s: pattern %q: got %q, want %q", c.why, c.text, got, c.pattern)
		}
		if got := normalTarget(c.text); got != c.target {
			t.Errorf("%s: target %q: got %q, want %q", c.why, c.text, got, c.target)
		}
		if got := isNormal(c.text); got != (c.text == c.target) {
			t.Errorf("%s: target %q: isNormal is %t", c.why, c.text, got)
		}
	}
}

func TestDecodeQuery(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"no query", "/a%2Fb", "/a%2Fb"},
		{"the path stays", "/a%2Fb?c%2Fd", "/a%2Fb?c/d"},
		{"after the first question mark", "/?a?%3F%3f", "/?a???"},
		{"every reserved octet", "/?%3A%2F%3F%23%5B%5D%40%21%26%27%28%29%2B%2C%3B%3D", "/?:/?#[]@!&'()+,;="},
		{"but a star and a dollar sign", "/?%2A%24", "/?%2A%24"},
		{"no other octets", "/?%20%25%C3%A9", "/?%20%25%C3%A9"},
		{"one pass only", "/?%253A", "/?%253A"},
		{"what is special in a pattern", "/*?%3A*$", "/*?:*$"},
	} {
		if got := decodeQuery(c.text); got != c.want {
			t.Errorf("%s: %q: got %q, want %q", c.why, c.text, got, c.want)
		}
	}
}
