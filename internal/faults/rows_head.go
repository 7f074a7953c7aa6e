package faults

import "strings"

// heads are faults of the header section (RFC 9112 §2.2, §5).
func heads() []Row {
	const broken = "http_protocol_error"
	long := func(n int) string { return "X-Long: " + strings.Repeat("x", n) }
	return []Row{
		{
			Name: "header cut between two lines", Do: write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"), Why: "it is not known what else it says",
			Robots: unreachable(2), Page: failed(502, ""),
		},
		{
			Name: "header cut in a line", Do: write("HTTP/1.1 200 OK\r\nContent-Le"), Why: "it is not known what else it says",
			Robots: unreachable(2).atMost(), Page: failed(502, ""),
		},
		{
			Name: "a line without a colon", Do: write(head(ok, "what is this", "Content-Length: 0")), Why: "the header cannot be read",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "a field without a name", Do: write(head(ok, ": x", "Content-Length: 0")), Why: "the header cannot be read",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "a blank before the colon", Do: write(head(ok, "Content-Length : 33"), Good, "more"), Why: "RFC 9112 §5.1: of an answer a proxy takes it away, and it is a length then",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "a first line that is folded", Do: write("HTTP/1.1 200 OK\r\n folded: x\r\nContent-Length: 0\r\n\r\n"), Why: "RFC 9112 §2.2: it is not known what it belongs to",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "a folded line", Do: write(head(ok, text, "X-Folded: a\r\n b", "Content-Length: 33"), Good), Why: "RFC 9112 §5.2: a proxy may take it for one line",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "lines that end with LF alone", Do: write("HTTP/1.1 200 OK\nContent-Length: 33\n\n", Good), Why: "RFC 9112 §2.2 lets a recipient take it",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "no fields at all", Do: write(head(ok), Good), Why: "the end of the connection is the end of the body",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "NUL in a name", Do: write(head(ok, "X\x00Y: z", "Content-Length: 0")), Why: "no name has that octet",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "a blank line first", Do: write("\r\n", reply(ok, Good, text)), Why: "that is allowed before a request, not before an answer",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "an endless header", Do: do(write("HTTP/1.1 200 OK\r\n"), flood(long(100)+"\r\n")), Why: "bounded at 64 KiB",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "an endless line in the header", Do: do(write("HTTP/1.1 200 OK\r\nX: "), flood("xxxxxxxx")), Why: "bounded at 64 KiB",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "an endless reason phrase", Do: do(write("HTTP/1.1 200 "), flood("OK ")), Why: "bounded at 64 KiB",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "a header of 70 KiB", Do: write(reply(ok, Good, long(70<<10))), Why: "bounded at 64 KiB",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "a header of 60 KiB", Do: write(reply(ok, Good, long(60<<10))), Why: "long, but within the bound",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "5,000 fields", Do: write(reply(ok, Good, strings.Split(strings.Repeat("X-Y: z\n", 4999)+"X-Y: z", "\n")...)), Why: "many, but within the bound",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "rubbish", Do: write("SSH-2.0-OpenSSH_9.6\r\n"), Why: "another protocol",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		{
			Name: "zeroes for a header", Do: write(strings.Repeat("\x00", 1000)), Why: "no protocol at all",
			Robots: unreachable(2).atMost(), Page: failed(502, ""),
		},
		{
			Name: "TLS on a plain port", On: "http", Accept: write("\x15\x03\x01\x00\x02\x02\x46"), Why: "an alert is no answer",
			Robots: unreachable(0), Page: unasked(502, ""),
		},
		{
			Name: "HTTP/2 on a plain port", On: "http", Accept: write("\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\x00\x04\x00\x01\x00\x00\x00\x05\x00\xff\xff\xff"),
			Why:    "nobody asked for HTTP/2",
			Robots: unreachable(0), Page: unasked(502, ""),
		},
		{
			Name: "a second answer behind the first", Do: write(reply(ok, Good, text), reply(ok, "poison")), Why: "it belongs to no request, and must not become the next one's answer",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
		{
			Name: "cookies and a challenge", Do: write(reply(ok, Good, "Set-Cookie: a=b", `WWW-Authenticate: Basic realm="x"`, "Clear-Site-Data: *")), Why: "heed has neither jar nor credentials",
			Robots: rules(1), Page: forwarded(200).body(Good),
		},
	}
}

// versions are faults of the status line (RFC 9112 §4).
func versions() []Row {
	const broken = "http_protocol_error"
	bad := func(name, line, why string) Row {
		return Row{
			Name: name, Why: why, Do: write(line+"\r\nContent-Length: 33\r\n\r\n", Good),
			Robots: unreachable(1), Page: failed(502, broken),
		}
	}
	good := func(name, line, why string) Row {
		return Row{
			Name: name, Why: why, Do: write(line+"\r\nContent-Length: 33\r\n\r\n", Good),
			Robots: rules(1), Page: forwarded(200).body(Good),
		}
	}
	return []Row{
		{
			Name: "HTTP/0.9", Do: write(Good), Why: "a body without a header is any bytes at all",
			Robots: unreachable(1), Page: failed(502, broken),
		},
		bad("HTTP/0.9 by name", "HTTP/0.9 200 OK", "it has no status line, so it is a lie"),
		bad("HTTP/2.0 by name", "HTTP/2.0 200 OK", "it was not agreed on, and has no status line"),
		bad("HTTP/3.0", "HTTP/3.0 200 OK", "it was not agreed on"),
		bad("HTTP/11", "HTTP/11 200 OK", "no version"),
		bad("http in lower case", "http/1.1 200 OK", "RFC 9112 §2.3: the name is case-sensitive"),
		bad("ICY", "ICY 200 OK", "another protocol"),
		bad("no status", "HTTP/1.1 OK", "no status"),
		bad("a status of two digits", "HTTP/1.1 20 OK", "no status"),
		bad("a status of four digits", "HTTP/1.1 2000 OK", "no status"),
		bad("a signed status", "HTTP/1.1 +20 OK", "no status"),
		bad("a negative status", "HTTP/1.1 -20 OK", "no status"),
		bad("status 000", "HTTP/1.1 000 OK", "no status"),
		bad("status 099", "HTTP/1.1 099 OK", "no status"),
		{
			Name: "status 999", Do: write(reply("999 No", Good)), Why: "RFC 9110 §15: a client takes it for 500; what to make of a page is for the client to say",
			Robots: unreachable(1), Page: forwarded(999),
		},
		{
			Name: "status 600", Do: write(reply("600 No", Good)), Why: "a client takes it for 500",
			Robots: unreachable(1), Page: forwarded(600),
		},
		good("no reason phrase", "HTTP/1.1 200 ", "RFC 9112 §4 has it optional"),
		good("no reason phrase and no blank", "HTTP/1.1 200", "so much may be taken"),
		good("HTTP/1.0", "HTTP/1.0 200 OK", "old, and complete"),
		good("HTTP/1.2", "HTTP/1.2 200 OK", "RFC 9110 §2.5: a higher minor version is read as one's own"),
	}
}

// fields are octets that no field has (RFC 9110 §5.5): an answer with them is
// refused, or they are replaced before it is handed on.
func fields() []Row {
	return []Row{
		{
			Name: "NUL in a value", Why: "RFC 9110 §5.5: no client may get it", Do: write(reply(ok, Good, "X-Y: a\x00b")),
			Robots: anything(1), Page: &Page{Status: 502, Error: "http_protocol_error", Requests: 1},
		},
		{
			Name: "CR in a value", Why: "RFC 9110 §5.5: no client may get it", Do: write(reply(ok, Good, "X-Y: a\rSet-Cookie: b")),
			Robots: anything(1), Page: &Page{Status: 502, Error: "http_protocol_error", Requests: 1},
		},
	}
}
