package cli

import (
	"time"

	"heed/policy"
)

// answerData is an answer as JSON. Of verdict, allowed is the part that a proxy
// acts by: unknown is not allowed. docs/dialects.md says which accessors of
// older parsers it stands for.
type answerData struct {
	URL       string `json:"url"`
	Verdict   string `json:"verdict"` // allowed, disallowed or unknown
	Allowed   bool   `json:"allowed"`
	Reason    string `json:"reason,omitempty"`
	Agent     string `json:"agent,omitempty"` // whose group decided
	Group     string `json:"group,omitempty"`
	GroupLine int    `json:"group_line,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Line      int    `json:"line"`
	Pattern   string `json:"pattern,omitempty"`
	Path      string `json:"path,omitempty"`
	Form      string `json:"form,omitempty"`

	Dialect           string `json:"dialect"`
	DecidedBy         string `json:"decided_by,omitempty"` // the other dialect that a cautious proxy heeds
	Outcome           string `json:"outcome,omitempty"`
	LifetimeSeconds   int    `json:"lifetime_seconds"`
	LifetimeByExpires bool   `json:"lifetime_by_expires"`

	Agents     []string     `json:"agents"` // asked for
	GroupNames []string     `json:"group_names,omitempty"`
	CrawlDelay *float64     `json:"crawl_delay,omitempty"` // seconds; the longest that can be read
	Records    []recordData `json:"records,omitzero"`      // of the group that applies
	Sitemaps   []string     `json:"sitemaps,omitzero"`
	Pace       *paceData    `json:"pace,omitempty"` // of all groups that count for the client; absent if they say nothing of it

	Robots    string     `json:"robots,omitempty"`
	SourceURL string     `json:"source_url,omitempty"`
	Hops      []string   `json:"hops,omitempty"`
	Status    int        `json:"status,omitempty"` // the same as response_code, which older parsers and heed lint say
	Code      int        `json:"response_code,omitempty"`
	Access    string     `json:"access,omitempty"`
	Fetched   *time.Time `json:"fetched,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"` // up to when heed takes its copy for fresh
	Truncated bool       `json:"truncated,omitempty"`

	Override *overrideData `json:"override,omitempty"` // the record by which the operator decided

	Explained string `json:"explained,omitempty"`
	Error     string `json:"error,omitempty"`
}

// overrideData is an override as JSON, as a problem of the proxy has it.
type overrideData struct {
	For       string `json:"for"`
	Action    string `json:"action"`
	File      string `json:"file,omitempty"`
	Reason    string `json:"reason"`
	Reference string `json:"reference,omitempty"`
	Owner     string `json:"owner"`
	Expires   string `json:"expires,omitempty"`
}

func (a answer) data() answerData {
	data := answerData{URL: a.URL, Verdict: a.verdict(), Dialect: a.dialect.Name(), Agents: a.asked}
	if len(data.Agents) == 0 {
		data.Agents = []string{"*"}
	}
	lifetime, expires := a.dialect.Lifetime()
	data.LifetimeSeconds, data.LifetimeByExpires = int(lifetime.Seconds()), expires
	if a.snapshot != nil {
		data.source(a)
	}
	if a.fault != nil {
		data.Error = a.fault.Error()
		return data
	}
	d := a.decision
	data.Allowed, data.Reason, data.Explained, data.Outcome = d.Allowed, a.reason(), a.explained(), a.outcome.String()
	data.Agent, data.Group, data.GroupLine, data.GroupNames = d.Token, d.Group, d.GroupLine, d.Names()
	data.Rule, data.Line, data.Pattern, data.Path, data.Form = d.Rule(), d.Line, d.Pattern, d.Path(), d.Form
	if d.Dialect != "" && d.Dialect != a.dialect.Name() {
		data.DecidedBy = d.Dialect
	}
	if o := d.Override; o != nil {
		data.Override = &overrideData{o.For, o.Action.String(), o.File, o.Reason, o.Reference, o.Owner, o.Until()}
	}
	if a.rules != nil {
		data.contents(a)
	}
	return data
}

// source says where the file comes from.
func (data *answerData) source(a answer) {
	s := a.snapshot
	data.Robots, data.Truncated = s.URL, s.Truncated
	if !a.fetched {
		return
	}
	data.SourceURL, data.Hops, data.Status, data.Code, data.Access = s.URL, s.Hops, s.Status, s.Status, s.Access.String()
	data.Fetched, data.Expires, data.Error = utc(s.Fetched), utc(s.FreshUntil), s.Err
}

// contents lists the records that the file has for the agents.
func (data *answerData) contents(a answer) {
	data.Pace = paceOf(a.rules, a.who, a.now, a.granted).data()
	data.Records, data.Sitemaps = []recordData{}, []string{}
	for r := range a.rules.Records() {
		if r.Kind == policy.Sitemap {
			data.Sitemaps = append(data.Sitemaps, r.Value)
		}
	}
	agents := a.asked
	if a.decider != "" {
		agents = []string{a.decider}
	}
	for r := range a.rules.RecordsFor(agents) {
		if r.Kind == policy.Sitemap {
			continue // for every crawler, wherever it stands
		}
		data.Records = append(data.Records, recordData{r.Line, r.Kind.String(), r.Key, r.Value, r.Group})
		if r.Kind != policy.CrawlDelay {
			continue
		}
		delay, err := policy.ParseCrawlDelay(r.Value)
		if seconds := delay.Seconds(); err == nil && (data.CrawlDelay == nil || *data.CrawlDelay < seconds) {
			data.CrawlDelay = &seconds
		}
	}
}
