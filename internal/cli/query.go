package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"heed/internal/lines"
	"heed/policy"
)

// query is one line of heed check --jsonl. Other keys are passed over, so that
// a line can carry its own remarks.
type query struct {
	Robots    *string `json:"robots_b64"`
	Agent     words   `json:"agent"`
	Agents    words   `json:"agents"`
	AgentB64  words   `json:"agent_b64"`
	AgentsB64 words   `json:"agents_b64"`
	URL       *string `json:"url"`
	URLB64    *string `json:"url_b64"`
}

// words is a JSON array of strings, or one string. Nil if there is neither.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var one string
		err := json.Unmarshal(text, &one)
		*w = words{one}
		return err
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// compiled answers queries and keeps the last files it compiled: one file is
// mostly asked about in several lines. For one goroutine.
type compiled struct {
	dialect policy.Dialect // of all its files
	files   [4]struct {
		base64 string
		rules  *policy.Policy
	}
	next int // the one to replace
}

// answer answers the lines of a batch.
func (c *compiled) answer(b *lines.Batch) answers {
	var all answers
	out := make([]byte, 0, 32*len(b.Lines))
	for i, line := range b.Lines {
		d, err := c.decide(line)
		if err != nil {
			all.failed = true
			text, _ := json.Marshal(fmt.Sprintf("line %d: %v", b.First+i, err)) // a string always marshals
			out = append(append(append(out, `{"error":`...), text...), "}\n"...)
			continue
		}
		out = strconv.AppendBool(append(out, `{"allowed":`...), d.Allowed)
		out = strconv.AppendInt(append(out, `,"line":`...), int64(d.Line), 10)
		out = append(out, "}\n"...)
	}
	all.octets = out
	return all
}

// decide answers one line.
func (c *compiled) decide(line []byte) (policy.Decision, error) {
	q, err := parseQuery(line)
	if err != nil {
		return policy.Decision{}, err
	}
	agents, err := q.agents()
	if err != nil {
		return policy.Decision{}, err
	}
	url, err := q.url()
	if err != nil {
		return policy.Decision{}, err
	}
	rules, err := c.compile(q.Robots)
	if err != nil {
		return policy.Decision{}, err
	}
	return rules.Decide(agents, policy.TargetOf(url)), nil
}

func parseQuery(line []byte) (*query, error) {
	switch {
	case line == nil:
		return nil, fmt.Errorf("longer than %d octets", lines.Longest)
	case len(bytes.TrimSpace(line)) == 0:
		return nil, errors.New(`empty; each line is {"robots_b64": …, "agents": […], "url": …}`)
	case !utf8.Valid(line):
		return nil, errors.New("not UTF-8; give such octets as base64: url_b64, agents_b64")
	case halfSurrogate(line):
		return nil, errors.New("half a surrogate pair in an escape, which is no character; give octets as base64: url_b64, agents_b64")
	}
	q := &query{}
	err := json.Unmarshal(line, q)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		if kind.Field == "" {
			return nil, fmt.Errorf("a JSON %s, where an object belongs", kind.Value)
		}
		return nil, fmt.Errorf("%s is a JSON %s, where a string belongs", kind.Field, kind.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return q, nil
}

// compile returns the rules of a robots.txt in base64.
func (c *compiled) compile(robots *string) (*policy.Policy, error) {
	if robots == nil {
		return nil, errors.New("robots_b64 is missing")
	}
	for i := range c.files {
		if f := &c.files[i]; f.rules != nil && f.base64 == *robots {
			return f.rules, nil
		}
	}
	body, err := base64.StdEncoding.DecodeString(*robots)
	if err != nil {
		return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
	}
	f := &c.files[c.next]
	c.next = (c.next + 1) % len(c.files)
	// The reading alone is asked for, so nothing is cut off.
	f.base64, f.rules = *robots, policy.Compile(body, policy.Options{Limit: len(body), Dialect: c.dialect})
	return f.rules, nil
}

// agents returns the tokens of all four keys.
func (q *query) agents() ([]string, error) {
	if q.Agent == nil && q.Agents == nil && q.AgentB64 == nil && q.AgentsB64 == nil {
		return nil, errors.New("agents is missing; [] asks for any crawler")
	}
	all := slices.Concat(q.Agents, q.Agent)
	for _, text := range slices.Concat(q.AgentsB64, q.AgentB64) {
		octets, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("agents_b64 is not base64: %w", err)
		}
		all = append(all, string(octets))
	}
	return all, nil
}

func (q *query) url() (string, error) {
	switch {
	case q.URL == nil && q.URLB64 == nil:
		return "", errors.New("url is missing")
	case q.URL != nil && q.URLB64 != nil:
		return "", errors.New("both url and url_b64; give one")
	case q.URL != nil:
		return *q.URL, nil
	}
	octets, err := base64.StdEncoding.DecodeString(*q.URLB64)
	if err != nil {
		return "", fmt.Errorf("url_b64 is not base64: %w", err)
	}
	return string(octets), nil
}

// halfSurrogate reports whether JSON text escapes one half of a surrogate pair
// without the other. Decoding would put U+FFFD there, and the answer would be
// about another URL.
func halfSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return false
		}
		unit, ok := escapedUnit(text[i:])
		if !ok || unit < 0xD800 || unit > 0xDFFF {
			text = text[i+2:]
			continue
		}
		low, ok := escapedUnit(text[i+6:])
		if unit >= 0xDC00 || !ok || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		text = text[i+12:]
	}
}

// escapedUnit returns the UTF-16 code unit of an escape that text begins with.
func escapedUnit(text []byte) (uint64, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}
