package app

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/config"
	"heed/internal/faults"
	"heed/internal/testnet"
	"heed/policy"
)

// A whole life of an origin passes in a bubble in a moment.

// lives runs do with an origin that answers requests with act while it is
// broken.
func lives(t *testing.T, act faults.Act, c config.Config, net testnet.Config, do func(t *testing.T, w *memoryWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, faults.Row{Do: act, Robots: &faults.Robots{Access: policy.Unreachable, Status: 503}}, "http", c, net)
		defer w.close()
		do(t, w)
	})
}

// An origin that is unreachable for 30 days is asked less and less, at most
// each hour, however often a client comes. On the 31st day it is well again,
// which is seen within the pause.
func TestThirtyDaysUnreachable(t *testing.T) {
	for name, every := range map[string]time.Duration{"asked each hour": time.Hour, "asked each quarter of an hour": 15 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			lives(t, faults.Busy, patient(), testnet.Config{}, func(t *testing.T, w *memoryWorld) {
				w.set(faults.RobotsTxt)
				const days = 30
				start := time.Now()
				for time.Since(start) < days*24*time.Hour {
					if a := w.get(t, "/public"); a.status != 503 || a.retry < time.Second || a.retry > time.Hour {
						t.Fatalf("after %v: %d, Retry-After %v", time.Since(start), a.status, a.retry)
					}
					time.Sleep(every)
				}
				if n := len(w.origin.Requests(true)); n < days*12 || n > days*24/4*5+10 {
					t.Errorf("the origin was asked %d times in %d days", n, days)
				}
				if s := w.snapshot(t); s.Attempts < days*12 || s.Err == "" {
					t.Errorf("%+v", s)
				}
				w.set(faults.Nothing)
				for well := time.Now(); ; time.Sleep(time.Second) {
					if a := w.get(t, "/public"); a.status == 200 {
						break
					} else if time.Since(well) > time.Hour {
						t.Fatalf("an hour after it became well: %d", a.status)
					}
				}
			})
		})
	}
}

// The first pauses: each attempt comes when the one before said, and they
// double up to an hour.
func TestPausesGrow(t *testing.T) {
	lives(t, faults.Busy, patient(), testnet.Config{}, func(t *testing.T, w *memoryWorld) {
		w.set(faults.RobotsTxt)
		least := time.Minute
		for range 10 {
			a := w.get(t, "/public")
			if a.retry < least || a.retry > min(least*5/4+time.Second, time.Hour) {
				t.Errorf("the pause is %v, want between %v and a quarter more", a.retry, least)
			}
			if n := len(w.origin.Requests(true)); n != 1 {
				t.Fatalf("%d requests when the pause was over", n)
			}
			time.Sleep(a.retry - 2*time.Second)
			if w.get(t, "/public"); len(w.origin.Requests(true)) != 0 {
				t.Error("asked within the pause")
			}
			time.Sleep(3 * time.Second)
			least = min(2*least, 48*time.Minute)
		}
	})
}

// A good copy is used on for 30 days after it was obtained, hour for hour, and
// not an hour longer.
func TestAGoodCopyIsUsedForThirtyDays(t *testing.T) {
	lives(t, faults.Busy, patient(), testnet.Config{}, func(t *testing.T, w *memoryWorld) {
		if a := w.get(t, "/public"); a.status != 200 {
			t.Fatal(a.status)
		}
		obtained := time.Now()
		w.set(faults.RobotsTxt)
		const limit = 30 * 24 * time.Hour
		for {
			time.Sleep(time.Hour)
			age := time.Since(obtained)
			public, private := w.get(t, "/public"), w.get(t, "/private")
			switch {
			case age < limit && (public.status != 200 || private.status != 403):
				t.Fatalf("after %v: /public %d, /private %d", age, public.status, private.status)
			case age > limit && (public.status != 503 || private.status != 503):
				t.Fatalf("after %v: /public %d, /private %d", age, public.status, private.status)
			}
			if age > limit+48*time.Hour {
				break
			}
		}
		if n := len(w.origin.Requests(true)); n > 1+31*24*5/4+10 {
			t.Errorf("the origin was asked %d times in 32 days", n)
		}
	})
}

