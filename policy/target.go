package policy

import "strings"

// TargetOf returns the path and query of url, as they are, without a fragment:
// what follows the authority from the first '/', '?' or ';' on. A slash is put
// before the last two, and stands for a path that is missing. As a line of
// robots.txt does, the path ends at a NUL.
//
// It takes whatever it is given for a URL and never fails: "a.example/x" and
// "//a.example/x" have the path "/x", and "x" is an authority and has "/".
func TargetOf(url string) string {
	const starts = "/?;" // what a path can start with
	rest, _, _ := strings.Cut(strings.TrimPrefix(url, "//"), "#")
	if scheme := strings.Index(rest, "://"); scheme >= 0 && strings.IndexAny(rest, starts) > scheme {
		rest = rest[scheme+len("://"):]
	}
	path := strings.IndexAny(rest, starts)
	if path < 0 {
		return "/"
	}
	target, _, _ := strings.Cut(rest[path:], "\x00")
	return withSlash(target)
}
