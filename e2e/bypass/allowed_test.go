package bypass

import "slices"

// allowed are H: what no rule forbids.
var allowed = slices.Concat(
	[]row{
		{"H1", "/robots.txt of a closed origin", all, request{host: "closed.test", target: "/robots.txt"}, reached(), nil},
		{"H3", "HTML in place of a robots.txt", all, request{host: "html.test", target: "/x"}, reached(), nil},
		{"H4", "an empty robots.txt", all, request{host: "empty.test", target: "/x"}, reached(), nil},
		{"H5", "Allow on a tie", all, request{host: "tie.test", target: "/page"}, reached(), nil},
		{"H6", "the longest match", all, request{host: "longest.test", target: "/page"}, reached(), nil},
		{"H7", "$ ends a pattern", all, request{host: "wild.test", target: "/a.pdfx"}, reached(), nil},
		{"H7", "and is met at the end", all, request{host: "wild.test", target: "/a.pdf"}, denied(), nil},
		{"H7", "* is no letter of a target", all, request{host: "wild.test", target: "/a*b"}, reached(), nil},
		{"H8", "the rule /a%2Fb is not /a/b", all, request{host: "slash.test", target: "/a/b"}, reached(), nil},
		{"H9", "odd octets in a query", all, request{target: "/x?a={b}|c"}, reached(), nil},
		{"H12", "a host with a trailing dot", p, get("http://rules.test./x", "rules.test."), reached(), nil},
		{"H13", "no User-Agent where * is permissive", all, request{target: "/x", agent: "-"}, reached(), nil},
		{"H14", "what begins like a rule and is another", all, request{target: "/privat"}, reached(), nil},
		{"H14", "what holds a rule in the middle", all, request{target: "/x/private"}, reached(), nil},
		{"H14", "what holds a rule in the query", all, request{target: "/x?/private"}, reached(), nil},
	},
)
