package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/origin"
	"heed/internal/override"
	"heed/internal/pace"
	"heed/internal/roundtrip"
	"heed/internal/serving"
	"heed/policy"
)

// Host is the name under which heed serves its own pages through itself.
const Host = "heed.internal"

// Policies is where the proxy learns what a robots.txt says. Remembered does not
// wait, and says false of what is to be waited for; the time is now, by both
// clocks. Snapshot waits for a fetch at most as long as ctx lasts, and an error
// means that there was no answer by then. Await is that for a request with so much
// patience (wait.go). It must be safe for concurrent use.
type Policies interface {
	Remembered(o origin.Origin, now time.Time) (policy.Snapshot, bool)
	Snapshot(ctx context.Context, o origin.Origin) (policy.Snapshot, error)
	Await(ctx context.Context, o origin.Origin, p Patience) (policy.Snapshot, Held, error)
}

// Leaves makes the certificates that heed shows to clients it intercepts. Kept
// tells whether the one for a host is made already. It must be safe for
// concurrent use.
type Leaves interface {
	Certificate(host string) (*tls.Certificate, error)
	Kept(host string) bool
}

// Dialer opens a connection to an address that was checked.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Authority is the CA as heed's own pages hand it out.
type Authority struct {
	PEM, DER    []byte
	Fingerprint string // SHA-256, in hex with colons
}

// Config is what a Proxy is made of. Fields without a default are required.
type Config struct {
	Policies  Policies
	Leaves    Leaves
	Dial      Dialer
	Authority Authority

	Pacer       *pace.Pacer                                           // says when a request may go out; nil: at any time
	Hold        func(policy.Tokens) time.Duration                     // for how long a request may wait for that; nil: 3 s
	Overrides   *override.Table                                       // where the operator decides in place of robots.txt; nil: nowhere
	Mode        func(o origin.Origin, c *agent.Client) (Mode, string) // what is done at CONNECT, and why if it is an exception; nil: Intercept
	ConnectPort func(port string) bool                                // ports that CONNECT may name; nil: any
	AllowClient func(netip.Addr) bool                                 // who may use the proxy besides Clients; nil: loopback alone
	Clients     *agent.Clients                                        // those that have a name; nil: nobody has
	Require     Requirement                                           // who a client must be; 0: AnyClient
	Roots       *x509.CertPool                                        // what origins' certificates are verified with; nil: the system's

	// StrictPaths keeps fields from going on that name another target than the
	// request's. What its target may be taken for is for policy.Options.Strict.
	StrictPaths bool

	// Reports tells whether the mode is report for an origin and a client, whose
	// own mode is "enforce", "report", or "" where it has none: what politeness
	// forbids is forwarded then, and marked (report.go). Nil: never.
	Reports    func(o origin.Origin, client string) bool
	ReportNote string // what the start page says of that; empty where nothing is reported

	// Transport returns the way that requests go, with the limits of base. It
	// knows of roundtrip.Exchange. Nil: origins are asked directly, over Dial.
	Transport func(base *http.Transport) http.RoundTripper

	Name    string             // the deployment, in Proxy-Status; default "heed"
	Via     string             // this instance's own name in Via, by which it knows a loop; default Name and something random
	Version string             // shown on the start page
	Recent  *audit.Recent      // where /why finds decisions; nil: a new one
	Record  func(*audit.Entry) // sees every exchange once, when it ended, and does not keep the entry; nil: nobody
	Log     zerolog.Logger     // for what is not an exchange

	// TLSFailed is told why TLS with a client came to nothing, as one of a few
	// words (refusal.go); nil: nobody is.
	TLSFailed func(failure string)

	Wait     time.Duration // patience for a robots.txt not yet known, without what its fetch waits for its turn; default 10 s
	Timeouts Timeouts
	Limits   Limits
}

// Timeouts bound what the proxy waits for; 0 means the default.
type Timeouts struct {
	TLSHandshake   time.Duration // default 10 s
	ResponseHeader time.Duration // default 60 s
	ClientHeader   time.Duration // default 30 s
	Idle           time.Duration // default 60 s
}

// Limits bound what the proxy holds for a request; 0 means the default.
type Limits struct {
	Header int // octets of a header section; default 64 KiB
	URL    int // octets of a request-target; default 16 KiB
}

// Proxy is a forward proxy that heeds robots.txt. Make one with New; it is
// safe for concurrent use.
type Proxy struct {
	Config
	engine    *goproxy.ProxyHttpServer
	transport http.RoundTripper
	server    *serving.Server
	inside    inside
	via       via
	raw       tracker // hijacked connections, which no server ends
	work      work
	ahead     ahead
	begun     begun
	ending    atomic.Pointer[context.Context] // Shutdown's: when it is over what is under way is cut off
}

