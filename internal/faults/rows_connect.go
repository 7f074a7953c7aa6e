package faults

import (
	"strings"
	"time"
)

const connectTime = 10 * time.Second // timeouts.connect, and robots.timeout

// connections are faults before there is a request: RFC 9309 §2.3.1.4 counts
// them all as unreachable.
func connections() []Row {
	return []Row{
		{
			Name: "NXDOMAIN", Net: NXDOMAIN, Why: "the whole origin is not there, which is told of it and not of its robots.txt",
			Robots: down(502, "dns_error", 0), Page: unasked(502, "dns_error"),
		},
		{
			Name: "SERVFAIL", Net: SERVFAIL, Why: "nobody knows whether there is such a host",
			Robots: down(502, "dns_error", 0), Page: unasked(502, "dns_error"),
		},
		{
			Name: "nobody answers for the name", Net: DNSSilent, Why: "the whole origin cannot be reached",
			Robots: down(504, "dns_timeout", 0).takes(connectTime).pause(time.Second), Page: unasked(504, "dns_timeout").takes(connectTime),
		},
		{
			Name: "refused", Net: Refused, Why: "once more, as it may be a restart; then it is down",
			Robots: down(502, "connection_refused", 2), Page: unasked(502, "connection_refused"),
		},
		{
			Name: "no route", Net: Unroutable, Why: "no such network",
			Robots: down(502, "destination_ip_unroutable", 1), Page: unasked(502, "destination_ip_unroutable"),
			InMemory: "loopback is always there",
		},
		{
			Name: "an address that is prohibited", Net: Prohibited, Why: "waiting would not help, so it is 403",
			Robots: down(403, "destination_ip_prohibited", 0), Page: unasked(403, "destination_ip_prohibited"),
		},
		{
			Name: "reset when accepted", On: "http", Accept: reset, Why: "one retry",
			Robots: unreachable(0).dials(2), Page: unasked(502, "connection_terminated"),
		},
		{
			Name: "closed when accepted, TLS", On: "https", Accept: func(*Conn) {}, Why: "one retry",
			Robots: unreachable(0).dials(2), Page: unasked(502, "connection_terminated"),
		},
		{
			Name: "reset when accepted, TLS", On: "https", Accept: reset, Why: "one retry",
			Robots: unreachable(0).dials(2), Page: unasked(502, "connection_terminated"),
		},
		{
			Name: "silent when accepted", On: "http", Accept: hang, Why: "a port that takes connections is no origin yet",
			Robots: unreachable(0).takes(connectTime), Page: unasked(504, "http_response_timeout").takes(headerTime),
		},
		{
			Name: "an answer before there is a request", On: "http", Accept: do(write(reply(ok, Good, text)), hang),
			Why:    "nobody asked: it is no answer, or it is one to the request that crossed it; the rules hold either way",
			Robots: anything(0).takes(connectTime),
		},
		{
			Name: "closed before the header", Do: func(*Conn) {}, Why: "one retry for robots.txt; a client repeats a page itself if it wants to",
			Robots: unreachable(2), Page: failed(502, "connection_terminated"),
		},
		{
			Name: "reset before the header", Do: reset, Why: "one retry",
			Robots: unreachable(2), Page: failed(502, "connection_terminated"),
		},
		{
			Name: "closed once, then well", Do: then(1, func(*Conn) {}, well), Why: "what the retry is for",
			Robots: rules(2), Page: failed(502, "connection_terminated"),
		},
		{
			Name: "closed after the header", Do: write(head(ok, text, "Content-Length: 33")), Why: "a length that is not met is no end",
			Robots: unreachable(1), Page: aborted(),
		},
		{
			Name: "reset after the header", Do: do(write(head(ok, text, "Content-Length: 33")), pause(time.Second), reset), Why: "the rules did not come",
			Robots: unreachable(1).takes(time.Second), Page: aborted().takes(time.Second),
		},
		{
			Name: "reset in the body", Do: do(write(head(ok, text, "Content-Length: 99"), Good), pause(time.Second), reset), Why: "half a file may lack the rule",
			Robots: unreachable(1).takes(time.Second), Page: aborted().takes(time.Second),
		},
		{
			Name: "reset in a body without a length", Do: do(write(head(ok, text), Good), pause(time.Second), reset), Why: "its end would be a close",
			Robots: unreachable(1).takes(time.Second), Page: aborted().takes(time.Second),
		},
	}
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