// A busy origin that is well is asked once in its time.
func TestAWellOriginIsAskedOnceADay(t *testing.T) {
	lives(t, faults.Busy, patient(), testnet.Config{}, func(t *testing.T, w *memoryWorld) {
		const days = 10
		for range days * 24 {
			if a := w.get(t, "/public"); a.status != 200 {
				t.Fatal(a.status)
			}
			time.Sleep(time.Hour)
		}
		if n := len(w.origin.Requests(true)); n < days || n > days*5/4 {
			t.Errorf("asked %d times in %d days", n, days)
		}
	})
}

// An origin in use is asked again before its rules grow old: but for the first,
// nobody waits for it.
func TestNobodyWaitsForAnOriginThatIsInUse(t *testing.T) {
	const latency = 100 * time.Millisecond
	lives(t, faults.Busy, patient(), testnet.Config{Latency: latency}, func(t *testing.T, w *memoryWorld) {
		const days = 4
		for n := range days * 24 * 6 {
			a := w.get(t, "/private")
			if a.status != 403 {
				t.Fatal(a.status)
			}
			if n > 0 && a.took > 4*latency { // a connection to heed, and an answer
				t.Errorf("after %d0 minutes the client waited %v", n, a.took)
			}
			time.Sleep(10 * time.Minute)
		}
		if n := len(w.origin.Requests(true)); n < days || n > days+2 {
			t.Errorf("asked %d times in %d days", n, days)
		}
	})
}

