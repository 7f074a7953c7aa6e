package audit

import (
	"github.com/rs/zerolog"

	"heed/policy"
)

// Log returns a sink that writes the canonical line of each exchange at level
// info: fixed field names, one line, client data only in fields (the console
// writer escapes fields but not messages).
func Log(l zerolog.Logger) func(*Entry) {
	return func(e *Entry) {
		ev := l.Info()
		if !ev.Enabled() {
			return
		}
		ev.Str("id", e.ID).
			Stringer("client", e.Client).
			Stringer("channel", e.Channel).
			Str("proto", e.Proto).
			Str("method", e.Method).
			Str("origin", e.Origin).
			Str("path", e.Target).
			Strs("tokens", tokens(e)).
			Stringer("verdict", e.Verdict).
			Str("reason", e.Reason)
		override := e.Decision.Override
		if e.Snapshot != nil || e.Decision.Allowed || override != nil {
			ev.Str("rule", e.Decision.Rule()).Int("line", e.Decision.Line)
		}
		if e.Decision.Group != "" {
			ev.Str("group", e.Decision.Group)
		}
		if e.Decision.Form != "" {
			ev.Str("form", e.Decision.Form)
		}
		if e.Decision.Dialect != "" {
			ev.Str("dialect", e.Decision.Dialect)
		}
		if override != nil {
			logOverride(ev, override)
		}
		ev.Int("status", e.Status).
			Int64("bytes_in", e.BytesIn).
			Int64("bytes_out", e.BytesOut).
			Dur("ms", e.Duration).
			Dur("robots_ms", e.RobotsWait).
			Dur("origin_ms", e.OriginWait)
		if e.Err != "" {
			ev.Str("cause", e.Err)
		}
		ev.Msg("exchange")
	}
}

// logOverride writes on whose word it was decided. What may be empty is left
// out then.
func logOverride(ev *zerolog.Event, o *policy.Override) {
	ev.Str("override", o.For).Stringer("override_action", o.Action)
	if o.File != "" {
		ev.Str("override_file", o.File)
	}
	ev.Str("override_reason", o.Reason)
	if o.Reference != "" {
		ev.Str("override_reference", o.Reference)
	}
	ev.Str("override_owner", o.Owner)
	if until := o.Until(); until != "" {
		ev.Str("override_expires", until)
	}
}

// tokens lists who asked, the main one first; "*" where nobody was named.
func tokens(e *Entry) []string {
	switch {
	case len(e.Tokens.Main)+len(e.Tokens.Also) == 0:
		return anyone
	case len(e.Tokens.Also) == 0:
		return e.Tokens.Main
	}
	all := make([]string, 0, len(e.Tokens.Main)+len(e.Tokens.Also))
	return append(append(all, e.Tokens.Main...), e.Tokens.Also...)
}

var anyone = []string{"*"}
