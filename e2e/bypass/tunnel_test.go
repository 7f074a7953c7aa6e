package bypass

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
)

// connect is a CONNECT as it is written.
func connect(authority, more string) request {
	return request{octets: "CONNECT " + authority + " HTTP/1.1\r\nHost: " + strings.SplitN(authority, "/", 2)[0] + "\r\nX-Mark: {mark}\r\n" + more + "\r\n"}
}

// inner is a request in a tunnel with a Host or a target of its own.
func inner(line, host string) request {
	return request{octets: "GET " + line + " HTTP/1.1\r\nHost: " + host + "\r\nX-Mark: {mark}\r\n\r\n"}
}

// tunnels are B: CONNECT, TLS, HTTP/2, Upgrade.
var tunnels = slices.Concat(
	[]row{
		{"B1", "http in a tunnel is decided by request, denied", c, target("/private"), denied(), nil},
		{"B1", "http in a tunnel is decided by request, allowed", c, target("/x"), reached(), nil},
	},
	each("B2", "no tunnel to port ", p, refused(403), func(port string) request { return connect("rules.test:"+port, "") }, "22", "25", "53", "110", "143", "465", "587", "993", "1"),
	each("B4", "no CONNECT: ", p, refused(400), func(to string) request { return connect(to, "") },
		"rules.test", "rules.test:", "rules.test:443/x", "user@rules.test:443", "http://rules.test:443", "http://rules.test:443/x", "/x", "*", ":443", "rules.test:0", "rules.test:65536", "rules.test:+443", "rules.test:443?x", "rules.test:443#x", "[rules.test]:443", "rules.test:443:443"),
	[]row{
		{"B4", "CONNECT with a body", p, connect("rules.test:80", "Content-Length: 5\r\n"), refused(400), nil},
		{"B4", "CONNECT with chunks", p, connect("rules.test:80", "Transfer-Encoding: chunked\r\n"), refused(400), nil},
		{"B5", "octets in the same segment as the CONNECT, denied", p, request{octets: "CONNECT rules.test:80 HTTP/1.1\r\nHost: rules.test:80\r\n\r\nGET /private HTTP/1.1\r\nHost: rules.test\r\nX-Mark: {mark}\r\n\r\n"}, denied(), behindConnect},
		{"B5", "octets in the same segment as the CONNECT, allowed", p, request{octets: "CONNECT rules.test:80 HTTP/1.1\r\nHost: rules.test:80\r\n\r\nGET /x HTTP/1.1\r\nHost: rules.test\r\nX-Mark: {mark}\r\n\r\n"}, reached(), behindConnect},
	},
	each("B6", "another Host inside ", c|m, refused(400), func(host string) request { return request{hostIs: host, target: "/x"} },
		"open.test", "rules.test:8080", "rules.test:8443", "closed.test", "127.0.0.1", "rules.test.evil.test"),
	each("B6", "another authority inside ", c|m, refused(400), func(to string) request { return inner(to, "rules.test") },
		"http://open.test/x", "https://open.test/x", "http://rules.test:8080/x", "ftp://rules.test/x"),
	[]row{
		{"B6", "another scheme inside", c, inner("https://rules.test/x", "rules.test"), refused(400), nil},
		{"B6", "another scheme inside", m, inner("http://rules.test/x", "rules.test"), refused(400), nil},
		{"B6", "its own in absolute form, denied", c, inner("http://rules.test/private", "rules.test"), denied(), nil},
		{"B6", "its own in absolute form, denied", m, inner("https://rules.test/private", "rules.test"), denied(), nil},
		{"B6", "another SNI than the authority", m, request{}, outcome{}, otherSNI},
		{"B7", "no SNI, CONNECT to an address", m, request{}, outcome{}, noSNI},
		{"B8", "a CONNECT in a tunnel", c | m, request{octets: "CONNECT rules.test:443 HTTP/1.1\r\nHost: rules.test:443\r\nX-Mark: {mark}\r\n\r\n"}, refused(405), nil},
	},
	each("B9", "another :authority ", h2, refused(400, 0), func(host string) request { return request{hostIs: host, target: "/x"} },
		"open.test", "rules.test:8443", "closed.test", "user@rules.test", "rules.test/", "rules.test?"),
	each("B9", ":path ", h2, refused(400, 0), func(path string) request { return request{target: path} },
		"https://open.test/x", "https://rules.test/private", "http://rules.test/private", "/x#private", "x", "*", "", "/x y", "//"+"\x00"),
	[]row{
		{"B9", "a Host that is not :authority", h2, request{fields: []string{"Host: open.test"}, target: "/x"}, refused(400, 0), nil},
		{"B9", ":scheme http", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "http", ":authority", rulesHost, ":path", "/x")},
		{"B9", ":scheme ftp", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "ftp", ":authority", rulesHost, ":path", "/x")},
		{"B9", "an empty :authority", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":authority", "", ":path", "/x")},
		{"B9", "no :authority and no Host", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":path", "/x")},
		{"B9", "no :authority and another Host", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":path", "/x", "host", "open.test")},
		{"B9", "two :path", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":authority", rulesHost, ":path", "/x", ":path", "/private")},
		{"B9", "two :authority", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":authority", rulesHost, ":authority", "open.test", ":path", "/x")},
		{"B9", "an unknown pseudo-header field", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":authority", rulesHost, ":path", "/x", ":evil", "1")},
		{"B9", "a pseudo-header field behind the others", h2, request{}, outcome{}, pseudo(":method", "GET", ":scheme", "https", ":authority", rulesHost, "x", "1", ":path", "/x")},
		{"B9", "every stream of a connection is decided", h2, request{}, outcome{}, everyStream},
		{"B10", "the preface of HTTP/2", p, request{octets: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, refused(400, 505, 0), nil},
		{"B10", "the preface of HTTP/2 in a tunnel", c, request{octets: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, refused(400, 505, 0), nil},
		{"B10", "Upgrade: h2c, denied", raw, request{target: "/private", fields: []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"}}, denied(), nil},
		{"B10", "Upgrade: h2c is dropped", raw, request{target: "/x", fields: []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"}}, reached(), without("upgrade", "http2-settings")},
		{"B11", "a WebSocket that is not allowed", raw, request{target: "/private", fields: []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}}, denied(), nil},
		{"B12", "an answer that carries Upgrade is an answer", raw, request{target: "/upgrade-200"}, outcome{}, upgradeThatIsNone},
		{"B13", "what follows a refused upgrade is parsed and decided", raw, request{}, outcome{}, afterRefusedUpgrade},
		{"B14", "extended CONNECT", h2, request{}, outcome{}, pseudo(":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", rulesHost, ":path", "/private")},
		{"B14", "CONNECT in HTTP/2", h2, request{}, outcome{}, pseudo(":method", "CONNECT", ":authority", "open.test:443")},
		{"B14", "CONNECT-UDP", raw, request{target: "/.well-known/masque/udp/192.0.2.6/443/", fields: []string{"Connection: Upgrade", "Upgrade: connect-udp", "Capsule-Protocol: ?1"}}, reached(), without("upgrade")},
		{"B15", "a protocol that is neither", c, request{octets: "SSH-2.0-OpenSSH_9.2\r\n{evil}\r\n"}, refused(400, 0), nil},
		{"B16", "TLS on port 80 is https", c, request{}, outcome{}, tlsOn80},
		{"B16", "http on port 443 is http", c, request{}, outcome{}, httpOn443},
		{"B17", "Alt-Svc is taken away", all, request{target: "/alt-svc"}, reached(), noAltSvc},
		{"B18", "its own Via", raw, request{target: "/x", fields: []string{"Via: 1.1 {via}"}}, outcome{}, ownVia},
	},
)

// behindConnect reads the answer to a CONNECT and then that to what is behind it.
func behindConnect(x *trial) {
	conn, err := x.dial()
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, x.fill(x.request.octets)); err != nil {
		x.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != http.StatusOK {
		x.Fatalf("CONNECT: %v, %v", resp, err)
	}
	a, err := receive(r, "GET")
	if err != nil {
		x.Fatal(err)
	}
	x.check(a)
}

// pseudo sends a header section that is not to be taken for a request.
func pseudo(fields ...string) func(*trial) {
	return func(x *trial) {
		s := x.streams()
		defer s.conn.Close()
		a, err := s.ask("", append(fields[:len(fields):len(fields)], "x-mark", x.mark)...)
		if err != nil {
			x.Fatal(err)
		}
		x.want = refused(0, 400, 405, 501)
		x.check(a)
	}
}

// streams opens HTTP/2 for the host with rules.
func (x *trial) streams() *streams {
	x.Helper()
	conn, err := x.open(h2, rulesHost)
	if err != nil {
		x.Fatal(err)
	}
	s, err := newStreams(conn)
	if err != nil {
		x.Fatal(err)
	}
	return s
}

// everyStream has allowed and disallowed streams under way together.
func everyStream(x *trial) {
	s := x.streams()
	defer s.conn.Close()
	for i := range 20 {
		one := *x
		one.mark, one.want, one.request = fmt.Sprintf("n%d%s", i, x.mark[1:]), reached(), target("/x")
		if i%2 == 1 {
			one.want, one.request = denied(), target("/pub/../private")
		}
		a, err := s.ask("", ":method", "GET", ":scheme", "https", ":authority", rulesHost, ":path", one.request.target, "x-mark", one.mark)
		if err != nil {
			x.Fatal(err)
		}
		one.check(a)
	}
}

// without sends the request, which must arrive without some fields.
func without(fields ...string) func(*trial) {
	return func(x *trial) {
		x.check(x.send())
		arrived := strings.ToLower(x.around(x.mark))
		for _, f := range fields {
			if strings.Contains(arrived, "\n"+f+":") {
				x.Errorf("%s arrived:\n%s", f, arrived)
			}
		}
	}
}

// otherSNI says another name in the ClientHello than in the CONNECT.
func otherSNI(x *trial) {
	for _, name := range []string{"open.test", "127.0.0.1.test"} {
		conn, err := x.tunnel("rules.test:443")
		if err != nil {
			x.Fatal(err)
		}
		inside := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: x.trust})
		if err := inside.Handshake(); err == nil {
			a, err := send(inside, "GET", "GET /private HTTP/1.1\r\nHost: "+name+"\r\nX-Mark: "+x.mark+"\r\n\r\n")
			if x.want = refused(400, 403, 0); err == nil {
				x.check(a)
			}
		}
		conn.Close()
	}
	if x.saw(x.mark) {
		x.Errorf("it arrived:\n%s", x.around(x.mark))
	}
}

// noSNI has a certificate for the address, and no way round its policy.
func noSNI(x *trial) {
	_, port, _ := net.SplitHostPort(x.origin.secure)
	addr := "127.0.0.1:" + port
	x.serve("127.0.0.1", "User-agent: *\nDisallow: /private\n")
	for _, one := range []struct {
		target string
		want   outcome
	}{{"/private", denied()}, {"/x", reached()}} {
		conn, err := x.tunnel(addr)
		if err != nil {
			x.Fatal(err)
		}
		inside := tls.Client(conn, &tls.Config{ServerName: "127.0.0.1", RootCAs: x.trust}) // Go sends no SNI for an address
		if err := inside.Handshake(); err != nil {
			x.Fatal(err)
		}
		if ips := inside.ConnectionState().PeerCertificates[0].IPAddresses; len(ips) != 1 {
			x.Errorf("the certificate is for %v", ips)
		}
		this := *x
		this.mark, this.want, this.request = one.target+x.mark[1:], one.want, target(one.target)
		a, err := send(inside, "GET", "GET "+one.target+" HTTP/1.1\r\nHost: "+addr+"\r\nX-Mark: "+this.mark+"\r\n\r\n")
		if err != nil {
			x.Fatal(err)
		}
		this.check(a)
		conn.Close()
	}
}

// upgradeThatIsNone has the origin answer with an Upgrade that was not asked for:
// what the client sends behind it is a request.
func upgradeThatIsNone(x *trial) {
	for _, status := range []int{200, 426} {
		path := fmt.Sprintf("/upgrade-%d", status)
		x.pageOf(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(status)
		})
		conn, err := x.open(x.channel, rulesHost)
		if err != nil {
			x.Fatal(err)
		}
		one := *x
		one.request = request{target: path, fields: []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}}
		one.mark, one.want = itoa(status)+x.mark[1:], outcome{reaches: true, status: []int{status}}
		a, err := send(conn, "GET", one.octets(rulesHost))
		if err != nil {
			x.Fatal(err)
		}
		one.check(a)
		evil := *x
		evil.mark, evil.request, evil.want = x.evil, target("/private"), refused(403, 0)
		if a, err := send(conn, "GET", evil.octets(rulesHost)); err == nil {
			evil.check(a)
		}
		conn.Close()
	}
}

