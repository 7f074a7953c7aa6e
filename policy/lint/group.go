package lint

import (
	"bytes"
	"slices"
	"strings"

	"heed/policy"
)

// groups is the groups of a file, as far as it was read. A group is a run of
// user-agent lines with the rules that follow, as policy.Compile has it.
type groups struct {
	all   []group
	rules bool // the last line that matters was a rule

	blankLine int // the last empty line since the last line that matters, 0 for none
	divided   int // the group that BlankLineInGroup was said of, counted from 1
}

type group struct {
	agents  []agent
	rules   []rule
	records bool // it has other records, which may mean something in a group
	delay   delay
}

// agent is a user-agent line.
type agent struct {
	line policy.Line
	name string // what is compared of it, in lower case; "" if that is nothing
}

// rule is an Allow or a Disallow line in a group.
type rule struct {
	line    policy.Line
	pattern string // as it is compared
}

func (r rule) allows() bool { return r.line.Kind == policy.Allow }

// canMatch tells whether there is a target that the pattern matches.
func (r rule) canMatch() bool {
	return r.pattern != "" && (r.pattern[0] == '/' || r.pattern[0] == '*')
}

// blank takes note of an empty line. One with a comment ends nothing.
func (g *groups) blank(l policy.Line) {
	if l.Comment.Len() == 0 {
		g.blankLine = l.Number
	}
}

// addAgent adds a user-agent line, and says whether it starts a group.
func (g *groups) addAgent(body []byte, l policy.Line) (starts bool) {
	if starts = len(g.all) == 0 || g.rules; starts {
		g.all = append(g.all, group{})
	}
	g.rules = false
	last := &g.all[len(g.all)-1]
	name := strings.ToLower(string(policy.RFC9309.Token(l.Value.Of(body))))
	last.agents = append(last.agents, agent{l, name})
	return starts
}

// addRule adds a rule, or returns false if it stands before any group.
func (g *groups) addRule(body []byte, l policy.Line) (rule, bool) {
	r := rule{l, string(policy.NormalPattern(l.Value.Of(body)))}
	if len(g.all) == 0 {
		return r, false
	}
	g.rules = true
	last := &g.all[len(g.all)-1]
	last.rules = append(last.rules, r)
	return r, true
}

// addRecord adds a record that is no rule. One before any group is for nobody.
func (g *groups) addRecord() {
	if len(g.all) > 0 {
		g.all[len(g.all)-1].records = true
	}
}

func (g *groups) userAgent(c *checker, l policy.Line) {
	starts := g.addAgent(c.body, l)
	if starts && len(g.all) > 1 && g.blankLine == 0 {
		c.add(UserAgentAfterRules, l, l.Key, 0,
			"a group begins here, as a user-agent line after a rule begins one; put an empty line before it, which some older crawlers need")
	}
	if !starts {
		g.divide(c, l)
	}
	g.blankLine = 0
	c.agent(l)
}

func (g *groups) rule(c *checker, l policy.Line) {
	r, ok := g.addRule(c.body, l)
	if ok {
		g.divide(c, l)
		c.rule(r)
	} else {
		c.add(RuleBeforeGroup, l, l.Key, 0,
			"crawlers pass over a rule before any user-agent line, but for some that take it for everyone's; put a line such as \"User-agent: *\" before it")
	}
	g.blankLine = 0
}

// divide checks for an empty line within a group.
func (g *groups) divide(c *checker, l policy.Line) {
	if g.blankLine == 0 || g.divided == len(g.all) {
		return
	}
	g.divided = len(g.all)
	if l.Kind == policy.UserAgent {
		c.add(BlankLineInGroup, l, l.Key, g.blankLine,
			"the empty line %d does not end the group by RFC 9309, and the rules that follow are for the agents above it too; for most older crawlers these have no rules; take the empty line out, or write \"Disallow:\" before it if they are to have none", g.blankLine)
		return
	}
	c.add(BlankLineInGroup, l, l.Key, g.blankLine,
		"the empty line %d does not end the group by RFC 9309, but does for most older crawlers: this line and those after it count for nobody there; take the empty line out", g.blankLine)
}

