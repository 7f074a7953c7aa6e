package fetch

import (
	"net/http"
	"testing"
	"time"

	"heed/policy"
)

// orphan is a file whose rule the default ignores, since no group is before it,
// and the dialect robotstxt follows.
const orphan = "Disallow: /private/\n"

func TestCautiousDeniesWhatAnotherDialectDisallows(t *testing.T) {
	for _, r := range []struct {
		why      string
		cautious bool
		dialect  string
	}{
		{"RFC 9309 alone counts", false, ""},
		{"all dialects count", true, "robotstxt"},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: answers(200, orphan), Cautious: r.cautious}), at(t, "a.example"))
		d := s.Decide(policy.Tokens{}, "/private/")
		if s.Cautious != r.cautious || d.Allowed == r.cautious || d.Dialect != r.dialect {
			t.Errorf("%s: snapshot cautious %v: %v", r.why, s.Cautious, d)
		}
	}
}

func TestCautiousTakesARefusalForARestriction(t *testing.T) {
	for _, r := range []struct {
		why      string
		status   int
		cautious bool
		allowed  bool
	}{
		{"RFC 9309 §2.3.1.3: unavailable", 403, false, true},
		{"refused", 403, true, false},
		{"refused without credentials", 401, true, false},
		{"not there", 404, true, true},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: answers(r.status, ""), Cautious: r.cautious}), at(t, "a.example"))
		if d := s.Decide(policy.Tokens{}, "/"); d.Allowed != r.allowed || !r.allowed && d.Reason != policy.ReasonRestricted {
			t.Errorf("%s: %d: %v", r.why, r.status, d)
		}
	}
}

// A snapshot is cautious whatever came of the fetch, and as long as it lasts.
func TestEverySnapshotOfACautiousFetcherIsCautious(t *testing.T) {
	transport := &counted{answer: answers(200, orphan)}
	f := newFetcher(t, Config{Transport: transport, Cautious: true, FreshFor: 1})
	o := at(t, "a.example")
	if s := snapshot(t, f, o); !s.Cautious {
		t.Errorf("successful: %+v", s)
	}
	transport.becomes(answers(503, ""))
	s := snapshot(t, f, o)
	if d := s.Decide(policy.Tokens{}, "/private/"); !s.Cautious || s.Access != policy.Unreachable || d.Dialect != "robotstxt" {
		t.Errorf("used on: %+v: %v", s, d)
	}
	if s := f.snapshotOf(f.memory.get(o), momentOf(time.Now()).plus(DefaultStaleFor)); !s.Cautious || s.Rules != nil {
		t.Errorf("too old: %+v", s)
	}
	if s := f.failed(at(t, "b.example"), errClosed); !s.Cautious {
		t.Errorf("a fault of heed's own: %+v", s)
	}
}

// latin is 'é' in UTF-8: two characters to who takes it for ISO 8859-1.
const latin = "User-agent: caf\xc3\xa9\nDisallow: /\n"

// Only the dialect rerp asks for the charset: an undeclared one is ISO 8859-1,
// where the agent's name is another one.
func TestADeclaredCharsetIsThatOfTheRules(t *testing.T) {
	for _, r := range []struct {
		why         string
		contentType string
		utf8        bool
	}{
		{"declared", "text/plain; charset=utf-8", true},
		{"in other letters, quoted", `Text/Plain;Charset="UTF-8"`, true},
		{"not declared", "text/plain", false},
		{"another one", "text/plain; charset=iso-8859-1", false},
		{"no media type", "charset=utf-8;;", false},
		{"empty", "", false},
	} {
		if got := isUTF8(charsetOf(response(200, "", "Content-Type: "+r.contentType).Header)); got != r.utf8 {
			t.Errorf("%s: %q: UTF-8: %v", r.why, r.contentType, got)
		}
	}
	// Equal octets, read differently: neither origin gets the other's rules.
	types := map[string]string{"declared.example": "text/plain; charset=utf-8", "silent.example": "text/plain"}
	for _, cautious := range []bool{true, false} {
		f := newFetcher(t, Config{Cautious: cautious, Transport: script(func(r *http.Request) (*http.Response, error) {
			return response(200, latin, "Content-Type: "+types[r.URL.Host]), nil
		})})
		want := map[bool]int{true: 2, false: 1}[cautious]
		declared, silent := snapshot(t, f, at(t, "declared.example")), snapshot(t, f, at(t, "silent.example"))
		if n := f.Stats().Bodies; n != want {
			t.Errorf("cautious %v: %d bodies, want %d", cautious, n, want)
		}
		if !cautious {
			continue
		}
		// The group of nobody, but for who reads the name as declared.
		asked := policy.Tokens{Main: []string{"x"}, Fields: []string{"x café/1.0"}}
		if d := declared.Decide(asked, "/"); d.Allowed || d.Dialect != "rerp" {
			t.Errorf("declared: %v", d)
		}
		if d := silent.Decide(asked, "/"); !d.Allowed {
			t.Errorf("not declared: %v", d)
		}
	}
}

// The draft of 1996 recommends it, RFC 9309 §2.3.1.3 does not.
func TestARefusalIsARestrictionWhereConfigured(t *testing.T) {
	for _, r := range []struct {
		why      string
		status   int
		refusals bool
		allowed  bool
	}{
		{"as RFC 9309 has it", 403, false, true},
		{"refused", 403, true, false},
		{"refused without credentials", 401, true, false},
		{"not there", 404, true, true},
		{"gone", 410, true, true},
		{"not to be shown", 451, true, true},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: answers(r.status, ""), Refusals: r.refusals}), at(t, "a.example"))
		d := s.Decide(policy.Tokens{}, "/")
		if s.Access != policy.Unavailable || d.Allowed != r.allowed || !r.allowed && (d.Reason != policy.ReasonRestricted || d.Dialect != "") {
			t.Errorf("%s: %d: %v", r.why, r.status, d)
		}
	}
}
