package app

import (
	"fmt"

	"heed/internal/config"
	"heed/internal/origin"
)

// Modes tells what is done about what politeness forbids: it is denied, or it is
// forwarded and reported. Make one with NewModes; it does not change, and is
// safe for concurrent use. Nil reports nothing.
type Modes struct {
	report  bool                   // the mode of all others
	origins origin.Closest[string] // modes of their own
}

// NewModes returns the modes of a configuration.
func NewModes(c config.Config) (*Modes, error) {
	m := &Modes{report: c.Mode == config.Report}
	for i, own := range c.Modes {
		var o origin.Origin
		if own.Origin != "" {
			var err error
			if o, err = own.Origin.Parse(); err != nil {
				return nil, fmt.Errorf("modes[%d]: reading the origin: %w", i, err)
			}
		}
		if err := m.origins.Add(o, string(own.Host), own.Mode); err != nil {
			return nil, fmt.Errorf("modes[%d]: %w", i, err)
		}
	}
	return m, nil
}

// Reports tells whether the mode is report for an origin and a client, whose own
// mode is "" where it has none. What is said of either goes before the mode of
// all; where both are said and differ, enforce counts.
func (m *Modes) Reports(o origin.Origin, client string) bool {
	if m == nil {
		return false
	}
	own, said := m.origins.Find(o, nil)
	switch {
	case !said && client == "":
		return m.report
	case !said:
		return client == config.Report
	case client == "":
		return own == config.Report
	default:
		return own == config.Report && client == config.Report
	}
}

// ReportNote says in a sentence where the mode is report, "" where it is nowhere.
func ReportNote(c config.Config) string {
	const what = "what robots.txt forbids is forwarded, and marked"
	var report, enforce int
	for _, m := range c.Modes {
		if m.Mode == config.Report {
			report++
		} else {
			enforce++
		}
	}
	switch {
	case c.Mode == config.Report && enforce > 0:
		return fmt.Sprintf("%s, but for %s of modes.", what, entries(enforce))
	case c.Mode == config.Report:
		return what + "."
	case report > 0:
		return fmt.Sprintf("for %s of modes %s.", entries(report), what)
	}
	return ""
}

func entries(n int) string {
	if n == 1 {
		return "one entry"
	}
	return fmt.Sprintf("%d entries", n)
}
