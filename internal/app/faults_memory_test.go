package app

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/faults"
	"heed/internal/testnet"
)

// Faults in memory, in a bubble in which time passes when nothing else does.
func TestFaults(t *testing.T) {
	inMemory(t, faults.All())
}

// memoryCA is one CA for all bubbles, made when their clocks begin.
var memoryCA = sync.OnceValues(func() (*ca.CA, error) {
	dir, err := os.MkdirTemp("", "heed-faults-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return ca.Open(dir)
})

// patient has a client wait longer than a fetch may take, so that it is told
// what came of it.
func patient() config.Config {
	c := config.Default()
	c.Robots.Wait = 2 * c.Robots.Timeout
	return c
}

// inMemory tries rows, each in a bubble of its own.
func inMemory(t *testing.T, rows []faults.Row) {
	for _, try := range tries(rows, "http") {
		t.Run(try.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMemoryWorld(t, try.row, try.scheme, patient(), testnet.Config{})
				defer w.close()
				try.do(t, &w.world)
			})
		})
	}
}

type memoryWorld struct {
	world
	net       *testnet.Network
	listeners []net.Listener
}

var (
	originAddr     = netip.MustParseAddr("192.0.2.1")
	prohibitedAddr = netip.MustParseAddr("10.0.0.2")
	refusedAddr    = netip.MustParseAddr("192.0.2.3")
	faultyAddr     = netip.MustParseAddr("192.0.2.4")
)

func newMemoryWorld(t *testing.T, row faults.Row, scheme string, c config.Config, net testnet.Config) *memoryWorld {
	t.Helper()
	authority, err := memoryCA()
	if err != nil {
		t.Fatal(err)
	}
	w := &memoryWorld{net: testnet.New(net)}
	w.row, w.scheme, w.memory, w.sleep = row, scheme, true, time.Sleep
	w.url = func(scheme, label string) string { return scheme + "://" + label + ".example" }
	w.net.SetName("a.example", originAddr)
	w.net.SetName("b.example", originAddr)
	w.net.SetName("refused.example", refusedAddr)
	w.net.SetName("prohibited.example", prohibitedAddr)
	w.fault = w.breakNetwork
	w.origin = faults.New(row, faults.World{
		URL:    w.url,
		Label:  func(host string) string { return strings.TrimSuffix(host, ".example") },
		Second: time.Second,
	})
	go w.origin.Serve(w.listen(t, "192.0.2.1:80"), nil)
	go w.origin.Serve(w.listen(t, "192.0.2.1:443"), faults.ServerConfig())
	c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	w.heed = wire(t, c, authority, w.listen(t, "127.0.0.1:3128"), dial.Config{Resolver: w.net, Connect: w.net.DialContext})
	w.dials = func() (n int) {
		for _, a := range []netip.Addr{originAddr, refusedAddr, faultyAddr} {
			n += w.net.Dialled(netip.AddrPortFrom(a, 80).String()) + w.net.Dialled(netip.AddrPortFrom(a, 443).String())
		}
		return n
	}
	w.client = newClient(authority, "127.0.0.1:3128", w.net.DialContext)
	return w
}

func (w *memoryWorld) listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := w.net.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	w.listeners = append(w.listeners, l)
	return l
}

func (w *memoryWorld) breakNetwork(on bool) {
	w.net.SetName("a.example", originAddr)
	if !on {
		return
	}
	switch w.row.Net {
	case faults.NXDOMAIN:
		w.net.SetNameFault("a.example", testnet.NoSuchHost)
	case faults.SERVFAIL:
		w.net.SetNameFault("a.example", testnet.ServerFailure)
	case faults.DNSSilent:
		w.net.SetNameFault("a.example", testnet.Silence)
	case faults.Refused:
		w.net.SetName("a.example", refusedAddr)
	case faults.BlackHole:
		w.net.SetName("a.example", faultyAddr)
		w.net.SetRoute(faultyAddr, testnet.BlackHole)
	case faults.Unroutable:
		w.net.SetName("a.example", faultyAddr)
		w.net.SetRoute(faultyAddr, testnet.Unroutable)
	case faults.Prohibited:
		w.net.SetName("a.example", prohibitedAddr)
	}
}

// close ends everything. The bubble then sees to it that no goroutine is left.
func (w *memoryWorld) close() {
	w.client.Transport.(*http.Transport).CloseIdleConnections()
	w.heed.end()
	for _, l := range w.listeners {
		_ = l.Close()
	}
	w.origin.Close()
}