// afterRefusedUpgrade sends a request behind a WebSocket handshake that is denied,
// in one segment.
func afterRefusedUpgrade(x *trial) {
	conn, err := x.open(x.channel, rulesHost)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	one, two := *x, *x
	one.request = request{target: "/private/ws", fields: []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}}
	two.request, two.mark = target("/private/behind"), x.evil
	if _, err := io.WriteString(conn, one.octets(rulesHost)+two.octets(rulesHost)); err != nil {
		x.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for n, want := range []outcome{denied(), refused(403, 0)} {
		a, err := receive(r, "GET")
		if err != nil {
			x.Fatal(err)
		}
		if !want.allows(a.status) {
			x.Errorf("answer %d is %d", n, a.status)
		}
	}
	if x.saw(x.mark) {
		x.Errorf("it arrived:\n%s", x.around(x.mark))
	}
}

// tlsOn80 speaks TLS in a CONNECT to port 80: the origin is https on port 80,
// where nothing speaks TLS.
func tlsOn80(x *trial) {
	conn, err := x.tunnel("rules.test:80")
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	inside := tls.Client(conn, &tls.Config{ServerName: rulesHost, RootCAs: x.trust, NextProtos: []string{"http/1.1"}})
	if err := inside.Handshake(); err != nil {
		return // that, too, lets nothing through
	}
	x.want = refused(403, 502, 503, 0)
	if a, err := send(inside, "GET", "GET /private HTTP/1.1\r\nHost: rules.test:80\r\nX-Mark: "+x.mark+"\r\n\r\n"); err == nil {
		x.check(a)
	}
}

