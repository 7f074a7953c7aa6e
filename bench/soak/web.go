package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jimsmart/grobotstxt"
)

// fault is what is wrong with the robots.txt of a site.
type fault uint8

const (
	sound   fault = iota
	absent        // 404: everything is allowed
	failing       // 500: nothing is
	cut           // breaks off: nothing is
	silent        // does not come: nothing is
	large         // 600 KiB, of which the rules are the beginning
	moved         // at another path
	faults
)

// site is a host and what its robots.txt says.
type site struct {
	host   string
	fault  fault
	robots string
}

// web is all sites, and the servers that are all of them.
type web struct {
	sites  []*site
	byHost map[string]*site
	servers
	tally *tally
}

// agents ask. The last one is named by no robots.txt.
var agents = []string{"SoakBot", "NewsBot", "OtherBot"}

// words are what paths are made of.
var words = []string{"a", "b", "news", "private", "img", "x.pdf", "y.html", "q"}

// newWeb makes sites, the same ones each time.
func newWeb(n int, t *tally) *web {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it is to be the same each time
	w := &web{byHost: map[string]*site{}, tally: t}
	for i := range n {
		s := &site{host: fmt.Sprintf("site%d.test", i), robots: robotsOf(random)}
		if i%4 == 3 { // three of four are sound
			s.fault = fault(1 + i/4%int(faults-1))
		}
		if s.fault == large {
			s.robots += strings.Repeat("# and much more\n", 600<<10/16)
		}
		w.sites = append(w.sites, s)
		w.byHost[s.host] = s
	}
	return w
}

// robotsOf makes groups of rules.
func robotsOf(random *rand.Rand) string {
	var b strings.Builder
	for _, name := range []string{"SoakBot", "NewsBot", "*"} {
		if name != "*" && random.IntN(3) == 0 {
			continue
		}
		fmt.Fprintf(&b, "User-agent: %s\n", name)
		for range 1 + random.IntN(6) {
			key := "Disallow"
			if random.IntN(3) == 0 {
				key = "Allow"
			}
			fmt.Fprintf(&b, "%s: %s%s\n", key, pathOf(random), []string{"", "", "", "$", "*.pdf", "*"}[random.IntN(6)])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func pathOf(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(3) {
		b.WriteString("/" + words[random.IntN(len(words))])
	}
	return b.String()
}

// allows tells whether a site allows an agent a path, by another parser than heed's.
func (s *site) allows(agent, path string) bool {
	switch s.fault {
	case absent:
		return true
	case failing, cut, silent:
		return false
	}
	robots := s.robots
	return grobotstxt.AgentAllowed(robots, agent, "http://"+s.host+path)
}
