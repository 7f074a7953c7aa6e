package cli

import (
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"heed/policy"
	"heed/policy/lint"
)

// lintData is a report as JSON, with what is in the file. docs/lint.md
// describes it.
type lintData struct {
	Path       string     `json:"path"`
	SourceURL  string     `json:"source_url,omitempty"`
	Redirected []string   `json:"redirected_to,omitempty"`
	Status     int        `json:"response_code,omitempty"`
	Access     string     `json:"access,omitempty"`
	Fetched    *time.Time `json:"fetched,omitempty"`
	Expires    *time.Time `json:"expires,omitempty"`
	Body       *string    `json:"body,omitempty"`
	BodyB64    []byte     `json:"body_b64,omitempty"`
	Truncated  bool       `json:"truncated,omitempty"`

	Groups     []groupData  `json:"groups"`
	Ungrouped  []ruleData   `json:"ungrouped_rules,omitempty"`
	UserAgents []string     `json:"user_agents"`
	Sitemaps   []string     `json:"sitemaps"`
	Records    []recordData `json:"records"`

	Diagnostics []diagnosticData `json:"diagnostics"`
	Omitted     []omissionData   `json:"omitted,omitempty"`
	Unprobed    int              `json:"unprobed_rules,omitempty"`
}

type groupData struct {
	Line   int         `json:"line"`
	Agents []agentData `json:"user_agents"`
	Rules  []ruleData  `json:"rules"`
}

type agentData struct {
	Line  int    `json:"line"`
	Value string `json:"value"`
	Token string `json:"token"`
}

type ruleData struct {
	Line    int    `json:"line"`
	Allow   bool   `json:"allow"`
	Value   string `json:"value"`
	Pattern string `json:"pattern"`
}

type recordData struct {
	Line   int      `json:"line"`
	Kind   string   `json:"kind"`
	Key    string   `json:"key"`
	Value  string   `json:"value"`
	Agents []string `json:"user_agents,omitempty"`
}

type diagnosticData struct {
	Line      int       `json:"line"`
	Column    int       `json:"column"`
	EndColumn int       `json:"end_column"`
	Severity  string    `json:"severity"`
	Code      lint.Code `json:"code"`
	Message   string    `json:"message"`
	Related   int       `json:"related_line,omitempty"`
}

type omissionData struct {
	Code lint.Code `json:"code"`
	More int       `json:"more"`
}

func printLintJSON(w io.Writer, l lintee, report *lint.Report) error {
	data := lintData{
		Path: l.path, Unprobed: report.Unprobed,
		Groups: []groupData{}, UserAgents: []string{}, Sitemaps: []string{}, Records: []recordData{},
		Diagnostics: []diagnosticData{},
	}
	data.source(l)
	data.contents(l)
	for _, d := range report.Diagnostics {
		data.Diagnostics = append(data.Diagnostics, diagnosticData{
			d.Line, d.Column, d.EndColumn, d.Severity.String(), d.Code, d.Message, d.Related,
		})
	}
	for _, o := range report.Omitted {
		data.Omitted = append(data.Omitted, omissionData(o))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(data)
}

// source says where the file comes from.
func (data *lintData) source(l lintee) {
	if text := string(l.body); utf8.ValidString(text) {
		data.Body = &text
	} else {
		data.BodyB64 = l.body
	}
	s := l.snapshot
	if s == nil {
		return
	}
	data.SourceURL, data.Redirected, data.Status, data.Access = s.URL, s.Hops, s.Status, s.Access.String()
	data.Fetched, data.Expires = utc(s.Fetched), utc(s.FreshUntil)
}

func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// contents lists what heed reads in the file.
func (data *lintData) contents(l lintee) {
	compiled := policy.Compile(l.body, policy.Options{Limit: l.limit})
	data.Truncated = compiled.Truncated() || l.snapshot != nil && l.snapshot.Truncated
	data.groups(l)
	for r := range compiled.Records() {
		if r.Kind == policy.Sitemap {
			data.Sitemaps = append(data.Sitemaps, r.Value)
			continue
		}
		data.Records = append(data.Records, recordData{r.Line, r.Kind.String(), r.Key, r.Value, r.Group})
	}
}

// groups lists the groups, as policy.Compile has them.
func (data *lintData) groups(l lintee) {
	seen := make(map[string]bool)
	inAgents := false
	for line := range policy.Lines(l.body) {
		if line.Raw.End > max(l.limit, policy.DefaultLimit) {
			break
		}
		value := line.Value.Of(l.body)
		switch line.Kind {
		case policy.UserAgent:
			if !inAgents {
				data.Groups = append(data.Groups, groupData{line.Number, []agentData{}, []ruleData{}})
			}
			inAgents = true
			g := &data.Groups[len(data.Groups)-1]
			g.Agents = append(g.Agents, agentData{line.Number, string(value), string(policy.RFC9309.Token(value))})
			if !seen[string(value)] {
				seen[string(value)] = true
				data.UserAgents = append(data.UserAgents, string(value))
			}
		case policy.Allow, policy.Disallow:
			inAgents = false
			r := ruleData{line.Number, line.Kind == policy.Allow, string(value), string(policy.NormalPattern(value))}
			if len(data.Groups) == 0 {
				data.Ungrouped = append(data.Ungrouped, r)
				continue
			}
			g := &data.Groups[len(data.Groups)-1]
			g.Rules = append(g.Rules, r)
		}
	}
}
