package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// aheadHost asks for half a second between requests.
const aheadHost = "ahead.example"

// aheadFor is for how long somebody tries to get ahead.
const aheadFor = 10 * time.Second

// waysAhead: what a client does to be served before others makes
// the gaps no shorter, and takes no turns from who comes with one request at a time.
var waysAhead = []scenario{
	{"by many connections", func(t *testing.T) { gotAhead(t, "127.0.0.2", "GreedyBot/1.0", keepAsking(32, 20*time.Millisecond)) }},
	{"by connections that are cut off", func(t *testing.T) { gotAhead(t, "127.0.0.2", "GreedyBot/1.0", cutOff) }},
	{"by connections that are cut off, from the same address", func(t *testing.T) { gotAhead(t, "127.0.0.1", "GreedyBot/1.0", cutOff) }},
	{"by another name for each request", func(t *testing.T) { gotAhead(t, "127.0.0.2", "", keepAsking(16, 20*time.Millisecond)) }},
	{"by streams of one connection", func(t *testing.T) { gotAhead(t, "127.0.0.2", "GreedyBot/1.0", manyStreams) }},
	{"by streams that are reset", func(t *testing.T) { gotAhead(t, "127.0.0.2", "GreedyBot/1.0", resetStreams) }},
	{"by other ways to write the host", otherWritings},
	{"by another port", otherPorts},
	{"by curls with streams in one tunnel", curlStreams},
	{"by redirects of robots.txt", redirectedRobots},
	{"by answers that are not there", cutAnswers},
	{"by a slot of HTTP/2 that is late", lateStreams},
	{"by going away", goneAway},
}

// crowding tries to get ahead until ctx ends.
type crowding func(ctx context.Context, t *testing.T, p *paced, from, agent string)

// gotAhead has somebody crowd, and another ask for one page after the other.
func gotAhead(t *testing.T, from, agent string, crowd crowding) {
	p := newPaced(t, delayed(aheadHost, "0.5"), nil, "")
	modest := p.newAsker(t, "127.0.0.1", "ModestBot/1.0", http11)
	ctx := within(t, 2*time.Minute)
	if got := modest.insist(ctx, "http://"+aheadHost+"/modest-first"); got.status != 200 {
		t.Fatalf("%d, %v", got.status, got.err)
	}
	crowded, stop := context.WithTimeout(ctx, aheadFor)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { crowd(crowded, t, p, from, agent) })
	had := 0
	for n := 0; crowded.Err() == nil; n++ {
		if got := modest.insist(crowded, fmt.Sprintf("http://%s/modest%d", aheadHost, n)); got.status == 200 {
			had++
		} else if crowded.Err() == nil {
			t.Errorf("%d, %v", got.status, got.err)
		}
	}
	all.Wait()
	visits := p.visits(aheadHost)
	checkGaps(t, visits, 500*time.Millisecond)
	greedy := 0
	for _, v := range visits {
		if strings.HasPrefix(v.target, "/greedy") {
			greedy++
		}
	}
	t.Logf("turns in %v: %d of the one who crowded, %d of the other", aheadFor, greedy, had)
	if want := int(aheadFor/(500*time.Millisecond)) / 3; had < want {
		t.Errorf("who came with one request at a time had %d turns of %d, want %d at least", had, had+greedy, want)
	}
}

// agentOf is a name of its own for each request where there is none.
func agentOf(agent string, n int) string {
	if agent == "" {
		return fmt.Sprintf("Bot%d/1.0", n)
	}
	return agent
}

// keepAsking asks on many connections, and takes no notice of Retry-After.
func keepAsking(connections int, every time.Duration) crowding {
	return func(ctx context.Context, t *testing.T, p *paced, from, agent string) {
		var all sync.WaitGroup
		for i := range connections {
			a := p.newAsker(t, from, agent, http11)
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					asked := asker{a.Client, agentOf(agent, n*connections+i)}
					asked.get(ctx, fmt.Sprintf("http://%s/greedy%d-%d", aheadHost, i, n))
					pause(ctx, every)
				}
			})
		}
		all.Wait()
	}
}

