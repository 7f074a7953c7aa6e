package proxy

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io"
	"strconv"
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
	if len(accept) == 0 || len(accept) == 1 && accept[0] == "*/*" {
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
	const column = "             " // what a name and its colon have at least, and a blank
	b := make([]byte, 0, 1<<10)
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

// Fact is a line of an explanation.
type Fact struct{ Name, Value string }

// Facts lists what is known, in reading order.
func (e *explanation) Facts() []Fact { return e.appendFacts(nil) }

// mostFacts is how many there are.
const mostFacts = 17

func (e *explanation) appendFacts(all []Fact) []Fact {
	var line string
	if e.Line > 0 {
		line = e.Rule + " (line " + strconv.Itoa(e.Line) + ")"
	}
	all = append(all,
		Fact{"URL", e.URL},
		Fact{"Agent", e.Agent},
		Fact{"Group", e.Group},
		Fact{"Rule", line},
		Fact{"Met by", e.Form},
		Fact{"Dialect", e.Dialect},
	)
	all = e.Override.appendFacts(all)
	all = append(all,
		Fact{"robots.txt", e.Robots},
		Fact{"Access", e.Access},
		Fact{"Fetched", e.Fetched},
		Fact{"Decision id", e.ID},
		Fact{"Look it up", e.Instance},
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

func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
