package app

import (
	"fmt"
	"path/filepath"
	"slices"

	"heed/internal/config"
	"heed/internal/override"
	"heed/policy"
)

// NewOverrides returns the overrides of a configuration, with the files that
// they name read; nil if there are none.
func NewOverrides(c config.Config) (*override.Table, error) {
	if len(c.Overrides) == 0 {
		return nil, nil
	}
	records := make([]override.Record, len(c.Overrides))
	for i, o := range c.Overrides {
		var err error
		if records[i], err = overrideRecord(c, o); err != nil {
			return nil, fmt.Errorf("overrides[%d]: %w", i, err)
		}
	}
	return override.New(records)
}

func overrideRecord(c config.Config, o config.Override) (override.Record, error) {
	r := override.Record{
		Host: string(o.Host),
		Override: policy.Override{
			Reason: string(o.Reason), Reference: string(o.Reference), Owner: string(o.Owner), Expires: o.Expires.Time(),
		},
	}
	action := slices.Index(policy.Actions(), o.Action)
	if action < 0 {
		return r, fmt.Errorf("%q is no action", o.Action)
	}
	r.Action = policy.Action(action)
	if o.Origin != "" {
		parsed, err := o.Origin.Parse()
		if err != nil {
			return r, fmt.Errorf("reading the origin: %w", err)
		}
		r.Origin = parsed
	}
	if r.Action != policy.UseOperatorsRules {
		return r, nil
	}
	body, err := o.ReadRules(c.Robots.Limit)
	if err != nil {
		return r, fmt.Errorf("%q: %w", o.File, err)
	}
	r.File = filepath.Base(o.File) // clients are shown it, and need not know this machine's folders
	r.Rules = policy.Compile(body, policy.Options{Limit: int(c.Robots.Limit), Cautious: c.Policy.Cautious, Strict: c.Policy.StrictPaths})
	return r, nil
}

// expired says once of an override that it has no effect any more.
func (a *App) expired(r *override.Record) {
	a.log.Warn().Str("override", r.For).Stringer("action", r.Action).Str("expired", r.Until()).
		Str("owner", r.Owner).Str("reason", r.Reason).Str("reference", r.Reference).
		Str("hint", "renew it or take it out; it is passed over").
		Msg("override has expired and has no effect")
}
