package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client asks, one request after the other.
type client struct {
	p      *driven
	w      *web
	t      *tally
	random *rand.Rand
	ways   []way
}

// way is a channel to heed.
type way struct {
	name, scheme string
	http.RoundTripper
}

func newClient(p *driven, w *web, t *tally, n int) *client {
	c := &client{p: p, w: w, t: t, random: rand.New(rand.NewPCG(uint64(n), 3))} //nolint:gosec // it is to be the same each time
	proxy := http.ProxyURL(&url.URL{Scheme: "http", Host: p.Proxy})
	for _, h2 := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!h2)
		protocols.SetHTTP2(h2)
		transport := &http.Transport{
			Proxy: proxy, Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: p.trust, MinVersion: tls.VersionTLS12},
			DisableCompression: true, IdleConnTimeout: 5 * time.Second, MaxIdleConnsPerHost: 2,
		}
		if h2 {
			c.ways = append(c.ways, way{"H2", "https", transport})
		} else {
			c.ways = append(c.ways, way{"plain", "http", transport}, way{"TLS", "https", transport})
		}
	}
	return c
}

// work asks until ctx ends.
func (c *client) work(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := c.random.IntN(100); {
		case n < 3:
			c.garbage(ctx)
		case n < 4:
			c.idleTunnel(ctx)
		case n < 9:
			short, cancel := context.WithTimeout(ctx, time.Duration(c.random.IntN(20))*time.Millisecond)
			c.ask(short)
			cancel()
		default:
			c.ask(ctx)
		}
	}
	for _, way := range c.ways {
		way.RoundTripper.(*http.Transport).CloseIdleConnections()
	}
}

// ask asks for a page and judges what comes.
func (c *client) ask(ctx context.Context) {
	s := c.w.sites[c.random.IntN(len(c.w.sites))]
	way := c.ways[c.random.IntN(len(c.ways))]
	agent, path := agents[c.random.IntN(len(agents))], pathOf(c.random)
	path += "?as=" + kinds[c.random.IntN(len(kinds))]
	asked, odd := path, false
	if c.random.IntN(10) == 0 {
		asked, odd = []string{"/./", "//", "/z/..", "/%2e/", "/z/%2E%2e"}[c.random.IntN(5)]+path, true
	}
	method, body := http.MethodGet, io.Reader(nil)
	if c.random.IntN(8) == 0 {
		method, body = http.MethodPost, strings.NewReader(strings.Repeat("x", c.random.IntN(100_000)))
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, way.scheme+"://"+s.host+"/", body)
	if err != nil {
		c.t.wrong("making a request: %v", err)
		return
	}
	if r.URL.Opaque = asked; way.scheme == "http" || strings.HasPrefix(asked, "//") {
		r.URL.Opaque = "//" + s.host + asked // else what comes behind two slashes is taken for a host
	}
	r.Header.Set("User-Agent", agent+"/1.0")
	c.t.asked.Add(1)
	resp, err := way.RoundTrip(r)
	if err != nil {
		c.t.failed.Add(1)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body) // it may break off, as origins do
	c.judge(s, agent, path, odd, way, resp)
}

// judge compares an answer with what the other parser says.
func (c *client) judge(s *site, agent, path string, odd bool, way way, resp *http.Response) {
	allowed := s.allows(agent, path)
	decision := resp.Header.Get("Robots-Decision")
	what := fmt.Sprintf("%s by %s for %s%s: %d, %s", agent, way.name, s.host, path, resp.StatusCode, decision)
	switch {
	case strings.HasPrefix(decision, "disallowed"):
		c.t.denied.Add(1)
		if allowed && !odd { // an odd one may meet a rule by what it is written like
			c.t.wrong("%s; it is allowed", what)
		}
	case decision != "": // its robots.txt did not come, or came late
		c.t.other.Add(1)
	case resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusGatewayTimeout || resp.StatusCode == http.StatusTooManyRequests:
		c.t.other.Add(1) // heed's own: no origin here says so
	case resp.StatusCode == http.StatusForbidden:
		c.t.wrong("%s: denied without a reason", what)
	default:
		c.t.forwarded.Add(1)
		if !allowed && s.fault != moved {
			c.t.wrong("%s; it is disallowed", what)
		}
	}
}

// rubbish is what no client should send.
var rubbish = []string{
	"GET / HTTP/1.1\r\n\r\n", "GET http://site0.test/private HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "\x16\x03\x01\x00", "\x00\x00\x00",
	"POST http://site0.test/ HTTP/1.1\r\nHost: site0.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"CONNECT site0.test:22 HTTP/1.1\r\nHost: site0.test:22\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET http://site1.test/a HTTP/1.1\r\nHost: site1.test\r\nX: " + strings.Repeat("y", 70<<10) + "\r\n\r\n",
	"GET http://127.0.0.1:22/ HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", "CONNECT site2.test:443 HTTP/1.1\r\nHost: site2.test:443\r\n\r\n\x16\x03\x01\x02\x00garbage",
}

// garbage sends some of it, and goes away.
func (c *client) garbage(ctx context.Context) {
	c.t.garbage.Add(1)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.p.Proxy)
	if err != nil {
		c.t.refused(err)
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(conn, rubbish[c.random.IntN(len(rubbish))])
	_, _ = io.CopyN(io.Discard, conn, 100) // whatever it says to that
}

// idleTunnel holds a tunnel in which nothing is said.
func (c *client) idleTunnel(ctx context.Context) {
	c.t.tunnels.Add(1)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.p.Proxy)
	if err != nil {
		c.t.refused(err)
		return
	}
	defer func() { _ = conn.Close() }()
	s := c.w.sites[c.random.IntN(len(c.w.sites))]
	_, _ = fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", s.host, s.host)
	_ = conn.SetDeadline(time.Now().Add(time.Duration(c.random.IntN(1000)) * time.Millisecond))
	_, _ = io.Copy(io.Discard, conn)
}

// refused is a connection that heed did not take.
func (t *tally) refused(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		t.wrong("connecting to heed: %v", err)
	}
}
