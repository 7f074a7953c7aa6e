package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"heed/bench/engine/wire"
)

// Way is how a client gets to the origin.
type Way int

// The ways.
const (
	Plain       Way = iota // http, in absolute form where there is a proxy
	Intercepted            // CONNECT, then TLS that the proxy takes part in
	Relayed                // CONNECT, then what the proxy takes for TLS and relays unread
)

// Plan is what clients do.
type Plan struct {
	Proxy  netip.AddrPort // the zero value: there is none, and the origin is asked directly
	Way    Way
	Conns  int  // clients, each on a connection of its own, one request at a time
	Size   int  // of the body asked for: Small, Mid or Large
	Each   bool // a connection (and tunnel, and handshake) for each request
	Denied bool // what robots.txt disallows is asked for: 403 is right
	// Streams is how many requests at a time each client has on its connection, over
	// HTTP/2 inside TLS; 0: one, over HTTP/1.1.
	Streams int

	Warm, Time time.Duration // how long it is done before it counts, and then
}

// userAgent is that of every client.
const userAgent = "ExampleBot/1.0 (+https://bot.example/about)"

// octets are the requests of a plan.
type octets struct {
	connect  []byte
	requests [][]byte
	want     expectation
}

func (p *Plan) octets(to netip.AddrPort) octets {
	o := octets{
		connect: fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n", to, to, userAgent),
		want:    expectation{"200", pageBody(p.Size)},
	}
	form := ""
	if p.Way == Plain && p.Proxy.IsValid() {
		form = "http://" + to.String()
	}
	for v := range variants {
		at := target(p.Size, v)
		if p.Denied {
			at = fmt.Sprintf("%spage-%d.html", Disallowed, v)
		}
		o.requests = append(o.requests, fmt.Appendf(nil, "GET %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Language: en\r\nAccept-Encoding: gzip, deflate\r\n\r\n", form, at, to, userAgent))
	}
	if p.Denied {
		o.want = expectation{status: "403"}
	}
	return o
}

// client asks for one page after the other.
type client struct {
	*run
	task *wire.Task
	conn *wire.Conn // nil: none is open
	to   io.Writer  // what is written goes here: conn, or TLS over it
	in   answers
	used bool // an answer came on this connection
	met  bool // an answer came
}

// answered counts an answer.
func (c *client) answered(asked time.Time) {
	if !c.met {
		c.met = true
		c.run.met++
	}
	c.count(asked)
}

func (c *client) work() error {
	defer func() { c.working-- }()
	for i := 0; !c.ending; i++ {
		began := time.Now()
		if c.conn == nil {
			if err := c.open(); err != nil {
				return err
			}
		}
		closes, err := c.ask(c.requests[i%variants])
		if errors.Is(err, errGone) && c.used {
			// It was free to close, and did as we wrote (RFC 9112 §9.5). The time
			// goes on.
			c.close()
			if err = c.open(); err != nil {
				return err
			}
			closes, err = c.ask(c.requests[i%variants])
		}
		if err != nil {
			return fmt.Errorf("a client: %w", err)
		}
		c.answered(began)
		c.used = true
		if closes || c.plan.Each {
			c.close()
		}
	}
	return nil
}

func (c *client) ask(request []byte) (closes bool, err error) {
	if _, err := c.to.Write(request); err != nil {
		if errors.Is(err, wire.ErrStopped) {
			return false, err
		}
		return false, fmt.Errorf("%w: %w", errGone, err)
	}
	return c.in.next(&c.want)
}

func (c *client) close() {
	_ = c.conn.Close()
	c.conn, c.used, c.in.have = nil, false, 0
}

// open connects, as the plan says how.
func (c *client) open() error {
	at := c.origin
	if c.plan.Proxy.IsValid() {
		at = c.plan.Proxy
	}
	conn, err := c.task.Dial(at)
	if err != nil {
		return fmt.Errorf("a client: %w", err)
	}
	c.opened++
	c.conn, c.to = conn, conn
	c.in.from, c.in.raw = conn, conn
	if c.plan.Way != Plain && c.plan.Proxy.IsValid() {
		if err := c.connect(); err != nil {
			return fmt.Errorf("a client: opening a tunnel: %w", err)
		}
	}
	switch c.plan.Way {
	case Intercepted:
		err = c.handshake()
	case Relayed:
		err = c.seal()
	}
	if err != nil {
		return fmt.Errorf("a client: inside the tunnel: %w", err)
	}
	return nil
}

func (c *client) connect() error {
	if _, err := c.conn.Write(c.octets.connect); err != nil {
		return err
	}
	end, err := c.in.head()
	if err != nil {
		return err
	}
	h, err := parseHead(c.in.buf[:end+2])
	if err != nil {
		return err
	}
	if string(h.status) != "200" || c.in.have != end+len(headEnd) {
		return fmt.Errorf("answered by\n%s", bytes.TrimSpace(c.in.buf[:c.in.have]))
	}
	c.in.have = 0
	return nil
}

// handshake speaks TLS, and makes sure that it is the proxy who does so.
func (c *client) handshake() error {
	t := tls.Client(c.conn, c.tls)
	if err := t.HandshakeContext(context.Background()); err != nil {
		return err
	}
	leaf := t.ConnectionState().PeerCertificates[0].Raw
	if own := bytes.Equal(leaf, c.originLeaf); own == c.plan.Proxy.IsValid() {
		return errors.New("the certificate is the origin's: nothing was intercepted")
	}
	c.to, c.in.from, c.in.raw = t, t, nil
	return nil
}

// seal gets a tunnel to the point from which plain HTTP is spoken in it.
func (c *client) seal() error {
	if _, err := c.conn.Write(c.hello); err != nil {
		return err
	}
	var first [1]byte
	if _, err := io.ReadFull(c.conn, first[:]); err != nil {
		return err
	}
	if first[0] != handshakeRecord {
		return fmt.Errorf("the tunnel begins with %q, and not with the origin's octet", first)
	}
	return nil
}
