package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen answers each connection with one octet and counts them.
func listen(t *testing.T, addr string) (netip.AddrPort, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var accepted atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_, _ = c.Write([]byte("!"))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().(*net.TCPAddr).AddrPort(), &accepted
}

func mustReach(t *testing.T, d *Dialer, addr string) {
	t.Helper()
	c, err := d.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatalf("dialling %s: %v", addr, err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); err != nil || string(b) != "!" {
		t.Fatalf("reading from %s: %q, %v", addr, b, err)
	}
}

func mustRefuse(t *testing.T, d *Dialer, addr string) *ProhibitedError {
	t.Helper()
	c, err := d.DialContext(context.Background(), "tcp", addr)
	if err == nil {
		_ = c.Close()
		t.Fatalf("dialling %s: connected", addr)
	}
	var prohibited *ProhibitedError
	var op *net.OpError
	if !errors.As(err, &prohibited) || !errors.As(err, &op) {
		t.Fatalf("dialling %s: %v (%T), want a ProhibitedError inside a net.OpError", addr, err, err)
	}
	return prohibited
}

func port(a netip.AddrPort) string {
	_, p, _ := net.SplitHostPort(a.String())
	return p
}

func TestLoopbackIsRefusedBeforeAnyPacketAndOpenWhenAllowed(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.1:0")
	closed := newDialer(t, Config{})
	e := mustRefuse(t, closed, addr.String())
	if e.Addr != addr || e.Host != "127.0.0.1" {
		t.Errorf("the error holds %+v", e)
	}
	for _, name := range []string{"localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		mustRefuse(t, closed, name+":"+port(addr))
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("the listener saw %d connections", n)
	}
	open := newDialer(t, Config{Allow: prefixes("127.0.0.0/8")})
	mustReach(t, open, addr.String())
	mustReach(t, open, "localhost:"+port(addr))
}

func TestOwnListenersKnownLaterAreRefused(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.1:0")
	d := newDialer(t, Config{
		Allow:     prefixes("127.0.0.0/8"),
		ConnectTo: []ConnectTo{{FromHost: "a.example", ToHost: "127.0.0.1", ToPort: port(addr)}},
	})
	mustReach(t, d, addr.String())
	mustReach(t, d, "a.example:80")
	before := accepted.Load()
	d.SetDeny([]netip.AddrPort{addr})
	for _, to := range []string{addr.String(), "a.example:80", "localhost:" + port(addr)} {
		if e := mustRefuse(t, d, to); e.Why != "it is heed's own listener" {
			t.Errorf("%s: %v", to, e)
		}
	}
	if accepted.Load() != before {
		t.Error("the listener was reached")
	}
}

func TestAListenerOnEveryAddressIsRefusedOnEachOfThem(t *testing.T) {
	addr, _ := listen(t, "0.0.0.0:0")
	d := newDialer(t, Config{Allow: prefixes("0.0.0.0/0"), Deny: []netip.AddrPort{addr}})
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip := a.(*net.IPNet).IP.To4(); ip != nil {
			mustRefuse(t, d, net.JoinHostPort(ip.String(), port(addr)))
		}
	}
}

func TestConnectToAnAddressNeedsNoAllow(t *testing.T) {
	addr, _ := listen(t, "127.0.0.1:0")
	d := newDialer(t, Config{ConnectTo: []ConnectTo{{FromPort: "80", ToHost: "127.0.0.1", ToPort: port(addr)}}})
	mustReach(t, d, "no-such-name.invalid:80")
	e := mustRefuse(t, d, addr.String()) // the same address, not by the rule
	if e.Addr != addr {
		t.Errorf("the error holds %+v", e)
	}
}

func TestConnectToANameIsResolvedAndChecked(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.1:0")
	rules := []ConnectTo{{FromHost: "a.example", ToHost: "localhost", ToPort: port(addr)}}
	closed := newDialer(t, Config{ConnectTo: rules})
	if e := mustRefuse(t, closed, "a.example:80"); e.Host != "a.example" {
		t.Errorf("the error holds %+v", e)
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("the listener saw %d connections", n)
	}
	mustReach(t, newDialer(t, Config{ConnectTo: rules, Allow: prefixes("127.0.0.0/8")}), "a.example:80")
}

func TestANameThatMovesToAnotherAddressMeetsTheCheckAgain(t *testing.T) {
	addr, accepted := listen(t, "127.0.0.1:0")
	answer := atomic.Pointer[[]string]{}
	answer.Store(&[]string{"127.0.0.1"})
	d := newDialer(t, Config{
		Allow:    prefixes("127.0.0.1/32"),
		Resolver: serveNames(t, func(string) []string { return *answer.Load() }).resolver(),
	})
	mustReach(t, d, "rebind.example:"+port(addr))
	answer.Store(&[]string{"127.0.0.2"})
	mustReach(t, d, "rebind.example:"+port(addr)) // by the answer that is remembered
	age(d, "rebind.example", keepFound)
	if e := mustRefuse(t, d, "rebind.example:"+port(addr)); e.Addr.Addr().String() != "127.0.0.2" {
		t.Errorf("the error holds %+v", e)
	}
	if n := accepted.Load(); n != 2 {
		t.Errorf("the listener saw %d connections, want 2", n)
	}
}

func TestRefusedAddressesOfANameArePassedOver(t *testing.T) {
	addr, _ := listen(t, "127.0.0.1:0")
	d := newDialer(t, Config{
		Allow:    prefixes("127.0.0.1/32"),
		Resolver: serveNames(t, answers("10.0.0.1", "169.254.169.254", "127.0.0.1")).resolver(),
	})
	mustReach(t, d, "mixed.example:"+port(addr))
}

func TestTheTimeoutCoversNameResolution(t *testing.T) {
	d := newDialer(t, Config{
		Timeout: 50 * time.Millisecond,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	})
	start := time.Now()
	_, err := d.DialContext(context.Background(), "tcp", "slow.example:80")
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("err = %v, want a timeout", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestOnlyTCPIsDialled(t *testing.T) {
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8")})
	for _, r := range []struct{ network, addr, want string }{
		{"udp", "127.0.0.1:53", `dialling 127.0.0.1:53: network "udp" is not tcp, tcp4 or tcp6`},
		{"unix", "/run/x", `dialling /run/x: network "unix" is not tcp, tcp4 or tcp6`},
		{"tcp", "127.0.0.1", "dialling: address 127.0.0.1: missing port in address"},
		{"tcp", "127.0.0.1:http", `dialling 127.0.0.1:http: port "http" is not a number below 65536`},
		{"tcp", "127.0.0.1:65536", `dialling 127.0.0.1:65536: port "65536" is not a number below 65536`},
		{"tcp6", "127.0.0.1:80", `dial tcp6: address 127.0.0.1: no address for tcp6`},
		{"tcp", ":80", `dial tcp: lookup : no such host`},
	} {
		if _, err := d.DialContext(context.Background(), r.network, r.addr); err == nil || err.Error() != r.want {
			t.Errorf("got %v, want %s", err, r.want)
		}
	}
}
