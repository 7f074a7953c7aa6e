package main

import "strings"

// agreement is how often a participant answers what the data say.
type agreement struct {
	Participant string  `json:"participant"`
	With        string  `json:"with"` // whose verdicts
	Files       int     `json:"files"`
	Failed      int     `json:"failed_files"`    // an error or a panic: no answer
	Queries     int     `json:"queries"`         // of all files
	Answered    int     `json:"answered"`        // of the files that did not fail
	Agreed      int     `json:"agreed"`          // of those answered
	Differing   int     `json:"differing_files"` // answered, and once or more not as the data say
	OfAnswered  float64 `json:"of_answered"`     // share, 0 to 1
	OfAll       float64 `json:"of_all"`          // share where no answer is a wrong one
	Failure     string  `json:"first_failure,omitempty"`
}

// verdicts are the right answers, by one of the two judges of the data.
type verdicts struct {
	of      string
	verdict func(*query) bool
}

var (
	googleVerdicts = verdicts{"Google's parser", func(q *query) bool { return q.google }}
	heedVerdicts   = verdicts{"heed's reading", func(q *query) bool { return q.heed }}
)

// compare asks a participant everything, and returns with the agreement the
// files on which it fails.
func compare(p *participant, c *corpus, v verdicts) (agreement, map[*file]error) {
	a := agreement{Participant: p.name, With: v.of, Files: len(c.files), Queries: c.queries}
	failed := map[*file]error{}
	for _, f := range c.files {
		answers, err := p.answers(f)
		if err != nil {
			if failed[f] = err; a.Failed == 0 {
				a.Failure = strings.Join(strings.Fields(err.Error()), " ")
			}
			a.Failed++
			continue
		}
		a.Answered += len(answers)
		agreed := 0
		for i, allowed := range answers {
			if allowed == v.verdict(&f.Queries[i]) {
				agreed++
			}
		}
		a.Agreed += agreed
		if agreed < len(answers) {
			a.Differing++
		}
	}
	a.OfAnswered = share(a.Agreed, a.Answered)
	a.OfAll = share(a.Agreed, a.Queries)
	return a, failed
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
