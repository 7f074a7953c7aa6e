package faults

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"time"

	h2 "golang.org/x/net/http2"
)

// Wanted is every row that heed is to meet and does not yet. A row that it
// meets moves to where those of its kind are.
func Wanted() []Row {
	return slices.Concat(accepted(), silence(), empty(), framing(), hops(), retried())
}

// accepted is a connection that is closed at once. Over TCP it may be closed
// before the request is written, which net/http reports as an idle connection
// that was closed.
func accepted() []Row {
	return []Row{{
		Name: "closed when accepted", On: "http", Accept: func(*Conn) {}, Why: "one retry, as after a kept connection that was closed",
		Robots: unreachable(0).dials(2), Page: unasked(502, "connection_terminated"),
	}}
}

// silence is an origin that cannot be talked to, which is found out by waiting.
// connect, the handshake and the whole fetch have the same time, so that it is
// a matter of chance which of them is over first.
func silence() []Row {
	return []Row{
		{
			Name: "SYN black hole", Net: BlackHole, Why: "nothing comes back, not even a refusal",
			Robots: down(504, "connection_timeout", 1).takes(connectTime), Page: unasked(504, "connection_timeout").takes(connectTime),
			InMemory: "loopback has no black holes",
		},
		{
			Name: "TLS: silence", Why: "a handshake is due in time", On: "https", Accept: hang,
			Robots: down(504, "connection_timeout", 1).takes(connectTime), Page: unasked(504, "connection_timeout").takes(connectTime),
		},
		{
			Name: "TLS: an octet a second", Why: "a handshake is due in time", On: "https",
			Accept: do(func(c *Conn) { _, _ = c.Read(make([]byte, 4096)) }, drip(time.Second, "\x16\x03\x03\x00\x7a"+strings.Repeat("\x02", 122))),
			Robots: down(504, "connection_timeout", 1).takes(connectTime), Page: unasked(504, "connection_timeout").takes(connectTime),
		},
	}
}

// empty are answers without a body that announce one.
func empty() []Row {
	return []Row{
		{
			Name: "204 with a length and a body, as a page", On: "https", Why: "RFC 9110 §8.6: a 204 has neither, and a client in HTTP/2 waits for what it announces",
			Do: write(reply("204 No Content", Good)), Page: forwarded(204),
		},
	}
}

// framing are answers of which two readers would take different parts for the
// body (RFC 9112 §6.1, §6.3).
func framing() []Row {
	return []Row{
		{
			Name: "a length and chunks, as a page", Why: "RFC 9112 §6.3: it ought to be handled as an error", Do: write(head(ok, "Content-Length: 3", chunked), chunk(Good), lastChunk),
			Page: failed(502, "http_protocol_error"),
		},
		{
			Name: "chunks in HTTP/1.0, as a page", Why: "RFC 9112 §6.1: the framing is faulty", Do: write("HTTP/1.0 200 OK\r\n", chunked, "\r\n\r\n", chunk(Good), lastChunk),
			Page: failed(502, "http_protocol_error"),
		},
		{
			Name: "a length with a blank before its colon, and chunks", Why: "RFC 9112 §5.1: it is a length all the same", Do: write(head(ok, "Content-Length : 3", chunked), chunk(Good), lastChunk),
			Robots: unreachable(1), Page: failed(502, "http_protocol_error"),
		},
	}
}

// hops are redirects that cannot be followed because of what is at their end.
// The origin that was asked for is not to blame: what its client is told is
// that its robots.txt is unreachable.
func hops() []Row {
	badCertificate := Row{
		Name: "redirect to https with a bad certificate", On: "http", Why: "a hop that fails is unreachable, never permission", Robots: unreachable(1),
		TLS: func(c *tls.Config) { present(c, unknown(), func(*x509.Certificate) {}) },
		Do:  redirected(func(c *Conn) string { return c.origin.world.URL("https", "b") + "/robots.txt" }),
	}
	bad := func(name string, location func(*Conn) string) Row {
		return Row{
			Name: "redirect " + name, Why: "a hop that fails is unreachable, never permission", Do: redirected(location),
			Robots: unreachable(1),
		}
	}
	return []Row{
		badCertificate,
		bad("to an address that is prohibited", func(c *Conn) string { return c.URL("prohibited") + "/robots.txt" }),
		bad("to a prohibited address itself", always("http://169.254.169.254/latest/meta-data/")),
		bad("to a private address itself", always("http://10.0.0.1/robots.txt")),
		bad("to a prohibited address of IPv6", always("http://[::1]/robots.txt")),
		bad("to a prohibited address in another spelling", always("http://[::ffff:10.0.0.1]/robots.txt")),
		bad("to a name that does not exist", func(c *Conn) string { return c.URL("nowhere") + "/robots.txt" }),
		bad("to where nobody listens", func(c *Conn) string { return c.URL("refused") + "/robots.txt" }),
	}
}

// retried are answers after which net/http tries again by itself. An origin
// that has trouble is not to be asked more than twice.
func retried() []Row {
	row := func(name, why string, r *Robots, f func(*Stream)) Row {
		return Row{Name: "HTTP/2: " + name, Why: why, On: "https", H2: f, Robots: r, Page: failed(502, "").requests(0)}
	}
	return []Row{
		row("REFUSED_STREAM for ever", "one retry", unreachable(2).atMost().takes(2*time.Second), func(s *Stream) {
			_ = s.WriteRSTStream(s.ID, h2.ErrCodeRefusedStream)
		}),
		row("GOAWAY for ever", "one retry", unreachable(2).atMost().takes(2*time.Second), func(s *Stream) {
			s.wait(500 * time.Millisecond)
			_ = s.WriteGoAway(0, h2.ErrCodeNo, nil)
			_ = s.Close()
		}),
	}
}
