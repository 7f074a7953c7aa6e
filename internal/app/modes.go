package app

import (
	"fmt"
	"strconv"
	"strings"

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
	var report, enforce exceptions
	for _, m := range c.Modes {
		if m.Mode == config.Report {
			report.modes++
		} else {
			enforce.modes++
		}
	}
	for _, n := range c.Clients.Named {
		switch n.Mode {
		case config.Report:
			report.clients++
		case config.Enforce:
			enforce.clients++
		}
	}
	none := exceptions{}
	switch {
	case c.Mode == config.Report && enforce != none:
		return fmt.Sprintf("%s, but for %s.", what, enforce)
	case c.Mode == config.Report:
		return what + "."
	case report != none:
		return fmt.Sprintf("for %s %s.", report, what)
	}
	return ""
}

// exceptions are those that have a mode of their own.
type exceptions struct{ modes, clients int }

// String says how many there are of each.
func (e exceptions) String() string {
	var all []string
	if e.modes > 0 {
		all = append(all, several(e.modes, "entry", "entries")+" of modes")
	}
	if e.clients > 0 {
		all = append(all, several(e.clients, "client", "clients"))
	}
	return strings.Join(all, " and ")
}

func several(n int, one, more string) string {
	if n == 1 {
		return "one " + one
	}
	return strconv.Itoa(n) + " " + more
}
