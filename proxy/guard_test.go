package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/rs/zerolog"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/origin"
	"heed/policy"
)

// When in doubt, deny: whatever fails on the way to a decision, nothing is
// forwarded, the process lives, and there is an entry.

// doubts are ways to have no decision.
var doubts = []struct {
	why    string
	hook   func(context.Context, origin.Origin) (policy.Snapshot, error)
	status int
	reason string
}{
	{"Policies panics", func(context.Context, origin.Origin) (policy.Snapshot, error) { panic("a defect") }, 500, "internal"},
	{"Policies panics with an error", func(context.Context, origin.Origin) (policy.Snapshot, error) { panic(io.ErrUnexpectedEOF) }, 500, "internal"},
	{"Policies uses nil", func(context.Context, origin.Origin) (policy.Snapshot, error) {
		var s *policy.Snapshot
		return policy.Snapshot{URL: s.URL}, nil
	}, 500, "internal"},
	{"Policies fails", func(context.Context, origin.Origin) (policy.Snapshot, error) {
		return policy.Snapshot{}, errors.New("no time")
	}, 503, "robots-pending"},
	{"Policies does not answer in time", func(ctx context.Context, _ origin.Origin) (policy.Snapshot, error) {
		<-ctx.Done()
		return policy.Snapshot{}, ctx.Err()
	}, 503, "robots-pending"},
	{"Policies has nothing to say", func(context.Context, origin.Origin) (policy.Snapshot, error) { return policy.Snapshot{}, nil }, 503, "robots-unreachable"},
	{"a snapshot without rules", func(context.Context, origin.Origin) (policy.Snapshot, error) {
		return policy.Snapshot{URL: "http://a.example/robots.txt"}, nil
	}, 503, "robots-unreachable"},
}

func TestDoubtDenies(t *testing.T) {
	for _, tt := range doubts {
		t.Run(tt.why, func(t *testing.T) {
			r := start(t, func(c *Config) { c.Wait = 50 * time.Millisecond })
			reached := make(chan string, 100)
			channels := newChannels(t, r, func(_ http.ResponseWriter, req *http.Request) { reached <- req.RequestURI })
			r.policies.hook = tt.hook
			for _, c := range channels {
				for range 2 { // the second on the same connection: it lives on
					resp := c.do(t, "GET", "/x", nil)
					body := whole(t, resp)
					if resp.StatusCode != tt.status || resp.Header.Get("Proxy-Status") == "" || !strings.Contains(body, "/why?id=") {
						t.Errorf("%s: %s: %s", c.name, resp.Status, body)
					}
					if has := resp.Header.Get("Retry-After") != ""; has != (tt.status == 503) {
						t.Errorf("%s: Retry-After: %q", c.name, resp.Header.Get("Retry-After"))
					}
					if e := r.entryOf(t, c.as); e.Verdict != audit.Denied || e.Decision.Allowed || e.Reason != tt.reason || e.Status != tt.status {
						t.Errorf("%s: recorded as %+v", c.name, e)
					}
				}
			}
			r.policies.hook = nil
			if len(reached) > 0 {
				t.Errorf("%s reached the origin", <-reached)
			}
			for _, c := range channels {
				if resp := c.do(t, "GET", "/x", nil); resp.StatusCode != 200 {
					t.Errorf("%s: afterwards: %s", c.name, resp.Status)
				}
			}
		})
	}
}

// TestDoubtDeniesATunnel: the same where the tunnel as a whole is decided on.
func TestDoubtDeniesATunnel(t *testing.T) {
	for _, tt := range doubts {
		r := start(t, modeIs(Tunnel), func(c *Config) { c.Wait = 50 * time.Millisecond })
		r.policies.hook = tt.hook
		a := r.send(t, "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
		if a.StatusCode != tt.status {
			t.Errorf("%s: %s: %s", tt.why, a.Status, a.body)
		}
		if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != tt.reason {
			t.Errorf("%s: recorded as %+v", tt.why, e)
		}
	}
}

// TestPanicsElsewhere: in what else a configuration brings along.
func TestPanicsElsewhere(t *testing.T) {
	for _, tt := range []struct {
		why string
		set func(*Config)
	}{
		{"AllowClient", func(c *Config) { c.AllowClient = func(netip.Addr) bool { panic("a defect") } }},
		{"Mode", func(c *Config) { c.Mode = func(origin.Origin, *agent.Client) (Mode, string) { panic("a defect") } }},
		{"ConnectPort", func(c *Config) { c.ConnectPort = func(string) bool { panic("a defect") } }},
		{"nothing at all", func(c *Config) {
			c.Policies = nil
			c.Mode = func(origin.Origin, *agent.Client) (Mode, string) { return Tunnel, "" }
		}},
	} {
		r := start(t, tt.set)
		a := r.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
		if a.StatusCode != 500 || strings.Contains(a.body, "goroutine") {
			t.Errorf("%s: %s: %s", tt.why, a.Status, a.body)
		}
		if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != "internal" {
			t.Errorf("%s: recorded as %+v", tt.why, e)
		}
		if log := r.log.String(); !strings.Contains(log, "exchange panicked") || !strings.Contains(log, "goroutine") {
			t.Errorf("%s: the log has no stack: %s", tt.why, log)
		}
	}
}

// TestPanicInATunnelClosesIt: net/http leaves a hijacked connection to the
// handler, also to one that panicked.
func TestPanicInATunnelClosesIt(t *testing.T) {
	r := start(t, modeIs(Tunnel), func(c *Config) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) { panic("a defect") }
	})
	r.policies.set("https://a.example", rules("https://a.example", "User-agent: *\nAllow: /\n"))
	w := r.dial(t)
	_, _ = io.WriteString(w, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
	if all, err := io.ReadAll(w.r); err != nil || len(all) > 0 {
		t.Errorf("the client read %q, %v", all, err)
	}
	if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != "internal" {
		t.Errorf("recorded as %+v", e)
	} else if rule := e.Decision.Rule(); rule != "Allow: /" {
		t.Errorf("the rule is recorded as %q, which nobody wrote", rule)
	}
	if n := r.proxy.Tunnels(); n != 0 {
		t.Errorf("%d tunnels are left", n)
	}
}

