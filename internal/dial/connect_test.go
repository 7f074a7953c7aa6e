package dial

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hang makes connections to an address hang, as one does behind which nobody
// is: its queue is full, and nothing is taken from it. It returns the port.
func hang(t *testing.T, addr string) string {
	t.Helper()
	family, at := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{})
	ip := netip.MustParseAddr(addr)
	if ip.Is4() {
		at.(*syscall.SockaddrInet4).Addr = ip.As4()
	} else {
		family, at = syscall.AF_INET6, &syscall.SockaddrInet6{Addr: ip.As16()}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, at), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	var port string
	switch bound := bound.(type) {
	case *syscall.SockaddrInet4:
		port = strconv.Itoa(bound.Port)
	case *syscall.SockaddrInet6:
		port = strconv.Itoa(bound.Port)
	}
	for { // fill the queue
		c, err := net.DialTimeout("tcp", net.JoinHostPort(addr, port), 300*time.Millisecond)
		if err != nil {
			return port
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// ended notes the connects that a context saw begin and end.
type ended struct {
	mu          sync.Mutex
	begun, over []string
	connected   int
}

func (e *ended) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart: func(_, to string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.begun = append(e.begun, to)
		},
		ConnectDone: func(_, to string, err error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.over = append(e.over, to)
			if err == nil {
				e.connected++
			}
		},
	})
}

// ipv6 is the IPv6 loopback address, or another of IPv4 where there is no IPv6.
func ipv6() string {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return "127.0.0.9"
	}
	_ = l.Close()
	return "::1"
}

func TestADeadIPv6AddressDelaysALivingIPv4OneByTheStagger(t *testing.T) {
	dead := ipv6()
	deadPort := hang(t, dead)
	addr, _ := listen(t, "127.0.0.1:"+deadPort) // the same port, of the other family
	s := serveNames(t, answers(dead, "127.0.0.1"))
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8", "::1/128"), Resolver: s.resolver()})
	if got, err := d.Lookup(t.Context(), "both.example:80"); err != nil || !slices.Equal(got, addrs(dead, "127.0.0.1")) {
		t.Fatalf("both.example is %v, %v; want IPv6 first", got, err)
	}
	var seen ended
	start := time.Now()
	c, err := d.DialContext(seen.watch(t.Context()), "tcp", "both.example:"+port(addr))
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.RemoteAddr().String() != addr.String() {
		t.Errorf("connected to %v", c.RemoteAddr())
	}
	if took < stagger || took > stagger+2*time.Second {
		t.Errorf("took %v, want a little more than %v", took, stagger)
	}
	// The loser has ended by the time the winner is returned.
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.begun) != 2 || len(seen.over) != 2 || seen.connected != 1 {
		t.Errorf("begun %v, ended %v, connected %d", seen.begun, seen.over, seen.connected)
	}
}

func TestAnAddressThatRefusesIsFollowedAtOnce(t *testing.T) {
	addr, _ := listen(t, "127.0.0.4:0")
	s := serveNames(t, answers("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"))
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver()})
	if _, err := d.Lookup(t.Context(), "a.example:80"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	mustReach(t, d, "a.example:"+port(addr))
	if took := time.Since(start); took >= 3*stagger {
		t.Errorf("took %v, as if each of the three before had been waited for", took)
	}
}

func TestWhereAllFailTheErrorIsTheFirstThatIsNoRefusalOfHeeds(t *testing.T) {
	gone, _ := net.Listen("tcp", "127.0.0.1:0")
	_, p, _ := net.SplitHostPort(gone.Addr().String())
	_ = gone.Close()
	for _, r := range []struct {
		why        string
		addrs      []string
		prohibited bool
	}{
		{"a refusal before", []string{"10.0.0.1", "127.0.0.1"}, false},
		{"a refusal behind", []string{"127.0.0.1", "10.0.0.1"}, false},
		{"refusals alone", []string{"10.0.0.1", "10.0.0.2"}, true},
	} {
		s := serveNames(t, answers(r.addrs...))
		d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver()})
		_, err := d.DialContext(t.Context(), "tcp", "a.example:"+p)
		var op *net.OpError
		if prohibited(err) != r.prohibited || !r.prohibited && !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &op) {
			t.Errorf("%s: %v", r.why, err)
		}
	}
}

func TestAHostThatMovedIsAskedForAgainBeforeTheMinuteIsOver(t *testing.T) {
	addr, _ := listen(t, "127.0.0.2:0")
	var mu sync.Mutex
	at := "127.0.0.1"
	s := serveNames(t, func(string) []string { mu.Lock(); defer mu.Unlock(); return []string{at} })
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver()})
	to := "a.example:" + port(addr)
	fail := func() {
		t.Helper()
		if _, err := d.DialContext(t.Context(), "tcp", to); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("err = %v, want a refused connection", err)
		}
	}
	fail()
	mu.Lock()
	at = "127.0.0.2"
	mu.Unlock()
	fail() // a new answer stays, or a dead host would cost a question each time
	age(d, "a.example", keepMissing+time.Second)
	fail() // and is forgotten
	mustReach(t, d, to)
}

func TestACallerWhoLeavesEndsTheDialAndNoGoroutineStays(t *testing.T) {
	p := hang(t, "127.0.0.1")
	s := serveNames(t, answers("127.0.0.1", "127.0.0.1"))
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver()})
	for _, host := range []string{"127.0.0.1", "a.example"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, p))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", host, err)
		}
		cancel()
	}
}

func TestAShortTimeoutStillReachesTheLastAddress(t *testing.T) {
	p := hang(t, "127.0.0.1")
	listen(t, "127.0.0.2:"+p)
	s := serveNames(t, answers("127.0.0.1", "127.0.0.2"))
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver(), Timeout: time.Second})
	mustReach(t, d, "a.example:"+p)
}
