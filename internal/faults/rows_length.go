package faults

import (
	"strings"
	"time"
)

// lengths are faults of where a body ends (RFC 9112 §6): what one reader takes
// for the whole, another takes for a part.
func lengths() []Row {
	const broken = "http_protocol_error"
	bad := func(name, why string, fields ...string) Row {
		return Row{
			Name: name, Why: why, Do: write(head(ok, append(fields, text)...), Good),
			Robots: unreachable(1), Page: failed(502, broken),
		}
	}
	return []Row{
		{
			Name: "short of its Content-Length", Do: write(head(ok, "Content-Length: 99"), Good), Why: "the missing lines may be the rules",
			Robots: unreachable(1), Page: aborted(),
		},
		{
			Name: "no length, close at the end", Do: write(head(ok, "Connection: close"), Good), Why: "RFC 9112 §6.3: the close is the end",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "no length, half-closed at the end", On: "http", Do: do(write(head(ok), Good), func(c *Conn) {
				_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			}, hang), Why: "the end of one direction is the end of the body",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "no length, keep-alive", Do: write(head(ok, "Connection: keep-alive"), Good), Why: "a promise that is not kept changes nothing",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "no length, cut inside TLS", On: "https", Do: do(write(head(ok), Good), cut), Why: "whoever is on the way could have cut it (RFC 9112 §9.8); crypto/tls takes it for an end",
			Robots: unreachable(1), Page: aborted(),
		},
		{
			Name: "a whole body, cut inside TLS", On: "https", Do: do(write(reply(ok, Good, text)), cut), Why: "its length was met",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "longer than its Content-Length", Do: write(reply(ok, Good), "Allow: /private\n"), Why: "what follows is not of the body",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "one length twice", Do: write(head(ok, "Content-Length: 33", "Content-Length: 33"), Good), Why: "RFC 9110 §8.6 lets a recipient take it for one",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		bad("two lengths", "nobody knows which", "Content-Length: 33", "Content-Length: 0"),
		bad("two lengths in one field", "nobody knows which", "Content-Length: 33, 0"),
		bad("a negative length", "no length", "Content-Length: -1"),
		bad("a signed length", "no length", "Content-Length: +34"),
		bad("a length in hexadecimal", "no length", "Content-Length: 0x22"),
		bad("a length with a fraction", "no length", "Content-Length: 33.0"),
		bad("an empty length", "no length", "Content-Length:"),
		bad("a length past 64 bits", "no length that can be", "Content-Length: 18446744073709551650"),
		bad("Transfer-Encoding: identity", "RFC 9112 §7 has it no more; how the body ends is not known", "Transfer-Encoding: identity"),
		bad("Transfer-Encoding: gzip", "it was not asked for (TE)", "Transfer-Encoding: gzip"),
		bad("Transfer-Encoding: gzip, chunked", "it was not asked for (TE)", "Transfer-Encoding: gzip, chunked"),
		bad("Transfer-Encoding: chunked, identity", "chunked is not last", "Transfer-Encoding: chunked, identity"),
		bad("Transfer-Encoding twice", "RFC 9112 §7.1: chunked is applied once", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
		bad("Transfer-Encoding: xchunked", "no such coding", "Transfer-Encoding: xchunked"),
		bad("an empty Transfer-Encoding", "no coding", "Transfer-Encoding:"),
		{
			Name: "Transfer-Encoding: CHUNKED", Do: write(head(ok, "Transfer-Encoding: CHUNKED"), chunk(Good), lastChunk), Why: "names of codings know no case",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "a length and chunks", Why: "RFC 9112 §6.3: it ought to be handled as an error", Do: write(head(ok, "Content-Length: 3", chunked), chunk(Good), lastChunk),
			Robots: unreachable(1),
		},
		{
			Name: "chunks in HTTP/1.0", Why: "RFC 9112 §6.1: the framing is faulty", Do: write("HTTP/1.0 200 OK\r\n", chunked, "\r\n\r\n", chunk(Good), lastChunk),
			Robots: unreachable(1),
		},
		{
			Name: "a length and chunks, before there is a request", On: "http", Why: "it is no answer, or a faulty one; never permission",
			Accept: do(write(head(ok, "Content-Length: 3", chunked), chunk("# nothing\n"), lastChunk), hang),
			Robots: anything(0).takes(connectTime),
		},
		{
			Name: "a length of 10 GiB, then silence", Do: do(write(head(ok, "Content-Length: 10737418240"), Good), hang), Why: "what is missing is missing",
			Robots: unreachable(1).takes(connectTime),
		},
	}
}

// chunks are faults of chunked bodies (RFC 9112 §7.1).
func chunks() []Row {
	bad := func(name, why string, after ...string) Row {
		return Row{
			Name: name, Why: why, Do: do(write(head(ok, chunked), chunk(Good)), pause(time.Second), write(after...)),
			Robots: unreachable(1).takes(time.Second), Page: aborted().takes(time.Second),
		}
	}
	return []Row{
		{
			Name: "chunked", Do: write(head(ok, chunked), chunk(Good[:10]), chunk(Good[10:]), lastChunk), Why: "nothing is wrong",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "an octet a chunk", Do: write(head(ok, chunked), octets(Good), lastChunk), Why: "wasteful, and right",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "a chunk extension", Do: write(head(ok, chunked), "21;name=value\r\n", Good, "\r\n", lastChunk), Why: "RFC 9112 §7.1.1: ignored",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "trailers", Do: write(head(ok, chunked, "Trailer: X-Sum"), chunk(Good), "0\r\nX-Sum: 1\r\n\r\n"), Why: "nothing is wrong",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "a length and other framing in the trailers", Do: write(head(ok, chunked), chunk(Good), "0\r\nContent-Length: 3\r\nTransfer-Encoding: gzip\r\n\r\n"),
			Why:    "RFC 9110 §6.5.1: they do not count there",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		bad("cut in a chunk", "the missing lines may be the rules", "40\r\n", Good),
		bad("no last chunk", "more was to come"),
		bad("cut in the last chunk", "the body ends behind it", "0\r"),
		bad("rubbish for a chunk size", "no size", "zz\r\n"),
		bad("an empty chunk size", "no size", "\r\n\r\n"),
		bad("a negative chunk size", "no size", "-1\r\n"),
		bad("a signed chunk size", "no size", "+21\r\n", Good, "\r\n", lastChunk),
		bad("a chunk size with 0x", "no size", "0x21\r\n", Good, "\r\n", lastChunk),
		bad("a chunk size past 64 bits", "no size that can be", "10000000000000021\r\n", Good, "\r\n", lastChunk),
		bad("a chunk size of 2^63", "no size that can be", "8000000000000000\r\n", Good),
		bad("a chunk longer than its size", "the next size is not where it should be", "1\r\n", Good, "\r\n", lastChunk),
		bad("a chunk size that ends with LF alone", "two readers would not agree on where it ends", "21\n", Good, "\r\n", lastChunk),
		bad("megabytes of chunk extension", "bounded", "21;x="+strings.Repeat("x", 4<<20)+"\r\n", Good, "\r\n", lastChunk),
		{
			Name: "endless chunk extensions", Do: do(write(head(ok, chunked), chunk(Good)), flood("1;"+strings.Repeat("x", 2000)+"\r\n#\r\n")), Why: "more framing than body",
			Robots: unreachable(1), Page: aborted(),
		},
		{
			Name: "endless trailers", Do: do(write(head(ok, chunked), chunk(Good), "0\r\n"), flood("X-Y: "+strings.Repeat("x", 100)+"\r\n")), Why: "bounded",
			Robots: unreachable(1), Page: aborted(),
		},
		{
			Name: "a trailer line without a colon", Do: do(write(head(ok, chunked), chunk(Good), "0\r\nwhat is this\r\n\r\n")), Why: "the end cannot be read",
			Robots: unreachable(1), Page: aborted(),
		},
	}
}

// octets is s in chunks of one octet.
func octets(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(chunk(s[i : i+1]))
	}
	return b.String()
}

// framing are answers of which two readers would take different parts for the
// body (RFC 9112 §6.3), in a spelling that net/http takes.
func framing() []Row {
	return []Row{{
		Name: "a length with a blank before its colon, and chunks", Why: "RFC 9112 §5.1: it is a length all the same",
		Do: write(head(ok, "Content-Length : 3", chunked), chunk(Good), lastChunk), Robots: unreachable(1),
	}}
}
