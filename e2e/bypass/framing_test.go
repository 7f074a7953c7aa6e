package bypass

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// post is a request whose framing is written out.
func post(lines, body string) request {
	return request{method: "POST", target: "/x", fields: strings.Split(lines, "\n"), body: body}
}

// behind is a request that must not be taken for one.
const behind = "GET /private HTTP/1.1\r\nHost: rules.test\r\nX-Mark: {evil}\r\n\r\n"

// framings are E: framing, fields, methods.
var framings = slices.Concat(
	[]row{
		{"E1", "pipelined, each decided", raw, request{}, outcome{}, pipelined},
		{"E2", "a length with chunks", raw, post("Content-Length: 5\nTransfer-Encoding: chunked", "0\r\n\r\n"+behind), refused(400, 0), nil},
		{"E2", "a length with chunks, in the other order", raw, post("Transfer-Encoding: chunked\nContent-Length: 5", "0\r\n\r\n"+behind), refused(400, 0), nil},
		{"E2", "a length with chunks that covers the next", raw, post("Content-Length: 200\nTransfer-Encoding: chunked", "0\r\n\r\n"+behind), refused(400, 0), nil},
	},
	each("E3", "framing ", raw, refused(400, 501), func(lines string) request { return post(lines, "0\r\n\r\n") },
		"Content-Length: 5\nContent-Length: 6", "Content-Length: 5, 6", "Content-Length: +5", "Content-Length: -1", "Content-Length: 0x5", "Content-Length: 5 5", "Content-Length: 99999999999999999999",
		"Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked", "Transfer-Encoding : chunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity", "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: \"chunked\"", "Content-Length : 5", "Transfer-Encoding:", "Content-Length: "),
	[]row{
		{"E4", "HTTP/1.0 with chunks", raw, request{method: "POST", version: "HTTP/1.0", target: "/x", fields: []string{"Transfer-Encoding: chunked"}, body: "0\r\n\r\n" + behind}, refused(400, 0), nil},
	},
	each("E4", "a chunk ", raw, outcome{status: []int{400, 502, 0}, begins: true}, func(body string) request { return post("Transfer-Encoding: chunked", body+"\r\n0\r\n\r\n"+behind) },
		"0x5\r\nhello", "5\nhello", "+5\r\nhello", "-5\r\nhello", "5 5\r\nhello", "5\r\nhelloX", "g\r\nhello", "5;a=\x00b\r\nhello", "5;a\nb\r\nhello", "fffffffffffffffff\r\nhello", "\r\nhello", "5;\rx\r\nhello"),
	each("E5", "a field section ", raw, refused(400), func(lines string) request { return request{target: "/x", fields: strings.Split(lines, "\n")} },
		"X-A: a\n  folded", "X-A: a\n\tfolded", "X-A: a\rb", "X-A: a\x00b", ": nothing", "X A: b", "X-A : b", " X-A: b", "X-A", "X\x00A: b", "X\xffA: b", "X(A): b", "X-A: \x01", "\x0bX: 1", "Host\x00: closed.test"),
	[]row{
		{"E6", "HTTP/0.9", p, request{octets: "GET http://rules.test/x\r\n\r\n"}, refused(400, 505), nil},
		{"E6", "HTTP/0.9", c | m, request{octets: "GET /x\r\n\r\n"}, refused(400, 505), nil},
	},
	each("E6", "version ", raw, refused(400, 505), func(v string) request { return request{target: "/x", version: v} },
		"HTTP/2.0", "HTTP/3", "HTTP/1", "HTTP/1.10", "http/1.1", "HTTP/ 1.1", "HTTP/1.1 x", "HTTP/01.1", "HTTP/1.1\x00", "HTTP/9.9", "XTTP/1.1"),
	each("E7", "the method makes no difference, denied: ", all, denied(), func(method string) request { return request{method: method, target: "/private"} },
		"HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE", "PROPFIND", "get", "GETX", "M-SEARCH"),
	[]row{
		{"E7", "a GET with a body, denied", all, request{target: "/private", fields: []string{"Content-Length: 5"}, body: "hello"}, denied(), nil},
		{"E7", "a GET with a body, allowed", raw, request{target: "/x", fields: []string{"Content-Length: 5"}, body: "hello"}, reached(), nil},
		{"E8", "TRACE", all, request{method: "TRACE", target: "/private", fields: []string{"Cookie: secret=1"}}, refused(403, 405, 501), nil},
		{"E8", "TRACE, Max-Forwards: 0", raw, request{method: "TRACE", target: "/x", fields: []string{"Max-Forwards: 0"}}, refused(200, 405, 501), nil},
		{"E8", "OPTIONS, Max-Forwards: 0", raw, request{method: "OPTIONS", target: "/x", fields: []string{"Max-Forwards: 0"}}, refused(200, 204), nil},
		{"E9", "fields of the connection are taken away", raw, request{target: "/x", fields: []string{"Connection: close, X-Drop, Cookie2", "X-Drop: 1", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "Proxy-Authorization: Basic eDp5", "Proxy-Foo: 1", "TE: gzip", "Cookie2: x"}}, reached(), without("x-drop", "keep-alive", "proxy-connection", "proxy-authorization", "te", "cookie2")},
		{"E9", "Connection cannot take the Host away", raw, request{target: "/x", fields: []string{"Connection: Host, User-Agent"}}, outcome{}, namesEndToEnd},
		{"E10", "Via is added", all, request{target: "/x"}, reached(), viaIsAdded},
		{"E11", "interim answers are forwarded", raw, request{target: "/hints"}, outcome{}, interim},
		{"E12", "Expect: 100-continue, denied", raw, request{method: "POST", target: "/private", fields: []string{"Expect: 100-continue", "Content-Length: 5"}}, denied(), nil},
		{"E12", "an unknown Expect", raw, request{target: "/x", fields: []string{"Expect: tea"}}, refused(417), nil},
		{"E12", "an unknown Expect in HTTP/1.0, where it means nothing", p, request{version: "HTTP/1.0", target: "/x", fields: []string{"Expect: tea"}}, reached(), without("expect")},
		{"E13", "a range", all, request{target: "/private", fields: []string{"Range: bytes=0-1"}}, denied(), nil},
		{"E13", "a condition", all, request{target: "/private", fields: []string{"If-None-Match: *"}}, denied(), nil},
	},
	[]row{
		{"E14", "fields that name another target", all, request{target: "/x", fields: []string{"X-Original-URL: /private", "X-Rewrite-URL: /private", "X-HTTP-Method-Override: PURGE"}}, reached(), otherTargets},
		{"E16", "Accept-Encoding as it is", all, request{target: "/x", fields: []string{"Accept-Encoding: x-odd;q=0.3"}}, reached(), keepsCoding},
		{"E17", "fields over 64 KiB", raw, request{target: "/x", fields: []string{"X-Long: " + strings.Repeat("x", 80<<10)}}, refused(431), nil},
		{"E17", "many fields over 64 KiB", raw, request{target: "/x", fields: strings.Split(strings.Repeat("X: y\n", 20<<10)+"X: y", "\n")}, refused(431), nil},
		{"E17", "fields over 64 KiB in HTTP/2", h2, request{target: "/x", fields: []string{"X-Long: " + strings.Repeat("x", 80<<10)}}, refused(431, 0), nil},
		{"E17", "a target over 16 KiB", raw, request{target: "/" + strings.Repeat("x", 20<<10)}, refused(414), nil},
		{"E17", "a target over 16 KiB in HTTP/2", h2, request{target: "/" + strings.Repeat("x", 20<<10)}, refused(414), nil},
		{"E18", "the body of a denied request", raw, request{}, outcome{}, deniedBody},
	},
)

