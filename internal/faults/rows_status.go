package faults

import (
	"fmt"
	"strings"
	"time"
)

const headerTime = time.Minute // timeouts.response_header

// interim are answers before the answer (RFC 9110 §15.2).
func interim() []Row {
	return []Row{
		{
			Name: "early hints, then well", Do: do(write(head("103 Early Hints", "Link: </x>")), well), Why: "nothing is wrong",
			Robots: rules(1), Page: forwarded(200),
		},
		{
			Name: "100 unasked, then well", Do: do(write(head("100 Continue")), well), Why: "RFC 9110 §15.2: a client takes it though it did not ask",
			Robots: rules(1), Page: forwarded(200),
		},
		{
			Name: "ten interim answers, then well", Do: do(write(strings.Repeat(head("102 Processing"), 10)), well), Why: "a few are no flood",
			Robots: rules(1), Page: forwarded(200),
		},
		{
			Name: "a flood of 100", Do: flood(head("100 Continue")), Why: "bounded",
			Robots: unreachable(1), Page: failed(502, "http_protocol_error"),
		},
		{
			Name: "a flood of 103", Do: flood(head("103 Early Hints", "Link: </style.css>; rel=preload")), Why: "bounded",
			Robots: unreachable(1), Page: failed(502, "http_protocol_error"),
		},
		{
			Name: "an interim answer a second", Do: dripAll(time.Second, head("103 Early Hints", "Link: </x>")), Why: "the time of a fetch is bounded as a whole; a page's header is due in a minute",
			Robots: unreachable(1).takes(connectTime), Page: failed(504, "http_response_timeout").takes(headerTime),
		},
		{
			Name: "an interim answer, then closed", Do: write(head("103 Early Hints")), Why: "there was no answer",
			Robots: unreachable(2), Page: failed(502, "connection_terminated"),
		},
		{
			Name: "101 unasked", Do: do(write(head("101 Switching Protocols", "Upgrade: x", "Connection: Upgrade"), Good), hang), Why: "nobody asked for another protocol",
			Robots: unreachable(1), Page: failed(502, "http_protocol_error"),
		},
		{
			Name: "101 to h2c", Do: do(write(head("101 Switching Protocols", "Upgrade: h2c", "Connection: Upgrade")), hang), Why: "nobody asked for it",
			Robots: unreachable(1), Page: failed(502, "http_protocol_error"),
		},
		{
			Name: "status 199", Do: do(write(head("199 What")), well), Why: "an interim answer that nobody knows is passed over",
			Robots: rules(1), Page: forwarded(200),
		},
	}
}

// dripAll writes the whole of s each d, for ever.
func dripAll(d time.Duration, s string) Act {
	return func(c *Conn) {
		for c.write(s) && c.wait(d) {
		}
	}
}

// statuses are what an origin says of its robots.txt (RFC 9309 §2.3.1).
func statuses() []Row {
	var all []Row
	add := func(why string, outcome func(int) *Robots, codes ...int) {
		for _, code := range codes {
			all = append(all, Row{
				Name: fmt.Sprintf("status %d", code), Why: why, Do: write(reply(fmt.Sprintf("%d Status", code), Good, text)),
				Robots: outcome(1), Page: forwarded(code),
			})
		}
	}
	add("2xx is successful (§2.3.1.1)", rules, 200, 201, 202, 203, 207, 299)
	add("4xx is unavailable (§2.3.1.3)", unavailable, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 414, 418, 421, 425, 426, 431, 451, 499)
	add("too many requests is no leave to make more", unreachable, 429)
	add("5xx is unreachable (§2.3.1.4)", unreachable, 500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 599)
	add("a redirect that names no place", unreachable, 300, 301, 302, 303, 305, 306, 307, 308, 399)
	add("a part is not the file, and nobody asked for one", unreachable, 206)
	return append(all,
		Row{
			Name: "status 407", Do: write(reply("407 Proxy", "")), Why: "4xx is unavailable, whoever it means", Robots: unavailable(1),
		},
		Row{
			Name: "304 unasked", Do: write(head("304 Not Modified", `ETag: "x"`)), Why: "not modified since what?",
			Robots: unreachable(1), Page: forwarded(304),
		},
		Row{
			Name: "status 204", Do: write(head("204 No Content")), Why: "there is a file, and it is empty",
			Robots: noRules(1), Page: forwarded(204),
		},
		Row{
			Name: "status 205", Do: write(head("205 Reset Content", "Content-Length: 0")), Why: "2xx without a body: no rules",
			Robots: noRules(1), Page: forwarded(205),
		},
		Row{
			Name: "204 with a length and a body", Why: "RFC 9110 §8.6: a 204 has neither, and a client in HTTP/2 waits for what it announces",
			Do: write(reply("204 No Content", Good)), Robots: noRules(1),
		},
		Row{
			Name: "an empty 200", Do: write(reply(ok, "")), Why: "an empty file has no rules",
			Robots: noRules(1), Page: forwarded(200),
		},
		Row{
			Name: "a 404 whose body never ends", Do: do(write(head("404 Not Found", text)), flood("no such page ")), Why: "the status says it all",
			Robots: unavailable(1),
		},
		Row{
			Name: "a 404 whose body never comes", Do: do(write(head("404 Not Found", "Content-Length: 99")), hang), Why: "the status says it all",
			Robots: unavailable(1),
		},
		Row{
			Name: "a 503 whose body never comes", Do: do(write(head("503 Busy", "Content-Length: 99")), hang), Why: "the status says it all",
			Robots: unreachable(1),
		},
		Row{
			Name: "a 404 that is cut short", Do: write(head("404 Not Found", "Content-Length: 99"), "no such"), Why: "the status says it all",
			Robots: unavailable(1),
		},
	)
}

