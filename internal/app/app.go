// Package app is the composition root: it makes the objects that a
// configuration asks for, wires them, and runs them. serve and run share it.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"heed/fetch"
	"heed/internal/admin"
	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/logfile"
	"heed/internal/metrics"
	"heed/internal/override"
	"heed/internal/pace"
	"heed/internal/quota"
	"heed/internal/store"
	"heed/proxy"
)

// Options are what is not configuration.
type Options struct {
	Log     zerolog.Logger
	Lines   *logfile.Writer    // what Log writes to; nil: its lines are not counted, and take longer
	Version string             // shown, and sent in the User-Agent of robots.txt fetches
	Record  func(*audit.Entry) // sees every exchange, and does not keep the entry; nil: nobody beside the log and the metrics
	Private bool               // for one command: a cache file beside that of the heed that serves, and no socket
}

// App is a heed that listens. Make one with Start, then call Run once.
type App struct {
	log       zerolog.Logger
	ca        *ca.CA
	overrides *override.Table // nil: none
	pacer     *pace.Pacer
	clients   *agent.Clients // nil: none has a name
	quotas    *quota.Keeper
	modes     *Modes
	proxy     *proxy.Proxy
	fetcher   *fetch.Fetcher
	store     *store.File // nil: none
	admin     *http.Server
	control   *http.Server // nil: none
	ready     *admin.Readiness
	shutdown  time.Duration

	proxyListener net.Listener
	adminListener net.Listener // nil when off
	socket        net.Listener // nil when there is no control
}

// Start makes or loads the CA in the state directory, opens the cache file and
// the listeners.
// When it fails nothing is left open, and the error names the path or address
// at fault.
func Start(ctx context.Context, c config.Config, o Options) (*App, error) {
	if c.StateDir == "" {
		return nil, errors.New("starting: no state directory was given (state_dir)")
	}
	authority, err := ca.Open(filepath.Join(c.StateDir, "ca"))
	if err != nil {
		return nil, fmt.Errorf("opening the CA: %w", err)
	}
	roots, err := upstreamRoots(c.Upstream.Roots)
	if err != nil {
		return nil, err
	}
	via := "heed-" + strings.ToLower(rand.Text()[:8]) // another one at each start: two heeds in a row are no loop
	dialer, err := newDialer(c, roots, via)
	if err != nil {
		return nil, err
	}
	overrides, err := NewOverrides(c)
	if err != nil {
		return nil, err
	}
	quotas := newQuotas(c, o)
	clients, err := NewClients(c.Clients, quotas)
	if err != nil {
		return nil, err
	}
	modes, err := NewModes(c)
	if err != nil {
		return nil, err
	}
	a := &App{log: o.Log, ca: authority, overrides: overrides, clients: clients, modes: modes, quotas: quotas, ready: new(admin.Readiness), shutdown: time.Duration(c.Timeouts.Shutdown)}
	if err := a.listen(ctx, c, dialer); err != nil {
		return nil, err
	}
	if dialer.ProxyIsOwn() {
		a.closeListeners()
		return nil, fmt.Errorf("starting: the upstream proxy %s is heed itself; name another in upstream.proxy, or take heed out of HTTP_PROXY and HTTPS_PROXY where it starts", dialer.Proxy())
	}
	if a.store, err = openStore(c, o); err == nil {
		err = quotas.Load()
	}
	if err != nil {
		a.closeListeners()
		closeStore(a.store, o.Log)
		return nil, err
	}
	sayUpstream(o.Log, c.Upstream, dialer.Proxy())
	for _, text := range c.Clients.Warnings(c.HTTPS.Mode) {
		o.Log.Warn().Str("hint", text).Msg("the configuration of clients is odd")
	}
	recent := new(audit.Recent)
	m := metrics.New(o.Version, metrics.Gauges{
		Tunnels:       func() int { return a.proxy.Tunnels() },
		RobotsOrigins: func() int { return a.fetcher.Stats().Origins },
		RobotsBytes:   func() int64 { return a.fetcher.Stats().Octets },

		Overrides:        overrides.Len,
		OverridesExpired: func() int { return len(overrides.Expired(time.Now())) },
	})
	m.Quotas(quotaMetrics(quotas))
	if o.Lines != nil {
		m.Log(logMetrics(o.Lines))
	}
	robots := fetcherConfig(c, dialer, roots, o.Version)
	robots.Observe = m.Fetches()
	a.pacer = newPacer(c.Pace, dialer, o.Log)
	robots.Turn = robotsTurns(a.pacer, c)
	m.Pace(paceMetrics(a.pacer))
	if a.store != nil {
		robots.Store = a.store
		m.Store(storeMetrics(a.store))
	}
	a.fetcher = fetch.New(robots)
	if a.store != nil && !o.Private {
		a.socket = listenControl(ctx, Socket(c.StateDir), o.Log)
		a.control = controlServer(cache{a.store, a.fetcher.Forget}, a.pacer)
	}
	serving := proxyConfig(c, o.Version, via, a, dialer, roots, recent, recorder(o, m))
	serving.TLSFailed = m.ClientTLS
	a.proxy = proxy.New(serving)
	a.admin = &http.Server{
		Handler:           admin.New(admin.Config{Metrics: m.Handler(), Version: o.Version, Ready: a.ready, Pace: a.pacer, Degraded: degraded(a.store, o.Lines, quotas), Quotas: quotas}),
		ReadHeaderTimeout: time.Duration(c.Timeouts.ClientHeader),
		IdleTimeout:       time.Duration(c.Timeouts.Idle),
	}
	return a, nil
}

