package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const busyHost = "busy.example"

// wordsOfOrigins: an origin that answers 429 or 503 is left alone.
var wordsOfOrigins = []scenario{
	{"429 with Retry-After in seconds", func(t *testing.T) { leftAlone(t, 429, inSeconds) }},
	{"429 with Retry-After as a date", func(t *testing.T) { leftAlone(t, 429, asDate) }},
	{"503 with Retry-After in seconds", func(t *testing.T) { leftAlone(t, 503, inSeconds) }},
	{"503 with Retry-After as a date", func(t *testing.T) { leftAlone(t, 503, asDate) }},
	{"429 of a robots.txt", robotsLeftAlone},
	{"429 without Retry-After, again and again", func(t *testing.T) { backsOff(t, 429) }},
	{"503 without Retry-After, again and again", func(t *testing.T) { backsOff(t, 503) }},
	{"Retry-After that cannot be read", unreadableWords},
}

func inSeconds() string { return "5" }

func asDate() string {
	return time.Now().Add(6 * time.Second).UTC().Format(http.TimeFormat) // less a part of a second
}

// leftAlone: what comes from many clients meanwhile, over http and https, some of
// it in want of a robots.txt, stays with heed.
func leftAlone(t *testing.T, status int, retryAfter func() string) {
	var said time.Time
	p := newPaced(t, map[string]string{busyHost: "User-agent: *\nDisallow: /private/\n"}, map[string]http.HandlerFunc{
		"/busy": func(w http.ResponseWriter, _ *http.Request) {
			said = time.Now()
			w.Header().Set("Retry-After", retryAfter())
			w.WriteHeader(status)
		},
	}, "")
	ctx := within(t, time.Minute)
	first := p.newAsker(t, "127.0.0.1", "FirstBot/1.0", http11)
	if got := first.get(ctx, "http://"+busyHost+"/busy"); got.status != status || got.fields.Get("Robots-Decision") != "" {
		t.Fatalf("%+v, want the origin's own %d", got, status)
	}
	told := time.Now()
	trying, stop := context.WithTimeout(ctx, 8*time.Second)
	defer stop()
	var all sync.WaitGroup
	for i := range 12 {
		scheme := []string{"http", "https"}[i%2]
		a := p.newAsker(t, fmt.Sprintf("127.0.0.%d", 1+i%3), fmt.Sprintf("TryingBot%d/1.0", i), []version{http11, http2}[i/2%2])
		all.Go(func() {
			for n := 0; trying.Err() == nil; n++ {
				got := a.get(trying, fmt.Sprintf("%s://%s/try%d-%d", scheme, busyHost, i, n))
				if early := time.Since(told) < 1500*time.Millisecond; early && got.err == nil && scheme == "http" {
					if got.status != 429 || got.retry() < 2*time.Second {
						t.Errorf("while the origin is left alone: %d, Retry-After %q", got.status, got.fields.Get("Retry-After"))
					}
				}
				pause(trying, 30*time.Millisecond)
			}
		})
	}
	all.Wait()
	visits := p.visits(busyHost)
	after := 0
	for _, v := range visits {
		if !v.at.After(said) {
			continue
		}
		after++
		if wait := v.at.Sub(said); wait < 5*time.Second-measured {
			t.Errorf("%s://%s%s came %v after the origin had asked for 5 s", v.scheme, v.host, v.target, wait)
		}
	}
	secure := 0
	for _, v := range visits {
		if v.scheme == "https" && v.target == "/robots.txt" {
			secure++
		}
	}
	if after == 0 || secure != 1 {
		t.Errorf("%d requests came afterwards, %d of them for the robots.txt of the https origin", after, secure)
	}
	for _, v := range visits {
		if v.at.After(said) {
			t.Logf("the first came %v after the word", v.at.Sub(said))
			break
		}
	}
}

