package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/e2e/root"
)

// The files pace_… hold what an origin sees of heed's pace: when requests reach
// it, of real clients and of some that no honest one is. Only what must not come
// too early is asserted closely. What must come at all has time enough on a
// machine that does other things.

// scenario is one thing that an origin may see. It has a heed and an origin of
// its own, and mostly waits.
type scenario struct {
	name string
	run  func(t *testing.T)
}

// TestPace runs all scenarios side by side, however few tests may be by -parallel:
// what they have in common is that they wait.
func TestPace(t *testing.T) {
	t.Parallel()
	atOnce(t, []scenario{
		{"of real clients", func(t *testing.T) { atOnce(t, realClientsPaced) }},
		{"cannot be got ahead of", func(t *testing.T) { atOnce(t, waysAhead) }},
		{"is fair", func(t *testing.T) { atOnce(t, sharedTurns) }},
		{"keeps the origin's word", func(t *testing.T) { atOnce(t, wordsOfOrigins) }},
		{"bounds what is under way", func(t *testing.T) { atOnce(t, crowds) }},
		{"of values", func(t *testing.T) { atOnce(t, valuesOfRobots) }},
		{"of a robots.txt that is not known", func(t *testing.T) { atOnce(t, robotsInTurn) }},
		{"answers", func(t *testing.T) { atOnce(t, answersOfPace) }},
	})
}

func atOnce(t *testing.T, scenarios []scenario) {
	var all sync.WaitGroup
	for _, s := range scenarios {
		all.Go(func() { t.Run(s.name, s.run) })
		pause(t.Context(), 20*time.Millisecond) // in this order
	}
	all.Wait()
}

// starting bounds how many heeds begin at a time, which is all that takes a
// processor for long.
var starting = make(chan struct{}, 2)

// measured is by how much less than its interval two requests may seem to be
// apart: the time from when heed looks at the clock until the kernel has the
// request, on a machine whose processors others use.
const measured = 5 * time.Millisecond

// paced is a heed and an origin for one scenario.
type paced struct {
	*origin
	*heed
	flags []string       // of heed serve and heed run
	trust *x509.CertPool // heed's CA
}

// newPaced starts an origin with a robots.txt for each host, and a heed with more
// configuration. The origin speaks HTTP/1.1, of which the times are exact. All hosts are at one address: where per_address is not what is
// tried it is off.
func newPaced(t *testing.T, robots map[string]string, pages map[string]http.HandlerFunc, pace string, more ...string) *paced {
	t.Helper()
	starting <- struct{}{}
	defer func() { <-starting }()
	p := &paced{origin: newOriginOf(t, robots, pages, "http/1.1")}
	// A client that finds no processor must not fail for that.
	config := "upstream:\n  roots: " + p.rootFile + "\ntimeouts:\n  tls_handshake: 1m\npace:\n  per_address: 0\n"
	for line := range strings.Lines(pace) {
		if name, _, _ := strings.Cut(line, ":"); name == "per_address" {
			config = strings.Replace(config, "  per_address: 0\n", "", 1)
		}
		config += "  " + line
	}
	config = strings.TrimRight(config, "\n") + "\n" + strings.Join(more, "")
	p.flags = append([]string{"--config", writeConfig(t, config)}, p.connectTo()...)
	p.start(t, p.flags...)
	return p
}

func (p *paced) start(t *testing.T, flags ...string) {
	t.Helper()
	p.heed = startHeed(t, nil, flags...)
	p.trust = p.roots(t)
}

// delayed is a robots.txt that asks for an interval of some seconds.
func delayed(host string, seconds string) map[string]string {
	return map[string]string{host: "User-agent: *\nCrawl-delay: " + seconds + "\n"}
}

// visits returns what came to a host, whatever its name was written like, in the
// order in which it came; of a path prefix alone where there is one.
func (o *origin) visits(host string, prefix ...string) []seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []seen
	for _, s := range o.log {
		name := strings.ToLower(s.host)
		if h, _, err := net.SplitHostPort(name); err == nil {
			name = h
		}
		if strings.TrimSuffix(name, ".") == host && (len(prefix) == 0 || strings.HasPrefix(s.target, prefix[0])) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b seen) int { return a.at.Compare(b.at) })
	return found
}

