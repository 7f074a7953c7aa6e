package fetch

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func headerOf(fields ...string) http.Header { return response(200, "", fields...).Header }

func TestFreshness(t *testing.T) {
	const date = "Date: Fri, 02 Jan 2026 03:04:05 GMT"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, r := range []struct {
		why    string
		fields []string
		left   time.Duration
		told   bool
	}{
		{"nothing is told", nil, 0, false},
		{"max-age", []string{"Cache-Control: max-age=3600"}, time.Hour, true},
		{"in capitals, among others", []string{"Cache-Control: public, Max-Age=3600 , must-revalidate"}, time.Hour, true},
		{"in a second field", []string{"Cache-Control: public", "Cache-Control: max-age=60"}, time.Minute, true},
		{"in quotes, which a recipient ought to take (§5.2)", []string{`Cache-Control: max-age="60"`}, time.Minute, true},
		{"several: the least (§4.2.1)", []string{"Cache-Control: max-age=60, max-age=30"}, 30 * time.Second, true},
		{"several, in other order", []string{"Cache-Control: max-age=30, max-age=60"}, 30 * time.Second, true},
		{"s-maxage goes before max-age: many are served", []string{"Cache-Control: max-age=60, s-maxage=600"}, 10 * time.Minute, true},
		{"s-maxage goes before max-age, in other order", []string{"Cache-Control: s-maxage=600, max-age=60"}, 10 * time.Minute, true},
		{"max-age goes before Expires (§5.3)", []string{"Cache-Control: max-age=60", "Expires: Fri, 02 Jan 2026 05:04:05 GMT"}, time.Minute, true},
		{"not a number: over", []string{"Cache-Control: max-age=soon"}, 0, true},
		{"no number", []string{"Cache-Control: max-age"}, 0, true},
		{"negative", []string{"Cache-Control: max-age=-5"}, 0, true},
		{"a fraction", []string{"Cache-Control: max-age=1.5"}, 0, true},
		{"more digits than a number has", []string{"Cache-Control: max-age=" + strings.Repeat("9", 100)}, maxFreshness, true},
		{"no-store goes before all", []string{"Cache-Control: max-age=3600, no-store"}, 0, true},
		{"no-cache", []string{"Cache-Control: no-cache"}, 0, true},
		{"no-cache of a field counts for all (§5.2.2.4 allows it)", []string{`Cache-Control: no-cache="Set-Cookie, X", max-age=60`}, 0, true},
		{"a directive within quotes is none", []string{`Cache-Control: ext="a, no-store", max-age=60`}, time.Minute, true},
		{"a quote that does not end", []string{`Cache-Control: ext="a, no-store`}, 0, false},
		{"two quoted texts", []string{`Cache-Control: ext="a,"b"c,", max-age=60`}, time.Minute, true},
		{"private says nothing to a crawler of its own", []string{"Cache-Control: private"}, 0, false},
		{"empty list members", []string{"Cache-Control: ,, ,max-age=60,"}, time.Minute, true},
		{"Expires, by the origin's clock", []string{date, "Expires: Fri, 02 Jan 2026 03:14:05 GMT"}, 10 * time.Minute, true},
		{"Expires without a Date", []string{"Expires: Fri, 02 Jan 2026 03:14:05 GMT"}, 10 * time.Minute, true},
		{"Expires by a clock a year behind", []string{"Date: Thu, 02 Jan 2025 03:04:05 GMT", "Expires: Thu, 02 Jan 2025 03:14:05 GMT"}, 10 * time.Minute, true},
		{"Expires that is over", []string{date, "Expires: Fri, 02 Jan 2026 03:04:04 GMT"}, 0, true},
		{"Expires: 0 is over (§5.3)", []string{"Expires: 0"}, 0, true},
		{"Expires in a hundred years", []string{date, "Expires: Fri, 02 Jan 2126 03:04:05 GMT"}, maxFreshness, true},
		{"Age counts", []string{"Cache-Control: max-age=3600", "Age: 600"}, 50 * time.Minute, true},
		{"Age is all of it", []string{"Cache-Control: max-age=60", "Age: 61"}, 0, true},
		{"a broken Age does not count", []string{"Cache-Control: max-age=60", "Age: old"}, time.Minute, true},
	} {
		if left, told := freshnessOf(headerOf(r.fields...), now); left != r.left || told != r.told {
			t.Errorf("%s: %v, %v; want %v, %v", r.why, left, told, r.left, r.told)
		}
	}
}

// What the origin tells counts between a floor and a cap, whatever the result.
func TestAnAnswerIsFreshForAsLongAsItTells(t *testing.T) {
	day, minutes := 24*time.Hour, 5*time.Minute
	hop := func(fields ...string) script {
		return func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/robots.txt" {
				return response(301, "", append(fields, "Location: /r")...), nil
			}
			return response(200, closedFile, "Cache-Control: max-age=7200"), nil
		}
	}
	for _, r := range []struct {
		why    string
		config Config
		answer script
		want   time.Duration
	}{
		{"it tells nothing", Config{}, answers(200, closedFile), day},
		{"an hour", Config{}, answers(200, closedFile, "Cache-Control: max-age=3600"), time.Hour},
		{"no file for an hour", Config{}, answers(404, "", "Cache-Control: max-age=3600"), time.Hour},
		{"a second: the floor", Config{}, answers(200, closedFile, "Cache-Control: max-age=1"), minutes},
		{"no-store: the floor", Config{}, answers(200, closedFile, "Cache-Control: no-store"), minutes},
		{"a year: the cap (RFC 9309 §2.4)", Config{}, answers(200, closedFile, "Cache-Control: max-age=31536000"), day},
		{"another floor", Config{FreshMin: time.Hour}, answers(200, closedFile, "Cache-Control: no-store"), time.Hour},
		{"another cap", Config{FreshFor: time.Hour}, answers(200, closedFile), time.Hour},
		{"a floor above the cap", Config{FreshMin: 2 * time.Hour, FreshFor: time.Hour}, answers(200, closedFile, "Cache-Control: no-store"), time.Hour},
		{"the chain is as fresh as its freshest part is not", Config{}, hop("Cache-Control: max-age=3600"), time.Hour},
		{"a redirect that lasts for longer", Config{}, hop("Cache-Control: max-age=86400"), 2 * time.Hour},
		{"a redirect that is not to be kept tells nothing of the file", Config{}, hop("Cache-Control: no-store"), 2 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			r.config.Transport = r.answer
			s := snapshot(t, newFetcher(t, r.config), at(t, "a.example"))
			if got := s.FreshUntil.Sub(s.Checked); got != r.want {
				t.Errorf("%s: fresh for %v, want %v", r.why, got, r.want)
			}
		})
	}
}

func FuzzFreshness(f *testing.F) {
	for _, s := range []string{"max-age=60", `no-cache="a,b", max-age="1"`, `"`, `a="b"c="d",`, "s-maxage=1,max-age=99999999999999999999"} {
		f.Add(s, "Fri, 02 Jan 2026 03:14:05 GMT", "12")
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, control, expires, age string) {
		h := http.Header{"Cache-Control": {control}, "Expires": {expires}, "Age": {age}}
		left, told := freshnessOf(h, now)
		if left < 0 || left > maxFreshness || !told {
			t.Fatalf("%q, %q, %q: %v, %v", control, expires, age, left, told)
		}
	})
}
