package proxy

import (
	"strings"
	"testing"
)

// TestTargetArrivesByteForByte: net/url rewrites some octets; the origin gets
// what the client sent (RFC 9110 §7.7).
func TestTargetArrivesByteForByte(t *testing.T) {
	host, seen := script(t, write("HTTP/1.1 204 No Content\r\n\r\n"))
	r := start(t)
	for _, tt := range []struct{ target, why string }{
		{"/", "the least there is"},
		{"/a|b", "Go escapes |"},
		{`/a\b`, `Go escapes \`},
		{"/{x}?q={y|z}", "braces in path and query"},
		{"//a", "a path that begins with two slashes is not an authority"},
		{"///a//b", "nor with three"},
		{"/%7ejoe", "the case of an escape"},
		{"/%7Ejoe/~joe", "escaped and not"},
		{"/a%2fb%2Fc", "escaped slashes"},
		{"/x?", "an empty query"},
		{"/x?a=1&&b==2?c", "odd queries"},
		{"/a;p=1/b,c", "parameters of a segment"},
		{"/../a/./b", "dot segments"},
		{"/caf\xc3\xa9", "raw UTF-8"},
		{"/\xff", "an octet that is not UTF-8"},
		{`/"<>^` + "`", "octets that no URI has"},
		{"/" + strings.Repeat("x", 10_000), "a long one"},
		{"/a:b@c", "what looks like an authority"},
		{"/x?u=http://a.example//b", "a URL in the query"},
	} {
		a := r.get(t, "http://"+host+tt.target)
		if a.StatusCode != 204 {
			t.Errorf("%s: %.100q: %s: %s", tt.why, tt.target, a.Status, a.body)
			continue
		}
		line, _, _ := strings.Cut(<-seen, "\r\n")
		want := "GET " + tt.target + " HTTP/1.1"
		if strings.HasPrefix(tt.target, "//") {
			want = "GET http://" + host + tt.target + " HTTP/1.1"
		}
		if line != want {
			t.Errorf("%s: the origin was sent\n%.200q, want\n%.200q", tt.why, line, want)
		}
		if e := r.entry(t); e.Target != tt.target {
			t.Errorf("%s: recorded as %.100q, want %.100q", tt.why, e.Target, tt.target)
		}
	}
}
