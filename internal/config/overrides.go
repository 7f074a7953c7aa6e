package config

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"heed/internal/origin"
	"heed/policy"
)

// Override is a record by which the operator decides for an origin in place of
// its robots.txt. Of several that fit, the closest counts: the origin's own,
// the host's, then that for the longest *.NAME. Origin or Host is set, not both.
type Override struct {
	Origin    Origin      `yaml:"origin,omitempty"`    // one origin
	Host      HostPattern `yaml:"host,omitempty"`      // every origin of a host, or of all hosts below a name
	Action    string      `yaml:"action"`              // allow, disallow, unavailable or file
	File      string      `yaml:"file,omitempty"`      // robots.txt of the operator's, for the action file; "" for the others
	Reason    Line        `yaml:"reason"`              // why; never empty
	Reference Line        `yaml:"reference,omitempty"` // where that is on record; may be empty
	Owner     Line        `yaml:"owner"`               // who answers for it; never empty
	Expires   Expiry      `yaml:"expires,omitempty"`   // 0 for never, which only the action disallow may have
}

// For is what the override is for, as it was written: an origin or hosts.
func (o *Override) For() string {
	if o.Origin != "" {
		return string(o.Origin)
	}
	return string(o.Host)
}

// Expired reports whether the override has no effect any more.
func (o *Override) Expired(now time.Time) bool {
	return o.Expires != 0 && !now.Before(o.Expires.Time())
}

// Warnings returns what is no fault of the configuration but nothing that its
// author can have meant, a line each: overrides that have expired, and what is
// odd about clients.
func (c *Config) Warnings(now time.Time) (all []string) {
	all = c.Clients.Warnings(c.HTTPS.Mode)
	for i, o := range c.Overrides {
		if o.Expired(now) {
			all = append(all, fmt.Sprintf("overrides[%d]: the override for %s by %s has no effect since its end on %s; renew it or take it out", i, o.For(), o.Owner, o.Expires))
		}
	}
	return all
}

