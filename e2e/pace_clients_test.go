package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// pacedHost asks for two seconds between requests.
const pacedHost = "paced.example"

// realClientsPaced: a site that asks for a Crawl-delay of two seconds is
// asked no faster by any client at its defaults, and each gets all that it asked
// for.
var realClientsPaced = []scenario{
	{"Scrapy with 32 at once", func(t *testing.T) { scrapyCrawls(t, "http", "") }},
	{"Scrapy over https", func(t *testing.T) { scrapyCrawls(t, "https", "") }},
	{"heed run -- scrapy", func(t *testing.T) { scrapyCrawls(t, "http", "run") }},
	{"wget -r", func(t *testing.T) { wgetCrawls(t, "http", "") }},
	{"wget -r over https", func(t *testing.T) { wgetCrawls(t, "https", "") }},
	{"heed run -- wget -r", func(t *testing.T) { wgetCrawls(t, "http", "run") }},
	{"50 curls that come again", curlsRetry},
	{"50 curls that do not", curlsAskOnce},
	{"httpx", func(t *testing.T) { pythonAgain(t, "httpx", "http") }},
	{"httpx over https", func(t *testing.T) { pythonAgain(t, "httpx", "https") }},
	{"requests", func(t *testing.T) { pythonAgain(t, "requests", "http") }},
	{"requests over https", func(t *testing.T) { pythonAgain(t, "requests", "https") }},
	{"http and https of one host", curlsOfBothSchemes},
}

// site is pages that are linked: the first links to half of them, of which each
// links to one more.
func site(n int) map[string]http.HandlerFunc {
	pages := map[string]http.HandlerFunc{}
	page := func(links ...string) http.HandlerFunc {
		var b strings.Builder
		b.WriteString("<!doctype html><title>t</title>")
		for _, l := range links {
			fmt.Fprintf(&b, "<p><a href=%q>%[1]s</a>", l)
		}
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(b.String())) // the client may be gone
		}
	}
	half := n / 2
	all := numbered("/page", n)
	pages["/"] = page(all[:half]...)
	for i := range half {
		pages[all[i]], pages[all[half+i]] = page(all[half+i]), page()
	}
	return pages
}

// crawled checks that a crawl of a site was whole, and slow enough.
func crawled(t *testing.T, p *paced, scheme string, n int) {
	t.Helper()
	visits := p.visits(pacedHost)
	checkGaps(t, visits, 2*time.Second)
	checkAll(t, visits, append(numbered("/page", n), "/")...)
	for _, v := range visits {
		if v.scheme != scheme {
			t.Errorf("%s came over %s", v.target, v.scheme)
		}
	}
}

// through returns what starts a client through heed: with variables by hand, or
// under heed run.
func (p *paced) through(t *testing.T, how string, byHand func(settings) []string) (env, argv []string) {
	if how == "run" {
		argv = slices.Concat([]string{built.heed, "run", "--state-dir", t.TempDir()}, p.flags, []string{"--"})
		return cleanEnv(t.TempDir()), argv
	}
	return cleanEnv(t.TempDir(), byHand(p.settings(t))...), nil
}

const pagesOfSite = 12

func scrapyCrawls(t *testing.T, scheme, how string) {
	program := need(t, python("scrapy", "crawl_spider.py"))
	p := newPaced(t, delayed(pacedHost, "2"), site(pagesOfSite), "")
	env, argv := p.through(t, how, func(s settings) []string { return lower(s) })
	out := execute(t, 3*time.Minute, env, slices.Concat(argv, program[:1], []string{
		"-m", "scrapy", "runspider", program[1], "-a", "start=" + scheme + "://" + pacedHost + "/",
		"-s", "CONCURRENT_REQUESTS=32", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=32",
	})...)
	crawled(t, p, scheme, pagesOfSite)
	answers, err := readAnswers("", out.stdout)
	if err != nil {
		t.Error(err)
	}
	good := 0
	for _, a := range answers {
		if a.status == 200 {
			good++
		} else {
			t.Errorf("%s: status %d, %s", a.url, a.status, a.err)
		}
	}
	if good != pagesOfSite+1 || out.status != 0 {
		t.Errorf("Scrapy ended with status %d and %d pages of %d\n%s", out.status, good, pagesOfSite+1, tailOf(out.stderr))
	}
	for _, bad := range []string{"TimeoutError", "Retrying"} {
		if strings.Contains(string(out.stderr), bad) {
			t.Errorf("Scrapy's log holds %q\n%s", bad, tailOf(out.stderr))
		}
	}
}