// New returns a Proxy. It does no I/O; Serve does.
func New(c Config) *Proxy {
	p := &Proxy{Config: withDefaults(c)}
	base := p.newTransport()
	if p.Transport != nil {
		p.transport = p.Transport(base)
	} else {
		p.transport = roundtrip.New(roundtrip.Config{Base: base})
	}
	p.engine = p.newEngine()
	p.server = p.newServer()
	p.inside = p.newInside()
	p.via = newVia(p.Via)
	return p
}

func withDefaults(c Config) Config {
	if c.Mode == nil {
		c.Mode = func(origin.Origin, *agent.Client) (Mode, string) { return Intercept, "" }
	}
	if c.ConnectPort == nil {
		c.ConnectPort = func(string) bool { return true }
	}
	if c.Hold == nil {
		c.Hold = func(policy.Tokens) time.Duration { return 3 * time.Second }
	}
	if c.AllowClient == nil {
		c.AllowClient = netip.Addr.IsLoopback
	}
	if c.Recent == nil {
		c.Recent = new(audit.Recent)
	}
	if c.Record == nil {
		c.Record = func(*audit.Entry) {}
	}
	if c.TLSFailed == nil {
		c.TLSFailed = func(string) {}
	}
	c.Name = or(c.Name, "heed")
	c.Via = or(c.Via, c.Name+"-"+xid.New().String()[12:])
	c.Wait = or(c.Wait, 10*time.Second)
	c.Timeouts.TLSHandshake = or(c.Timeouts.TLSHandshake, 10*time.Second)
	c.Timeouts.ResponseHeader = or(c.Timeouts.ResponseHeader, 60*time.Second)
	c.Timeouts.ClientHeader = or(c.Timeouts.ClientHeader, 30*time.Second)
	c.Timeouts.Idle = or(c.Timeouts.Idle, 60*time.Second)
	c.Limits.Header = or(c.Limits.Header, 64<<10)
	c.Limits.URL = or(c.Limits.URL, 16<<10)
	return c
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// newEngine sets goproxy up so that nothing of its own can reach an origin:
// our hook answers every request, and our CONNECT handler every tunnel.
func (p *Proxy) newEngine() *goproxy.ProxyHttpServer {
	e := goproxy.NewProxyHttpServer()
	e.Logger = engineLog{p.Log}
	// By its own transport goproxy asks where a hook gave no answer (http.go:22).
	e.Tr = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errNotOurPath }}
	e.KeepDestinationHeaders = true // an answer's fields are there before goproxy copies the others
	// NewProxyHttpServer chains CONNECT through the environment's HTTPS_PROXY.
	e.ConnectDial = func(string, string) (net.Conn, error) { return nil, errNotOurPath }
	e.NonproxyHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, errNotOurPath.Error(), http.StatusInternalServerError)
	})
	e.OnRequest().DoFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		x := exchangeOf(r)
		resp := p.serve(x)
		if !x.w.forwarded {
			x.handFields(resp)
		}
		return r, resp
	})
	e.OnRequest().HandleConnectFunc(func(_ string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return p.connect(exchangeOf(ctx.Req))
	})
	return e
}

// serve is the path of an exchange. Whatever goes wrong, the answer is a
// denial: there is one call of forward, and it stands behind every check. What a
// check finds is reported in place of that where the mode says so, and it is a
// matter of politeness (report.go).
func (p *Proxy) serve(x *exchange) *http.Response {
	x.err = p.identify(x)
	if left, bounded := hops(x.in); x.err == nil && bounded && left == 0 {
		return p.lastHop(x)
	}
	if x.err == nil && x.origin.Host == Host {
		return p.status(x)
	}
	if x.err == nil {
		x.err = p.permit(x)
	}
	if x.err == nil {
		x.err = p.decide(x)
	}
	if p.denies(x) {
		return p.deny(x)
	}
	if x.err = p.takeQuota(x); x.err == nil {
		x.err = p.enforced(x, p.pace(x))
	}
	if x.err != nil {
		return p.deny(x)
	}
	resp := p.forward(x)
	x.settleQuota(x.entry.Verdict)
	return resp
}

// engineLog takes what goproxy has to say. It is debug talk with client data
// in it, so it goes into a field.
type engineLog struct{ log zerolog.Logger }

func (l engineLog) Printf(format string, args ...any) {
	l.log.Debug().Str("engine", sprintf(format, args)).Msg("goproxy")
}
