package proxy

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"strconv"
)

const (
	typeHTML    = "text/html; charset=utf-8"
	typeText    = "text/plain; charset=utf-8"
	typeProblem = "application/problem+json"

	// pagePolicy lets a page of ours load nothing and run nothing.
	pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

//go:embed pages/*.html
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "pages/*.html"))

// render appends the explanation to b as the Accept fields ask for, and returns
// the value of Content-Type besides.
func (e *explanation) render(b []byte, accept []string) (contentType []string, body []byte) {
	switch chosen(accept) {
	case formJSON:
		return asProblem, append(append(b, e.json()...), '\n')
	case formHTML:
		return asHTML, e.html(b)
	default:
		return asText, e.text(b)
	}
}

func (e *explanation) json() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		return []byte("{}") // unreachable: strings and numbers only
	}
	return b
}

// text is the explanation for a terminal, a fact a line.
func (e *explanation) text(b []byte) []byte {
	const column = "             " // what a name and its colon have at least, and a blank
	b = append(strconv.AppendInt(b, int64(e.Status), 10), ' ')
	b = append(append(append(b, e.Title...), "\n\n"...), e.Detail...)
	b = append(b, "\n\n"...)
	var room [mostFacts]Fact
	for _, f := range e.appendFacts(room[:0]) {
		b = append(append(b, f.Name...), ':')
		b = append(b, column[min(len(f.Name)+1, len(column)-1):]...)
		b = append(append(b, f.Value...), '\n')
	}
	for _, s := range [...]string{e.Note, e.Remedy} {
		if s != "" {
			b = append(append(append(b, '\n'), s...), '\n')
		}
	}
	return b
}

// Fact is a line of an explanation. As is how a page shows the value: "code",
// "link", or "" for as it is.
type Fact struct{ Name, Value, As string }

const (
	inCode = "code"
	asLink = "link"
)

// Facts lists what is known, in reading order.
func (e *explanation) Facts() []Fact { return e.appendFacts(nil) }

// mostFacts is how many there are.
const mostFacts = 26

func (e *explanation) appendFacts(all []Fact) []Fact {
	var line string
	if e.Line > 0 {
		line = e.made.join(e.Rule, " (line ", e.made.number(e.Line), ")")
	}
	all = append(all, Fact{"URL", e.URL, ""})
	all = e.Client.appendFacts(all)
	all = append(all,
		Fact{"Agent", e.Agent, inCode},
		Fact{"Group", e.Group, inCode},
		Fact{"Rule", line, inCode},
		Fact{"Met by", e.Form, inCode},
		Fact{"Dialect", e.Dialect, ""},
	)
	all = e.Override.appendFacts(all)
	all = e.Pace.appendFacts(all)
	all = append(all,
		Fact{"robots.txt", e.Robots, asLink},
		Fact{"Access", e.Access, ""},
		Fact{"Fetched", e.Fetched, ""},
		Fact{"Decision id", e.ID, inCode},
		Fact{"Look it up", e.Instance, asLink},
	)
	known := all[:0]
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}

func page(name string, data any) []byte {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return []byte("heed could not write this page") // a template that fails is a defect; its test shows it
	}
	return b.Bytes()
}