// cutOff asks, and resets the connection: at once, or after a moment.
func cutOff(ctx context.Context, t *testing.T, p *paced, from, agent string) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	for n := 0; ctx.Err() == nil; n++ {
		c, err := dialer.DialContext(ctx, "tcp", p.Proxy)
		if err != nil {
			var over net.Error
			if !errors.As(err, &over) || !over.Timeout() { // else that is the end of ctx
				t.Error(err)
			}
			return
		}
		fmt.Fprintf(c, "GET http://%[1]s/greedy%[2]d HTTP/1.1\r\nHost: %[1]s\r\nUser-Agent: %[3]s\r\n\r\n", aheadHost, n, agent)
		pause(ctx, time.Duration(n%4)*5*time.Millisecond)
		_ = c.(*net.TCPConn).SetLinger(0) // a reset
		_ = c.Close()
		pause(ctx, 2*time.Millisecond)
	}
}

// manyStreams asks for 50 pages at a time on one connection of HTTP/2.
func manyStreams(ctx context.Context, t *testing.T, p *paced, from, agent string) {
	a := p.newAsker(t, from, agent, http2)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a.get(ctx, fmt.Sprintf("https://%s/greedy%d-%d", aheadHost, i, n))
				pause(ctx, 50*time.Millisecond)
			}
		})
	}
	all.Wait()
}

// resetStreams takes each request back after a moment.
func resetStreams(ctx context.Context, t *testing.T, p *paced, from, agent string) {
	a := p.newAsker(t, from, agent, http2)
	for n := 0; ctx.Err() == nil; n++ {
		short, cancel := context.WithTimeout(ctx, time.Duration(n%5)*4*time.Millisecond)
		a.get(short, fmt.Sprintf("https://%s/greedy%d", aheadHost, n))
		cancel()
		pause(ctx, 2*time.Millisecond)
	}
}

// otherWritings: a host is one however it is written.
func otherWritings(t *testing.T) {
	p := newPaced(t, delayed(aheadHost, "0.5"), nil, "hold: 30s\n")
	p.origin.mu.Lock()
	for _, name := range []string{"AHEAD.example", "ahead.example.", "Ahead.Example."} {
		p.origin.robots[name] = p.origin.robots[aheadHost]
	}
	p.origin.mu.Unlock()
	var all sync.WaitGroup
	for i, authority := range []string{"ahead.example", "AHEAD.example", "ahead.example.", "ahead.example:80", "Ahead.Example.:80", "ahead.example:080"} {
		all.Go(func() {
			for n := range 3 {
				c := &rawConn{addr: p.Proxy}
				got, err := c.once("GET", fmt.Appendf(nil, "GET http://%[1]s/%[2]d-%[3]d HTTP/1.1\r\nHost: %[1]s\r\nUser-Agent: ExampleBot/1.0\r\n\r\n", authority, i, n))
				c.drop()
				if err != nil || got.status != 200 && got.status != 400 {
					t.Errorf("%s: %d %s, %v", authority, got.status, got.body, err)
				}
			}
		})
	}
	all.Wait()
	visits := p.visits(aheadHost)
	checkGaps(t, visits, 500*time.Millisecond)
	if robots := p.visits(aheadHost, "/robots.txt"); len(robots) != 1 || len(visits) < 16 {
		t.Errorf("%d requests came, %d of them for robots.txt", len(visits), len(robots))
	}
}

