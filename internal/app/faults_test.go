package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"heed/fetch"
	"heed/internal/audit"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/faults"
	"heed/internal/origin"
	"heed/policy"
	"heed/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a client, a heed and an origin that breaks:
// client → proxy → policy → fetch → origin.
type world struct {
	row    faults.Row
	scheme string
	origin *faults.Origin
	heed   *wired
	client *http.Client
	url    func(scheme, label string) string
	fault  func(on bool) // of the network
	dials  func() int    // connections that the network saw
	sleep  func(time.Duration)
	memory bool
}

// wired is a heed as app wires it, on connections of a test's own.
type wired struct {
	fetcher *fetch.Fetcher
	proxy   *proxy.Proxy
	end     func()
}

// wire makes a heed over a network and serves it on l.
func wire(t testing.TB, c config.Config, authority *ca.CA, l net.Listener, network dial.Config) *wired {
	t.Helper()
	network.Allow, network.Timeout = c.AllowAddress, time.Duration(c.Timeouts.Connect)
	dialer, err := dial.New(network)
	if err != nil {
		t.Fatal(err)
	}
	robots := fetcherConfig(c, dialer, faults.Roots(), "1.2.3")
	w := &wired{fetcher: fetch.New(robots)}
	a := &App{log: zerolog.Nop(), ca: authority, fetcher: w.fetcher}
	w.proxy = proxy.New(proxyConfig(c, "1.2.3", "heed-under-test", a, dialer, faults.Roots(), new(audit.Recent), func(*audit.Entry) {}))
	served := make(chan error, 1)
	go func() { served <- w.proxy.Serve(l) }()
	w.end = func() {
		over, cancel := context.WithCancel(context.Background())
		cancel() // whatever is open is cut off
		_ = w.proxy.Shutdown(over)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		w.fetcher.Close()
		robots.Transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	}
	return w
}

// newClient is a client as people have it, told of the proxy and its CA.
func newClient(authority *ca.CA, proxyAddr string, connect proxy.Dialer) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate())
	return &http.Client{
		Timeout: 5 * time.Minute, // longer than anything may take
		Transport: &http.Transport{
			Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: proxyAddr}),
			DialContext:        connect,
			TLSClientConfig:    &tls.Config{RootCAs: roots, CurvePreferences: []tls.CurveID{tls.X25519}},
			ForceAttemptHTTP2:  true,
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is what the client got.
type answer struct {
	status int
	fault  string // the error of Proxy-Status; empty: the answer is the origin's
	retry  time.Duration
	body   []byte
	err    error // how the body ended
	took   time.Duration
	header http.Header
}

// enough is how much of a body the client reads.
const enough = 4 << 20

func (w *world) get(t testing.TB, target string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url(w.scheme, "a")+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"User-Agent": {"ExampleBot/1.0"}, "Cookie": {"secret=1"}, "X-Client": {"yes"}}
	start := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		t.Errorf("%s: the client got no answer: %v", target, err)
		return answer{err: err}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = io.ReadAll(io.LimitReader(resp.Body, enough))
	a.took = time.Since(start)
	if _, params, found := strings.Cut(resp.Header.Get("Proxy-Status"), "error="); found {
		a.fault, _, _ = strings.Cut(params, ";")
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		a.retry = time.Duration(s) * time.Second
	}
	return a
}

