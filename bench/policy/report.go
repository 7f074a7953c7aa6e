package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"heed/bench/record"
	"heed/bench/series"
)

// comparison is the results of one run.
type comparison struct {
	Environment environment `json:"environment"`
	Effort      effortNote  `json:"effort"`
	Rows        []row       `json:"rows"`
	Agreements  []agreement `json:"agreements"`
}

// environment is where and of what a run was made.
type environment struct {
	record.Environment
	Versions map[string]string `json:"versions"` // by participant
}

// effortNote is effort as results record it.
type effortNote struct {
	Rounds     int     `json:"rounds"`
	Confidence float64 `json:"confidence"` // that a median lies between the least and the most of the rounds
	PassMS     int64   `json:"pass_ms"`
	Stride     int     `json:"stride"`
}

func effortOf(e effort) effortNote {
	return effortNote{e.rounds, series.Confidence(e.rounds), e.pass.Milliseconds(), e.stride}
}

func environmentNow(heedVersion string) environment {
	e := environment{record.Here(), map[string]string{heed.name: heedVersion}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			for _, p := range participants[1:] {
				if m.Path == p.path {
					e.Versions[p.name] = m.Version
				}
			}
		}
	}
	return e
}

// markdown is the results for people.
func (c *comparison) markdown() string {
	var b strings.Builder
	env := c.Environment
	fmt.Fprintf(&b, "# heed/policy next to its peers\n\n")
	fmt.Fprintf(&b, "%s, %s (%d cores, one used), %s %s.", env.Date, env.CPU, env.Cores, env.Go, env.System)
	var versions []string
	for _, p := range participants {
		versions = append(versions, p.name+" "+cmp.Or(env.Versions[p.name], "unknown"))
	}
	fmt.Fprintf(&b, " %s.\n\nMedians of %d interleaved rounds, in brackets the least and the most of them (the true median lies between with %.1f %% confidence). ",
		strings.Join(versions, ", "), c.Effort.Rounds, 100*c.Effort.Confidence)
	fmt.Fprintf(&b, "Ratios are taken round by round; \"× heed\" is how many times as much as heed. One in %d queries is asked with the parse included.\n\n", c.Effort.Stride)

	fmt.Fprintf(&b, "| measure | files | unit |")
	for i, p := range participants {
		fmt.Fprintf(&b, " %s |", p.name)
		if i > 0 {
			fmt.Fprintf(&b, " × heed |")
		}
	}
	fmt.Fprintf(&b, "\n| --- | --- | --- |%s\n", strings.Repeat(" ---: |", 2*len(participants)-1))
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "| %s | %s: %s | %s |", r.Measure, r.Set, series.Whole(r.Files), r.Unit)
		for i, p := range participants {
			value, times := r.cells(p)
			fmt.Fprintf(&b, " %s |", value)
			if i > 0 {
				fmt.Fprintf(&b, " %s |", times)
			}
		}
		b.WriteByte('\n')
	}

	fmt.Fprintf(&b, "\n| answers of | as | queries | agree | share | files that differ | files failed | share of those answered |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, a := range c.Agreements {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f %% | %s | %s | %.2f %% |\n",
			a.Participant, a.With, series.Whole(a.Queries), series.Whole(a.Agreed), 100*a.OfAll, series.Whole(a.Differing), series.Whole(a.Failed), 100*a.OfAnswered)
	}
	return b.String()
}

// cells returns what a row says of a participant, "–" for what it does not say.
func (r *row) cells(p *participant) (value, times string) {
	value, times = "–", "–"
	for _, f := range r.Figures {
		if f.Participant != p.name {
			continue
		}
		value = f.Value.String()
		if f.Times != nil {
			times = f.Times.String()
		}
	}
	return value, times
}
