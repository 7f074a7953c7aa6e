package faults

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Act is something that an origin does with a connection. When it returns the
// connection is closed.
type Act func(*Conn)

// Conn is a connection as an origin has it.
type Conn struct {
	net.Conn
	Label  string // the host that was asked for: "a", "b", …
	Target string // of the request; empty before one was read
	Header http.Header
	N      int // which of the requests that met the fault this is, from 1

	origin *Origin
	secure bool
}

// URL is that of a host of this world, by its label, with the scheme of this
// connection and without a slash at the end.
func (c *Conn) URL(label string) string {
	if c.secure {
		return c.origin.world.URL("https", label)
	}
	return c.origin.world.URL("http", label)
}

// wait lets a time pass. It is false when the origin is closed meanwhile.
func (c *Conn) wait(d time.Duration) bool {
	timer := time.NewTimer(time.Duration(float64(d) * c.origin.world.Second.Seconds()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.origin.done:
		return false
	}
}

// write sends octets. It is false when nobody takes them.
func (c *Conn) write(s string) bool {
	_, err := io.WriteString(c, s)
	return err == nil
}

// do is several acts, one after the other.
func do(acts ...Act) Act {
	return func(c *Conn) {
		for _, act := range acts {
			act(c)
		}
	}
}

func write(parts ...string) Act {
	return func(c *Conn) { c.write(strings.Join(parts, "")) }
}

// answer writes what depends on the connection.
func answer(f func(*Conn) string) Act { return func(c *Conn) { c.write(f(c)) } }

// hang waits until the other side closes.
func hang(c *Conn) { _, _ = io.Copy(io.Discard, c) }

// reset closes with a RST rather than a FIN.
func reset(c *Conn) {
	below := c.Conn
	if inside, ok := below.(interface{ NetConn() net.Conn }); ok {
		below = inside.NetConn()
	}
	if tcp, ok := below.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = below.Close()
}

// cut closes what is below TLS, so that TLS does not say that it is the end.
func cut(c *Conn) {
	if inside, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		_ = inside.NetConn().Close()
	}
}

func pause(d time.Duration) Act { return func(c *Conn) { c.wait(d) } }

// drip writes an octet each d.
func drip(d time.Duration, s string) Act {
	return func(c *Conn) {
		for i := range len(s) {
			if !c.write(s[i:i+1]) || !c.wait(d) {
				return
			}
		}
	}
}

// flood writes the same for as long as it is taken. It takes a little time, or
// time would stand still in a bubble of testing/synctest.
func flood(s string) Act {
	many := strings.Repeat(s, 1+(16<<10)/len(s))
	return func(c *Conn) {
		for c.write(many) {
			if !c.wait(5 * time.Millisecond) {
				return
			}
		}
	}
}

// then does one thing with the first n requests that meet the fault, and
// another with those that follow.
func then(n int, first, later Act) Act {
	return func(c *Conn) {
		if c.N <= n {
			first(c)
			return
		}
		later(c)
	}
}

// reply is a whole answer, of which Content-Length says how long it is.
func reply(status, body string, fields ...string) string {
	return head(status, append(fields, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// head is the header section of an answer, to its empty line.
func head(status string, fields ...string) string {
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n"
}

// chunk is one chunk of a body.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

const (
	lastChunk = "0\r\n\r\n"
	ok        = "200 OK"
	text      = "Content-Type: text/plain"
	chunked   = "Transfer-Encoding: chunked"

	// Good is the robots.txt that is there.
	Good = "User-agent: *\nDisallow: /private\n"
)

// well is the answer that a broken origin would give if it were not.
func well(c *Conn) { c.write(c.origin.good(c.Target)) }

// Busy answers 503, and says nothing of when to come again.
func Busy(c *Conn) { c.write(reply("503 Busy", "")) }

// Slow answers well, but only after a while.
func Slow(d time.Duration) Act { return do(pause(d), well) }

// Confirmed answers 304 to whoever has the robots.txt that is there, and sends
// it to others.
func Confirmed(c *Conn) {
	const tag = `ETag: "one"`
	if c.Header.Get("If-None-Match") == `"one"` {
		c.write(head("304 Not Modified", tag))
		return
	}
	c.write(reply(ok, Good, tag))
}