// robotsLeftAlone: a robots.txt that is answered by 429 is a word like any other.
func robotsLeftAlone(t *testing.T) {
	var mu sync.Mutex
	var said time.Time
	p := newPaced(t, nil, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if said.IsZero() {
				said = time.Now()
				w.Header().Set("Retry-After", "4")
				w.WriteHeader(429)
				return
			}
			http.NotFound(w, r)
		},
	}, "")
	ctx := within(t, time.Minute)
	trying, stop := context.WithTimeout(ctx, 7*time.Second)
	defer stop()
	var all sync.WaitGroup
	for i := range 4 {
		a := p.newAsker(t, "127.0.0.1", fmt.Sprintf("TryingBot%d/1.0", i), http11)
		all.Go(func() {
			for n := 0; trying.Err() == nil; n++ {
				a.get(trying, fmt.Sprintf("%s://%s/%d-%d", []string{"http", "https"}[i%2], busyHost, i, n))
				pause(trying, 50*time.Millisecond)
			}
		})
	}
	all.Wait()
	visits, after := p.visits(busyHost), 0
	for _, v := range visits {
		wait := v.at.Sub(said)
		// The other origin's robots.txt may have been under way.
		if wait > 100*time.Millisecond {
			after++
			if wait < 4*time.Second-measured {
				t.Errorf("%s://%s%s came %v after the origin had asked for 4 s", v.scheme, v.host, v.target, wait)
			}
		}
	}
	if after == 0 {
		t.Error("nothing came afterwards")
	}
}

// backsOff: without a word of its own an origin is left alone for twice as long
// each time, and when it is well again asked as often as before, by and by.
func backsOff(t *testing.T, status int) {
	const refused = 3
	var mu sync.Mutex
	asked := 0
	busy := func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked <= refused {
			w.WriteHeader(status)
		}
	}
	p := newPaced(t, nil, map[string]http.HandlerFunc{"/busy": busy}, "hold: 20s\n")
	ctx := within(t, 2*time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	for range refused + 8 {
		if got := a.insist(ctx, "http://"+busyHost+"/busy"); got.err != nil {
			t.Fatal(got.err)
		}
	}
	var gaps []time.Duration
	visits := p.visits(busyHost, "/busy")
	for i := 1; i < len(visits); i++ {
		gaps = append(gaps, visits[i].at.Sub(visits[i-1].at))
	}
	t.Logf("gaps: %v", gaps)
	if len(gaps) != refused+7 {
		t.Fatalf("%d requests came, want %d", len(visits), refused+8)
	}
	// Refused thrice: 1, 2 and 4 s. Then well: the interval is half of that each time.
	for i, least := range []time.Duration{1000, 2000, 4000, 2000, 1000, 500, 250, 125} {
		if gaps[i] < least*time.Millisecond-measured {
			t.Errorf("gap %d is %v, want %v at least", i+1, gaps[i], least*time.Millisecond)
		}
	}
	if last := gaps[len(gaps)-1]; last > time.Second {
		t.Errorf("the last gap is %v: it does not recover", last)
	}
}

// unreadableWords: a Retry-After that says nothing is none.
func unreadableWords(t *testing.T) {
	words := map[string]string{
		"word.example":     "soon",
		"negative.example": "-5",
		"past.example":     "Sun, 06 Nov 1994 08:49:37 GMT",
		"zero.example":     "0",
		"fraction.example": "1.5",
		"years.example":    "315360000", // ten of them: a day is believed
	}
	busy := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("first") {
			w.Header().Set("Retry-After", words[strings.TrimSuffix(r.Host, ":80")])
			w.WriteHeader(429)
		}
	}
	p := newPaced(t, nil, map[string]http.HandlerFunc{"/busy": busy}, "")
	ctx := within(t, time.Minute)
	a := p.newAsker(t, "127.0.0.1", "ExampleBot/1.0", http11)
	var all sync.WaitGroup
	for host, word := range words {
		all.Go(func() {
			if got := a.get(ctx, "http://"+host+"/busy?first"); got.status != 429 || got.fields.Get("Retry-After") != word {
				t.Errorf("%s: %d %q, %v; want the origin's own answer", host, got.status, got.fields.Get("Retry-After"), got.err)
			}
			if host == "years.example" {
				if got := a.get(ctx, "http://"+host+"/busy"); got.status != 429 || got.retry() < 23*time.Hour || got.retry() > 24*time.Hour {
					t.Errorf("%s: %d, Retry-After %v; want a day", host, got.status, got.retry())
				}
				return
			}
			if got := a.insist(ctx, "http://"+host+"/busy"); got.status != 200 {
				t.Errorf("%s: %d, %v", host, got.status, got.err)
			}
			v := p.visits(host, "/busy")
			if len(v) != 2 || v[1].at.Sub(v[0].at) < time.Second-measured {
				t.Errorf("Retry-After: %s: %d requests came, want 2 with a second between them: %+v", word, len(v), v)
			}
		})
	}
	all.Wait()
}
