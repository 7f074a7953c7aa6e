package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/elazarl/goproxy" //nolint:depguard // what heed is compared with

	"heed/bench/engine/floor"
	"heed/internal/agent"
	"heed/internal/ca"
	"heed/internal/dial"
	"heed/internal/origin"
	"heed/policy"
	"heed/proxy"
)

// The proxies that this program is itself, when it is called as
//
//	engine serve-as NAME ADDRESS FOLDER
//
// in a process of its own. They serve until they are killed.
var served = map[string]func(l net.Listener, folder string) error{
	"floor":   func(l net.Listener, _ string) error { return floor.Serve(l) },
	"goproxy": func(l net.Listener, _ string) error { return serveHTTP(l, goproxy.NewProxyHttpServer()) },
	"goproxy-mitm": func(l net.Listener, _ string) error {
		p := goproxy.NewProxyHttpServer()
		p.OnRequest().HandleConnect(goproxy.AlwaysMitm) //nolint:forbidigo // as its README says; this is what is measured
		return serveHTTP(l, p)
	},
	"goproxy-tuned": func(l net.Listener, _ string) error { return serveHTTP(l, newTunedGoproxy()) },
	"engine":        func(l net.Listener, folder string) error { return serveEngine(l, folder, proxy.Intercept) },
	"engine-tunnel": func(l net.Listener, folder string) error { return serveEngine(l, folder, proxy.Tunnel) },
}

func serveAs(args []string) error {
	if len(args) != 3 || served[args[0]] == nil {
		return fmt.Errorf("serve-as %q: want a name, an address and a folder", args)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", args[1])
	if err != nil {
		return err
	}
	return served[args[0]](l, args[2])
}

func serveHTTP(l net.Listener, h http.Handler) error {
	return (&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(l)
}

// newTunedGoproxy keeps connections to origins, and leaves bodies as they are.
func newTunedGoproxy() *goproxy.ProxyHttpServer {
	p := goproxy.NewProxyHttpServer()
	p.KeepAcceptEncoding = true
	p.Tr = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		DisableCompression:  true,
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	return p
}

// serveEngine is heed/proxy with a policy that allows everything, without a log
// and without metrics. It trusts the origin's CA, which is in the folder.
func serveEngine(l net.Listener, folder string, mode proxy.Mode) error {
	authority, err := ca.Open(filepath.Join(folder, "ca"))
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(filepath.Join(folder, originCA))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("the origin's CA is no certificate")
	}
	dialer, err := dial.New(dial.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: roots})
	if err != nil {
		return err
	}
	return proxy.New(proxy.Config{
		Policies:  allowAll{},
		Leaves:    ca.NewIssuer(authority, 0),
		Dial:      dialer.DialContext,
		Transport: func(base *http.Transport) http.RoundTripper { return dialer.Transport(base) },
		Authority: proxy.Authority{PEM: authority.PEM(), DER: authority.DER(), Fingerprint: authority.Fingerprint()},
		Mode:      func(origin.Origin, *agent.Client) (proxy.Mode, string) { return mode, "" },
		Roots:     roots,
	}).Serve(l)
}

// allowAll has no rules for anybody.
type allowAll struct{}

// Remembered has the same.
func (allowAll) Remembered(origin.Origin, time.Time) (policy.Snapshot, bool) {
	return policy.Snapshot{Access: policy.Unavailable, Status: http.StatusNotFound}, true
}

// Snapshot has no rules.
func (allowAll) Snapshot(context.Context, origin.Origin) (policy.Snapshot, error) {
	return policy.Snapshot{Access: policy.Unavailable, Status: http.StatusNotFound}, nil
}

// Await has no rules.
func (a allowAll) Await(ctx context.Context, o origin.Origin, _ proxy.Patience) (policy.Snapshot, proxy.Held, error) {
	s, err := a.Snapshot(ctx, o)
	return s, proxy.Held{}, err
}
