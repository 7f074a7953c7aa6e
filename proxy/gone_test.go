package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
	origins "heed/internal/origin"
	"heed/internal/pace"
	"heed/policy"
)

// goers are requests of clients that will not wait for the answer: %s is the
// target, and the host.
var goers = map[string]string{
	"GET":                    "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
	"a body":                 "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 5\r\n\r\nhello",
	"a body in chunks":       "POST %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"a part of a body":       "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 500000\r\n\r\nhello",
	"a body to be asked for": "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
}

// eachGoer has a client go away that is in the middle of a wait: each request, on
// each channel of HTTP/1.1, closed and reset.
func eachGoer(t *testing.T, r *rig, plain, secure string, waits func(t *testing.T), gone func(t *testing.T)) {
	for what, request := range goers {
		for _, how := range []string{"closed", "reset"} {
			for _, origin := range []string{plain, secure} {
				t.Run(fmt.Sprintf("%s/%s/%.5s", what, how, origin), func(t *testing.T) {
					host := hostOf(origin)
					below := r.dial(t)
					w, target := below, origin+"/gone"
					if origin == secure {
						below = r.connect(t, host)
						w, target = r.secure(t, below, "127.0.0.1"), "/gone"
					}
					if _, err := io.WriteString(w, fmt.Sprintf(request, target, host)); err != nil {
						t.Fatal(err)
					}
					waits(t)
					if how == "reset" {
						_ = below.Conn.(*net.TCPConn).SetLinger(0)
						_ = below.Close()
					}
					_ = w.Close()
					gone(t)
				})
			}
		}
	}
}

// goneEntry is the record of the request, and not of the CONNECT before it.
func goneEntry(t *testing.T, r *rig) *audit.Entry {
	for {
		if e := r.entry(t); e.Target == "/gone" {
			return e
		}
	}
}

// TestAClientThatGoesAwayGivesItsTurnUp: whatever it has sent, the origin gets
// nothing of it, and it is recorded so.
func TestAClientThatGoesAwayGivesItsTurnUp(t *testing.T) {
	at := new(witness)
	r := start(t, pacedBy(t, pace.Config{}, time.Minute))
	plain, secure := newOrigin(t, at.ServeHTTP), newTLSOrigin(t, false, at.ServeHTTP)
	for _, origin := range []string{plain, secure} {
		r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 30\n"))
	}
	_ = r.get(t, plain+"/")
	r.entry(t)
	eachGoer(t, r, plain, secure, func(t *testing.T) {
		eventually(t, "it waits", func() bool { return r.proxy.Pacer.State(0).Waiting == 1 })
	}, func(t *testing.T) {
		eventually(t, "it waits no longer", func() bool { return r.proxy.Pacer.State(0).Waiting == 0 })
		if e := goneEntry(t, r); e.Reason != "client-gone" || e.Verdict != audit.Denied {
			t.Errorf("recorded as %v, %s: %s", e.Verdict, e.Reason, e.Err)
		}
	})
	if n := at.count(); n != 1 {
		t.Errorf("the origin was asked %d times: %s", n, strings.Join(at.paths, " "))
	}
}

// TestAClientThatGoesAwayWaitsForNoRobotsTxt: and when that has come the origin
// gets nothing.
func TestAClientThatGoesAwayWaitsForNoRobotsTxt(t *testing.T) {
	at := new(witness)
	r := start(t)
	plain, secure := newOrigin(t, at.ServeHTTP), newTLSOrigin(t, false, at.ServeHTTP)
	asked := make(chan struct{}, 1)
	r.policies.hook = func(ctx context.Context, _ origins.Origin) (policy.Snapshot, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return policy.Snapshot{}, ctx.Err()
	}
	eachGoer(t, r, plain, secure, func(*testing.T) { <-asked }, func(t *testing.T) {
		if e := goneEntry(t, r); !strings.Contains(e.Err, context.Canceled.Error()) || e.Verdict != audit.Denied {
			t.Errorf("recorded as %v, %s: %s", e.Verdict, e.Reason, e.Err)
		}
	})
	if n := at.count(); n != 0 {
		t.Errorf("the origin was asked %d times: %s", n, strings.Join(at.paths, " "))
	}
}

// TestAClientThatGoesAwayGivesTheTurnOfItsTunnelUp, though it has said hello.
func TestAClientThatGoesAwayGivesTheTurnOfItsTunnelUp(t *testing.T) {
	at := new(witness)
	r := start(t, modeIs(Tunnel), pacedBy(t, pace.Config{}, time.Minute))
	origin := newTLSOrigin(t, false, at.ServeHTTP)
	r.policies.set(origin, rules(origin, "User-agent: *\nCrawl-delay: 30\n"))
	first := r.connect(t, hostOf(origin))
	if a := insecure(t, first).send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(origin)+"\r\n\r\n"); a.StatusCode != 200 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	_ = first.Close()
	r.entry(t)
	for _, reset := range []bool{false, true} {
		w := r.connect(t, hostOf(origin))
		if _, err := w.Write(append([]byte{tlsHandshake}, "hello"...)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it waits", func() bool { return r.proxy.Pacer.State(0).Waiting == 1 })
		if reset {
			_ = w.Conn.(*net.TCPConn).SetLinger(0)
		}
		_ = w.Close()
		if e := r.entry(t); e.Reason != "client-gone" || e.Verdict != audit.Denied {
			t.Errorf("recorded as %v, %s: %s", e.Verdict, e.Reason, e.Err)
		}
	}
}