func tailOf(text []byte) []byte { return text[max(0, len(text)-3000):] }

func wgetCrawls(t *testing.T, scheme, how string) {
	program := need(t, onPath("wget"))
	p := newPaced(t, delayed(pacedHost, "2"), site(pagesOfSite), "")
	env, argv := p.through(t, how, func(s settings) []string { return lower(s, "WGETRC="+s.wgetrc) })
	dir := t.TempDir()
	out := execute(t, 3*time.Minute, env, slices.Concat(argv, program, []string{"-r", "-P", dir, scheme + "://" + pacedHost + "/"})...)
	crawled(t, p, scheme, pagesOfSite)
	if out.status != 0 {
		t.Errorf("wget ended with status %d\n%s", out.status, tailOf(out.stderr))
	}
	for _, name := range append(numbered("page", pagesOfSite), "index.html") {
		if info, err := os.Stat(filepath.Join(dir, pacedHost, name)); err != nil || info.Size() == 0 {
			t.Errorf("wget has no %s", name)
		}
	}
}

// curl starts a curl and reads what it says of the answer.
type curl struct {
	status, retryAfter int
	took               time.Duration
	failed             string
}

// curls starts one for each URL, all at once.
func curls(t *testing.T, env []string, options []string, urls ...string) []curl {
	t.Helper()
	program := need(t, onPath("curl"))
	all := make([]curl, len(urls))
	var running sync.WaitGroup
	for i, u := range urls {
		running.Go(func() {
			out := execute(t, 4*time.Minute, env, slices.Concat(program, options, []string{
				"-sS", "-o", filepath.Join(t.TempDir(), "body"), "-w", "%{http_code} %{time_total} %header{retry-after}", u,
			})...)
			words := strings.Fields(string(out.stdout))
			if out.status != 0 || len(words) < 2 {
				all[i].failed = fmt.Sprintf("curl %s ended with status %d: %s", u, out.status, out.stderr)
				return
			}
			all[i].status, _ = strconv.Atoi(words[0])
			took, _ := strconv.ParseFloat(words[1], 64)
			all[i].took = time.Duration(took * float64(time.Second))
			if len(words) > 2 {
				all[i].retryAfter, _ = strconv.Atoi(words[2])
			}
		})
	}
	running.Wait()
	return all
}

// settings are those of settingsOf that these clients need: stores for Java and
// browsers take seconds to make.
func (p *paced) settings(t *testing.T) settings {
	t.Helper()
	dir := t.TempDir()
	s := settings{url: p.url(), bundle: filepath.Join(dir, "bundle.pem"), wgetrc: filepath.Join(dir, "wgetrc")}
	writeFile(t, s.bundle, heedCommand(t, nil, "ca", "export", "--bundle", "--state-dir", p.StateDir))
	writeFile(t, s.wgetrc, []byte("ca_certificate = "+s.bundle+"\n"))
	return s
}

func (p *paced) curlEnv(t *testing.T) []string {
	s := p.settings(t)
	return cleanEnv(t.TempDir(), lower(s, "CURL_CA_BUNDLE="+s.bundle)...)
}

// urlsOf puts paths behind an origin.
func urlsOf(origin string, paths ...string) []string {
	var urls []string
	for _, path := range paths {
		urls = append(urls, origin+path)
	}
	return urls
}

