// Package series is the numbers of a measurement that is repeated in rounds, and
// how they are written: what is quoted is a median with the least and the most,
// and of two participants the median of their ratios within each round.
package series

import (
	"math"
	"slices"
)

// Series is one number from each round, in the order of the rounds, and what is
// said of them: the median, since a noisy machine errs to one side, and the
// least and the greatest.
//
// Those two are more than a spread. Whatever the distribution, the true median
// lies outside all of n independent values only if all of them fell on one side
// of it, as n coins would: with probability 2 · 2⁻ⁿ. See Confidence.
type Series struct {
	Median float64   `json:"median"`
	Least  float64   `json:"least"`
	Most   float64   `json:"most"`
	Rounds []float64 `json:"rounds"`
}

// Of keeps values, of which there is at least one.
func Of(values []float64) Series {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Series{
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Least:  sorted[0],
		Most:   sorted[n-1],
		Rounds: values,
	}
}

// Ratios divides round by round: what slows a whole round down cancels out.
func Ratios(values, by []float64) []float64 {
	out := make([]float64, len(values))
	for i := range values {
		out[i] = values[i] / by[i]
	}
	return out
}

// Confidence is how sure it is that a true median lies between the least and
// the greatest value of that many rounds.
func Confidence(rounds int) float64 {
	return 1 - math.Pow(2, float64(1-rounds))
}
