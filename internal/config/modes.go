package config

import "fmt"

// What is done about what politeness forbids.
const (
	Enforce = "enforce" // it is denied
	Report  = "report"  // it is forwarded, and told as if it had been denied
)

// OriginMode is a mode for an origin or for hosts. Of several that fit, the
// closest counts, as of overrides. Origin or Host is set, not both.
type OriginMode struct {
	Origin Origin      `yaml:"origin,omitempty"` // one origin
	Host   HostPattern `yaml:"host,omitempty"`   // every origin of a host, or of all hosts below a name
	Mode   string      `yaml:"mode"`             // Enforce or Report
	Reason Line        `yaml:"reason,omitempty"` // why; may be empty
}

// modes checks the mode, and that those of origins say which and what, and are
// not two for the same.
func (r *reader) modes() {
	r.oneOf("mode", r.config.Mode, Enforce, Report)
	seen := map[string]int{}
	for i, m := range r.config.Modes {
		key := fmt.Sprintf("modes[%d]", i)
		r.appliesTo(key, m.Origin, m.Host)
		if m.Mode == "" {
			r.missing(key, "mode", "enforce or report")
		} else {
			r.oneOf(key+".mode", m.Mode, Enforce, Report)
		}
		r.once(seen, "modes", i, m.Origin, m.Host, "a mode")
	}
}