// ReadRules returns the text of the operator's robots.txt, of at most limit
// octets. One without a single group is refused: it would allow everything, and
// is most likely something else.
func (o *Override) ReadRules(limit Size) ([]byte, error) {
	info, err := os.Stat(o.File)
	if err != nil {
		return nil, fmt.Errorf("reading the robots.txt of an override: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault("is not a file; name a robots.txt of yours")
	}
	f, err := os.Open(o.File)
	if err != nil {
		return nil, fmt.Errorf("reading the robots.txt of an override: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("reading the robots.txt of an override: %w", err)
	}
	if Size(len(body)) > limit {
		return nil, fault(fmt.Sprintf("has more octets than a robots.txt of which all counts (robots.limit, %s); shorten it, or raise the limit", limit))
	}
	for line := range policy.Lines(body) {
		if line.Kind == policy.UserAgent {
			return body, nil
		}
	}
	return nil, fault(`has no line "User-agent: NAME", so that it is no robots.txt, or one that allows everything; heed lint says more of it, and to allow everything write action: allow`)
}

// Origin is a scheme, a host and a port in the canonical form of
// origin.Origin's String: "https://a.example", "http://[::1]:8080".
type Origin string

// UnmarshalText reads an origin in any of its spellings, and lets it end with a
// slash.
func (o *Origin) UnmarshalText(text []byte) error {
	parsed, err := Origin(strings.TrimSuffix(string(text), "/")).Parse()
	if err != nil {
		return fault("is not an origin; write for example https://a.example or http://a.example:8080, without a path")
	}
	*o = Origin(parsed.String())
	return nil
}

// Parse returns the origin as a key.
func (o Origin) Parse() (origin.Origin, error) {
	scheme, authority, _ := strings.Cut(string(o), "://")
	return origin.Parse(scheme, authority)
}

// Line is a line of text that clients get to see: it is short and holds nothing
// but what can be seen.
type Line string

// longestLine is how many octets of such a text a field of a header has room
// for, beside others.
const longestLine = 200

// UnmarshalText reads a text, whose line ends and runs of blanks become single
// blanks.
func (l *Line) UnmarshalText(text []byte) error {
	line := strings.Join(strings.Fields(string(text)), " ")
	switch {
	case len(line) > longestLine:
		return fault(fmt.Sprintf("is longer than %d octets; clients are shown it, so say it shortly and put the rest where reference leads", longestLine))
	case !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fault("has characters that cannot be seen; write plain text")
	case redact(line) != line:
		return fault("holds what looks like credentials (//NAME@), and clients are shown it; leave out what stands before the @")
	}
	*l = Line(line)
	return nil
}

// Expiry is the moment from which on something has no effect, in seconds since
// 1970. 0 stands for never.
type Expiry int64

// mostExpiry is the end of the year 9999, the last that RFC 3339 can write.
var mostExpiry = Expiry(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix())

// UnmarshalText reads a date, at the end of which in UTC it is over, or a moment
// as in RFC 3339.
func (e *Expiry) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err == nil {
		t = t.AddDate(0, 0, 1)
	} else {
		t, err = time.Parse(time.RFC3339, string(text))
	}
	at := Expiry(t.Unix())
	if err != nil || at <= 0 || at > mostExpiry {
		return fault("is neither a date nor a time; write for example 2027-03-31, which ends with that day in UTC, or 2027-03-31T12:00:00Z")
	}
	*e = at
	return nil
}

// Time returns the moment in UTC; the zero time for never.
func (e Expiry) Time() time.Time {
	if e == 0 {
		return time.Time{}
	}
	return time.Unix(int64(e), 0).UTC()
}

// String returns the last day on which it has an effect, or the moment where it
// does not end with a day. It is empty for never.
func (e Expiry) String() string { return policy.Until(e.Time()) }

// MarshalText returns String.
func (e Expiry) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// overrides checks that each override says what it is for, what is done, why,
// by whom and until when, and that no two are for the same.
func (r *reader) overrides() {
	seen := map[string]int{}
	for i := range r.config.Overrides {
		o, key := &r.config.Overrides[i], fmt.Sprintf("overrides[%d]", i)
		r.appliesTo(key, o.Origin, o.Host)
		r.overrideAction(o, key)
		if o.Reason == "" {
			r.missing(key, "reason", "written consent of the site, or whatever it is")
		}
		if o.Owner == "" {
			r.missing(key, "owner", "lab admin, or whoever answers for it")
		}
		r.once(seen, "overrides", i, o.Origin, o.Host, "an override")
	}
}

// once checks that no element of a list before the i-th is for the same origin
// or hosts, one of which is empty.
func (r *reader) once(seen map[string]int, list string, i int, o Origin, h HostPattern, thing string) {
	what, key := string(h), ".host"
	if o != "" {
		what, key = string(o), ".origin"
	}
	first, twice := seen[what]
	switch {
	case what == "":
	case twice:
		r.blame(fmt.Sprintf("%s[%d]%s", list, i, key), what, fault(fmt.Sprintf("already has %s, %s[%d]; keep one of them", thing, list, first)))
	default:
		seen[what] = i
	}
}

// appliesTo checks that an element of a list says either origin or hosts.
func (r *reader) appliesTo(key string, o Origin, h HostPattern) {
	switch {
	case o == "" && h == "":
		r.missing(key, "origin", "https://a.example, or host: a.example or *.a.example")
	case o != "" && h != "":
		r.blame(key+".host", string(h), fault("stands beside an origin; write one of the two: origin is one scheme, host and port, host is all of a host's"))
	}
}

func (r *reader) overrideAction(o *Override, key string) {
	const file = "file"
	switch o.Action {
	case "":
		r.missing(key, "action", "allow, disallow, unavailable or file")
		return
	case policy.UseOperatorsRules.String():
		if o.File == "" {
			r.missing(key, file, "the path of a robots.txt of yours")
		} else if _, err := o.ReadRules(r.config.Robots.Limit); err != nil {
			r.blame(key+".file", o.File, err)
		}
	default:
		r.oneOf(key+".action", o.Action, "allow", "disallow", "unavailable", file)
		if o.File != "" {
			r.blame(key+".file", o.File, fault("is read with the action file alone; write action: file, or leave it out"))
		}
	}
	if o.Expires == 0 && o.Action != policy.DisallowOrigin.String() {
		r.missing(key, "expires", "2027-03-31, or whichever day is the last: only the action disallow may be for ever")
	}
}

// besideOverrides makes the paths of the operator's files whole.
func (r *reader) besideOverrides() {
	for i := range r.config.Overrides {
		o := &r.config.Overrides[i]
		o.File = r.beside(fmt.Sprintf("overrides[%d].file", i), o.File)
	}
}
