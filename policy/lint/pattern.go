package lint

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"heed/policy"
)

// rule checks a rule in a group by itself.
func (c *checker) rule(r rule) {
	value := r.line.Value.Of(c.body)
	if len(value) == 0 {
		return // see emptyRules
	}
	c.start(r, value)
	c.wildcards(r, value)
	c.escapes(r, value)
	if r.pattern == "/robots.txt" || r.pattern == "/robots.txt$" {
		decides := "decides about longer URLs alone, such as /robots.txt?x; leave it out if these are not meant"
		if r.pattern[len(r.pattern)-1] == '$' {
			decides = "never decides; leave it out"
		}
		c.add(RobotsTxtRule, r.line, r.line.Value, 0,
			"robots.txt itself may be fetched whatever the rules say (RFC 9309 §2.2.2), so the rule %s", decides)
	}
}

// emptyRules checks the rules of a group that have no pattern. An empty Disallow
// alone is how a group is written that disallows nothing.
func (c *checker) emptyRules(g group) {
	alone := !slices.ContainsFunc(g.rules, func(r rule) bool { return r.pattern != "" })
	for _, r := range g.rules {
		switch {
		case r.pattern != "":
		case r.allows():
			mend := "leave it out, or write \"Allow: /\" if everything is to be allowed"
			if alone {
				mend = "write \"Disallow:\" if everything is to be allowed"
			}
			c.add(EmptyAllow, r.line, r.line.Key, 0,
				"an Allow without a pattern decides nothing by RFC 9309; of older crawlers robotstxt takes it to allow everything, rerp to disallow everything; %s", mend)
		case len(g.rules) > 1:
			c.add(EmptyAmongRules, r.line, r.line.Key, 0,
				"a Disallow without a pattern decides nothing by RFC 9309, but most older crawlers take it to allow everything, and obey no rule after it; leave it out")
		}
	}
}

func (c *checker) start(r rule, value []byte) {
	if r.canMatch() {
		return
	}
	if scheme, _, found := bytes.Cut(value, []byte("://")); found && !bytes.ContainsAny(scheme, "/*?") {
		c.add(PatternIsURL, r.line, r.line.Value, 0,
			"the rule never matches: a pattern is compared with the path of a URL; write %s, and the rules for another host into the robots.txt of that host", quote(policy.TargetOf(string(value))))
		return
	}
	if mess := bytes.TrimLeftFunc(value, isMess); len(mess) < len(value) && bytes.HasPrefix(mess, []byte("/")) {
		c.add(PatternWithoutSlash, r.line, r.line.Value, 0,
			"the rule never matches: every path begins with /, and %s stands before its slash; take that out", quote(value[:len(value)-len(mess)]))
		return
	}
	c.add(PatternWithoutSlash, r.line, r.line.Value, 0,
		"the rule never matches: every path begins with /; write %s, or %s for any place in the path", quote("/"+string(value)), quote("*"+string(value)))
}

// isMess tells whether a character before a path got there by mistake: a quote,
// or what no editor shows.
func isMess(r rune) bool {
	return unicode.In(r, unicode.Pi, unicode.Pf) || r == '"' || r == '\'' || r == '`' || !unicode.IsPrint(r)
}

// wildcards checks '*' and '$' (RFC 9309 §2.2.3).
func (c *checker) wildcards(r rule, value []byte) {
	at := func(from, to int) policy.Part {
		return policy.Part{Start: r.line.Value.Start + from, End: r.line.Value.Start + to}
	}
	if i := bytes.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
		c.add(DollarInside, r.line, at(i, i+1), 0,
			"a $ is the end of a URL only as the last octet; here it stands for itself, and the rule matches only URLs that have a $ there; if that is meant leave it, as Google does not find %%24 in them")
	}
	if i := bytes.Index(value, []byte("**")); i >= 0 {
		end := i + len(value[i:]) - len(bytes.TrimLeft(value[i:], "*"))
		c.add(DoubleStar, r.line, at(i, end), 0,
			"asterisks in a row match what one does, though each makes the rule count as longer; write one")
	}
	bare := strings.TrimSuffix(r.pattern, "$")
	if n := len(value); r.canMatch() && len(bare) > 1 && bare[len(bare)-1] == '*' {
		end := n - (len(r.pattern) - len(bare))
		c.add(StarAtEnd, r.line, at(end-1, n), 0,
			"an asterisk at the end changes nothing in what is matched, as a pattern is the start of a path anyhow, though it makes the rule count as longer; most older crawlers take it for a letter; leave it out")
	}
}
