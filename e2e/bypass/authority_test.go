package bypass

import (
	"slices"
	"strings"
)

// get is a request in absolute form, or inside a tunnel that is not for its
// authority.
func get(target, host string) request {
	return request{octets: "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nX-Mark: {mark}\r\n\r\n"}
}

// there is a request for a page of a host, wherever that is.
func there(host string) request { return request{host: host, target: "/x", direct: true} }

// authorities are A: who a request is for.
var authorities = slices.Concat(
	[]row{
		{"A1", "the target's policy, not Host's", p, get("http://closed.test/x", "open.test"), denied(), nil},
		{"A1", "the target's policy, though Host is closed", p, get("http://open.test/x", "closed.test"), reached(), nil},
		{"A2", "two Host lines", raw, request{fields: []string{"Host: closed.test"}, target: "/x"}, refused(400), nil},
		{"A2", "no Host", p, request{hostIs: "-", target: "/x"}, refused(400), nil},
		{"A2", "no Host", c | m, request{hostIs: "-", target: "/x"}, refused(400), nil},
	},
	each("A2", "Host with ", raw, refused(400), func(host string) request { return request{hostIs: host, target: "/x"} },
		"rules.test?", "rules .test", "rules.test/", "rules.test#", "a@rules.test", "rules.test\\", "rules.test,closed.test", "rules.test:80:80", "[rules.test]", "rules.test\x00"),
	[]row{
		{"A3", "HTTP/1.0 without Host is for the CONNECT's authority, allowed", c | m, request{version: "HTTP/1.0", hostIs: "-", target: "/x"}, reached(), nil},
		{"A3", "HTTP/1.0 without Host is for the CONNECT's authority, denied", c | m, request{version: "HTTP/1.0", hostIs: "-", target: "/private"}, denied(), nil},
		{"A4", "origin-form", p, get("/x", "rules.test"), refused(400), nil},
		{"A4", "origin-form that is not allowed", p, get("/private", "rules.test"), refused(400), nil},
	},
	each("A5", "userinfo ", p, refused(400), func(who string) request { return get("http://"+who+"@rules.test/private", "rules.test") },
		"user", "user:secret", "open.test", "open.test:80", ":", "", "a%40b"),
	each("A6", "one origin: ", p, denied(), func(to string) request { return get(to+"/private", "rules.test") },
		"HTTP://rules.test", "http://RULES.test", "http://rules.test.", "http://rules.test:80", "http://rules.test:0080", "http://rules.test:", "http://RuLeS.TeSt.:080"),
	each("A6", "one origin, in Host: ", raw, denied(), func(host string) request { return request{hostIs: host, target: "/private", host: "rules.test"} },
		"RULES.test", "rules.test."),
	each("A7", "port ", p, refused(400), func(port string) request { return get("http://rules.test:"+port+"/x", "rules.test") },
		"0", "65616", "+80", "http", "-1", "99999999999999999999", "8 0", "80a", "%38%30", "00000000000000000000000080a"),
	[]row{
		{"A8", "http to port 443 is an origin of its own", p, get("http://closed.test:443/x", "closed.test:443"), refused(502, 503), nil},
		{"A8", "https to port 80 is an origin of its own", p, get("https://closed.test:80/x", "closed.test:80"), refused(502, 503), nil},
		{"A9", "https in absolute form, denied", p, get("https://rules.test/private", "rules.test"), denied(), nil},
		{"A9", "https in absolute form, allowed", p, get("https://rules.test/x", "rules.test"), reached(), nil},
	},
	each("A10", "scheme ", p, refused(400), func(to string) request { return get(to, "open.test") },
		"ftp://open.test/x", "file:///etc/passwd", "file://open.test/x", "ws://open.test/x", "wss://open.test/x", "gopher://open.test/x", "http:open.test/x",
		"http:/open.test/x", "http:///x", "//open.test/x", "://open.test/x", "h2c://open.test/x", "httpx://open.test/x", "javascript:alert(1)", "data:text/plain,x", "about:blank", "urn:x"),
	each("A11", "address ", p, refused(400, 403), there,
		"[rules.test]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::ffff:10.0.0.1]", "2130706434", "0x7f000002", "127.2", "0177.0.0.2", "0x7f.0.0.2", "[::1", "::1", "[]", "[127.0.0.1]"),
	each("A12", "one A-label, or none: ", p, refused(403, 400), func(host string) request { return get("http://"+host+"/private", host) },
		"b\u00fccher.test", "B\u00dcCHER.test", "XN--BCHER-KVA.test", "b\u00fccher\u3002test", "b\u00fccher\uff0etest", "bu\u0308cher.test", "\uff42\u00fccher.test"),
	each("A12", "one A-label, where Host is one: ", p, denied(), func(host string) request { return get("http://"+host+"/private", "xn--bcher-kva.test") },
		"b\u00fccher.test", "B\u00dcCHER.test", "XN--BCHER-KVA.test", "b\u00fccher\u3002test", "b\u00fccher\uff0etest", "bu\u0308cher.test", "\uff42\u00fccher.test"),
	each("A12", "no A-label: ", p, refused(400), func(host string) request { return get("http://"+host+"/private", "open.test") },
		"xn--\x80.test", "xn--a.test", "xn--999999999.test", "xn--.test", "\xff\xfe.test", "\u202eb.test", "a\u00adb\u200d.test\x7f"),
	each("A13", "authority ", p, refused(400), func(host string) request { return get("http://"+host+"/private", "open.test") },
		"%72ules.test", "open.test\\@rules.test", "open.test#@rules.test", "rules.test\\", "open.test%00.rules.test", "open.test;rules.test:80:80", "rules.test%2f", "rules.test%2e", "<rules.test>", "rules.test|x", "rules{}.test", "rules.test\"", "rules..test", ".rules.test", "*.test"),
	each("A14", "no address of the world: ", p|c, refused(403), there,
		"127.0.0.2", "[::1]", "0.0.0.0", "[::]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.64.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
		"[::ffff:127.0.0.2]", "[::127.0.0.2]", "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "[ff02::1]", "[2001:db8::1]"),
	each("A15", "name: ", p, refused(400), func(host string) request { return get("http://"+host+"/x", "open.test") },
		strings.Repeat("a", 64)+".test", strings.Repeat("abcdefgh.", 30)+"test", "a\x00b.test", "a b.test", "a\tb.test"),
	[]row{
		{"A15", "an underscore is fine, allowed", all, request{host: "under_score.test", target: "/x"}, reached(), nil},
		{"A15", "an underscore is fine, denied", all, request{host: "under_score.test", target: "/private"}, denied(), nil},
		{"A16", "heed's own port", p, request{}, outcome{}, ownPort},
		{"A16", "heed's own admin port", p, request{}, outcome{}, ownAdmin},
	},
)

func ownPort(x *trial)  { refusesListener(x, x.Proxy) }
func ownAdmin(x *trial) { refusesListener(x, x.Admin) }

// refusesListener asks for a page of heed's own listener, at an address that the
// configuration allows, in whatever way.
func refusesListener(x *trial, addr string) {
	_, port, _ := strings.Cut(addr, ":")
	for _, host := range []string{addr, "localhost:" + port, "[::ffff:127.0.0.1]:" + port} {
		conn, err := x.dial()
		if err != nil {
			x.Fatal(err)
		}
		a, err := send(conn, "GET", "GET http://"+host+"/metrics HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		conn.Close()
		if err != nil || a.status != 403 && a.status != 400 {
			x.Errorf("%s: %d, %v; want 403", host, a.status, err)
		}
		inside, err := x.tunnel(host)
		if err != nil {
			continue
		}
		// What is inside is read, so that it is told there.
		a, err = send(inside, "GET", "GET /metrics HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		inside.Close()
		if err != nil || a.status != 403 {
			x.Errorf("inside a tunnel to %s: %d, %v; want 403", host, a.status, err)
		}
	}
}
