package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/faults"
)

// The same faults over real TCP and TLS, on loopback, with one heed for all of
// them at a time. What takes seconds takes a tenth.
func TestFaultsOverTCP(t *testing.T) {
	w := newRealWorlds(t)
	defer w.close()
	w.all(t, faults.All())
}

// at is how many rows are tried at a time. Most of their time is waiting.
const at = 16

// realWorlds is one heed and the name server that leads it to the origins of
// all rows.
type realWorlds struct {
	heed   *wired
	names  *nameServer
	ca     *ca.CA
	config config.Config
	proxy  net.Listener
}

func newRealWorlds(t *testing.T) *realWorlds {
	t.Helper()
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Timeouts.Connect, c.Timeouts.TLSHandshake = config.Duration(2*time.Second), config.Duration(2*time.Second)
	c.Timeouts.ResponseHeader = config.Duration(2 * time.Second)
	c.Robots.Timeout = config.Duration(2 * time.Second)
	c.Robots.Wait = config.Duration(patience)
	c.Pace.PerOrigin, c.Pace.PerAddress = 0, 0 // all origins are at one address, and some keep what they have
	// The loopback addresses that may be connected to: of origins, and of
	// nobody. All others are special.
	c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("127.0.0.3/32")}
	w := &realWorlds{names: newNameServer(t), ca: authority, config: c}
	w.proxy = listen(t)
	w.heed = wire(t, c, authority, w.proxy, dial.Config{Resolver: w.names.resolver()})
	return w
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *realWorlds) close() {
	w.heed.end()
	w.names.close()
}

// all tries rows, several at a time, and waits for them. As parallel subtests
// there would be only as many at a time as there are processors.
func (w *realWorlds) all(t *testing.T, rows []faults.Row) {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, at)
	for n, try := range tries(rows, "https", "http") {
		if try.row.InMemory != "" {
			t.Logf("%s: in memory alone, %s", try.name, try.row.InMemory)
			continue
		}
		if try.row.Net != faults.NoFault && strings.HasPrefix(try.name, "page/") {
			t.Logf("%s: in memory alone, the address that the name had when robots.txt was asked for is remembered for a minute", try.name)
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			t.Run(try.name, func(t *testing.T) { w.one(t, fmt.Sprintf("w%d", n), try) })
		})
	}
}

// one is one row, with an origin of its own, whose hosts are LABEL.NAME.example.
func (w *realWorlds) one(t *testing.T, name string, try try) {
	plain, secure := listen(t), listen(t)
	suffix := "." + name + ".example"
	v := &world{row: try.row, scheme: try.scheme, heed: w.heed, sleep: func(time.Duration) {}}
	v.url = func(scheme, label string) string {
		l := plain
		if scheme == "https" {
			l = secure
		}
		return fmt.Sprintf("%s://%s%s:%d", scheme, label, suffix, l.Addr().(*net.TCPAddr).Port)
	}
	v.origin = faults.New(try.row, faults.World{
		URL:    v.url,
		Label:  func(host string) string { return strings.TrimSuffix(host, suffix) },
		Second: 100 * time.Millisecond,
	})
	v.fault = func(on bool) {
		if on {
			w.names.set("a"+suffix, try.row.Net)
		} else {
			w.names.set("a"+suffix, faults.NoFault)
		}
	}
	v.dials = v.origin.Accepted
	v.client = newClient(w.ca, w.proxy.Addr().String(), (&net.Dialer{}).DialContext)
	v.client.Timeout = patience
	go v.origin.Serve(plain, nil)
	go v.origin.Serve(secure, faults.ServerConfig())
	defer func() {
		v.client.Transport.(*http.Transport).CloseIdleConnections()
		_ = plain.Close()
		_ = secure.Close()
		v.origin.Close()
	}()
	try.do(t, v)
}

// nameServer answers for *.example: 127.0.0.1, unless it was told otherwise.
type nameServer struct {
	conn net.PacketConn
	over sync.WaitGroup

	mu     sync.Mutex
	faults map[string]faults.NetFault
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, faults: map[string]faults.NetFault{}}
	s.over.Go(s.serve)
	return s
}

func (s *nameServer) set(host string, f faults.NetFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[host] = f
}

func (s *nameServer) close() {
	_ = s.conn.Close()
	s.over.Wait()
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *nameServer) serve() {
	b := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 || !s.answer(&m) {
			continue
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

// answer makes an answer of a question. It is false when there is to be none.
func (s *nameServer) answer(m *dnsmessage.Message) bool {
	q := m.Questions[0]
	host := strings.TrimSuffix(q.Name.String(), ".")
	s.mu.Lock()
	fault := s.faults[host]
	s.mu.Unlock()
	m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals = true, true, true, nil
	addr := [4]byte{127, 0, 0, 1}
	label, _, _ := strings.Cut(host, ".")
	switch {
	case fault == faults.DNSSilent:
		return false
	case fault == faults.SERVFAIL:
		m.RCode = dnsmessage.RCodeServerFailure
		return true
	case fault == faults.NXDOMAIN, label == "nowhere", !strings.HasSuffix(host, ".example"):
		m.RCode = dnsmessage.RCodeNameError
		return true
	case fault == faults.Refused, label == "refused":
		addr[3] = 3
	case fault == faults.Prohibited, label == "prohibited":
		addr[3] = 2
	}
	if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: addr},
		}}
	}
	return true
}
