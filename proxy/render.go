package proxy

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/elnormous/contenttype"
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

// forms are what an explanation can be rendered as. Text comes first: it is
// what a client gets that takes anything, a person with curl most likely.
var renderings = []contenttype.MediaType{
	contenttype.NewMediaType("text/plain"),
	contenttype.NewMediaType(typeProblem),
	contenttype.NewMediaType("application/json"),
	contenttype.NewMediaType("text/html"),
	contenttype.NewMediaType("application/xhtml+xml"),
}

// render returns the explanation as the Accept fields ask for.
func (e *explanation) render(accept []string) (contentType string, body []byte) {
	switch chosen(accept) {
	case "json":
		return typeProblem, append(e.json(), '\n')
	case "html":
		return typeHTML, e.html()
	default:
		return typeText, e.text()
	}
}

func chosen(accept []string) string {
	if len(accept) == 0 {
		return "text"
	}
	m, _, err := contenttype.GetAcceptableMediaTypeFromHeader(strings.Join(accept, ", "), renderings)
	switch {
	case err != nil:
		return "text"
	case strings.HasSuffix(m.Subtype, "json"):
		return "json"
	case strings.HasSuffix(m.Subtype, "html"), m.Subtype == "xhtml+xml":
		return "html"
	default:
		return "text"
	}
}

func (e *explanation) json() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		return []byte("{}") // unreachable: strings and numbers only
	}
	return b
}

func (e *explanation) html() []byte { return page("explanation.html", e) }

// text is the explanation for a terminal, a fact a line.
func (e *explanation) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n\n%s\n\n", e.Status, e.Title, e.Detail)
	for _, f := range e.Facts() {
		fmt.Fprintf(&b, "%-12s %s\n", f.Name+":", f.Value)
	}
	if e.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", e.Note)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, "\n%s\n", e.Remedy)
	}
	return b.Bytes()
}

// Fact is a line of an explanation.
type Fact struct{ Name, Value string }

// Facts lists what is known, in reading order.
func (e *explanation) Facts() []Fact {
	var line string
	if e.Line > 0 {
		line = fmt.Sprintf("%s (line %d)", e.Rule, e.Line)
	}
	all := []Fact{
		{"URL", e.URL},
		{"Agent", e.Agent},
		{"Group", e.Group},
		{"Rule", line},
		{"Met by", e.Form},
		{"Dialect", e.Dialect},
	}
	all = append(all, e.Override.facts()...)
	all = append(all, []Fact{
		{"robots.txt", e.Robots},
		{"Access", e.Access},
		{"Fetched", e.Fetched},
		{"Decision id", e.ID},
		{"Look it up", e.Instance},
	}...)
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

func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
