package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"heed/fetch"
	"heed/internal/audit"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/faults"
	"heed/internal/pace"
	"heed/internal/testnet"
	"heed/proxy"
)

// site is a.example in memory, by http and https, behind a heed with a pacer. All
// times are those of a bubble.
type site struct {
	t      *testing.T
	client *http.Client
	pacer  *pace.Pacer
	began  time.Time

	mu      sync.Mutex
	robots  string
	busy    time.Duration // with which the next page answers 429; 0: it answers 200
	slow    time.Duration // that a robots.txt takes
	came    []string      // what came, and in which second
	entries []*audit.Entry
}

// atSite runs do with a site whose robots.txt asks for delay seconds.
func atSite(t *testing.T, delay int, change func(*config.Config), do func(*site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		authority, err := memoryCA()
		if err != nil {
			t.Fatal(err)
		}
		s := &site{t: t, began: time.Now(), robots: fmt.Sprintf("User-agent: *\nDisallow: /private\nCrawl-delay: %d\n", delay)}
		network := testnet.New(testnet.Config{})
		network.SetName("a.example", originAddr)
		listen := func(addr string) net.Listener {
			l, err := network.Listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		port80, port443 := listen("192.0.2.1:80"), listen("192.0.2.1:443")
		plain, secure := &http.Server{Handler: s}, &http.Server{Handler: s, TLSConfig: faults.ServerConfig()}
		go func() { _ = plain.Serve(port80) }()
		go func() { _ = secure.ServeTLS(port443, "", "") }()

		c := config.Default()
		c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		if change != nil {
			change(&c)
		}
		dialer, err := dial.New(dial.Config{Allow: c.AllowAddress, Resolver: network, Connect: network.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		s.pacer = newPacer(c.Pace, dialer, zerolog.Nop())
		robots := fetcherConfig(c, dialer, faults.Roots(), "1.2.3")
		robots.Turn = robotsTurns(s.pacer, c)
		modes, err := NewModes(c)
		if err != nil {
			t.Fatal(err)
		}
		a := &App{log: zerolog.Nop(), ca: authority, fetcher: fetch.New(robots), pacer: s.pacer, modes: modes}
		heed := proxy.New(proxyConfig(c, "1.2.3", "heed-under-test", a, dialer, faults.Roots(), new(audit.Recent), s.record))
		port, served := listen("127.0.0.1:3128"), make(chan error, 1)
		go func() { served <- heed.Serve(port) }()
		s.client = newClient(authority, "127.0.0.1:3128", network.DialContext)
		defer func() {
			s.client.CloseIdleConnections()
			over, cancel := context.WithCancel(context.Background())
			cancel()
			_ = heed.Shutdown(over)
			if err := <-served; err != nil {
				t.Error(err)
			}
			a.fetcher.Close()
			robots.Transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
			s.pacer.Close()
			_ = plain.Close()
			_ = secure.Close()
		}()
		do(s)
	})
}

// ServeHTTP is the site's.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	s.came = append(s.came, fmt.Sprintf("%.0f %s %s", time.Since(s.began).Seconds(), scheme, r.URL.Path))
	robots, busy, slow := s.robots, s.busy, s.slow
	isRobots := r.URL.Path == "/robots.txt"
	if !isRobots {
		s.busy = 0
	}
	s.mu.Unlock()
	switch {
	case isRobots:
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, robots)
	case busy > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(busy.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		_, _ = io.WriteString(w, "hello")
	}
}

func (s *site) record(e *audit.Entry) {
	if e.Verdict == audit.Answered {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e.Clone())
}

// last is the exchange that was recorded last, once it is.
func (s *site) last() *audit.Entry {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[len(s.entries)-1]
}

// get asks as a client of a name does that waits for so long: 0 is for ever.
func (s *site) get(u, agent string, patience time.Duration) (a answer) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	if patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("User-Agent", agent)
	began := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{err: err, took: time.Since(began)}
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = io.ReadAll(resp.Body)
	a.took = time.Since(began)
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		a.retry = time.Duration(n) * time.Second
	}
	return a
}

// visits are what came to the site, and when.
func (s *site) visits() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.came, ", ")
}
