package bypass

import "slices"

// target is a request for a target of the host that the rule Disallow: /private is
// of.
func target(path string) request { return request{target: path} }

// to is one of another host.
func to(host string) func(string) request {
	return func(path string) request { return request{host: host, target: path} }
}

// paths are C: what a target may be taken for.
var paths = slices.Concat(
	each("C1", "dot segments ", all, denied(), target,
		"/./private/x", "/pub/../private", "/pub;/../private", "/../private", "/a/b/../../private", "/pub/./../private", "/././private", "/x/..;/../../private", "/private/../private", "/private/."),
	each("C2", "slashes ", all, denied(), target, "//private", "///private", "////private//x", "/.//private", "//./private", "/pub//..//private", "/pub/..//private"),
	each("C3", "encoded dots ", all, denied(), target, "/%2e/private", "/pub/%2e%2e/private", "/pub/.%2e/private", "/pub/%2E./private", "/%2E/%2e/private"),
	each("C4", "encoded slashes ", all, denied(), target, "/pub%2f..%2fprivate", "/%2fprivate", "/%2Fprivate", "/pub%2f%2e%2e%2fprivate", "/pub/..%2fprivate", "/.%2fprivate"),
	each("C5", "encoded letters ", all, denied(), target, "/%70rivate", "/%70%72%69%76%61%74%65", "/privat%65/x", "/p%72ivate?q", "/%2f%70rivate"),
	each("C5", "a tilde ", all, denied(), to("joe.test"), "/%7ejoe", "/%7Ejoe", "/~joe", "/~jo%65"),
	each("C5", "an encoded slash ", all, denied(), to("slash.test"), "/a%2fb", "/a%2Fb"),
	each("C5", "letters of UTF-8 ", all, denied(), to("cafe.test"), "/caf%c3%a9", "/caf%C3%A9", "/c%61f%C3%A9"),
	each("C5", "raw UTF-8 ", raw, denied(), to("cafe.test"), "/caf\u00e9"),
	each("C5", "a query ", all, denied(), to("query.test"), "/q?%73ecret", "/q?secret", "/%71?secret", "/q?s%65cret=1"),
	each("C6", "backslashes ", all, denied(), target, "/pub\\..\\private", "/pub/..\\private", "/\\\\private"),
	each("C6", "a backslash that is allowed ", all, reached(), target, "/pub\\x", "/a\\b?c\\d"),
	each("C7", "decoded twice ", all, unlessStrict(), target, "/%2570rivate", "/%25%37%30rivate", "/pub%5c..%5cprivate", "/%5cprivate", "/;x/private", "/%c0%afprivate", "/pub/%252e%252e/private", "/pub%252f..%252fprivate"),
	each("C7", "as written ", all, denied(), target, "/private;x", "/private%3bx"),
	each("C8", "a raw octet ", raw, refused(400), target, "/x#private", "/x private", "/%zz", "/%", "/%2", "/x\x00", "/x\x01", "/x\x7f", "/x\ty"),
	each("C8", "a raw octet ", h2, refused(400, 0), target, "/x#private", "/x private", "/%zz", "/x\x00"),
	each("C9", "an empty query ", all, denied(), target, "/private?", "/private?x"),
	[]row{
		{"C9", "an empty path is /", p, get("http://closed.test", "closed.test"), denied(), nil},
		{"C9", "an empty path with a query is /", p, get("http://closed.test?x", "closed.test"), denied(), nil},
		{"C9", "an empty path is /, allowed", p, get("http://open.test", "open.test"), reached(), nil},
		{"C9", "an empty path with a query, allowed", p, get("http://open.test?x", "open.test"), reached(), nil},
	},
	each("C10", "case ", all, unlessStrict(), target, "/PRIVATE", "/Private/x", "/%50RIVATE"),
	[]row{
		{"C11", "OPTIONS * is answered here", p, request{octets: "OPTIONS * HTTP/1.1\r\nHost: rules.test\r\nX-Mark: {mark}\r\n\r\n"}, refused(200, 204), nil},
		{"C11", "OPTIONS * in a tunnel is for the origin, and decided as /", c | m, request{octets: "OPTIONS * HTTP/1.1\r\nHost: closed.test\r\nX-Mark: {mark}\r\n\r\n", host: "closed.test"}, denied(), nil},
		{"C12", "/robots.txt is always allowed", all, request{host: "closed.test", target: "/robots.txt"}, reached(), nil},
	},
	each("C12", "no robots.txt: ", all, denied(), to("closed.test"), "/Robots.txt", "/robots.txt?x", "/x/../robots.txt", "/robots.txt/", "/robots.txt/../x", "//robots.txt", "/./robots.txt", "/robots.txt;x", "/robots.txt%00", "/robots.txt?"),
	each("C13", "byte for byte ", all, reached(), to("slash.test"), "/a/b", "/|", "/{x}?a={b}|", "/a%20b", "/%41", "/a//b", "/a/./b", "/a/../c", "/%e4", "/x;y=1", "/x?y?z", "/'()*!$&,=@:+", "/[1]", "/^`\""),
	each("C14", "an encoded query ", all, denied(), to("go.test"), "/go?to=https%3A%2F%2Fx.example", "/go?to=https://x.example", "/go?to=https:%2F/x.example"),
	each("C14", "an encoded rule ", all, denied(), to("encoded.test"), "/go?to=https://x.example", "/go?to=https%3A%2F%2Fx.example"),
)
