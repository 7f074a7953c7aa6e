package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// secureHost is asked over TLS alone: the robots.txt of another scheme would wait
// for its turn.
const answerHost, secureHost = "answer.example", "secure.example"

// answersOfPace: whoever comes too early is told so at once, and when to come;
// inside a tunnel, not at its CONNECT.
var answersOfPace = []scenario{
	{"on every channel", answersOnChannels},
	{"a CONNECT is not held", connectIsNotHeld},
	{"an unread tunnel", unreadTunnel},
}

// atOnceIs how long what happens at once may take on a machine that does other
// things.
const atOnceIs = 3 * time.Second

// answersOnChannels: of a site that asks for 20 s nothing is held.
func answersOnChannels(t *testing.T) {
	robots := delayed(answerHost, "20")
	maps.Copy(robots, delayed(secureHost, "20"))
	p := newPaced(t, robots, nil, "")
	ctx := within(t, time.Minute)
	r := &trial{stand: &stand{heed: p.heed, trust: p.trust}, t: t, ctx: ctx}
	for _, w := range []way{
		{plain, http11, http11},
		{secure, http11, http11},
		{tunnelled, http11, http11},
		{intercepted, http11, http11},
		{intercepted, http2, http11},
	} {
		for accept, contentType := range map[string]string{
			"*/*":              "text/plain; charset=utf-8",
			"application/json": "application/problem+json",
			"text/html":        "text/html; charset=utf-8",
		} {
			r.way = w
			scheme, host := "http", answerHost
			if w.overTLS() {
				scheme, host = "https", secureHost
			}
			authority := host
			if w.channel == tunnelled {
				authority += ":80"
			}
			path := fmt.Sprintf("/%s-%s", w.channel, w.client)
			// Only the first waits: until it is known what the site asks for.
			began := time.Now()
			resp, err := r.do("GET", authority, path, nil, "Accept: "+accept)
			if err != nil {
				t.Errorf("%v: %v", w, err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Errorf("%v: %v", w, err)
			}
			if took := time.Since(began); took > atOnceIs {
				t.Errorf("%v: the answer took %v", w, took)
			}
			got := told{status: resp.StatusCode, fields: resp.Header, body: string(body)}
			if c := resp.Header.Get("Content-Type"); c != contentType {
				t.Errorf("%v: Accept: %s was answered with %s", w, accept, c)
			}
			checkPaced(t, w.String(), got, scheme+"://"+host)
			if accept == "application/json" {
				checkProblem(t, w.String(), got)
			}
		}
	}
	for _, v := range append(p.visits(answerHost), p.visits(secureHost)...) {
		if v.target != "/robots.txt" {
			t.Errorf("%s came to the origin", v.target)
		}
	}
}

// checkPaced looks at the fields of a refusal.
func checkPaced(t *testing.T, where string, got told, origin string) {
	t.Helper()
	if got.status != http.StatusTooManyRequests || got.retry() < time.Second {
		t.Errorf("%s: %d, Retry-After %q; want 429 and seconds", where, got.status, got.fields.Get("Retry-After"))
	}
	d, err := httpsfv.UnmarshalItem(got.fields.Values("Robots-Decision"))
	if err != nil || d.Value != httpsfv.Token("paced") {
		t.Errorf("%s: Robots-Decision: %q, want paced", where, got.fields.Values("Robots-Decision"))
		return
	}
	for name, want := range map[string]any{"reason": "crawl-delay", "line": int64(2), "robots": origin + "/robots.txt"} {
		if have, _ := d.Params.Get(name); have != want {
			t.Errorf("%s: Robots-Decision: %s: %s is %#v, want %#v", where, got.fields.Get("Robots-Decision"), name, have, want)
		}
	}
	if id, _ := d.Params.Get("id"); id == nil || !strings.Contains(got.body, fmt.Sprint(id)) {
		t.Errorf("%s: the body does not name the decision id %v:\n%.2000s", where, id, got.body)
	}
	if s := got.fields.Get("Proxy-Status"); !strings.HasPrefix(s, "heed") || !strings.Contains(s, "error=http_request_error") {
		t.Errorf("%s: Proxy-Status: %q", where, s)
	}
}

// checkProblem looks at the body (RFC 9457).
func checkProblem(t *testing.T, where string, got told) {
	t.Helper()
	var problem struct {
		Type, Title, Detail string
		Status              int
		Pace                struct {
			Cause    string
			Interval float64
			Line     int
		}
	}
	if err := json.Unmarshal([]byte(got.body), &problem); err != nil {
		t.Errorf("%s: %v\n%s", where, err, got.body)
	}
	if problem.Status != 429 || !strings.HasSuffix(problem.Type, "/paced") || problem.Title == "" || problem.Detail == "" ||
		problem.Pace.Cause != "crawl-delay" || problem.Pace.Interval != 20 || problem.Pace.Line != 2 {
		t.Errorf("%s: %s", where, got.body)
	}
}

// tunnelTo has heed answer a CONNECT, and tells how long that took.
func tunnelTo(ctx context.Context, proxy, authority string) (net.Conn, *bufio.Reader, told) {
	began := time.Now()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", proxy)
	if err != nil {
		return nil, nil, told{err: err}
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\nUser-Agent: ExampleBot/1.0\r\n\r\n", authority)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return c, r, told{err: err}
	}
	got := told{status: resp.StatusCode, fields: resp.Header, took: time.Since(began)}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // as much as there is
		got.body = string(body)
	}
	return c, r, got
}

