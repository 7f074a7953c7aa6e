package fetch

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

const modified = "Fri, 02 Jan 2026 03:04:05 GMT"

func TestWhatCountsAsAValidator(t *testing.T) {
	for _, r := range []struct {
		why                string
		fields             []string
		etag, lastModified string
	}{
		{"none", nil, "", ""},
		{"both", []string{`ETag: "a"`, "Last-Modified: " + modified}, `"a"`, modified},
		{"weak", []string{`ETag: W/"a"`}, `W/"a"`, ""},
		{"without quotes, as some servers have it", []string{"ETag: 5e8f-59a"}, "5e8f-59a", ""},
		{"any: it would be met by whatever is there (RFC 9110 §13.1.2)", []string{"ETag: *"}, "", ""},
		{"two", []string{`ETag: "a"`, `ETag: "b"`}, "", ""},
		{"with a blank", []string{`ETag: "a b"`}, "", ""},
		{"with octets that no field has", []string{"ETag: \"a\xff\""}, "", ""},
		{"too long to keep", []string{`ETag: "` + strings.Repeat("x", maxValidator) + `"`}, "", ""},
		{"no date", []string{"Last-Modified: yesterday"}, "", ""},
		{"an old form of date, as it came", []string{"Last-Modified: Friday, 02-Jan-26 03:04:05 GMT"}, "", "Friday, 02-Jan-26 03:04:05 GMT"},
	} {
		v := validatorsOf(headerOf(r.fields...))
		if etag, lastModified := v.split(); etag != r.etag || lastModified != r.lastModified || (v == "") != (etag+lastModified == "") {
			t.Errorf("%s: %q, %q", r.why, etag, lastModified)
		}
	}
}

// versioned is an origin that knows the version it has.
func versioned(etag, body string, fields ...string) script {
	return func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("If-None-Match") == etag {
			return response(304, "", fields...), nil
		}
		return response(200, body, append(fields, "ETag: "+etag)...), nil
	}
}

func TestWhatHasNotChangedIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last Event
		transport := &counted{answer: versioned(`"1"`, closedFile, "Cache-Control: max-age=3600")}
		f := newFetcher(t, Config{Transport: transport, Observe: Observer{Fetched: func(e Event) { last = e }}})
		o := at(t, "a.example")
		first := snapshot(t, f, o)
		for i := range 100 { // a hundred hours: four times what a copy may be used for unasked
			time.Sleep(time.Hour)
			s := snapshot(t, f, o)
			if s.Access != policy.Successful || s.Status != 304 || s.Rules != first.Rules || s.Size != first.Size ||
				s.Fetched != s.Checked || s.FreshUntil.Sub(s.Fetched) != time.Hour || allowed(s, "/private/x") || !last.Confirmed {
				t.Fatalf("confirmation %d: %+v", i, s)
			}
		}
		transport.becomes(versioned(`"2"`, "User-agent: *\nDisallow: /\n"))
		time.Sleep(time.Hour)
		if s := snapshot(t, f, o); s.Status != 200 || allowed(s, "/public") || last.Confirmed {
			t.Errorf("changed: %+v", s)
		}
		audit(t, f.memory)
	})
}

// RFC 9111 §4.3.4: what a 304 does not tell is as it was told before.
func TestAConfirmationThatTellsNothingLeavesTheLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: answers(200, closedFile, `ETag: "1"`, "Cache-Control: max-age=3600")}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		transport.becomes(versioned(`"1"`, ""))
		for range 3 {
			time.Sleep(time.Hour)
			if s := snapshot(t, f, o); s.Status != 304 || s.FreshUntil.Sub(s.Fetched) != time.Hour {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func TestAStaleCopyIsConfirmedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &counted{answer: versioned(`"1"`, closedFile)}
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		good := snapshot(t, f, o)
		transport.becomes(fails(errDown))
		time.Sleep(24 * time.Hour)
		if s := snapshot(t, f, o); s.StaleSince.IsZero() {
			t.Fatalf("%+v", s)
		}
		transport.becomes(versioned(`"1"`, "User-agent: *\nDisallow: /\n"))
		time.Sleep(2 * time.Minute)
		if s := snapshot(t, f, o); s.Status != 304 || !s.StaleSince.IsZero() || s.Rules != good.Rules || s.Attempts != 0 || s.Err != "" {
			t.Errorf("%+v", s)
		}
	})
}