// sayUpstream says which way connections go where that is not the usual one,
// and what cannot be checked then.
func sayUpstream(log zerolog.Logger, c config.Upstream, proxy string) {
	switch {
	case proxy != "":
		log.Warn().Str("proxy", proxy).
			Str("hint", "it resolves names, so heed cannot tell whether they lead to special addresses: the proxy has to refuse those").
			Msg("connections go through the upstream proxy")
	case c.Proxy == config.Environment:
		log.Info().Msg("upstream.proxy is environment, and HTTP_PROXY and HTTPS_PROXY are not set: connecting without a proxy")
	}
}

// recorder hands each exchange to the log, the metrics, and whoever else asked.
func recorder(o Options, m *metrics.Metrics) func(*audit.Entry) {
	line := audit.Log(o.Log)
	if o.Lines != nil && o.Log.GetLevel() <= zerolog.InfoLevel {
		line = audit.Lines(o.Lines)
	}
	return func(e *audit.Entry) {
		line(e)
		m.Exchange(e)
		if o.Record != nil {
			o.Record(e)
		}
	}
}

// listen opens both listeners or none, and tells the dialer of them: heed
// never connects to itself.
func (a *App) listen(ctx context.Context, c config.Config, d *dial.Dialer) error {
	var lc net.ListenConfig
	var err error
	if a.proxyListener, err = lc.Listen(ctx, "tcp", c.Listen); err != nil {
		return listenError("listen", c.Listen, err)
	}
	if c.AdminListen != config.Off {
		if a.adminListener, err = lc.Listen(ctx, "tcp", c.AdminListen); err != nil {
			a.closeListeners()
			return listenError("admin_listen", c.AdminListen, err)
		}
	}
	var own []netip.AddrPort
	for _, l := range []net.Listener{a.proxyListener, a.adminListener} {
		if l == nil {
			continue
		}
		if at, ok := l.Addr().(*net.TCPAddr); ok {
			own = append(own, at.AddrPort())
		}
	}
	d.SetDeny(own)
	return nil
}

func (a *App) closeListeners() {
	for _, l := range []net.Listener{a.proxyListener, a.adminListener} {
		if l != nil {
			_ = l.Close()
		}
	}
}

func listenError(key, addr string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("listening on %s (%s): %w; choose a port above 1023", addr, key, err)
	}
	return fmt.Errorf("listening on %s (%s): %w; stop what listens there, or choose another port", addr, key, err)
}

// ProxyAddr is the host:port on which the proxy listens.
func (a *App) ProxyAddr() string { return a.proxyListener.Addr().String() }

// AdminAddr is the host:port of the admin listener, "" when it is off.
func (a *App) AdminAddr() string {
	if a.adminListener == nil {
		return ""
	}
	return a.adminListener.Addr().String()
}

// CA is the interception CA.
func (a *App) CA() *ca.CA { return a.ca }

// Run serves until ctx ends. Then it takes no new work, lets exchanges and
// tunnels end for as long as timeouts.shutdown says, and returns nil.
func (a *App) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return a.proxy.Serve(a.proxyListener) })
	if a.adminListener != nil {
		g.Go(func() error { return serve(a.admin, a.adminListener) })
	}
	if a.socket != nil {
		g.Go(func() error { return serve(a.control, a.socket) })
	}
	g.Go(func() error {
		a.overrides.Watch(running, a.expired)
		return nil
	})
	counting, stopCounting := context.WithCancel(context.WithoutCancel(ctx)) // until the last exchange has ended
	g.Go(func() error { return a.quotas.Run(counting) })
	a.ready.Set("")
	g.Go(func() error {
		<-running.Done()
		defer stopCounting()
		return a.stop()
	})
	return g.Wait()
}

func serve(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// stop ends everything in order: the proxy drains while the admin listener
// still answers, so that an orchestrator sees what goes on.
func (a *App) stop() error {
	a.ready.Set("shutting down")
	ctx, cancel := context.WithTimeout(context.Background(), a.shutdown)
	defer cancel()
	err := a.proxy.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		a.log.Warn().Dur("after", a.shutdown).Msg("exchanges still under way were cut off")
		err = nil
	}
	if a.control != nil {
		err = errors.Join(err, a.control.Close())
	}
	a.fetcher.Close()
	a.pacer.Close()
	closeStore(a.store, a.log)
	return errors.Join(err, a.admin.Close())
}
