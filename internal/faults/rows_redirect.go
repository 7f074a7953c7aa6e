package faults

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// redirected answers requests for the robots.txt of "a" with a redirect, and
// all others well.
func redirected(location func(*Conn) string) Act {
	return func(c *Conn) {
		if c.Label == "a" && c.Target == "/robots.txt" {
			c.write(reply("302 Found", "", "Location: "+location(c)))
			return
		}
		c.write(reply(ok, Good, text))
	}
}

func always(s string) func(*Conn) string { return func(*Conn) string { return s } }

// badRedirect is one that is not followed, or leads nowhere.
func badRedirect(name, why string, location func(*Conn) string) Row {
	return Row{Name: "redirect " + name, Why: why, Do: redirected(location), Robots: unreachable(1)}
}

// redirects are where an origin sends for its robots.txt (RFC 9309 §2.3.1.2).
// What a page redirects to is for the client to follow, so its answer is as it
// is.
func redirects() []Row {
	bad := badRedirect
	good := func(name, why string, location func(*Conn) string) Row {
		return Row{Name: "redirect " + name, Why: why, Do: redirected(location), Robots: rules(2)}
	}
	all := []Row{
		good("to another file", "followed", always("/robots2.txt")),
		good("relative", "followed, from where it stands", always("robots2.txt?x")),
		good("to another authority", "followed; the rules are those of the first", func(c *Conn) string { return c.URL("b") + "/robots.txt" }),
		good("that leaves out the scheme", "followed", func(c *Conn) string { _, rest, _ := strings.Cut(c.URL("b"), ":"); return rest + "/robots.txt" }),
		good("with a fragment", "followed, without the fragment", always("/robots2.txt#top")),
		good("to the other scheme", "followed: both are of one family", func(c *Conn) string {
			scheme := "https"
			if c.secure {
				scheme = "http"
			}
			return c.origin.world.URL(scheme, "b") + "/robots.txt"
		}),
		good("with CR LF escaped", "an odd path, and no more than that", always("/x%0d%0aSet-Cookie:%20y")),

		bad("to itself", "a loop", always("/robots.txt")),
		bad("to its fragment", "a loop", always("#top")),
		bad("to itself with dots", "a loop", always("/x/../robots.txt")),
		bad("to nothing", "it names no place", always("")),
		bad("with CR", "a control octet is not in a URL", always("/x\rSet-Cookie: y")),
		bad("with NUL", "a control octet is not in a URL", always("/x\x00")),
		bad("with userinfo", "credentials are never sent", func(c *Conn) string { return strings.Replace(c.URL("b"), "://", "://user:secret@", 1) + "/robots.txt" }),
		bad("to port 0", "no port", always("http://b.example:0/robots.txt")),
		bad("to port 70000", "no port", always("http://b.example:70000/robots.txt")),
		bad("to no host", "no authority", always("http:///robots.txt")),
		bad("to a bracket", "no URL", always("http://[::1/robots.txt")),
		bad("to file:", "another scheme family", always("file:///etc/passwd")),
		bad("to ftp:", "another scheme family", always("ftp://b.example/robots.txt")),
		bad("to gopher:", "another scheme family", always("gopher://b.example:70/_x")),
		bad("to data:", "another scheme family", always("data:text/plain,User-agent:%20*%0AAllow:%20/")),
		bad("to javascript:", "another scheme family", always("javascript:alert(1)")),
		bad("to an address spelled as a number", "resolvers read it differently", always("http://2130706433/robots.txt")),
		bad("to an address in hexadecimal", "resolvers read it differently", always("http://0x7f.1/robots.txt")),
		bad("of 20 KiB", "hops are kept, so they are bounded", always("/"+strings.Repeat("x", 20<<10))),
	}
	for _, code := range []int{301, 303, 307, 308} {
		all = append(all, Row{
			Name: fmt.Sprintf("redirect by %d", code), Why: "followed", Robots: rules(2),
			Do: func(c *Conn) {
				if c.Target == "/robots.txt" {
					c.write(reply(fmt.Sprintf("%d Redirect", code), "", "Location: /robots2.txt"))
				} else {
					c.write(reply(ok, Good))
				}
			},
		})
	}
	hops := func(n int) Act {
		return func(c *Conn) {
			at := 0
			if c.Target != "/robots.txt" {
				at, _ = strconv.Atoi(strings.TrimPrefix(c.Target, "/hop"))
			}
			if at < n {
				c.write(reply("302 Found", "", fmt.Sprintf("Location: /hop%d", at+1)))
			} else {
				c.write(reply(ok, Good, text))
			}
		}
	}
	elsewhere := func(then Act) Act {
		return func(c *Conn) {
			if c.Target == "/robots.txt" {
				c.write(reply("302 Found", "", "Location: /elsewhere"))
			} else {
				then(c)
			}
		}
	}
	return append(all,
		Row{Name: "five redirects", Why: "§2.3.1.2: at least five are followed", Do: hops(5), Robots: rules(6)},
		Row{Name: "six redirects", Why: "§2.3.1.2 lets more be taken for unavailable; a guard does not", Do: hops(6), Robots: unreachable(6)},
		Row{Name: "redirects for ever", Why: "bounded", Do: hops(1 << 30), Robots: unreachable(6)},
		Row{
			Name: "redirect to itself with a growing query", Why: "bounded", Robots: unreachable(6),
			Do: answer(func(c *Conn) string { return reply("302 Found", "", "Location: "+c.Target+"?x") }),
		},
		Row{
			Name: "redirects between two authorities", Why: "a loop", Robots: unreachable(2),
			Do: answer(func(c *Conn) string {
				other := map[string]string{"a": "b", "b": "a"}[c.Label]
				return reply("302 Found", "", "Location: "+c.URL(other)+"/robots.txt")
			}),
		},
		Row{Name: "two Locations", Why: "nobody knows which", Do: write(reply("302 Found", "", "Location: /x", "Location: /y")), Robots: unreachable(1), Page: forwarded(302)},
		Row{Name: "redirect to a 404", Why: "what is at the end counts", Do: elsewhere(write(reply("404 No", ""))), Robots: unavailable(2)},
		Row{Name: "redirect to a 500", Why: "what is at the end counts", Do: elsewhere(write(reply("500 No", ""))), Robots: unreachable(2)},
		Row{Name: "redirect to a 429 with Retry-After", Why: "what is at the end counts", Do: elsewhere(write(reply("429 No", "", "Retry-After: 600"))), Robots: unreachable(2).pause(10 * time.Minute)},
		Row{Name: "redirect to silence", Why: "the time is that of the whole fetch", Do: elsewhere(hang), Robots: unreachable(2).takes(connectTime)},
		Row{
			Name: "five slow redirects", Why: "the time is that of the whole fetch", Robots: unreachable(4).takes(connectTime),
			Do: do(pause(3*time.Second), hops(5)), InMemory: "how many there are in a second is a matter of chance",
		},
		Row{
			Name: "redirect with a body that never ends", Why: "where it leads is known", Robots: rules(2),
			Do: func(c *Conn) {
				if c.Target == "/robots.txt" {
					c.write(head("302 Found", "Location: /elsewhere"))
					flood("see there ")(c)
				} else {
					c.write(reply(ok, Good))
				}
			},
		},
		Row{Name: "redirect of a page to a private address", Why: "as it is: the client's next request is decided by itself", Do: write(reply("302 Found", "", "Location: http://10.0.0.1/")), Page: forwarded(302)},
	)
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
		return badRedirect(name, "a hop that fails is unreachable, never permission", location)
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