// pipelined sends four requests at once.
func pipelined(x *trial) {
	conn, err := x.open(x.channel, rulesHost)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	wants := []outcome{reached(), denied(), reached(), denied()}
	targets := []string{"/x", "/private", "/y", "//private"}
	trials := make([]trial, len(wants))
	octets := ""
	for i := range wants {
		trials[i] = *x
		trials[i].mark, trials[i].want, trials[i].request = fmt.Sprintf("n%d%s", i, x.mark[1:]), wants[i], target(targets[i])
		octets += trials[i].octets(rulesHost)
	}
	if _, err := io.WriteString(conn, octets); err != nil {
		x.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for i := range trials {
		a, err := receive(r, "GET")
		if err != nil {
			x.Fatal(err)
		}
		trials[i].check(a)
	}
}

// namesEndToEnd has Connection name what an origin cannot do without.
func namesEndToEnd(x *trial) {
	x.want = refused(200, 400)
	a := x.send()
	arrived := strings.ToLower(x.around(x.mark))
	if a.status == 200 && !strings.Contains(arrived, "\nhost: rules.test") {
		x.Errorf("it arrived without Host:\n%s", arrived)
	}
}

func viaIsAdded(x *trial) {
	x.check(x.send())
	if !strings.Contains(strings.ToLower(x.around(x.mark)), "\nvia: ") {
		x.Errorf("the origin got no Via:\n%s", x.around(x.mark))
	}
}

// interim has the origin send 103 before its answer.
func interim(x *trial) {
	x.pageOf("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	})
	conn, err := x.open(x.channel, rulesHost)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, x.octets(rulesHost)); err != nil {
		x.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for _, want := range []int{103, 200} {
		resp, err := http.ReadResponse(r, &http.Request{Method: "GET"})
		if err != nil || resp.StatusCode != want {
			x.Fatalf("%v, %v; want %d", resp, err, want)
		}
	}
}

// otherTargets do not go on with policy.strict_paths, and else do.
func otherTargets(x *trial) {
	x.check(x.send())
	arrived := strings.ToLower(x.around(x.mark))
	for _, name := range []string{"x-original-url", "x-rewrite-url", "x-http-method-override"} {
		if strings.Contains(arrived, "\n"+name+":") == x.strictly {
			x.Errorf("strict_paths is %v:\n%s", x.strictly, arrived)
		}
	}
}

func keepsCoding(x *trial) {
	x.check(x.send())
	if !strings.Contains(strings.ToLower(x.around(x.mark)), "accept-encoding: x-odd;q=0.3") {
		x.Errorf("it arrived changed:\n%s", x.around(x.mark))
	}
}

// deniedBody sends a body without an end: little of it is taken.
func deniedBody(x *trial) {
	conn, err := x.open(x.channel, rulesHost)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	x.request = request{method: "POST", target: "/private", fields: []string{"Content-Length: 1073741824"}}
	if _, err := io.WriteString(conn, x.octets(rulesHost)); err != nil {
		x.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	block, sent := make([]byte, 32<<10), 0
	for sent < 64<<20 {
		n, err := conn.Write(block)
		if sent += n; err != nil {
			break
		}
	}
	// What the kernels of both sides hold is not heed's.
	if sent > 16<<20 {
		x.Errorf("%d octets of the body of a denied request were taken", sent)
	}
	if x.saw(x.mark) {
		x.Errorf("it arrived:\n%s", x.around(x.mark))
	}
}