// askInside makes a request in a tunnel with TLS.
func askInside(c net.Conn, trust *x509.CertPool, path string) (status int, took time.Duration, err error) {
	began := time.Now()
	s := tls.Client(c, &tls.Config{RootCAs: trust, ServerName: answerHost, NextProtos: []string{"http/1.1"}})
	defer s.Close()
	if _, err := fmt.Fprintf(s, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: ExampleBot/1.0\r\n\r\n", path, answerHost); err != nil {
		return 0, 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, time.Since(began), nil
}

// connectIsNotHeld: clients give up a CONNECT sooner than what is inside, so all
// waiting is done there.
func connectIsNotHeld(t *testing.T) {
	p := newPaced(t, delayed(answerHost, "5"), nil, "hold: 30s\n")
	ctx := within(t, time.Minute)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			c, _, got := tunnelTo(ctx, p.Proxy, answerHost+":443")
			if got.status != 200 || got.took > atOnceIs {
				t.Errorf("CONNECT: %d after %v, %v", got.status, got.took, got.err)
				return
			}
			if status, took, err := askInside(c, p.trust, fmt.Sprintf("/inside%d", i)); status != 200 || took < 4*time.Second {
				t.Errorf("inside: %d after %v, %v; want 200 when it is its turn", status, took, err)
			}
		})
	}
	all.Wait()
	checkGaps(t, p.visits(answerHost), 5*time.Second)
	checkAll(t, p.visits(answerHost), numbered("/inside", 3)...)
}

// unreadTunnel: a tunnel that is not read is one request, and its CONNECT the only
// place where anything can be said. What is said is said at once.
func unreadTunnel(t *testing.T) {
	p := newPaced(t, delayed(answerHost, "2"), nil, "", "https:\n  mode: tunnel\n")
	ctx := within(t, time.Minute)
	pem, err := os.ReadFile(p.rootFile)
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(pem)

	first, _, got := tunnelTo(ctx, p.Proxy, answerHost+":443")
	if got.status != 200 || got.took > 1900*time.Millisecond {
		t.Fatalf("CONNECT: %d after %v, %v; want 200 at once, though its turn comes in 2 s", got.status, got.took, got.err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if status, _, err := askInside(first, trust, "/first"); status != 200 {
			t.Errorf("in the first: %d, %v", status, err)
		}
	})
	_, _, got = tunnelTo(ctx, p.Proxy, answerHost+":443")
	if got.took > 1900*time.Millisecond {
		t.Errorf("the second CONNECT was answered after %v", got.took)
	}
	checkPaced(t, "the second CONNECT", got, "https://"+answerHost)
	pause(ctx, got.retry())
	third, _, got := tunnelTo(ctx, p.Proxy, answerHost+":443")
	if got.status != 200 || got.took > 1900*time.Millisecond {
		t.Errorf("CONNECT when it was told to come: %d after %v, %v", got.status, got.took, got.err)
	} else if status, _, err := askInside(third, trust, "/third"); status != 200 {
		t.Errorf("in the third: %d, %v", status, err)
	}
	all.Wait()
	visits := p.visits(answerHost)
	checkAll(t, visits, "/robots.txt", "/first", "/third")
	for i := range visits { // of a tunnel that is not read, what counts is when the first of it is let through
		if visits[i].target != "/robots.txt" {
			visits[i].at = visits[i].began
		}
	}
	checkGaps(t, visits, 2*time.Second)
}