// retryAfter are what an origin says of when to come again (RFC 9110 §10.2.3).
func retryAfter() []Row {
	var all []Row
	row := func(name, why, value string, pause time.Duration) {
		for _, status := range []string{"503 Busy", "429 Too Many Requests"} {
			r := unreachable(1).pause(pause)
			all = append(all, Row{Name: status[:3] + ", Retry-After: " + name, Why: why, Do: write(reply(status, "", "Retry-After: "+value)), Robots: r})
		}
	}
	const own = 0 // heed's own pause
	row("120", "as long as the origin says", "120", 2*time.Minute)
	row("7200", "also where heed would have come sooner", "7200", 2*time.Hour)
	row("-5", "no number of seconds", "-5", own)
	row("0", "it is no wish to be hammered", "0", own)
	row("1.5", "no number of seconds", "1.5", own)
	row("soon", "no number of seconds", "soon", own)
	row("empty", "no number of seconds", "", own)
	row("1,000,000 days", "at most a day", "86400000000", 24*time.Hour)
	row("10^30", "at most a day, and no overflow", "1000000000000000000000000000000", 24*time.Hour)
	row("a date in the past", "no wish to be hammered", "Sun, 06 Nov 1994 08:49:37 GMT", own)
	row("a date in 2099", "at most a day", "Fri, 31 Dec 2099 23:59:59 GMT", 24*time.Hour)
	row("a date that is none", "no date", "Fri, 99 Dec 2099 23:59:59 GMT", own)
	dated := answer(func(*Conn) string {
		return reply("503 Busy", "", "Retry-After: "+time.Now().Add(5*time.Minute).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	})
	return append(all,
		Row{Name: "503, Retry-After: a date in five minutes", Why: "as long as the origin says", Do: dated, Robots: unreachable(1).pause(5 * time.Minute)},
		Row{Name: "500, Retry-After: 120", Why: "as long as the origin says", Do: write(reply("500 No", "", "Retry-After: 120")), Robots: unreachable(1).pause(2 * time.Minute)},
		Row{Name: "404, Retry-After: 120", Why: "there is nothing to retry", Do: write(reply("404 No", "", "Retry-After: 120")), Robots: unavailable(1)},
		Row{Name: "200, Retry-After: 120", Why: "there is nothing to retry", Do: write(reply(ok, Good, "Retry-After: 120")), Robots: rules(1)},
	)
}

// slowness is an origin that takes its time.
func slowness() []Row {
	const whole = "HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n" + Good
	return []Row{
		{
			Name: "hang before the header", Do: hang, Why: "10 s are enough for a robots.txt, a minute for a page",
			Robots: unreachable(1).takes(connectTime), Page: failed(504, "http_response_timeout").takes(headerTime),
		},
		{
			Name: "hang in the header", Do: do(write("HTTP/1.1 200 OK\r\nX: "), hang), Why: "as before it",
			Robots: unreachable(1).takes(connectTime), Page: failed(504, "http_response_timeout").takes(headerTime),
		},
		{
			Name: "hang in the body", Do: do(write(head(ok, "Content-Length: 99"), Good), hang), Why: "half a file may lack the rule",
			Robots: unreachable(1).takes(connectTime),
		},
		{
			Name: "hang behind a body without a length", Do: do(write(head(ok), Good), hang), Why: "the end did not come",
			Robots: unreachable(1).takes(connectTime),
		},
		{
			Name: "hang before the last chunk", Do: do(write(head(ok, chunked), chunk(Good)), hang), Why: "the end did not come",
			Robots: unreachable(1).takes(connectTime),
		},
		{
			Name: "an octet a second", Do: drip(time.Second, whole), Why: "it does not hold a slot for ever",
			Robots: unreachable(1).takes(connectTime),
		},
		{
			Name: "a page of an octet a second", Do: drip(time.Second, whole), Why: "its header comes in time, and a body may be slow",
			Page: forwarded(200).body(Good).takes(80 * time.Second), InMemory: "it takes more than a minute",
		},
		{
			Name: "an octet each 50 ms", Do: drip(50*time.Millisecond, whole), Why: "slow, and in time",
			Robots: rules(1).takes(connectTime), Page: forwarded(200).body(Good).takes(connectTime),
		},
		{
			Name: "the header after five seconds", Do: do(pause(5*time.Second), well), Why: "slow, and in time",
			Robots: rules(1).takes(connectTime), Page: forwarded(200).takes(connectTime),
		},
		{
			Name: "silence behind the limit", Do: do(write(head(ok), Good, strings.Repeat("# endless\n", 60<<10)), hang), Why: "what is behind 500 KiB does not matter (RFC 9309 §2.5)",
			Robots: rules(1),
		},
	}
}
