package proxy

import (
	"html/template"
	"strconv"
	"strings"
)

// explanationPage is pages/explanation.html as html/template makes it, cut at
// the places of its values. Browsers and many crawlers ask for that page with
// each request, and for a page of its size html/template takes longer than all
// the rest of a denial.
type explanationPage struct {
	frame []string // around title, status, title, detail, facts, note and remedy
	aside []string // around the note, or the remedy, where there is one

	// Around name, which is one of heed's own and needs no escape, and value; in
	// link the value stands twice.
	plain, code, link []string
}

var cutPage = cutExplanation()

// mark stands for a value in a page that is to be cut. No context escapes it.
const mark = "heedsvalue"

func cutExplanation() (p explanationPage) {
	frame := template.Must(pages.Clone())
	for _, part := range []string{"fact", "aside"} { // in place of those in the file
		template.Must(frame.New(part).Parse(mark))
	}
	p.frame = cut(frame, "explanation.html", map[string]any{
		"Title": mark, "Status": mark, "Detail": mark, "Facts": []string{mark}, "Note": mark, "Remedy": mark,
	})
	parts := template.Must(pages.Clone())
	p.aside = cut(parts, "aside", mark)
	p.plain = cut(parts, "fact", Fact{mark, mark, ""})
	p.code = cut(parts, "fact", Fact{mark, mark, inCode})
	p.link = cut(parts, "fact", Fact{mark, mark, asLink})
	return p
}

func cut(t *template.Template, name string, data any) []string {
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a template that fails is a defect, and is known at the start
	}
	return strings.Split(b.String(), mark)
}

// html appends the explanation as a page, octet for octet as html/template makes
// it.
func (e *explanation) html(b []byte) []byte {
	p := &cutPage
	b = appendText(append(b, p.frame[0]...), e.Title)
	b = strconv.AppendInt(append(b, p.frame[1]...), int64(e.Status), 10)
	b = appendText(append(b, p.frame[2]...), e.Title)
	b = appendText(append(b, p.frame[3]...), e.Detail)
	b = append(b, p.frame[4]...)
	var room [mostFacts]Fact
	for _, f := range e.appendFacts(room[:0]) {
		b = p.appendFact(b, f)
	}
	b = p.appendAside(append(b, p.frame[5]...), e.Note)
	b = p.appendAside(append(b, p.frame[6]...), e.Remedy)
	return append(b, p.frame[7]...)
}

func (p *explanationPage) appendFact(b []byte, f Fact) []byte {
	around := p.plain
	switch {
	case f.As == asLink && isPlainURL(f.Value):
		b = append(append(append(b, p.link[0]...), f.Name...), p.link[1]...)
		b = append(append(append(b, f.Value...), p.link[2]...), f.Value...)
		return append(b, p.link[3]...)
	case f.As == asLink: // what may stand in a link is for html/template to say
		return append(b, page("fact", f)...)
	case f.As == inCode:
		around = p.code
	}
	b = append(append(append(b, around[0]...), f.Name...), around[1]...)
	return append(appendText(b, f.Value), around[2]...)
}

func (p *explanationPage) appendAside(b []byte, text string) []byte {
	if text == "" {
		return b
	}
	return append(appendText(append(b, p.aside[0]...), text), p.aside[1]...)
}

// escapes are what html/template writes for octets of a text between tags.
var escapes = [256]string{
	0: "\uFFFD", '"': "&#34;", '&': "&amp;", '\'': "&#39;", '+': "&#43;", '<': "&lt;", '>': "&gt;",
}

func appendText(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		if escape := escapes[s[i]]; escape != "" {
			b = append(append(b, s[from:i]...), escape...)
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// isPlainURL tells whether s is a URL of http or https in which nothing has to
// be escaped, whatever stands around it.
func isPlainURL(s string) bool {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return false
	}
	for i := range len(s) {
		if !plainInURL[s[i]] {
			return false
		}
	}
	return true
}

// plainInURL has the octets that mean nothing to HTML and need no escape in a URL.
var plainInURL = func() (plain [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:?=") {
		plain[c] = true
	}
	return plain
}()
