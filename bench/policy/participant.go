package main

import (
	"fmt"

	"github.com/jimsmart/grobotstxt"
	"github.com/temoto/robotstxt"

	"heed/policy"
)

// participant is one reader of robots.txt, called as its own documentation
// says.
type participant struct {
	name string
	path string // of its module

	// compiles tells whether it reads a file once for many queries. Where it
	// does not, a judge is no more than the text, and each query reads it anew.
	compiles bool
	read     func(*file) (judge, error)
}

// judge answers queries about one file.
type judge interface {
	allowed(*query) bool
}

var (
	heed = &participant{name: "heed", path: "heed", compiles: true, read: heedAs(policy.RFC9309)}
	// heedGoogle is asked for its answers; what it costs is heed's.
	heedGoogle = &participant{name: "heed, as Google", path: "heed", compiles: true, read: heedAs(policy.Google)}

	temoto = &participant{name: "temoto", path: "github.com/temoto/robotstxt", compiles: true, read: func(f *file) (judge, error) {
		data, err := robotstxt.FromBytes(f.Body)
		if err != nil {
			return nil, err
		}
		return temotoJudge{data}, nil
	}}
	grobotstxtPeer = &participant{name: "grobotstxt", path: "github.com/jimsmart/grobotstxt", read: func(f *file) (judge, error) {
		return grobotstxtJudge{f}, nil
	}}
)

// participants are all that are measured, heed first: every ratio is to the first.
var participants = []*participant{heed, temoto, grobotstxtPeer}

// Each judge is one pointer, so that to make an interface of it allocates
// nothing that its package did not.
type (
	heedJudge       struct{ *policy.Policy }
	temotoJudge     struct{ *robotstxt.RobotsData }
	grobotstxtJudge struct{ *file }
)

// heedAs reads whole files in one of heed's dialects.
func heedAs(d policy.Dialect) func(*file) (judge, error) {
	return func(f *file) (judge, error) {
		return heedJudge{policy.Compile(f.Body, policy.Options{Limit: len(f.Body), Dialect: d})}, nil
	}
}

func (j heedJudge) allowed(q *query) bool {
	return j.Decide(q.tokens, q.target).Allowed
}

func (j temotoJudge) allowed(q *query) bool {
	return j.TestAgent(q.target, q.agent)
}

func (j grobotstxtJudge) allowed(q *query) bool {
	return grobotstxt.AgentAllowed(j.text, q.agent, q.url)
}

// answers returns the answers to all queries about a file, or why there are
// none: an error or a panic, of which some readers have a few.
func (p *participant) answers(f *file) (allowed []bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			allowed, err = nil, fmt.Errorf("panic: %v", cause)
		}
	}()
	j, err := p.read(f)
	if err != nil {
		return nil, err
	}
	for i := range f.Queries {
		allowed = append(allowed, j.allowed(&f.Queries[i]))
	}
	return allowed, nil
}
