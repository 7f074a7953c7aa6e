package roundtrip

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkGet is a GET over a kept connection, against net/http in the same
// run.
func BenchmarkGet(b *testing.B) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 1024\r\n\r\n" + strings.Repeat("x", 1024))
	serve := func(c *peer, _ int64) {
		buf := make([]byte, 4096)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	}
	for _, secure := range []bool{false, true} {
		o := newOrigin(b, tlsIf(secure), serve)
		ours := newClient(b, nil)
		theirs := &http.Transport{DialContext: new(net.Dialer).DialContext, DisableCompression: true, TLSClientConfig: ours.tls.Clone(), MaxIdleConnsPerHost: 8}
		b.Cleanup(theirs.CloseIdleConnections)
		for _, r := range []struct {
			name string
			tr   http.RoundTripper
		}{{"roundtrip", ours}, {"net-http", theirs}} {
			b.Run(r.name+"/TLS="+strconv.FormatBool(secure), func(b *testing.B) {
				req := newRequest(b, "GET", o.url(secure), nil)
				req.Header = http.Header{"Accept": {"*/*"}, "Accept-Language": {"en"}, "User-Agent": {"ExampleBot/1.0"}}
				buf := make([]byte, 2048)
				b.ReportAllocs()
				for b.Loop() {
					resp, err := r.tr.RoundTrip(req)
					if err != nil {
						b.Fatal(err)
					}
					for err == nil {
						_, err = resp.Body.Read(buf)
					}
					_ = resp.Body.Close()
				}
			})
		}
	}
}

// BenchmarkIdle is what a kept connection takes in memory, here, in
// http.Transport, and with no client at all. The origin's end is in each figure.
func BenchmarkIdle(b *testing.B) {
	const hosts = 500
	for _, secure := range []bool{false, true} {
		for _, which := range []string{"roundtrip", "net-http", "bare"} {
			b.Run(which+"/TLS="+strconv.FormatBool(secure), func(b *testing.B) {
				gone := make(chan struct{})
				o := newOrigin(b, tlsIf(secure), func(c *peer, _ int64) {
					c.request()
					c.say(ok("hello"))
					c.in = nil
					<-gone
				})
				toOrigin := func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, o.addr)
				}
				for b.Loop() {
					before := inUse()
					base := &http.Transport{DialContext: toOrigin, MaxIdleConns: hosts, TLSClientConfig: &tls.Config{RootCAs: roots(), ServerName: "example.com"}}
					tr := http.RoundTripper(base)
					if which == "roundtrip" {
						tr = New(Config{Base: base})
					}
					var bare []net.Conn
					for i := range hosts {
						if which == "bare" { // the origin's end, and what nobody can do without
							bare = append(bare, bareConn(b, secure, o.addr, base.TLSClientConfig))
							continue
						}
						scheme := "http"
						if secure {
							scheme = "https"
						}
						if _, _, err := fetch(tr, newRequest(b, "GET", scheme+"://h"+strconv.Itoa(i)+".example/", nil)); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(inUse()-before)/hosts, "B/conn")
					for _, c := range bare {
						_ = c.Close()
					}
					tr.(interface{ CloseIdleConnections() }).CloseIdleConnections()
				}
				close(gone)
			})
		}
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func bareConn(b *testing.B, secure bool, addr string, config *tls.Config) net.Conn {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	if secure {
		c = tls.Client(c, config)
	}
	_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	if _, err := c.Read(make([]byte, 1000)); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkLook is what it costs to see that a kept connection is as it was
// left, of each request.
func BenchmarkLook(b *testing.B) {
	for _, secure := range []bool{false, true} {
		b.Run("TLS="+strconv.FormatBool(secure), func(b *testing.B) {
			o := newOrigin(b, tlsIf(secure), func(c *peer, _ int64) {
				c.request()
				c.say(ok("hello"))
				_ = c.raw.SetDeadline(time.Time{})
				c.request()
			})
			tr := newClient(b, nil)
			if _, _, err := fetch(tr, newRequest(b, "GET", o.url(secure), nil)); err != nil {
				b.Fatal(err)
			}
			c := tr.pool.take(tr.pool.host(keyOf(newRequest(b, "GET", o.url(secure), nil).URL, false)))
			b.ReportAllocs()
			for b.Loop() {
				if !c.quiet() {
					b.Fatal("something came")
				}
			}
			c.close()
		})
	}
}