// A robots.txt that never changes is sent once. That it is still the same is as
// good as having it anew: it is used beyond 30 days.
func TestACopyThatIsConfirmedDoesNotGrowOld(t *testing.T) {
	lives(t, faults.Confirmed, patient(), testnet.Config{}, func(t *testing.T, w *memoryWorld) {
		w.set(faults.RobotsTxt) // by which it answers as this test has it
		const days = 40
		for range days {
			if a := w.get(t, "/private"); a.status != 403 {
				t.Fatal(a.status)
			}
			time.Sleep(25 * time.Hour)
		}
		whole := 0
		for _, r := range w.origin.Requests(true) {
			if r.Header.Get("If-None-Match") == "" {
				whole++
			}
		}
		if whole != 1 {
			t.Errorf("%d requests that did not say what heed has", whole)
		}
		if s := w.snapshot(t); s.Access != policy.Successful || s.Rules == nil || !s.StaleSince.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

// 1,000 clients ask at once, of an origin 100 ms away: there is one request for
// its robots.txt, and all are answered by it.
func TestAThousandClientsAtOnceAreOneRequest(t *testing.T) {
	for name, broken := range map[string]faults.Broken{"well": faults.Nothing, "unreachable": faults.RobotsTxt} {
		t.Run(name, func(t *testing.T) {
			lives(t, faults.Busy, patient(), testnet.Config{Latency: 100 * time.Millisecond}, func(t *testing.T, w *memoryWorld) {
				w.set(broken)
				var all sync.WaitGroup
				for range 1000 {
					all.Go(func() {
						if a := w.get(t, "/private"); broken == faults.Nothing && a.status != 403 || broken != faults.Nothing && a.status != 503 {
							t.Errorf("%d %s %v", a.status, a.fault, a.err)
						}
					})
				}
				all.Wait()
				if n := len(w.origin.Requests(true)); n != 1 {
					t.Errorf("%d requests for the robots.txt", n)
				}
			})
		})
	}
}

// A client waits as long as robots.wait says, is told to come again, and finds
// the rules there when it does: the fetch went on.
func TestPatienceEndsAndTheFetchGoesOn(t *testing.T) {
	c := config.Default()
	c.Robots.Wait = config.Duration(3 * time.Second)
	lives(t, faults.Slow(7*time.Second), c, testnet.Config{}, func(t *testing.T, w *memoryWorld) {
		w.set(faults.RobotsTxt)
		a := w.get(t, "/public")
		if a.status != 503 || a.retry < time.Second || a.took != 3*time.Second {
			t.Errorf("%d, Retry-After %v, after %v", a.status, a.retry, a.took)
		}
		time.Sleep(a.retry)
		if a := w.get(t, "/public"); a.status != 200 || a.took != 0 {
			t.Errorf("then %d after %v", a.status, a.took)
		}
		if a := w.get(t, "/private"); a.status != 403 {
			t.Errorf("then %d", a.status)
		}
		if n := len(w.origin.Requests(true)); n != 1 {
			t.Errorf("%d requests for the robots.txt", n)
		}
	})
}

// A client that goes away cancels nothing for the others, nor for the next.
func TestAClientThatGoesAwayCancelsNothing(t *testing.T) {
	for name, stays := range map[string]bool{"others wait": true, "nobody waits": false} {
		t.Run(name, func(t *testing.T) {
			lives(t, faults.Slow(5*time.Second), patient(), testnet.Config{}, func(t *testing.T, w *memoryWorld) {
				w.set(faults.RobotsTxt)
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url("http", "a")+"/public", nil)
				if err != nil {
					t.Fatal(err)
				}
				var others sync.WaitGroup
				if stays {
					others.Go(func() {
						if a := w.get(t, "/private"); a.status != 403 || a.took != 5*time.Second {
							t.Errorf("the one who stayed: %d after %v", a.status, a.took)
						}
					})
				}
				if resp, err := w.client.Do(req); err == nil {
					_ = resp.Body.Close()
					t.Errorf("the one who left was answered: %s", resp.Status)
				}
				others.Wait()
				time.Sleep(6 * time.Second)
				if a := w.get(t, "/private"); a.status != 403 || a.took != 0 {
					t.Errorf("the next: %d after %v", a.status, a.took)
				}
				if n := len(w.origin.Requests(true)); n != 1 {
					t.Errorf("%d requests for the robots.txt", n)
				}
			})
		})
	}
}

// An origin that floods with SETTINGS and reads none of what is acknowledged
// would hold a connection and its goroutines for ever: writing to it stalls.
// Only a real network shows it: the lock that is held meanwhile is none that a
// bubble understands.
func TestAConnectionThatIsNotReadIsGivenUp(t *testing.T) {
	w := newRealWorlds(t)
	defer w.close()
	for _, tt := range []struct {
		of   string
		well int // connections before those that flood
		ask  func(t *testing.T, v *world)
	}{
		{"robots.txt", 0, func(t *testing.T, v *world) {
			if s := v.snapshot(t); s.Access != policy.Unreachable {
				t.Errorf("%+v", s)
			}
		}},
		{"a page", 1, func(t *testing.T, v *world) {
			if a := v.get(t, "/page"); a.status != http.StatusBadGateway && a.status != http.StatusGatewayTimeout {
				t.Errorf("the client got %d", a.status)
			}
		}},
	} {
		t.Run(tt.of, func(t *testing.T) {
			l, released := listen(t), make(chan error, 10)
			stop := flooding(l, tt.well, released)
			v := &world{scheme: "https", heed: w.heed, url: func(string, string) string {
				return "https://a.unread.example:" + portOf(l)
			}}
			v.client = newClient(w.ca, w.proxy.Addr().String(), (&net.Dialer{}).DialContext)
			v.client.Timeout = patience
			tt.ask(t, v)
			v.client.CloseIdleConnections()
			if err := <-released; err != nil {
				t.Errorf("heed still holds the connection after it gave the request up: %v", err)
			}
			stop()
		})
	}
}

// flooding serves connections with faults.FloodUnread, and says of each how it
// ended, behind some on which there is no robots.txt. stop waits for them.
func flooding(l net.Listener, well int, released chan<- error) (stop func()) {
	var conns sync.WaitGroup
	conns.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n < well {
				conns.Go(func() { notFound(c) })
				continue
			}
			conns.Go(func() { released <- faults.FloodUnread(c, patience) })
		}
	})
	return func() {
		_ = l.Close()
		conns.Wait()
	}
}

// notFound answers one request, in HTTP/1.1 inside TLS.
func notFound(below net.Conn) {
	c := tls.Server(below, faults.ServerConfig())
	defer c.Close()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		_, _ = c.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
	}
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