// checkGaps fails the test if any two requests were closer than an interval. Of one
// whose sender had gone it is not known when it came, but that it did: those around
// it are two intervals apart. It says what it found.
func checkGaps(t testing.TB, visits []seen, interval time.Duration) {
	t.Helper()
	var gaps []time.Duration
	last := -1
	for i, v := range visits {
		if v.ended {
			continue
		}
		if last >= 0 {
			gap, turns := v.at.Sub(visits[last].at), time.Duration(i-last)
			gaps = append(gaps, gap/turns)
			if gap < turns*interval-measured {
				t.Errorf("%s %s%s came %v after %s %s%s, with %d turns; each had to be %v", v.scheme, v.host, v.target, gap,
					visits[last].scheme, visits[last].host, visits[last].target, turns, interval)
			}
		}
		last = i
	}
	if len(gaps) == 0 {
		t.Errorf("%d requests came: there is no gap to look at", len(visits))
		return
	}
	slices.Sort(gaps)
	t.Logf("%d requests in %v: gaps of %v at least, %v in the middle, %v at most", len(visits),
		visits[len(visits)-1].at.Sub(visits[0].at).Round(time.Millisecond), gaps[0], gaps[len(gaps)/2], gaps[len(gaps)-1])
}

// checkAll fails the test unless each target came once.
func checkAll(t testing.TB, visits []seen, targets ...string) {
	t.Helper()
	count := map[string]int{}
	for _, v := range visits {
		count[v.target]++
	}
	for _, target := range targets {
		if count[target] != 1 {
			t.Errorf("%s came %d times to the origin, want once", target, count[target])
		}
	}
}

// numbered returns n paths.
func numbered(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, prefix+strconv.Itoa(i))
	}
	return all
}

// asker is a client that does what the test says: no more than net/http's own.
type asker struct {
	http.Client
	agent string
}

// newAsker returns a client that comes from a loopback address and speaks one
// version of HTTP inside a tunnel.
func (p *paced) newAsker(t testing.TB, from, agent string, v version) *asker {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(v != http2)
	protocols.SetHTTP2(v == http2)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	tr := &http.Transport{
		Proxy:               http.ProxyURL(&url.URL{Scheme: "http", Host: p.Proxy}),
		DialContext:         dialer.DialContext,
		Protocols:           protocols,
		TLSClientConfig:     &tls.Config{RootCAs: p.trust},
		MaxIdleConnsPerHost: 100,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &asker{http.Client{Transport: tr}, agent}
}

// told is an answer: of the origin, or of heed.
type told struct {
	status int
	fields http.Header
	body   string
	took   time.Duration
	err    error
}

// retry is what Retry-After says.
func (a told) retry() time.Duration {
	s, err := strconv.Atoi(a.fields.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(s) * time.Second
}

// get asks once.
func (a *asker) get(ctx context.Context, u string) told { return a.send(ctx, http.MethodGet, u, nil) }

// send asks with a body.
func (a *asker) send(ctx context.Context, method, u string, body io.Reader) (got told) {
	began := time.Now()
	defer func() { got.took = time.Since(began) }()
	req, err := http.NewRequestWithContext(ctx, method, u, body)
	if err != nil {
		return told{err: err}
	}
	req.Header.Set("User-Agent", a.agent)
	resp, err := a.Do(req)
	if err != nil {
		return told{err: err}
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return told{resp.StatusCode, resp.Header, string(all), 0, err}
}

// insist asks until it gets something other than heed's 429, and comes back when
// it is told to.
func (a *asker) insist(ctx context.Context, u string) told {
	for {
		got := a.get(ctx, u)
		if got.err != nil || got.status != http.StatusTooManyRequests || got.fields.Get("Robots-Decision") == "" {
			return got
		}
		if got.retry() <= 0 {
			got.err = fmt.Errorf("429 with Retry-After %q", got.fields.Get("Retry-After"))
			return got
		}
		if !pause(ctx, got.retry()) {
			return told{err: ctx.Err()}
		}
	}
}

// pause waits, and reports whether it did to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// within is a context for what takes no longer than d, on any machine.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// need finds a program. Without it the test ends: as a failure with CI=true,
// else as skipped.
func need(t testing.TB, find func() ([]string, error)) []string {
	t.Helper()
	program, err := find()
	if err != nil {
		if inCI() {
			t.Fatalf("%v; make deps installs it", err)
		}
		t.Skipf("%v; make deps installs it", err)
	}
	return program
}

// serveOneStream serves HTTP/2 with one stream at a time on a connection.
func serveOneStream(t *testing.T, h http.Handler, root *root.Root) string {
	t.Helper()
	l, err := stamping.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	s := &http.Server{
		Handler: h, Protocols: protocols, ReadHeaderTimeout: time.Minute,
		TLSConfig:   &tls.Config{GetCertificate: root.Certificate, NextProtos: []string{"h2"}},
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 1},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeTLS(arrivals{l}, "", "") // ErrServerClosed
	}()
	t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}
