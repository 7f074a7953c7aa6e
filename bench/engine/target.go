package main

import (
	"heed/bench/series"
)

// target is what heed is to reach.
type target struct {
	scenario string
	figure   string
	how      comparison
	peer     string  // with whom heed is compared
	bound    float64 // see how
}

// comparison is how a target's bound is meant.
type comparison int

const (
	atLeastTimes comparison = iota // bound times the peer's or more
	atMostTimes                    // bound times the peer's or less
	atMost                         // bound or less
	atMostAdded                    // the peer's and bound, or less
)

// verdict is what became of a target.
type verdict struct {
	Scenario string         `json:"scenario"`
	What     string         `json:"what"`
	Wanted   string         `json:"wanted"`
	Measured *series.Series `json:"measured"` // nil: it was not measured
	Reached  bool           `json:"reached"`  // by the median
}

var targets = []target{
	{plain32, perSecond, atLeastTimes, bareGoproxy, 3.5},
	{plain256, perSecond, atLeastTimes, bareGoproxy, 3.5},
	{plain32, perSecond, atLeastTimes, squid, 1.5},
	{plain256, perSecond, atLeastTimes, squid, 1.5},
	{plain32, perSecond, atLeastTimes, mitmdump, 25},
	{plain256, perSecond, atLeastTimes, mitmdump, 25},
	// Policy, log and metrics together cost 5 % of what the engine does without.
	{plain32, perSecond, atLeastTimes, engineAlone, 0.95},
	{plain256, perSecond, atLeastTimes, engineAlone, 0.95},
	{inside32, perSecond, atLeastTimes, bareGoproxy, 10},
	{inside256, perSecond, atLeastTimes, bareGoproxy, 10},
	{inside32, perSecond, atLeastTimes, squid, 1.7},
	{inside256, perSecond, atLeastTimes, squid, 1.7},
	{inside32, perSecond, atLeastTimes, mitmdump, 22},
	{inside256, perSecond, atLeastTimes, mitmdump, 22},
	{insideNew, perSecond, atLeastTimes, squid, 1.6},
	{mid32, perSecond, atLeastTimes, squid, 1.3},
	{large8, perSecond, atLeastTimes, squid, 1},
	{tunnel32, perSecond, atLeastTimes, bareGoproxy, 1},
	{tunnelLarge, perSecond, atLeastTimes, bareGoproxy, 1},
	{tunnelNew, perSecond, atLeastTimes, bareGoproxy, 1},
	{one1, p50Micros, atMostAdded, direct, 150},
	{plain32, p99Micros, atMostTimes, squid, 1},
	{plain32, peakMiB, atMost, "", 64},
	{plain256, peakMiB, atMost, "", 64},
	{inside32, peakMiB, atMost, "", 64},
	{inside256, peakMiB, atMost, "", 64},
	{denied32, cpuMicros, atMost, "", 20},
}

// words are what the table calls a figure.
var words = map[string]string{
	perSecond: "answers a second", cpuMicros: "CPU for an answer, µs", p50Micros: "p50, µs", p99Micros: "p99, µs", peakMiB: "memory at most, MiB",
}

// judge compares heed with the peer round by round, and the median of that
// with the bound.
func (t *target) judge(rounds []round) verdict {
	bound := series.Number(t.bound)
	v := verdict{Scenario: t.scenario, What: words[t.figure]}
	own, peer := values(rounds, t.scenario, heed, t.figure), values(rounds, t.scenario, t.peer, t.figure)
	measured := own
	switch t.how {
	case atLeastTimes, atMostTimes:
		v.What += ", by those of " + t.peer
		v.Wanted = "≥ " + bound
		if t.how == atMostTimes {
			v.Wanted = "≤ " + bound
		}
		if own != nil && peer != nil {
			measured = series.Ratios(own, peer)
		}
	case atMostAdded:
		v.What += ", less that of " + t.peer
		v.Wanted = "≤ " + bound
		if own != nil && peer != nil {
			measured = differences(own, peer)
		}
	case atMost:
		v.Wanted = "≤ " + bound
	}
	if own == nil || peer == nil && t.peer != "" {
		return v
	}
	s := series.Of(measured)
	v.Measured = &s
	v.Reached = s.Median <= t.bound
	if t.how == atLeastTimes {
		v.Reached = s.Median >= t.bound
	}
	return v
}

func differences(values, less []float64) []float64 {
	out := make([]float64, len(values))
	for i := range values {
		out[i] = values[i] - less[i]
	}
	return out
}