// panicking is a body that does.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a defect") }
func (panicking) Close() error             { return nil }

// TestPanicWithinAnAnswerAbortsIt: what has begun cannot become a denial, and
// must not look whole.
func TestPanicWithinAnAnswerAbortsIt(t *testing.T) {
	r := start(t)
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	r.proxy.engine.OnResponse().DoFunc(func(resp *http.Response, _ *goproxy.ProxyCtx) *http.Response {
		resp.Body = panicking{}
		return resp
	})
	a := r.get(t, o+"/")
	if a.err == nil {
		t.Errorf("%s: the client read %q as if it were whole", a.Status, a.body)
	}
	if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != "internal" || !strings.Contains(e.Err, "a defect") {
		t.Errorf("recorded as %+v", e)
	}
}

// TestLeafThatCannotBeMade ends the handshake, not the process.
func TestLeafThatCannotBeMade(t *testing.T) {
	r := start(t, func(c *Config) { c.Leaves = noLeaves{} })
	c := tls.Client(r.connect(t, "a.example:443").Conn, &tls.Config{InsecureSkipVerify: true})
	if err := c.HandshakeContext(t.Context()); err == nil {
		t.Error("the handshake went well")
	}
	if e := r.entry(t); !strings.Contains(e.Err, "no leaf") {
		t.Errorf("recorded as %+v", e)
	}
}

type noLeaves struct{}

func (noLeaves) Certificate(string) (*tls.Certificate, error) {
	return nil, errors.New("no leaf today")
}

// TestRequestWithoutADoor: one that did not come in through heed's own servers
// would be goproxy's to forward.
func TestRequestWithoutADoor(t *testing.T) {
	p := New(Config{})
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, errNotOurPath) {
			t.Errorf("it panicked with %v", err)
		}
	}()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.engine.ServeHTTP(nil, req)
	t.Error("it was served")
}

func (noLeaves) Kept(string) bool { return false }

// TestEngineHasNoWayOfItsOwn: goproxy forwards what no hook answered (http.go:22),
// relays a CONNECT that no handler took (https.go:201), through the
// environment's proxy if there is one, and serves what is in origin-form.
func TestEngineHasNoWayOfItsOwn(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	reached := make(chan struct{}, 1)
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) { reached <- struct{}{} })
	e := New(Config{}).engine
	req, err := http.NewRequestWithContext(t.Context(), "GET", o+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Tr.RoundTrip(req); !errors.Is(err, errNotOurPath) {
		t.Errorf("its transport: %v", err)
	}
	if _, err := e.ConnectDial("tcp", hostOf(o)); !errors.Is(err, errNotOurPath) {
		t.Errorf("its dialer: %v", err)
	}
	w := httptest.NewRecorder()
	e.NonproxyHandler.ServeHTTP(w, req)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), errNotOurPath.Error()) {
		t.Errorf("its handler: %d %s", w.Code, w.Body)
	}
	if len(reached) > 0 {
		t.Error("an origin was reached")
	}
}

// TestEngineIsHeardAtDebugAlone: goproxy writes warnings whatever it is told
// (ctx.go:83), with what clients sent in them.
func TestEngineIsHeardAtDebugAlone(t *testing.T) {
	for level, heard := range map[zerolog.Level]bool{zerolog.InfoLevel: false, zerolog.DebugLevel: true} {
		var log buffer
		e := New(Config{Log: zerolog.New(&log).Level(level)}).engine
		e.Logger.Printf("[%03d] WARN: %s", 1, "of a client\nlevel=error")
		if (log.String() != "") != heard {
			t.Errorf("at %v: %q", level, log.String())
		}
		if heard && (!strings.Contains(log.String(), `"message":"goproxy"`) || strings.Count(log.String(), "\n") != 1) {
			t.Errorf("what a client sent is to be in a field: %q", log.String())
		}
	}
}
