package main

import (
	"bytes"
	"fmt"

	"heed/policy"
)

// task is work that can be repeated: one pass goes through a whole set of files
// in the order of the data, the same for every participant. So nobody is asked
// twice in a row about a file that has just become hot.
type task struct {
	of     string // what one operation is: "query" or "file"
	ops    int    // in one pass
	octets int    // of the bodies read in one pass; 0 where none is
	// pass returns a count that depends on every operation: nothing can be
	// left out, and it must be the same each time.
	pass func() int
}

// decideTask answers every query, each file having been read once beforehand.
func decideTask(p *participant, c *corpus) (task, error) {
	judges, err := readAll(p, c)
	if err != nil {
		return task{}, err
	}
	return task{of: "query", ops: c.queries, pass: func() int {
		allowed := 0
		for i, f := range c.files {
			for j := range f.Queries {
				if judges[i].allowed(&f.Queries[j]) {
					allowed++
				}
			}
		}
		return allowed
	}}, nil
}

// compileTask reads every file and keeps nothing. A file with errors is read to
// its end all the same, so it counts.
func compileTask(p *participant, c *corpus) task {
	return task{of: "file", ops: len(c.files), octets: c.octets, pass: func() int {
		read := 0
		for _, f := range c.files {
			if j, err := p.read(f); err == nil && j != nil {
				read++
			}
		}
		return read
	}}
}

// queryTask reads the file anew for every stride-th query, counted through all
// files, and answers it.
func queryTask(p *participant, c *corpus, stride int) task {
	type asked struct {
		*file
		query
	}
	var all []asked
	n := 0
	for _, f := range c.files {
		for _, q := range f.Queries {
			if n%stride == 0 {
				all = append(all, asked{f, q})
			}
			n++
		}
	}
	return task{of: "query", ops: len(all), pass: func() int {
		allowed := 0
		for _, a := range all {
			q := a.query
			if p.compiles { // who does not finds the path in the URL itself, and is timed for it
				q.target = policy.TargetOf(q.url)
			}
			if j, err := p.read(a.file); err == nil && j.allowed(&q) {
				allowed++
			}
		}
		return allowed
	}}
}

// readAll reads every file and holds them all.
func readAll(p *participant, c *corpus) ([]judge, error) {
	judges := make([]judge, len(c.files))
	for i, f := range c.files {
		j, err := p.read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: reading file %s, which it could read before: %w", p.name, f.ID, err)
		}
		judges[i] = j
	}
	return judges, nil
}

// readClones is readAll of copies that nobody else holds: a participant that
// keeps hold of the body is seen to.
func readClones(p *participant, c *corpus) ([]judge, error) {
	clones := &corpus{}
	for _, f := range c.files {
		clones.add(&file{ID: f.ID, Body: bytes.Clone(f.Body)})
	}
	return readAll(p, clones)
}