func curlsRetry(t *testing.T) {
	p := newPaced(t, delayed(pacedHost, "2"), nil, "")
	paths := numbered("/curl", 50)
	began := time.Now()
	for i, c := range curls(t, p.curlEnv(t), []string{"--retry", "20"}, urlsOf("http://"+pacedHost, paths...)...) {
		if c.status != 200 {
			t.Errorf("%s: status %d; %s", paths[i], c.status, c.failed)
		}
	}
	t.Logf("all were done after %v", time.Since(began).Round(time.Millisecond))
	checkGaps(t, p.visits(pacedHost), 2*time.Second)
	checkAll(t, p.visits(pacedHost), append(paths, "/robots.txt")...)
}

// curlsAskOnce: those whose turn would come too late learn so at once, and each
// when it would be its turn.
func curlsAskOnce(t *testing.T) {
	p := newPaced(t, delayed(pacedHost, "2"), nil, "")
	env := p.curlEnv(t)
	if c := curls(t, env, nil, "http://"+pacedHost+"/first"); c[0].status != 200 { // now its robots.txt is known
		t.Fatalf("the first: %+v", c[0])
	}
	var good int
	var retries []int
	for _, c := range curls(t, env, nil, urlsOf("http://"+pacedHost, numbered("/curl", 50)...)...) {
		switch c.status {
		case 200:
			good++
		case 429:
			retries = append(retries, c.retryAfter)
			if c.took > 4500*time.Millisecond { // the hold is 3 s; who is pushed back may have waited for all of it
				t.Errorf("429 after %v", c.took)
			}
		default:
			t.Errorf("status %d; %s", c.status, c.failed)
		}
	}
	slices.Sort(retries)
	if good < 1 || len(retries) < 40 {
		t.Errorf("%d of 50 were forwarded, %d refused", good, len(retries))
	}
	t.Logf("%d of 50 were forwarded; Retry-After of the others: %d", good, retries)
	for i, r := range retries {
		if r < 1 || i > 0 && r < retries[i-1]+1 { // two seconds apart, in whole ones
			t.Errorf("Retry-After of those refused: %d, want each later than the one before", retries)
			break
		}
	}
	checkGaps(t, p.visits(pacedHost), 2*time.Second)
	if got := len(p.visits(pacedHost, "/curl")); got != good {
		t.Errorf("%d requests came to the origin, %d were answered by it", got, good)
	}
}

// curlsOfBothSchemes: a host has one pace, whatever is spoken with it, and that from
// the first robots.txt on.
func curlsOfBothSchemes(t *testing.T) {
	p := newPaced(t, delayed(pacedHost, "2"), nil, "")
	urls := slices.Concat(urlsOf("http://"+pacedHost, numbered("/plain", 6)...), urlsOf("https://"+pacedHost, numbered("/secure", 6)...))
	for i, c := range curls(t, p.curlEnv(t), []string{"--retry", "20"}, urls...) {
		if c.status != 200 {
			t.Errorf("%s: status %d; %s", urls[i], c.status, c.failed)
		}
	}
	visits := p.visits(pacedHost)
	checkAll(t, visits, slices.Concat(numbered("/plain", 6), numbered("/secure", 6))...)
	checkGaps(t, visits, 2*time.Second)
}

// pythonAgain: httpx gives up after five seconds, requests never.
func pythonAgain(t *testing.T, library, scheme string) {
	program := need(t, python(library, "again_client.py"))
	p := newPaced(t, delayed(pacedHost, "2"), nil, "")
	s := p.settings(t)
	env := cleanEnv(t.TempDir(), upper(s, "SSL_CERT_FILE="+s.bundle, "REQUESTS_CA_BUNDLE="+s.bundle)...)
	paths := numbered("/page", 8)
	urls := urlsOf(scheme+"://"+pacedHost, paths...)
	out := execute(t, 3*time.Minute, env, slices.Concat(program, []string{library}, urls)...)
	answers, err := readAnswers("", out.stdout)
	if err != nil || len(answers) != len(urls) {
		t.Errorf("%d answers of %d, %v\n%s", len(answers), len(urls), err, tailOf(out.stderr))
	}
	for _, a := range answers {
		if a.status != 200 {
			t.Errorf("%s: status %d, %s", a.url, a.status, a.err)
		}
	}
	checkGaps(t, p.visits(pacedHost), 2*time.Second)
	checkAll(t, p.visits(pacedHost), paths...)
}
