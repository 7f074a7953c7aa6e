package proxy

import (
	"strings"
	"testing"
)

// hostileTexts are what a site, a client or an operator can put into a page to
// break out of its place.
var hostileTexts = append([]string{
	"", "plain", "http://a.example/robots.txt", "https://a.example:8443/why?id=x", "http://[::1]/", "HTTP://A.EXAMPLE/", "mailto:a@a.example",
	"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "data:text/html,<script>alert(1)</script>", "//b.example/", "/x", "?", "#",
	`"><script>alert(1)</script>`, `' onload='alert(1)`, "`${x}`", "</title><script>", "</style>", "<!--", "-->", "]]>", "&amp;", "&#60;", "{{.}}", "{{template \"style\"}}", mark, "x" + mark + "y",
	"http://a.example/\"onload=", "http://a.example/'", "http://a.example/<b>", "http://a.example/a b", "http://a.example/%zz%41", "http://a.example/\u00e9", "http://a.example/\xff", "http://a.example/&<=>+", "http://a.example/\x00\r\n", "http://" + mark,
	"\x00\x01\x08\x0b\x1b\x7f", "\r\n\t", "\xff\xfe\xc3", "\xe2\x80", "\ufeff\ufffe\uffff\ufffd\ufdd0", "\u2028\u2029\u202e\u0085", "\U0001f577", "+ADw-", strings.Repeat("<\u00e9", 40<<10),
}, hostileRules...)

// TestPageIsAsHTMLTemplateMakesIt: each value in each place.
func TestPageIsAsHTMLTemplateMakesIt(t *testing.T) {
	for i, value := range hostileTexts {
		comparePages(t, value, hostileTexts[(i+1)%len(hostileTexts)], i-5)
	}
}

func FuzzPageIsAsHTMLTemplateMakesIt(f *testing.F) {
	for i, value := range hostileTexts {
		f.Add(value, "http://a.example/"+value, i)
	}
	f.Fuzz(comparePages)
}

func comparePages(t *testing.T, a, b string, n int) {
	for _, e := range []*explanation{
		{
			Title: a, Status: n, Detail: b, ID: a, URL: b, Agent: a, Group: b, Rule: a, Line: n, Form: b, Dialect: a, Robots: b, Access: a, Fetched: b, Note: a, Remedy: b, Instance: a,
			Override: &overrideTold{For: a, Action: b, File: a, Reason: b, Reference: a, Owner: b, Expires: a},
		},
		{Title: b, Status: 403, Rule: b, Line: 1, Robots: a},
		{Note: a},
		{Remedy: a},
	} {
		if got, want := string(e.html(nil)), string(page("explanation.html", e)); got != want {
			t.Errorf("of %.80q and %.80q the page is\n%s, want\n%s", a, b, got, want)
		}
	}
}

// TestAcceptIsRemembered: it makes no difference which fields came before.
func TestAcceptIsRemembered(t *testing.T) {
	fields := append([]string{
		"text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json", "text/plain", "text/*", "image/png", "text/html;q=0", "application/xhtml+xml", "TEXT/HTML", "*/*;q=0.1",
	}, hostileTexts...)
	m := acceptMemory{seed: acceptedLately.seed}
	for range 3 {
		for _, field := range fields {
			for range 2 {
				if got, want := m.form(field), negotiated(field); got != want {
					t.Errorf("%.80q: form %d, want %d", field, got, want)
				}
			}
		}
	}
}