// otherPorts: a host has one pace, whichever of its ports are asked.
func otherPorts(t *testing.T) {
	robots := delayed(aheadHost, "0.5")
	origins := []*origin{newOrigin(t, robots, nil), newOrigin(t, robots, nil), newOrigin(t, robots, nil)}
	p := &paced{origin: origins[0]}
	config := writeConfig(t, "pace:\n  per_address: 0\n  hold: 30s\n")
	p.start(t, "--config", config, "--connect-to", "::127.0.0.1:", "--allow-address", "127.0.0.0/8")
	ctx := within(t, time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	url := func(o *origin, path string) string {
		_, port, _ := net.SplitHostPort(o.httpAddr)
		return "http://" + aheadHost + ":" + port + path
	}
	if got := a.get(ctx, url(origins[0], "/first")); got.status != 200 { // now the pace of the host is known
		t.Fatalf("%d, %v", got.status, got.err)
	}
	var all sync.WaitGroup
	for i, o := range origins {
		for n := range 5 {
			all.Go(func() {
				if got := a.get(ctx, url(o, fmt.Sprintf("/%d-%d", i, n))); got.status != 200 {
					t.Errorf("%d, %v", got.status, got.err)
				}
			})
		}
	}
	all.Wait()
	var visits []seen
	for _, o := range origins {
		visits = append(visits, o.visits(aheadHost)...)
	}
	slices.SortFunc(visits, func(a, b seen) int { return a.at.Compare(b.at) })
	checkGaps(t, visits, 500*time.Millisecond)
	if len(visits) != 3+1+15 {
		t.Errorf("%d requests came, want 19", len(visits))
	}
}

// curlStreams: curl asks for 16 pages at a time in one tunnel.
func curlStreams(t *testing.T) {
	program := need(t, onPath("curl"))
	p := newPaced(t, delayed(aheadHost, "0.5"), nil, "")
	dir := t.TempDir()
	out := execute(t, time.Minute, p.curlEnv(t), append(program, "-sS", "--http2", "-Z", "--parallel-max", "16", "--retry", "50",
		"-w", "%{http_version} %{http_code}\n", "-o", filepath.Join(dir, "#1"), "https://"+aheadHost+"/page[0-23]")...)
	if n := bytes.Count(out.stdout, []byte("2 200\n")); n != 24 || out.status != 0 {
		t.Errorf("%d of 24 answers were 200 over HTTP/2, status %d\n%s%s", n, out.status, out.stdout, out.stderr)
	}
	checkGaps(t, p.visits(aheadHost), 500*time.Millisecond)
	checkAll(t, p.visits(aheadHost), numbered("/page", 24)...)
}

// redirectedRobots: each hop to a robots.txt takes a turn like any other request.
// Of the first retrieval alone nobody knows yet what the site asks for.
func redirectedRobots(t *testing.T) {
	hop := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	p := newPaced(t, nil, map[string]http.HandlerFunc{
		"/robots.txt": hop("/hop1"),
		"/hop1":       hop("/hop2"),
		"/hop2":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nCrawl-delay: 0.5\n") },
	}, "hold: 30s\n", "robots:\n  fresh_min: 1s\n  fresh_for: 1s\n")
	ctx := within(t, time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 5 {
				if got := a.insist(ctx, fmt.Sprintf("http://%s/page%d-%d", aheadHost, i, n)); got.status != 200 {
					t.Errorf("%d, %v", got.status, got.err)
				}
			}
		})
	}
	all.Wait()
	visits := p.visits(aheadHost)
	retrievals := len(p.visits(aheadHost, "/robots.txt"))
	if retrievals < 3 || len(visits) < 3+20 {
		t.Fatalf("%d requests came, %d of them for robots.txt", len(visits), retrievals)
	}
	checkGaps(t, visits[2:], 500*time.Millisecond)
}

// cutAnswers: to an origin that ends a kept connection without an answer a request
// is sent once more, in its turn.
func cutAnswers(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	cut := func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		asked++
		good := asked%2 == 1
		mu.Unlock()
		if !good { // on a connection that was kept
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "good")
	}
	pages := map[string]http.HandlerFunc{}
	paths := numbered("/cut", 12)
	for _, path := range paths {
		pages[path] = cut
	}
	p := newPaced(t, delayed(aheadHost, "0.5"), pages, "hold: 30s\n")
	ctx := within(t, time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	for _, path := range paths {
		if got := a.get(ctx, "http://"+aheadHost+path); got.status != 200 {
			t.Errorf("%s: %d, %v", path, got.status, got.err)
		}
	}
	visits := p.visits(aheadHost)
	checkGaps(t, visits, 500*time.Millisecond)
	if len(visits) < 1+len(paths)+len(paths)/2 {
		t.Errorf("%d requests came: none was sent once more", len(visits))
	}
}

