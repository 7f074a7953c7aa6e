package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"heed/internal/origin"
	"heed/policy"
)

// sitemapData is one Sitemap record as JSON.
type sitemapData struct {
	Robots   string `json:"robots"`
	Line     int    `json:"line"`
	Sitemap  string `json:"sitemap"`
	Absolute bool   `json:"absolute"` // a whole http or https URL
	Fault    string `json:"fault,omitempty"`
}

// sitemapFault is a robots.txt that could not be read, as JSON.
type sitemapFault struct {
	URL    string `json:"url"`
	Robots string `json:"robots,omitempty"`
	Error  string `json:"error"`
}

// listSitemaps prints the sitemaps of the file, or of the robots.txt of each
// URL, each robots.txt once.
func (c *checkCmd) listSitemaps(ctx context.Context, source source, dialects []policy.Dialect, w io.Writer) error {
	switch {
	case len(c.Agent) > 0 || c.UserAgent != "":
		return &failure{err: errors.New("sitemaps are for every crawler"), hint: "leave out --agent and --user-agent"}
	case c.Robots != "" && len(c.URL) > 0:
		return &failure{err: errors.New("--sitemaps lists what one file has"), hint: "give either URLs or --robots"}
	case len(dialects) > 1:
		return &failure{err: errors.New("--sitemaps lists what one dialect reads"), hint: "give the name of one with --dialect"}
	}
	k := asker{source: source}
	dialect := policy.RFC9309
	if len(dialects) == 1 {
		dialect = dialects[0]
	}
	if c.Robots != "" {
		return c.printSitemaps(w, c.Robots, k.sitemaps(ctx, origin.Origin{}, dialect))
	}
	seen := make(map[string]bool)
	worst := worst{}
	for _, asked := range c.URL {
		var found sitemapList
		o, _, err := splitURL(asked)
		switch {
		case err != nil:
			found.fault = err
		case seen[o.String()]:
			continue
		default:
			seen[o.String()] = o != (origin.Origin{})
			found = k.sitemaps(ctx, o, dialect)
		}
		err = c.printSitemaps(w, asked, found)
		var s status
		if err != nil && !errors.As(err, &s) {
			return err
		}
		worst.add(int(s))
	}
	return worst.err()
}

// sitemapList is the Sitemap records of one robots.txt.
type sitemapList struct {
	robots  string // the file, or the URL of it; empty if there is none to ask for
	records []policy.Record
	fault   error // why there is no list
}

func (k *asker) sitemaps(ctx context.Context, o origin.Origin, d policy.Dialect) (l sitemapList) {
	s, err := k.source.get(ctx, o)
	if err != nil {
		l.fault = err
		return l
	}
	l.robots = s.URL
	if s.Access == policy.Unreachable && s.Rules == nil {
		l.fault = fmt.Errorf("%s cannot be reached: %s", s.URL, s.Err)
	}
	if s.Rules == nil {
		return l
	}
	rules, err := k.compile(s, d)
	if err != nil {
		l.fault = err
		return l
	}
	for r := range rules.Records() {
		if r.Kind == policy.Sitemap {
			l.records = append(l.records, r)
		}
	}
	return l
}

// printSitemaps prints a list, or its fault and returns the status it stands
// for.
func (c *checkCmd) printSitemaps(w io.Writer, asked string, l sitemapList) error {
	text := l.text(asked)
	if c.JSON {
		text = l.json(asked)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("printing the sitemaps: %w", err)
	}
	if l.fault != nil {
		return status(checkUnknown)
	}
	return nil
}

// text returns the list for people.
func (l sitemapList) text(asked string) string {
	if l.fault != nil {
		return fmt.Sprintf("unknown  %s\n  cause   %s\n", visible(asked), visible(l.fault.Error()))
	}
	if len(l.records) == 0 {
		return fmt.Sprintf("no sitemaps  %s\n", visible(l.robots))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sitemaps  %s\n", visible(l.robots))
	for _, r := range l.records {
		fmt.Fprintf(&b, "  line %d  %s", r.Line, visible(r.Value))
		if fault := sitemapURLFault(r.Value); fault != "" {
			fmt.Fprintf(&b, "  (%s: crawlers pass over it)", fault)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// json returns the list as JSON lines, one for each sitemap.
func (l sitemapList) json(asked string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b) // writes to memory what always marshals: no error to look at
	if l.fault != nil {
		_ = encoder.Encode(sitemapFault{asked, l.robots, l.fault.Error()})
	}
	for _, r := range l.records {
		fault := sitemapURLFault(r.Value)
		_ = encoder.Encode(sitemapData{l.robots, r.Line, r.Value, fault == "", fault})
	}
	return b.String()
}

// sitemapURLFault says why a sitemap is no whole URL (sitemaps.org), "" if it
// is one.
func sitemapURLFault(value string) string {
	u, err := url.Parse(value)
	switch {
	case value == "":
		return "empty"
	case err != nil:
		return "not a URL"
	case u.Scheme == "":
		return "relative"
	case u.Scheme != "http" && u.Scheme != "https":
		return "not http or https"
	case u.Hostname() == "":
		return "without a host"
	}
	return ""
}
