package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// site answers by absolute URL: "301 https://…" redirects, a number is a
// status, all else is a file. Unknown URLs are 404.
func site(pages map[string]string) *counted {
	return &counted{answer: func(r *http.Request) (*http.Response, error) {
		page, ok := pages[r.URL.String()]
		if !ok {
			return response(404, ""), nil
		}
		var code int
		var location string
		if n, _ := fmt.Sscanf(page, "%d", &code); n == 1 {
			_, location, _ = strings.Cut(page, " ")
			resp := response(code, "moved")
			if location != "" {
				resp.Header.Set("Location", location)
			}
			return resp, nil
		}
		return response(200, page), nil
	}}
}

const first = "https://a.example/robots.txt"

func chain(n int, end string) map[string]string {
	pages := map[string]string{}
	at := first
	for i := range n {
		next := fmt.Sprintf("https://h%d.example/r", i)
		pages[at] = "302 " + next
		at = next
	}
	pages[at] = end
	return pages
}

func TestRedirects(t *testing.T) {
	const file = "User-agent: *\nDisallow: /private/\n"
	long := "https://b.example/" + strings.Repeat("x", maxLocation)
	for _, r := range []struct {
		why    string
		pages  map[string]string
		access policy.Access
		hops   int
		asked  int64
		err    string
	}{
		{"301", map[string]string{first: "301 https://b.example/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"302", map[string]string{first: "302 https://b.example/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"303", map[string]string{first: "303 https://b.example/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"307", map[string]string{first: "307 https://b.example/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"308", map[string]string{first: "308 https://b.example/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"five in a row", chain(5, file), policy.Successful, 5, 6, ""},
		{"six are too many, and no permission", chain(6, file), policy.Unreachable, 5, 6, "after the redirect to https://h4.example/r: more than 5 redirects, the next to https://h5.example/r"},
		{"to http, and another port", map[string]string{first: "301 http://a.example:8080/r", "http://a.example:8080/r": file}, policy.Successful, 1, 2, ""},
		{"relative to the path", map[string]string{first: "301 files/robots.txt?x=1", "https://a.example/files/robots.txt?x=1": file}, policy.Successful, 1, 2, ""},
		{"relative to the scheme", map[string]string{first: "301 //b.example/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"a fragment is dropped", map[string]string{first: "301 /r#top", "https://a.example/r": file}, policy.Successful, 1, 2, ""},
		{"one spelling of an authority", map[string]string{first: "301 HTTPS://B.Example.:443/r", "https://b.example/r": file}, policy.Successful, 1, 2, ""},
		{"an IDN", map[string]string{first: "301 https://bücher.example/r", "https://xn--bcher-kva.example/r": file}, policy.Successful, 1, 2, ""},
		{"a space in the query is escaped", map[string]string{first: "301 /r?a b", "https://a.example/r?a%20b": file}, policy.Successful, 1, 2, ""},
		{"to what is not there: unavailable", map[string]string{first: "301 https://b.example/none"}, policy.Unavailable, 1, 2, ""},
		{"to a server error", map[string]string{first: "301 https://b.example/r", "https://b.example/r": "503"}, policy.Unreachable, 1, 2, "after the redirect to https://b.example/r: status 503"},
		{"no Location", map[string]string{first: "302"}, policy.Unreachable, 0, 1, "status 302 without a Location"},
		{"to itself", map[string]string{first: "302 /robots.txt"}, policy.Unreachable, 0, 1, "redirect to https://a.example/robots.txt, where it came from: a loop"},
		{"round and round", map[string]string{first: "302 /b", "https://a.example/b": "302 /c", "https://a.example/c": "302 /b"}, policy.Unreachable, 2, 3, "after the redirect to https://a.example/c: redirect to https://a.example/b, where it came from: a loop"},
		{"to a file", map[string]string{first: "302 file:///etc/passwd"}, policy.Unreachable, 0, 1, `redirect to file:///etc/passwd: scheme "file" is not http or https`},
		{"to ftp", map[string]string{first: "302 ftp://b.example/r"}, policy.Unreachable, 0, 1, `redirect to ftp://b.example/r: scheme "ftp" is not http or https`},
		{"to a script", map[string]string{first: "302 javascript:alert(1)"}, policy.Unreachable, 0, 1, `redirect to javascript:alert(1): scheme "javascript" is not http or https`},
		{"opaque", map[string]string{first: "302 http:b.example/r"}, policy.Unreachable, 0, 1, `redirect to http:b.example/r: host is empty`},
		{"with userinfo, which is not repeated", map[string]string{first: "302 https://user:secret@b.example/r"}, policy.Unreachable, 0, 1, `redirect to https://b.example/r with userinfo: credentials are never sent`},
		{"with an empty userinfo", map[string]string{first: "302 https://@b.example/r"}, policy.Unreachable, 0, 1, `redirect to https://b.example/r with userinfo: credentials are never sent`},
		{"to a number that may be an address", map[string]string{first: "302 http://2130706433/r"}, policy.Unreachable, 0, 1, `redirect to http://2130706433/r: host "2130706433" is a number but not an IPv4 address of four decimal parts`},
		{"to port 0", map[string]string{first: "302 http://b.example:0/r"}, policy.Unreachable, 0, 1, `redirect to http://b.example:0/r: port "0" is not between 1 and 65535`},
		{"to no URL", map[string]string{first: "302 http://[::1/r"}, policy.Unreachable, 0, 1, "status 302 to a Location that is no URL"},
		{"to a URL that is too long", map[string]string{first: "302 " + long}, policy.Unreachable, 0, 1, "status 302 to a Location of 16402 octets, more than 16384"},
	} {
		t.Run(r.why, func(t *testing.T) {
			transport := site(r.pages)
			s := snapshot(t, newFetcher(t, Config{Transport: transport}), at(t, "a.example"))
			if s.Access != r.access || s.Err != r.err {
				t.Errorf("access %v, err %q; want %v, %q", s.Access, s.Err, r.access, r.err)
			}
			if len(s.Hops) != r.hops || transport.asked.Load() != r.asked {
				t.Errorf("%d hops %v, %d requests; want %d, %d", len(s.Hops), s.Hops, transport.asked.Load(), r.hops, r.asked)
			}
			wantPublic, wantPrivate := r.access != policy.Unreachable, r.access == policy.Unavailable
			if allowed(s, "/public") != wantPublic || allowed(s, "/private/x") != wantPrivate {
				t.Errorf("/public allowed %v, /private/x allowed %v", allowed(s, "/public"), allowed(s, "/private/x"))
			}
		})
	}
}

func TestTwoLocationsLeadNowhere(t *testing.T) {
	for _, r := range []struct {
		fields []string
		err    string
	}{
		{[]string{"Location: /b", "Location: /c"}, "status 302 with 2 different Locations"},
		{[]string{"Location: /b", "Location: /b"}, "after the redirect to https://a.example/b: redirect to https://a.example/b, where it came from: a loop"},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: answers(302, "", r.fields...)}), at(t, "a.example"))
		if s.Access != policy.Unreachable || s.Err != r.err {
			t.Errorf("%v: access %v, err %q; want %q", r.fields, s.Access, s.Err, r.err)
		}
	}
}

// RFC 9309 §2.3.1.2: the rules count for the authority that was asked, and
// nothing is learned of the others.
func TestRulesBehindARedirectBindTheFirstAuthorityAlone(t *testing.T) {
	transport := site(map[string]string{
		first:                          "301 https://b.example/robots.txt",
		"https://b.example/robots.txt": "User-agent: *\nDisallow: /\n",
	})
	f := newFetcher(t, Config{Transport: transport})
	a, b := at(t, "a.example"), at(t, "b.example")
	s := snapshot(t, f, a)
	if allowed(s, "/x") || s.URL != first || len(s.Hops) != 1 || s.Hops[0] != "https://b.example/robots.txt" {
		t.Errorf("snapshot of the first authority: %+v", s)
	}
	if _, ok := f.Remembered(b, time.Now()); ok {
		t.Error("the redirect wrote an entry of its target")
	}
	snapshot(t, f, b)
	if n := transport.asked.Load(); n != 3 {
		t.Errorf("%d requests, want 3: the target is asked for itself", n)
	}
}

func TestOnlyOurOwnFieldsAreSentAfterARedirect(t *testing.T) {
	var seen []string
	f := newFetcher(t, Config{UserAgent: "heed/1", Transport: script(func(r *http.Request) (*http.Response, error) {
		seen = append(seen, fmt.Sprint(r.Method, " ", r.Host, " ", r.Header))
		if len(seen) == 1 {
			return response(307, "", "Location: https://b.example/r", "Set-Cookie: id=1"), nil
		}
		return response(200, ""), nil
	})})
	snapshot(t, f, at(t, "a.example"))
	want := []string{
		"GET a.example map[Accept:[text/plain, */*;q=0.1] Accept-Encoding:[gzip] User-Agent:[heed/1]]",
		"GET b.example map[Accept:[text/plain, */*;q=0.1] Accept-Encoding:[gzip] User-Agent:[heed/1]]",
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("requests\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

func FuzzRedirectTarget(f *testing.F) {
	for _, s := range []string{"/r", "//b.example", "https://a@b/", "http:x", "http://[::1]:80/?a b#c", "\x00", "http://b.example:443/%zz", "?q"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, location string) {
		from := at(t, "a.example")
		resp := response(302, "")
		resp.Header["Location"] = []string{location}
		base, err := http.NewRequest(http.MethodGet, from.RobotsURL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		to, err := target(base.URL, resp)
		if err != nil {
			return
		}
		o, err := origin.Parse(to.Scheme, to.Host)
		if err != nil || o.Authority() != to.Host || o.Scheme != to.Scheme || to.User != nil || to.Opaque != "" || to.Fragment != "" {
			t.Fatalf("Location %q leads to %+v (%v)", location, to, err)
		}
		if uri := to.RequestURI(); !strings.HasPrefix(uri, "/") || strings.ContainsAny(uri, " \r\n\t\x00#") {
			t.Fatalf("Location %q makes the request-target %q", location, uri)
		}
	})
}
