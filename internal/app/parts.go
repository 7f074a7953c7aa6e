package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"heed/fetch"
	"heed/internal/audit"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/proxy"
)

// NewFetcher returns a fetcher for a command that wants robots.txt files and
// no proxy. The caller closes it.
func NewFetcher(c config.Config, version string) (*fetch.Fetcher, error) {
	return commandFetcher(c, version, false)
}

// NewBodyFetcher is NewFetcher for a command that wants the files themselves,
// too: the fetcher's snapshots have a Body.
func NewBodyFetcher(c config.Config, version string) (*fetch.Fetcher, error) {
	return commandFetcher(c, version, true)
}

func commandFetcher(c config.Config, version string, keepBodies bool) (*fetch.Fetcher, error) {
	roots, err := upstreamRoots(c.Upstream.Roots)
	if err != nil {
		return nil, err
	}
	dialer, err := newDialer(c, roots, "")
	if err != nil {
		return nil, err
	}
	f := fetcherConfig(c, dialer, roots, version)
	f.KeepBodies = keepBodies
	return fetch.New(f), nil
}

func newDialer(c config.Config, roots *x509.CertPool, via string) (*dial.Dialer, error) {
	proxy, direct, err := upstreamProxy(c.Upstream)
	if err != nil {
		return nil, err
	}
	d, err := dial.New(dial.Config{
		ConnectTo: c.ConnectTo,
		Allow:     c.AllowAddress,
		Timeout:   time.Duration(c.Timeouts.Connect),
		Proxy:     proxy,
		Direct:    direct,
		Roots:     roots,
		Via:       via,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up connections: %w", err)
	}
	return d, nil
}

// upstreamProxy returns the proxy that all connections go through, nil if there
// is none, and what is connected to without it.
func upstreamProxy(c config.Upstream) (*url.URL, func(host, port string) bool, error) {
	named := func(host, _ string) bool {
		return slices.ContainsFunc(c.Direct, func(d config.Destination) bool { return d.Matches(host) })
	}
	switch c.Proxy {
	case "":
		return nil, nil, nil
	case config.Environment:
		proxy, excepted, err := dial.ProxyFromEnvironment()
		return proxy, func(host, port string) bool { return named(host, port) || excepted(host, port) }, err
	}
	proxy, err := dial.ParseProxy(c.Proxy)
	if err != nil {
		return nil, nil, fmt.Errorf("reading upstream.proxy: %w", err)
	}
	return proxy, named, nil
}

// upstreamRoots adds the operator's roots to the system's; nil means the
// system's alone.
func upstreamRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading upstream.roots: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's roots: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading upstream.roots: %s holds no certificate in PEM", path)
	}
	return pool, nil
}

// fetcherConfig gives robots.txt its own connections: they carry nothing of a
// client, and a client's requests cannot hold them.
func fetcherConfig(c config.Config, d *dial.Dialer, roots *x509.CertPool, version string) fetch.Config {
	transport := d.Transport(&http.Transport{
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    time.Duration(c.Timeouts.TLSHandshake),
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        10 * time.Second,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		// An origin that sends and does not read would keep the connection, and
		// the goroutine that acknowledges, for ever: net/http has no other bound.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: time.Duration(c.Robots.Timeout)},
	})
	transport.OriginsOnly = true // a proxy's own 404 is no permission
	return fetch.Config{
		Transport:   transport,
		UserAgent:   userAgent(version, c.Contact),
		Limit:       int(c.Robots.Limit),
		Timeout:     time.Duration(c.Robots.Timeout),
		FreshMin:    time.Duration(c.Robots.FreshMin),
		FreshFor:    time.Duration(c.Robots.FreshFor),
		StaleFor:    staleFor(c.Robots.StaleFor),
		MemoryBytes: int64(c.Cache.MaxBytes),
		Concurrency: c.Robots.Concurrency,
		PerAddress:  c.Robots.PerAddress,
		Lookup:      d.Lookup,
		Refusals:    c.Robots.Refused == config.Disallowed,
		Cautious:    c.Policy.Cautious,
		Strict:      c.Policy.StrictPaths,
	}
}

// staleFor turns the configuration's "not at all" into the fetcher's: there 0
// is the default.
func staleFor(d config.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

// userAgent is how heed names itself where it fetches robots.txt: one identity
// for all clients, with a way to reach the operator.
func userAgent(version, contact string) string {
	if contact == "" {
		return "heed/" + version
	}
	return "heed/" + version + " (+" + contact + ")"
}

func proxyConfig(c config.Config, version, via string, a *App, d *dial.Dialer, roots *x509.CertPool, recent *audit.Recent, record func(*audit.Entry)) proxy.Config {
	return proxy.Config{
		Policies:    policies{a.fetcher},
		Overrides:   a.overrides,
		Pacer:       a.pacer,
		Hold:        holdOf(c.Pace),
		Leaves:      ca.NewIssuer(a.ca, c.Limits.LeafCertificates),
		Dial:        d.DialContext,
		Transport:   func(base *http.Transport) http.RoundTripper { return d.Transport(base) },
		Via:         via,
		Authority:   proxy.Authority{PEM: a.ca.PEM(), DER: a.ca.DER(), Fingerprint: a.ca.Fingerprint()},
		Mode:        modeOf(c.HTTPS),
		Clients:     a.clients,
		Require:     requirementOf(c.Identity),
		Reports:     a.modes.Reports,
		ReportNote:  ReportNote(c),
		ConnectPort: portsOf(c.ConnectPorts),
		StrictPaths: c.Policy.StrictPaths,
		AllowClient: clientsOf(c.Clients),
		Roots:       roots,
		Version:     version,
		Recent:      recent,
		Record:      record,
		Log:         a.log,
		Wait:        time.Duration(c.Robots.Wait),
		Timeouts: proxy.Timeouts{
			TLSHandshake:   time.Duration(c.Timeouts.TLSHandshake),
			ResponseHeader: time.Duration(c.Timeouts.ResponseHeader),
			ClientHeader:   time.Duration(c.Timeouts.ClientHeader),
			Idle:           time.Duration(c.Timeouts.Idle),
		},
		Limits: proxy.Limits{Header: int(c.Limits.Header), URL: int(c.Limits.URL)},
	}
}

func portsOf(allowed []config.Ports) func(string) bool {
	return func(port string) bool {
		n, err := strconv.ParseUint(port, 10, 16)
		return err == nil && slices.ContainsFunc(allowed, func(r config.Ports) bool { return r.Contains(uint16(n)) })
	}
}