// asks is the origin as heed knows it.
func (w *world) asks(t testing.TB) origin.Origin {
	t.Helper()
	u, err := url.Parse(w.url(w.scheme, "a"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := origin.Parse(u.Scheme, u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// snapshot is what heed knows of the origin.
func (w *world) snapshot(t testing.TB) policy.Snapshot {
	t.Helper()
	s, err := w.heed.fetcher.Snapshot(t.Context(), w.asks(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) set(b faults.Broken) {
	w.origin.Break(b)
	w.fault(b != faults.Nothing && w.row.Net != faults.NoFault)
}

// slack is how much longer than said something may take: a moment is spent on
// what is left of a body that does not matter.
func (w *world) slack() time.Duration {
	if w.memory {
		return 600 * time.Millisecond
	}
	return 20 * time.Second
}

// meetsRobots breaks the robots.txt of an origin that heed has never asked, and
// in memory goes on with the rest of its life.
func meetsRobots(t *testing.T, w *world) {
	want := w.row.Robots
	w.set(faults.RobotsTxt)
	first := w.get(t, "/public")
	if first.took > want.Takes+w.slack() {
		t.Errorf("the client waited %v", first.took)
	}
	w.decides(t, first, w.get(t, "/private"))
	w.asked(t)
	s := w.snapshot(t)
	if s.Access != want.Access && !want.Any {
		t.Errorf("access %v (%s), want %v", s.Access, s.Err, want.Access)
	}
	if (s.Err == "") != (s.Access != policy.Unreachable) {
		t.Errorf("access %v with the error %q", s.Access, s.Err)
	}
	if got := s.FreshUntil.Sub(s.Checked); want.Fresh != 0 && got.Round(time.Second) != want.Fresh {
		t.Errorf("fresh for %v, want %v", got, want.Fresh)
	}
	if w.memory && want.Access == policy.Unreachable && !want.Any {
		w.livesOn(t, first)
	}
}

// decides checks what a client gets for a page that the rules allow, and for
// one that they do not.
func (w *world) decides(t *testing.T, public, private answer) {
	t.Helper()
	want := w.row.Robots
	is := func(name string, a answer, status int, fault string) {
		t.Helper()
		if a.status != status || fault != "" && a.fault != fault || a.err != nil {
			t.Errorf("%s: %d %s (%v), want %d %s\n%s", name, a.status, a.fault, a.err, status, fault, excerpt(a))
		}
	}
	switch {
	case want.Any:
		if private.status == 200 {
			t.Error("/private was forwarded")
		}
	case want.Access == policy.Unreachable:
		is("/public", public, want.Status, want.Error)
		is("/private", private, want.Status, want.Error)
		if (public.retry < time.Second || public.retry > 24*time.Hour) && want.Status != 403 {
			t.Errorf("Retry-After: %v", public.retry)
		}
	case want.Access == policy.Unavailable, want.NoRules:
		is("/public", public, 200, "")
		is("/private", private, 200, "")
	default:
		is("/public", public, 200, "")
		is("/private", private, 403, "http_request_denied")
	}
}

// asked checks how often, and how, the origin was asked for its robots.txt.
func (w *world) asked(t *testing.T) {
	t.Helper()
	want := w.row.Robots
	seen := w.origin.Requests(true)
	if n := len(seen); n > want.Requests || n < want.Requests && !want.AtMost {
		t.Errorf("the origin saw %d requests for it, want %d", n, want.Requests)
	}
	if n := w.dials(); want.Dials != 0 && n != want.Dials && (w.memory || w.row.Net == faults.NoFault) {
		t.Errorf("%d connections were opened for it, want %d: %s", n, want.Dials, w.snapshot(t).Err)
	}
	for _, r := range seen {
		for name := range r.Header {
			if !slices.Contains([]string{"User-Agent", "Accept", "Accept-Encoding", "If-None-Match", "If-Modified-Since"}, http.CanonicalHeaderKey(name)) {
				t.Errorf("the request for robots.txt has the field %s", name)
			}
		}
	}
}

// livesOn is what follows for an origin whose robots.txt was unreachable when
// it was first asked: it becomes well, is forgotten for a day, and breaks for
// a month.
func (w *world) livesOn(t *testing.T, first answer) {
	want := w.row.Robots
	pause := first.retry
	switch {
	case want.Status == 403:
		pause = 75 * time.Second // a client is not told of it, since waiting would not help
	case want.Pause == 0 && (pause < time.Minute || pause > 75*time.Second),
		want.Pause != 0 && (pause < want.Pause-time.Second || pause > want.Pause+time.Second):
		t.Errorf("Retry-After is %v, want %v", pause, want.Pause)
	}

	w.set(faults.Nothing)
	w.sleep(pause - 3*time.Second)
	if want.Status != 403 && pause > 3*time.Second {
		w.decides(t, w.get(t, "/public"), w.get(t, "/private"))
		if n := len(w.origin.Requests(true)); n != 0 {
			t.Errorf("the origin saw %d requests within the pause", n)
		}
	}
	w.sleep(6 * time.Second)
	w.wellAgain(t)

	w.sleep(25 * time.Hour)
	w.set(faults.RobotsTxt)
	if a := w.get(t, "/private"); a.status != 403 || a.fault != "http_request_denied" {
		t.Errorf("with a copy of yesterday, /private: %d %s", a.status, a.fault)
	}
	if a := w.get(t, "/public"); w.row.Do != nil && a.status != 200 {
		t.Errorf("with a copy of yesterday, /public: %d %s", a.status, a.fault)
	}
	if s := w.snapshot(t); s.Access != policy.Unreachable || s.StaleSince.IsZero() || s.Rules == nil || s.Err == "" {
		t.Errorf("with a copy of yesterday: %+v", s)
	}

	w.sleep(30 * 24 * time.Hour)
	w.decides(t, w.get(t, "/public"), w.get(t, "/private"))
	if s := w.snapshot(t); s.Access != policy.Unreachable || s.Rules != nil {
		t.Errorf("with a copy of a month ago: %+v", s)
	}

	w.set(faults.Nothing)
	w.sleep(25 * time.Hour)
	w.wellAgain(t)
}

func (w *world) wellAgain(t *testing.T) {
	t.Helper()
	w.origin.Requests(true)
	if a := w.get(t, "/public"); a.status != 200 || a.err != nil {
		t.Errorf("well again, /public: %d %s %v %s", a.status, a.fault, a.err, excerpt(a))
	}
	if a := w.get(t, "/private"); a.status != 403 {
		t.Errorf("well again, /private: %d %s %s", a.status, a.fault, excerpt(a))
	}
	if n := len(w.origin.Requests(true)); n != 1 {
		t.Errorf("well again, the origin saw %d requests for its robots.txt", n)
	}
}

// meetsPage breaks the page of an origin whose robots.txt is known.
func meetsPage(t *testing.T, w *world) {
	want := w.row.Page
	if s := w.snapshot(t); s.Access != policy.Successful {
		t.Fatalf("the origin is not well to begin with: %+v", s)
	}
	if w.row.Net != faults.NoFault {
		w.sleep(2 * time.Minute) // for so long addresses are remembered
	}
	w.set(faults.Pages)
	a := w.get(t, "/public")
	switch {
	case a.status != want.Status || want.Error != "" && a.fault != want.Error || want.Error == "" && want.Status < 500 && a.fault != "":
		t.Errorf("got %d %s, want %d %s\n%s", a.status, a.fault, want.Status, want.Error, excerpt(a))
	case (a.err != nil) != want.Aborted:
		t.Errorf("the body ended with %v after %d octets, aborted is to be %v", a.err, len(a.body), want.Aborted)
	case want.Body != "" && string(a.body) != want.Body:
		t.Errorf("the body has %d octets and begins with %.100q, want %d octets and %.100q", len(a.body), a.body, len(want.Body), want.Body)
	}
	if a.took > want.Takes+w.slack() {
		t.Errorf("the client waited %v", a.took)
	}
	for name, values := range a.header {
		if strings.ContainsAny(name+strings.Join(values, ""), "\x00\r\n") {
			t.Errorf("the client got the field %q: %q", name, values)
		}
	}
	if n := len(w.origin.Requests(false)); n != want.Requests && want.Requests != 0 {
		t.Errorf("the origin saw %d requests, want %d", n, want.Requests)
	}
	w.set(faults.Nothing)
	if w.row.Net != faults.NoFault {
		w.sleep(2 * time.Minute)
	}
	if a := w.get(t, "/next"); a.status != 200 || string(a.body) != faults.Body("/next") {
		t.Errorf("the next page, of an origin that is well: %d %s, %.100q (%v)", a.status, a.fault, a.body, a.err)
	}
}

func excerpt(a answer) []byte {
	b := a.body[:min(len(a.body), 600)]
	return bytes.Join(bytes.Fields(b), []byte(" "))
}

// try is one row, one scheme and one column.
type try struct {
	name   string
	row    faults.Row
	scheme string
	do     func(*testing.T, *world)
}

// tries are what there is to try of rows, with the schemes by turns, but for
// rows that are about one of them.
func tries(rows []faults.Row, schemes ...string) (all []try) {
	for n, row := range rows {
		scheme := schemes[n%len(schemes)]
		switch {
		case row.On != "":
			scheme = row.On
		case row.H2 != nil:
			scheme = "https"
		}
		if row.Robots != nil {
			all = append(all, try{"robots/" + scheme + "/" + row.Name, row, scheme, meetsRobots})
		}
		if row.Page != nil {
			all = append(all, try{"page/" + scheme + "/" + row.Name, row, scheme, meetsPage})
		}
	}
	return all
}

func TestEveryFaultSaysWhy(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range faults.All() {
		if row.Name == "" || row.Why == "" || row.Robots == nil && row.Page == nil || seen[row.Name+row.On] {
			t.Errorf("%q: it stands twice, says not why, or tries nothing", row.Name)
		}
		seen[row.Name+row.On] = true
	}
	if len(seen) < 250 {
		t.Errorf("%d faults, which are fewer than there were", len(seen))
	}
}
