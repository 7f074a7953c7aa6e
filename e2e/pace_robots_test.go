package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const robotsHost = "robots.example"

// robotsInTurn: a site that is known by http, and asks for an interval, is asked for
// by https, of which the robots.txt is not known. Its fetch waits for its turn.
var robotsInTurn = []scenario{
	{"a client that gives up after five seconds", robotsForHasty},
	{"wget", robotsForWget},
}

// knownByHTTP has heed know what the site asks for by http.
func knownByHTTP(t *testing.T, interval time.Duration) (*paced, *asker) {
	t.Helper()
	p := newPaced(t, delayed(robotsHost, fmt.Sprint(interval.Seconds())), nil, "")
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	if got := a.insist(within(t, time.Minute), "http://"+robotsHost+"/first"); got.status != 200 {
		t.Fatalf("%d, %v", got.status, got.err)
	}
	return p, a
}

// robotsForHasty: it is told at once when to come, comes then, and gets in.
func robotsForHasty(t *testing.T) {
	const interval = 8 * time.Second
	p, a := knownByHTTP(t, interval)
	a.Timeout = 5 * time.Second
	ctx := within(t, time.Minute)
	const page = "https://" + robotsHost + "/page"
	got := a.get(ctx, page)
	if got.status != http.StatusTooManyRequests || got.took > atOnceIs || got.retry() <= interval || got.retry() > 2*interval {
		t.Fatalf("%d after %v, Retry-After %v: %v", got.status, got.took, got.retry(), got.err)
	}
	if field := got.fields.Get("Robots-Decision"); !strings.HasPrefix(field, `paced;reason="crawl-delay";interval=8.000;`) {
		t.Errorf("Robots-Decision: %s", field)
	}
	if field := got.fields.Get("Proxy-Status"); !strings.Contains(field, "error=http_request_error") {
		t.Errorf("Proxy-Status: %s", field)
	}
	pause(ctx, got.retry())
	if got = a.get(ctx, page); got.status != 200 {
		t.Errorf("who came when it was told: %d, %v\n%s", got.status, got.err, got.body)
	}
	checkGaps(t, p.visits(robotsHost), interval)
}

// robotsForWget: it waits for both turns, which is for longer than robots.wait.
func robotsForWget(t *testing.T) {
	program := need(t, onPath("wget"))
	const interval = 11 * time.Second
	p, _ := knownByHTTP(t, interval)
	s := p.settings(t)
	env := cleanEnv(t.TempDir(), lower(s, "WGETRC="+s.wgetrc)...)
	began := time.Now()
	out := execute(t, 3*time.Minute, env, slices.Concat(program, []string{"--tries=1", "-O", "-", "https://" + robotsHost + "/page"})...)
	if took := time.Since(began); out.status != 0 || took < 2*interval-2*time.Second {
		t.Errorf("wget ended with status %d after %v\n%s", out.status, took, tailOf(out.stderr))
	}
	visits := p.visits(robotsHost)
	var came []string
	for _, v := range visits {
		came = append(came, fmt.Sprintf("%s %s", v.scheme, v.target))
	}
	if want := []string{"http /robots.txt", "http /first", "https /robots.txt", "https /page"}; !slices.Equal(came, want) {
		t.Errorf("%q came, want %q", came, want)
	}
	checkGaps(t, visits, interval)
}
