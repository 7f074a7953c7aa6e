package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLookupTellsWhatADialTries(t *testing.T) {
	s := serveNames(t, func(name string) []string {
		if name == "missing.example" {
			return nil
		}
		return []string{"127.0.0.7"}
	})
	d := newDialer(t, Config{
		Resolver: s.resolver(),
		ConnectTo: []ConnectTo{
			{FromHost: "named.example", ToHost: "192.0.2.1"},
			{FromHost: "moved.example", ToHost: "there.example", ToPort: "81"},
			{FromHost: "kept.example", ToPort: "81"},
		},
	})
	for _, r := range []struct {
		why, addr string
		want      []netip.Addr
	}{
		{"a name", "a.example:80", addrs("127.0.0.7")},
		{"an IPv4 address, special or not", "127.0.0.1:80", addrs("127.0.0.1")},
		{"an IPv6 address", "[2001:db8::1]:443", addrs("2001:db8::1")},
		{"IPv4 in IPv6 form is IPv4", "[::ffff:192.0.2.9]:443", addrs("192.0.2.9")},
		{"connect-to an address", "named.example:80", addrs("192.0.2.1")},
		{"connect-to a name", "moved.example:80", addrs("127.0.0.7")},
		{"connect-to another port alone", "kept.example:80", addrs("127.0.0.7")},
	} {
		got, err := d.Lookup(t.Context(), r.addr)
		if err != nil || !slices.Equal(got, r.want) {
			t.Errorf("%s: %s is %v, %v; want %v", r.why, r.addr, got, err, r.want)
		}
	}
	if s.lookups("there.example") != 1 || s.lookups("moved.example") != 0 || s.lookups("named.example") != 0 {
		t.Errorf("the resolver was asked %v", s.asked)
	}
	var dns *net.DNSError
	if _, err := d.Lookup(t.Context(), "missing.example:80"); !errors.As(err, &dns) || !dns.IsNotFound || dns.Name != "missing.example" {
		t.Errorf("a name that does not exist: %v", err)
	}
	if _, err := d.Lookup(t.Context(), "a.example"); err == nil || err.Error() != "looking up: address a.example: missing port in address" {
		t.Errorf("no port: %v", err)
	}
}

func TestADialAfterALookupAsksNoResolver(t *testing.T) {
	addr, _ := listen(t, "127.0.0.1:0")
	s := serveNames(t, answers("127.0.0.1"))
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver()})
	if _, err := d.Lookup(t.Context(), "a.example:80"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustReach(t, d, "a.example:"+port(addr))
		mustReach(t, d, "A.Example:"+port(addr))
	}
	if n := s.lookups("a.example"); n != 1 {
		t.Errorf("the resolver was asked %d times, want once", n)
	}
	age(d, "a.example", keepFound)
	mustReach(t, d, "a.example:"+port(addr))
	if n := s.lookups("a.example"); n != 2 {
		t.Errorf("after a minute the resolver was asked %d times in all, want 2", n)
	}
}

func TestFailuresAreRememberedForSeconds(t *testing.T) {
	for _, r := range []struct {
		why    string
		answer []string
		keep   time.Duration
	}{
		{"the name does not exist", nil, keepMissing},
		{"the resolver fails", []string{"fault"}, keepFailed},
	} {
		t.Run(r.why, func(t *testing.T) {
			s := serveNames(t, answers(r.answer...))
			d := newDialer(t, Config{Resolver: s.resolver()})
			ask := func() int {
				var dns *net.DNSError
				if _, err := d.Lookup(t.Context(), "a.example:80"); !errors.As(err, &dns) {
					t.Fatalf("err = %v, want a net.DNSError", err)
				}
				return s.lookups("a.example")
			}
			first := ask()
			if again := ask(); again != first {
				t.Errorf("asked %d times for the second lookup, %d for the first", again-first, first)
			}
			age(d, "a.example", r.keep)
			if again := ask(); again == first {
				t.Error("the failure outlived its time")
			}
		})
	}
}

func TestNoMoreNamesAreRememberedThanTheBound(t *testing.T) {
	n := newNames(nil, time.Second)
	for i := range maxNames + 1000 {
		n.known.Add(fmt.Sprintf("n%d.example", i), answer{until: time.Now().Add(time.Hour)})
	}
	if got := n.known.Len(); got != maxNames {
		t.Errorf("%d names are remembered, want %d", got, maxNames)
	}
}

func TestManyCallersAreOneQuestionAndOneWhoLeavesTakesNothing(t *testing.T) {
	release := make(chan struct{})
	s := serveNames(t, func(string) []string { <-release; return []string{"127.0.0.9"} })
	d := newDialer(t, Config{Resolver: s.resolver()})

	// The first caller is the one who leaves.
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := d.Lookup(ctx, "a.example:80")
		left <- err
	}()
	for s.lookups("a.example") == 0 {
		time.Sleep(time.Millisecond)
	}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			got, err := d.Lookup(t.Context(), "a.example:80")
			if err != nil || !slices.Equal(got, addrs("127.0.0.9")) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	cancel()
	err := <-left
	var dns *net.DNSError
	if !errors.As(err, &dns) || !errors.Is(err, context.Canceled) {
		t.Errorf("who left was told %v, want a net.DNSError of context.Canceled", err)
	}
	close(release)
	wg.Wait()
	if n := s.lookups("a.example"); n != 1 {
		t.Errorf("the resolver was asked %d times, want once", n)
	}
}