// agent checks the value of a user-agent line.
func (c *checker) agent(l policy.Line) {
	value := l.Value.Of(c.body)
	token := policy.RFC9309.Token(value)
	rest := policy.Part{Start: l.Value.Start + len(token), End: l.Value.End}
	switch {
	case len(token) == 0:
		c.add(AgentWithoutName, l, l.Value, 0,
			"%s names no crawler, so by this line the group is for nobody, though it ends the group before as any other; write a product token of letters, digits, _ and -, or *", quote(value))
	case rest.Len() == 0:
	case token[0] != '*' && c.body[rest.Start] == '/':
		c.add(AgentVersion, l, rest, 0,
			"the version is cut off: the group is for every %s; some older crawlers compare it, and find no group; write the product token alone", quote(token))
	default:
		c.add(AgentOctets, l, rest, 0,
			"what is compared ends before %s: the group is for %s; some older crawlers compare it all, and find no group; write a product token alone, a line for each crawler",
			quote(rest.Of(c.body)), quote(token))
	}
	if google := policy.Google.Token(value); len(google) < len(token) {
		at := policy.Part{Start: l.Value.Start + len(google), End: l.Value.Start + len(token)}
		compares := "compares " + quote(google) + " alone"
		if len(google) == 0 {
			compares = "finds no name here"
		}
		c.add(AgentDigits, l, at, 0,
			"RFC 9309 has no digits in a product token: Google's parser %s, while heed and others compare %s; nothing is to mend unless the name is yours", compares, quote(token))
	}
}

// check checks what can be seen when all groups are there.
func (g *groups) check(c *checker) {
	if len(g.all) == 0 {
		c.add(NoGroup, first, policy.Part{}, 0,
			"there is no user-agent line, so everything is allowed to everyone; that is right if it is meant")
		return
	}
	for _, group := range g.all {
		if len(group.rules) == 0 {
			a := group.agents[0]
			c.add(GroupWithoutRules, a.line, a.line.Value, 0,
				"the group has no rules: it allows everything, and whom it names is not bound by the group for * either; write \"Disallow:\" if that is meant, else add rules or take the group out")
		}
	}
	g.duplicates(c)
	newHider(c).check(g.all)
}

// duplicates looks for agents that were named before. Of a group whose agents
// are all those of an earlier group it is said once.
func (g *groups) duplicates(c *checker) {
	lines := make(map[string]int)   // the line that first names an agent
	earlier := make(map[string]int) // the first group for a set of agents
	for i, group := range g.all {
		set := group.set()
		before, same := earlier[set]
		if same && set != "" {
			c.duplicateGroup(g.all[before], group)
		} else {
			earlier[set] = i
		}
		for _, a := range group.agents {
			switch line, seen := lines[a.name]; {
			case a.name == "":
			case !seen:
				lines[a.name] = a.line.Number
			case line >= group.agents[0].line.Number:
				c.add(DuplicateAgent, a.line, a.line.Value, line,
					"%s was named in line %d, in this group already, and nothing comes of it; name each crawler once", quote(a.line.Value.Of(c.body)), line)
			case !same:
				c.add(DuplicateAgent, a.line, a.line.Value, line,
					"%s was named in line %d: by RFC 9309 the rules of both places count together, while older crawlers obey the first alone; name each crawler once",
					quote(a.line.Value.Of(c.body)), line)
			}
		}
	}
}

// set returns the names of the group in order, each once; "" if there is none.
func (g group) set() string {
	names := make([]string, 0, len(g.agents))
	for _, a := range g.agents {
		if a.name != "" {
			names = append(names, a.name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func (c *checker) duplicateGroup(before, again group) {
	first, a := before.agents[0].line, again.agents[0].line
	what := "by RFC 9309 its rules and those of the first count together, while older crawlers obey the first alone; make one group of them"
	if !again.records && c.sameRules(before, again) {
		what = "it has the same rules too, and changes nothing; take it out"
	}
	c.add(DuplicateGroup, a, a.Value, first.Number, "the group in line %d is for the same agents: %s", first.Number, what)
}

func (c *checker) sameRules(a, b group) bool {
	return slices.EqualFunc(a.rules, b.rules, func(x, y rule) bool {
		return x.line.Kind == y.line.Kind && bytes.Equal(x.line.Value.Of(c.body), y.line.Value.Of(c.body))
	})
}