// Validators belong to the URL that they came from: elsewhere the same text may
// stand for another file.
func TestOnlyTheURLThatGaveTheBodyIsAskedByItsValidators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conditional atomic.Int64
		target := "/one"
		transport := script(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "" {
				conditional.Add(1)
				if r.URL.Path != "/one" {
					t.Errorf("%s was asked conditionally", r.URL)
				}
				return response(304, ""), nil
			}
			if r.URL.Path == "/robots.txt" {
				return response(302, "", "Location: "+target, `ETag: "1"`), nil
			}
			return response(200, "User-agent: *\nDisallow: "+r.URL.Path+"\n", `ETag: "1"`, "Last-Modified: "+modified), nil
		})
		f := newFetcher(t, Config{Transport: transport})
		o := at(t, "a.example")
		snapshot(t, f, o)
		time.Sleep(24 * time.Hour)
		if s := snapshot(t, f, o); conditional.Load() != 1 || s.Status != 304 || len(s.Hops) != 1 || allowed(s, "/one") {
			t.Errorf("%d conditional requests, %+v", conditional.Load(), s)
		}
		target = "/two"
		time.Sleep(24 * time.Hour)
		if s := snapshot(t, f, o); conditional.Load() != 1 || s.Status != 200 || allowed(s, "/two") {
			t.Errorf("%d conditional requests, %+v", conditional.Load(), s)
		}
	})
}

// RFC 9111 §4.3.4: a 304 that names another entity tag is about a body that is
// not here. It confirms nothing; the origin is asked without validators.
func TestA304ForAnotherBodyConfirmsNothing(t *testing.T) {
	for _, r := range []struct {
		why, known, named string
		requests          int64 // of the second fetch
		public            bool  // /public is allowed after it
	}{
		{"another one", `"1"`, `"2"`, 2, false},
		{"another one, weak", `W/"1"`, `W/"2"`, 2, false},
		{"the same", `"1"`, `"1"`, 1, true},
		{"the same, by weak comparison", `W/"1"`, `"1"`, 1, true},
		{"none", `"1"`, "", 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport := &counted{answer: answers(200, closedFile, "ETag: "+r.known)}
			f := newFetcher(t, Config{Transport: transport})
			o := at(t, "a.example")
			snapshot(t, f, o)
			transport.becomes(func(req *http.Request) (*http.Response, error) {
				if req.Header.Get("If-None-Match") == "" {
					return response(200, "User-agent: *\nDisallow: /\n", "ETag: "+r.named), nil
				}
				if r.named == "" {
					return response(304, ""), nil
				}
				return response(304, "", "ETag: "+r.named), nil
			})
			transport.asked.Store(0)
			time.Sleep(24 * time.Hour)
			s := snapshot(t, f, o)
			if n := transport.asked.Load(); n != r.requests || s.Access != policy.Successful || allowed(s, "/public") != r.public {
				t.Errorf("%s: %d requests, want %d; %+v", r.why, n, r.requests, s)
			}
		})
	}
}

// Nor does a redirect on the way, which tells of itself.
func TestARedirectDoesNotProlongWhatIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(t, Config{Transport: script(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.URL.Path == "/robots.txt":
				return response(301, "", "Location: /r", "Cache-Control: max-age=86400"), nil
			case r.Header.Get("If-None-Match") != "":
				return response(304, ""), nil
			}
			return response(200, closedFile, `ETag: "1"`, "Cache-Control: max-age=600"), nil
		})})
		for _, status := range []int{200, 304, 304} {
			s := snapshot(t, f, at(t, "a.example"))
			if s.Status != status || s.FreshUntil.Sub(s.Fetched) != 10*time.Minute {
				t.Fatalf("status %d, fresh for %v", s.Status, s.FreshUntil.Sub(s.Fetched))
			}
			time.Sleep(10 * time.Minute)
		}
	})
}