func TestWhoCannotWaitIsToldOfATimeout(t *testing.T) {
	s := serveNames(t, answers("silence"))
	d := newDialer(t, Config{Resolver: s.resolver(), Timeout: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := d.DialContext(ctx, "tcp", "a.example:80")
	var dns *net.DNSError
	var op *net.OpError
	if !errors.As(err, &dns) || !dns.IsTimeout || !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("err = %v, want a timeout of the name service inside a net.OpError", err)
	}
	if took := time.Since(start); took > 900*time.Millisecond {
		t.Errorf("waited %v", took)
	}
	// The question goes on for as long as a dial may take, and no longer.
	if _, err := d.Lookup(t.Context(), "a.example:80"); !errors.As(err, &dns) || !dns.IsTimeout {
		t.Errorf("err = %v, want a timeout", err)
	}
}

func TestTheHooksOfHTTPTraceAreCalled(t *testing.T) {
	addr, _ := listen(t, "127.0.0.1:0")
	s := serveNames(t, func(name string) []string {
		if name == "missing.example" {
			return nil
		}
		return []string{"127.0.0.1"}
	})
	d := newDialer(t, Config{Allow: prefixes("127.0.0.0/8"), Resolver: s.resolver()})
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
	}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		DNSStart:     func(i httptrace.DNSStartInfo) { note("ask %s", i.Host) },
		DNSDone:      func(i httptrace.DNSDoneInfo) { note("told %v %t", i.Addrs, i.Err != nil) },
		ConnectStart: func(_, to string) { note("connect %s", to) },
		ConnectDone:  func(_, to string, err error) { note("connected %s %v", to, err) },
	})
	for _, r := range []struct{ why, host, want string }{
		{"a new name", "a.example", "ask a.example, told [{127.0.0.1 }] false, connect ADDR, connected ADDR <nil>"},
		{"a name that is remembered", "a.example", "connect ADDR, connected ADDR <nil>"},
		{"an address", "127.0.0.1", "connect ADDR, connected ADDR <nil>"},
		{"a name that does not exist", "missing.example", "ask missing.example, told [] true"},
	} {
		seen = nil
		if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(r.host, port(addr))); err == nil {
			_ = c.Close()
		}
		if got := strings.ReplaceAll(strings.Join(seen, ", "), addr.String(), "ADDR"); got != r.want {
			t.Errorf("%s: %s\nwant %s", r.why, got, r.want)
		}
	}
}

func TestAddressesAreTriedByTurns(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("192.0.2.%d", i))
	}
	for _, r := range []struct {
		why         string
		found, want []netip.Addr
	}{
		{"none", nil, nil},
		{"one family", addrs("192.0.2.2", "192.0.2.1"), addrs("192.0.2.2", "192.0.2.1")},
		{"IPv6 first, as sorted", addrs("2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"), addrs("2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2")},
		{"IPv4 first, as sorted", addrs("192.0.2.1", "2001:db8::1", "2001:db8::2"), addrs("192.0.2.1", "2001:db8::1", "2001:db8::2")},
		{"an address twice, once in IPv6 form", addrs("::ffff:192.0.2.1", "192.0.2.1"), addrs("192.0.2.1")},
		{"too many", addrs(many...), addrs(many[:maxAddresses]...)},
		{"too many of one family leave room for the other", append(addrs(many...), addrs("2001:db8::1")...), append(addrs("192.0.2.0", "2001:db8::1"), addrs(many[1:maxAddresses-1]...)...)},
	} {
		if got := byTurns(r.found); !slices.Equal(got, r.want) {
			t.Errorf("%s: %v\nwant %v", r.why, got, r.want)
		}
	}
}

func BenchmarkLookupOfARememberedName(b *testing.B) {
	s := serveNames(b, answers("127.0.0.1"))
	d, err := New(Config{Resolver: s.resolver()})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.Lookup(b.Context(), "www.a.example:443"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Lookup(b.Context(), "www.a.example:443"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestALookupOfARememberedNameAllocatesNothing(t *testing.T) {
	s := serveNames(t, answers("127.0.0.1"))
	d := newDialer(t, Config{Resolver: s.resolver()})
	var failed atomic.Bool
	look := func() {
		if _, err := d.Lookup(t.Context(), "www.a.example:443"); err != nil {
			failed.Store(true)
		}
	}
	look()
	if n := testing.AllocsPerRun(1000, look); n > 0 || failed.Load() {
		t.Errorf("%v allocations a lookup, failed %t", n, failed.Load())
	}
}

// Callers who come and go leave no more questions behind than there are
// descriptors for.
func TestSoManyNamesAreAskedForAtATime(t *testing.T) {
	var mu sync.Mutex
	var open, most int
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		open += by
		most = max(most, open)
	}
	d := newDialer(t, Config{Timeout: 300 * time.Millisecond, Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			count(1)
			defer count(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	var wg sync.WaitGroup
	for i := range 4 * maxAsking {
		wg.Go(func() {
			_, err := d.Lookup(t.Context(), fmt.Sprintf("a%d.example:80", i))
			var dns *net.DNSError
			if !errors.As(err, &dns) || !dns.IsTimeout {
				t.Errorf("err = %v, want a timeout", err)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	// A resolver ends a little after who asked it: on a busy machine all may still be
	// there when the next are asked.
	if most > 4*maxAsking || most < maxAsking {
		t.Errorf("%d sockets at a time, want two for each of %d names at most, or twice that for a moment", most, maxAsking)
	}
}