// lateFor is by how much later than it came a request of HTTP/2 may seem to come.
const lateFor = 200 * time.Millisecond

// lateStreams: an origin of HTTP/2 that takes one request at a time has not been
// asked before it takes the next.
func lateStreams(t *testing.T) {
	root := newTestRoot(t)
	o := &origin{rootFile: filepath.Join(t.TempDir(), "root.pem"), robots: delayed(aheadHost, "1"), pages: map[string]http.HandlerFunc{}}
	writeFile(t, o.rootFile, root.PEM)
	paths := numbered("/late", 6)
	for i, path := range paths {
		o.pages[path] = func(w http.ResponseWriter, r *http.Request) {
			if i == 0 {
				pause(r.Context(), 3500*time.Millisecond)
			}
			fmt.Fprint(w, "late")
		}
	}
	o.httpsAddr = serveOneStream(t, o.handler("https"), root)
	o.httpAddr = o.httpsAddr // nobody asks
	p := &paced{origin: o}
	config := writeConfig(t, "upstream:\n  roots: "+o.rootFile+"\npace:\n  hold: 30s\n")
	p.start(t, append([]string{"--config", config}, o.connectTo()...)...)
	ctx := within(t, time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http2)
	var all sync.WaitGroup
	for i, path := range paths {
		all.Go(func() {
			pause(ctx, time.Duration(i)*20*time.Millisecond) // in this order
			if got := a.get(ctx, "https://"+aheadHost+path); got.status != 200 {
				t.Errorf("%d, %v", got.status, got.err)
			}
		})
	}
	all.Wait()
	checkAll(t, p.visits(aheadHost), paths...)
	checkGaps(t, p.visits(aheadHost), time.Second-lateFor)
}

// goneAway: who goes away leaves the queue. The origin sees nothing of it, and the
// next comes at once in its place.
func goneAway(t *testing.T) {
	p := newPaced(t, delayed(aheadHost, "4"), nil, "hold: 3m\n")
	ctx := within(t, 2*time.Minute)
	stays := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	if got := stays.get(ctx, "http://"+aheadHost+"/first"); got.status != 200 {
		t.Fatalf("%d, %v", got.status, got.err)
	}
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	var all sync.WaitGroup
	bodies := []func() io.Reader{
		func() io.Reader { return nil }, // a GET
		func() io.Reader { return strings.NewReader("hello") },
		func() io.Reader { return struct{ io.Reader }{strings.NewReader("hello, in chunks")} },
		func() io.Reader { return bytes.NewReader(make([]byte, 30<<10)) }, // more than heed reads of it at once
	}
	for i := range 4 * len(bodies) {
		a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", []version{http11, http2}[i/2%2])
		url := fmt.Sprintf("%s://%s/left%d", []string{"http", "https"}[i%2], aheadHost, i)
		all.Go(func() {
			if body := bodies[i/4](); body != nil {
				a.send(leaving, http.MethodPost, url, body)
			} else {
				a.get(leaving, url)
			}
		})
	}
	pause(ctx, 300*time.Millisecond) // they wait, those of https for their robots.txt
	var last told
	all.Go(func() { last = stays.get(ctx, "http://"+aheadHost+"/stayed") })
	pause(ctx, 300*time.Millisecond)
	leave()
	all.Wait()
	visits := p.visits(aheadHost)
	checkGaps(t, visits, 4*time.Second)
	if n := len(p.visits(aheadHost, "/left")); n > 0 {
		t.Errorf("%d requests came of clients that had gone", n)
	}
	stayed := p.visits(aheadHost, "/stayed")
	if last.status != 200 || len(stayed) != 1 {
		t.Fatalf("who stayed got %d, %v", last.status, last.err)
	}
	// The robots.txt of https goes first: somebody had asked for it.
	if first := p.visits(aheadHost, "/first")[0].at; stayed[0].at.Sub(first) > 15*time.Second {
		t.Errorf("who stayed waited for %v: the places of those who left were not given up", stayed[0].at.Sub(first))
	}
}
