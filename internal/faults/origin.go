package faults

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// World is what an origin must know of what is around it.
type World struct {
	// URL is that of a host by its label, without a slash at the end. The
	// labels are "a", the origin that breaks; "b", another name of it that
	// never does by itself; "refused", where nobody listens; "prohibited",
	// which has an address that may not be connected to; and "nowhere", which
	// does not exist.
	URL func(scheme, label string) string

	// Label is the inverse: of a host without its port.
	Label func(host string) string

	// Second is how long a second of an Act takes.
	Second time.Duration
}

// Broken is what is broken of an Origin.
type Broken uint8

// What may be broken. Faults of connections concern all requests alike.
const (
	Nothing Broken = iota
	RobotsTxt
	Pages
)

// Origin is a server that meets a fault while it is broken. Make one with New.
type Origin struct {
	row   Row
	world World
	done  chan struct{}

	mu     sync.Mutex // guards what follows
	broken Broken
	met    int
	seen   []Request
	taken  int // connections
	open   map[net.Conn]bool
	closed bool
	group  sync.WaitGroup
}

// Request is a request that an Origin saw.
type Request struct {
	Own    bool // heed's, for a robots.txt
	Label  string
	Target string
	Header http.Header
}

// New returns an origin that is well.
func New(row Row, world World) *Origin {
	return &Origin{row: row, world: world, done: make(chan struct{}), open: map[net.Conn]bool{}}
}

// Break says what is broken from now on.
func (o *Origin) Break(b Broken) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken, o.met = b, 0
}

// Requests returns those that were seen, heed's own or those that it forwarded,
// and forgets them.
func (o *Origin) Requests(own bool) (seen []Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var others []Request
	for _, r := range o.seen {
		if r.Own == own {
			seen = append(seen, r)
		} else {
			others = append(others, r)
		}
	}
	o.seen = others
	return seen
}

// Accepted is how many connections were taken.
func (o *Origin) Accepted() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken
}

// Serve serves the connections of a listener until Close, inside TLS where
// config is not nil.
func (o *Origin) Serve(l net.Listener, config *tls.Config) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		o.mu.Lock()
		if o.closed {
			o.mu.Unlock()
			_ = c.Close()
			return
		}
		o.open[c] = true
		o.taken++
		o.group.Go(func() { o.serve(c, config) })
		o.mu.Unlock()
	}
}

// Close closes every connection and waits for what serves them. The listeners
// are to be closed before.
func (o *Origin) Close() {
	o.mu.Lock()
	o.closed = true
	close(o.done)
	for c := range o.open {
		_ = c.Close()
	}
	o.mu.Unlock()
	o.group.Wait()
}

func (o *Origin) isBroken() Broken {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.broken
}

func (o *Origin) serve(below net.Conn, config *tls.Config) {
	defer func() {
		_ = below.Close()
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.open, below)
	}()
	c := &Conn{Conn: below, origin: o, secure: config != nil}
	broken := o.isBroken() != Nothing
	if broken && o.row.Accept != nil {
		o.row.Accept(c)
		return
	}
	if config == nil {
		o.serveHTTP(c)
		return
	}
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	if o.row.H2 != nil {
		config.NextProtos = []string{"h2"}
	}
	if broken && o.row.TLS != nil {
		o.row.TLS(config)
	}
	secure := tls.Server(below, config)
	if secure.HandshakeContext(context.Background()) != nil { // closing the connection ends it
		return
	}
	defer func() { _ = secure.Close() }()
	c.Conn = secure
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		o.serveHTTP2(c)
		return
	}
	o.serveHTTP(c)
}

// serveHTTP answers requests for as long as they are answered well.
func (o *Origin) serveHTTP(c *Conn) {
	r := bufio.NewReader(c)
	for {
		var raw bytes.Buffer
		for !bytes.HasSuffix(raw.Bytes(), []byte("\r\n\r\n")) {
			line, err := r.ReadSlice('\n')
			raw.Write(line)
			if err != nil {
				return
			}
		}
		req, err := http.ReadRequest(bufio.NewReader(&raw))
		if err != nil {
			return
		}
		if !o.note(c, req.Host, req.RequestURI, req.Header) {
			if !c.write(o.good(c.Target)) {
				return
			}
			continue
		}
		o.row.Do(c)
		return
	}
}

// note records a request and reports whether it meets the fault.
func (o *Origin) note(c *Conn, authority, target string, h http.Header) bool {
	host, _, found := strings.Cut(authority, ":")
	if !found {
		host = authority
	}
	c.Label, c.Target, c.Header = o.world.Label(host), target, h
	own := strings.HasPrefix(h.Get("User-Agent"), "heed/")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, Request{own, c.Label, target, h})
	if o.row.Do == nil && o.row.H2 == nil || o.broken != RobotsTxt && own || o.broken != Pages && !own {
		return false
	}
	o.met++
	c.N = o.met
	return true
}

// good is what an origin answers that is well.
func (o *Origin) good(target string) string {
	if target == "/robots.txt" {
		return reply(ok, Good, text)
	}
	return reply(ok, Body(target), text)
}

// Body is that of a page.
func Body(target string) string { return "the page " + target }
