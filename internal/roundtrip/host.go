package roundtrip

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// key is what connections are kept by: the scheme, and the authority as it is
// in a URL, without the scheme's own port.
type key struct {
	secure bool
	host   string
}

func keyOf(u *url.URL, proxied bool) key {
	switch {
	case proxied:
		return key{} // all go to the one proxy
	case u.Scheme == "https":
		return key{secure: true, host: strings.TrimSuffix(u.Host, ":443")}
	default:
		return key{host: strings.TrimSuffix(u.Host, ":80")}
	}
}

// protocol is what an origin speaks inside TLS.
type protocol uint8

const (
	unknown protocol = iota
	http1
	http2
)

// host is what is known of where connections go.
type host struct {
	key key

	mu       sync.Mutex // guards what follows
	speaks   protocol
	learning chan struct{} // closed when speaks was learned, or could not be; nil: nobody is at it
	over2    *tls.Conn     // with HTTP/2, for the http.Transport to take
	handed   time.Time     // since when
	asked    time.Time     // when somebody last wanted to know what it speaks

	// guarded by pool.mu
	idle []*conn   // the last one used is the last
	kept time.Time // when one was last kept
	dead bool      // forgotten: nothing is kept here any more
}

// addr is the host:port to connect to.
func (h *host) addr() string {
	u := url.URL{Host: h.key.host}
	switch {
	case u.Port() != "":
		return h.key.host
	case h.key.secure:
		return net.JoinHostPort(u.Hostname(), "443")
	default:
		return net.JoinHostPort(u.Hostname(), "80")
	}
}

// protocol returns what the host speaks. While another request is about to
// learn it, it waits, but for one alone: if that one fails, all who waited go on
// at once, each by itself, since one after the other they would wait for the
// last one's time times their number. A channel is for the first to ask: it is
// to call learned, or gaveUp with it.
func (h *host) protocol(ctx context.Context) (known protocol, learner chan struct{}, err error) {
	h.mu.Lock()
	known, wait := h.speaks, h.learning
	if known == http1 {
		h.mu.Unlock()
		return http1, nil, nil
	}
	h.asked = time.Now()
	if known == unknown && wait == nil {
		learner = make(chan struct{})
		h.learning = learner
	}
	h.mu.Unlock()
	if known != unknown || learner != nil {
		return known, learner, nil
	}
	select {
	case <-wait:
	case <-ctx.Done():
		return unknown, nil, context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.speaks, nil, nil
}

// learned ends the wait of others.
func (h *host) learned(p protocol) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.speaks, h.asked = p, time.Now()
	h.stopLearning()
}

// gaveUp ends the wait of others, if nothing was learned.
func (h *host) gaveUp(learner chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.learning == learner {
		h.stopLearning()
	}
}

// stopLearning is called with mu held.
func (h *host) stopLearning() {
	if h.learning != nil {
		close(h.learning)
		h.learning = nil
	}
}

// handOver leaves a connection for the http.Transport, if there is none yet.
func (h *host) handOver(c *tls.Conn) {
	h.mu.Lock()
	had := h.over2 != nil
	if !had {
		h.over2, h.handed = c, time.Now()
	}
	h.mu.Unlock()
	if had {
		_ = c.Close()
	}
}

// takeOver returns the connection that was handed over, nil if there is none.
func (h *host) takeOver() *tls.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.over2
	h.over2 = nil
	return c
}

// leftOver returns a connection that was handed over before, and that nobody
// took: the http.Transport had another one.
func (h *host) leftOver(before time.Time) *tls.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.over2
	if c == nil || h.handed.After(before) {
		return nil
	}
	h.over2 = nil
	return c
}

// unused reports whether nobody asked for the host since.
func (h *host) unused(since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over2 == nil && h.learning == nil && h.asked.Before(since)
}
