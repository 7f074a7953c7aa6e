package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"heed/bench/series"
)

// measure is one question to several participants, about the same files.
type measure struct {
	name         string
	set          string // which files, in words
	files        *corpus
	participants []*participant // the first is the one that the others are compared with
	gauge        func(*participant, *corpus) (sample, error)
}

// effort is how much work a run is.
type effort struct {
	rounds int
	pass   time.Duration // the least time that one participant is measured in one round
	stride int           // every how many-th query is asked with the parse included
}

// measures returns all of them. failed holds, by name, the files that a
// participant cannot read: it has no answers there to be measured, so that it is
// compared over the others.
func measures(all *corpus, failed map[string]map[*file]error, e effort) []measure {
	decide := func(p *participant, c *corpus) (sample, error) {
		t, err := decideTask(p, c)
		if err != nil {
			return nil, err
		}
		return timed(t, e.pass)
	}
	compile := func(p *participant, c *corpus) (sample, error) { return timed(compileTask(p, c), e.pass) }
	query := func(p *participant, c *corpus) (sample, error) { return timed(queryTask(p, c, e.stride), e.pass) }

	alone, pair, trio := participants[:1], participants[:2], participants
	const every, shared = "all", "read by each"
	readByEach := func(ps []*participant) *corpus {
		var sets []map[*file]error
		for _, p := range ps {
			sets = append(sets, failed[p.name])
		}
		return all.without(sets...)
	}
	return []measure{
		{"decide", every, all, alone, decide},
		{"decide", shared, readByEach(pair), pair, decide},
		{"compile", every, all, pair, compile},
		{"compile", shared, readByEach(pair), pair, compile},
		{"parse and decide", shared, readByEach(trio), trio, query},
		{"memory", every, all, alone, held},
		{"memory", shared, readByEach(pair), pair, held},
	}
}

// run measures everything, round by round: within a round each participant has
// its turn at each measure, in an order that is reversed from one round to the
// next, so that a slow moment of the machine meets all of them alike. progress
// is told what is being done.
func run(ms []measure, e effort, progress func(string)) ([]row, error) {
	// The collector works on other cores if it may. With one, its work shows
	// in the time of who caused it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))

	found := make([]map[string][]sample, len(ms)) // by measure, name and round
	for i := range found {
		found[i] = map[string][]sample{}
	}
	for round := range e.rounds {
		progress(fmt.Sprintf("round %d of %d", round+1, e.rounds))
		for i, m := range ms {
			turns := slices.Clone(m.participants)
			if round%2 == 1 {
				slices.Reverse(turns)
			}
			for _, p := range turns {
				s, err := m.gauge(p, m.files)
				if err != nil {
					return nil, fmt.Errorf("measuring %s of %s: %w", m.name, p.name, err)
				}
				found[i][p.name] = append(found[i][p.name], s)
			}
		}
	}
	var rows []row
	for i, m := range ms {
		rows = append(rows, rowsOf(m, found[i])...)
	}
	return rows, nil
}

// units in the order in which they are read.
var units = []string{"ns/query", "ns/file", "ns/octet", "allocs/query", "allocs/file", "octets/octet", "octets/octet, by Size"}

// row is one measure in one unit.
type row struct {
	Measure string   `json:"measure"`
	Set     string   `json:"set"`
	Files   int      `json:"files"`
	Queries int      `json:"queries"`
	Octets  int      `json:"octets"`
	Unit    string   `json:"unit"`
	Figures []figure `json:"figures"`
}

// figure is what a row says of one participant.
type figure struct {
	Participant string         `json:"participant"`
	Value       series.Series  `json:"value"`
	Times       *series.Series `json:"times_heed,omitempty"` // of the first participant's; nil for itself, and where that is 0
}

func rowsOf(m measure, found map[string][]sample) (rows []row) {
	for _, unit := range units {
		r := row{m.name, m.set, len(m.files.files), m.files.queries, m.files.octets, unit, nil}
		var first []float64
		for _, p := range m.participants {
			values := valuesOf(found[p.name], unit)
			if len(values) == 0 {
				continue
			}
			f := figure{Participant: p.name, Value: series.Of(values)}
			if first == nil {
				first = values
			} else if slices.MinFunc(first, cmp.Compare[float64]) > 0 {
				times := series.Of(series.Ratios(values, first))
				f.Times = &times
			}
			r.Figures = append(r.Figures, f)
		}
		if len(r.Figures) > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

func valuesOf(samples []sample, unit string) (values []float64) {
	for _, s := range samples {
		if v, ok := s[unit]; ok {
			values = append(values, v)
		}
	}
	return values
}
