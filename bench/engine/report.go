package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heed/bench/record"
	"heed/bench/series"
)

// results are those of one run.
type results struct {
	Environment environment       `json:"environment"`
	Effort      effort            `json:"effort"`
	Versions    map[string]string `json:"versions"`         // of the peers that have one
	Absent      map[string]string `json:"absent,omitempty"` // who could not take part, and why
	Rows        []row             `json:"rows"`
	Targets     []verdict         `json:"targets"`
}

// environment is where and of what a run was made.
type environment struct {
	record.Environment
	Heed string `json:"heed"`
}

// effort is how much was measured.
type effort struct {
	Rounds     int     `json:"rounds"`
	Confidence float64 `json:"confidence"` // that a median lies between the least and the most of the rounds
	Seconds    float64 `json:"seconds"`
	Warm       float64 `json:"warm_seconds"`
}

// row is a participant in a scenario.
type row struct {
	Scenario    string                   `json:"scenario"`
	Participant string                   `json:"participant"`
	Figures     map[string]series.Series `json:"figures"`
	Times       *series.Series           `json:"heed_times,omitempty"` // heed's answers a second by the participant's; nil where heed had no part, and for itself
}

func resultsOf(o options, jobs []job, absent map[string]string, rounds []round) *results {
	r := &results{
		Environment: environment{record.Here(), o.version},
		Effort:      effort{o.rounds, series.Confidence(o.rounds), o.seconds, o.warm},
		Versions:    map[string]string{},
		Absent:      absent,
	}
	r.Environment.Cores = 2 // that are used
	for _, j := range jobs {
		for _, p := range j.participants {
			if _, known := r.Versions[p.name]; !known {
				r.Versions[p.name] = p.release()
			}
			w := row{Scenario: j.scenario.name, Participant: p.name, Figures: map[string]series.Series{}}
			for name := range rounds[0][j.scenario.name][p.name] {
				w.Figures[name] = series.Of(values(rounds, j.scenario.name, p.name, name))
			}
			if own := values(rounds, j.scenario.name, heed, perSecond); own != nil && p.name != heed {
				times := series.Of(series.Ratios(own, w.Figures[perSecond].Rounds))
				w.Times = &times
			}
			r.Rows = append(r.Rows, w)
		}
	}
	for i := range targets {
		r.Targets = append(r.Targets, targets[i].judge(rounds))
	}
	return r
}

// values are a figure's, round by round; nil if it was not measured.
func values(rounds []round, scenario, participant, name string) (all []float64) {
	for _, r := range rounds {
		v, measured := r[scenario][participant][name]
		if !measured {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// markdown is the results for people.
func (r *results) markdown() string {
	var b strings.Builder
	env := r.Environment
	fmt.Fprintf(&b, "# heed next to its peers\n\n%s, %s, one processor for the proxy and one for clients and origin, %s %s. heed %s.\n\n", env.Date, env.CPU, env.Go, env.System, env.Heed)
	fmt.Fprintf(&b, "Medians of %d interleaved rounds of %g s for each measurement, in brackets the least and the most of them (the true median lies between with %.1f %% confidence). Ratios are taken round by round; \"heed ×\" is how many times as many answers a second heed gave.\n",
		r.Effort.Rounds, r.Effort.Seconds, 100*r.Effort.Confidence)
	r.writeTargets(&b)
	r.writeRows(&b)
	r.writeParticipants(&b)
	return b.String()
}

func (r *results) writeRows(b *strings.Builder) {
	scenario := ""
	for _, w := range r.Rows {
		if w.Scenario != scenario {
			scenario = w.Scenario
			fmt.Fprintf(b, "\n## %s\n\n| proxy | answers/s | heed × | CPU, µs an answer | p50, µs | p99, µs | memory at most, MiB | at the end | processors: proxy | load |\n| --- |%s\n", scenario, strings.Repeat(" ---: |", 9))
		}
		times := "–"
		if w.Times != nil {
			times = w.Times.String()
		}
		fmt.Fprintf(b, "| %s | %s | %s |", w.Participant, w.cell(perSecond), times)
		for _, name := range []string{cpuMicros, p50Micros, p99Micros, peakMiB, residentMiB} {
			fmt.Fprintf(b, " %s |", w.cell(name))
		}
		fmt.Fprintf(b, " %s | %s |\n", w.percent(proxyBusy), w.percent(loadBusy))
	}
}

// cell writes a figure, "–" if there is none.
func (w *row) cell(name string) string {
	if s, measured := w.Figures[name]; measured {
		return s.String()
	}
	return "–"
}

func (w *row) percent(name string) string {
	if s, measured := w.Figures[name]; measured {
		return fmt.Sprintf("%.0f %%", 100*s.Median)
	}
	return "–"
}

func (r *results) writeTargets(b *strings.Builder) {
	fmt.Fprintf(b, "\n## What heed is to reach\n\n| scenario | what | wanted | measured | |\n| --- | --- | ---: | ---: | --- |\n")
	for _, v := range r.Targets {
		measured, word := "–", "not measured"
		if v.Measured != nil {
			measured, word = v.Measured.String(), "not reached"
			if v.Reached {
				word = "reached"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", v.Scenario, v.What, v.Wanted, measured, word)
	}
}

func (r *results) writeParticipants(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Who took part\n\n| proxy | version | |\n| --- | --- | --- |\n")
	for _, p := range participants {
		about := p.about
		if why, is := r.Absent[p.name]; is {
			about = "absent: " + why
		} else if !slices.ContainsFunc(r.Rows, func(w row) bool { return w.Participant == p.name }) {
			about = "not asked for"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", p.name, cmp.Or(r.Versions[p.name], "–"), about)
	}
}