// httpOn443 speaks http in a CONNECT to port 443.
func httpOn443(x *trial) {
	conn, err := x.tunnel("rules.test:443")
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	x.want = refused(403, 400, 502, 503, 0)
	if a, err := send(conn, "GET", "GET /private HTTP/1.1\r\nHost: rules.test:443\r\nX-Mark: "+x.mark+"\r\n\r\n"); err == nil {
		x.check(a)
	}
}

func noAltSvc(x *trial) {
	x.pageOf("/alt-svc", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"; ma=86400`)
	})
	a := x.send()
	x.check(a)
	if got := a.fields.Values("Alt-Svc"); len(got) > 0 {
		x.Errorf("the client got Alt-Svc: %q", got)
	}
}

// ownVia sends heed's own Via back to it.
func ownVia(x *trial) {
	x.pageOf("/via", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Via")) // the asker may be gone
	})
	one := *x
	one.request, one.mark, one.want = target("/via"), "via"+x.mark[1:], reached()
	a := one.send()
	one.check(a)
	via := a.body
	if via == "" {
		x.Fatal("the origin got no Via")
	}
	x.request, x.want = request{target: "/x", fields: []string{"Via: " + via}}, refused(508)
	a = x.send()
	x.check(a)
	if status := a.fields.Get("Proxy-Status"); !strings.Contains(status, "proxy_loop_detected") {
		x.Errorf("Proxy-Status: %q", status)
	}
}

// pageOf gives a path a page.
func (o *origin) pageOf(path string, page http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pages[path] = page
}
