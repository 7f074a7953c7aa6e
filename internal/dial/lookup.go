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
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// keepFound is how long the addresses of a name are used. A net.Resolver
	// does not tell their TTL; a minute is what most have at least.
	keepFound = time.Minute

	// keepMissing is how long a name that does not exist is not asked for
	// again, keepFailed one of which the resolver could not say.
	keepMissing = 5 * time.Second
	keepFailed  = time.Second

	// maxNames is how many names are remembered. With two addresses each they
	// take some 16 MiB; 40 MiB is the most.
	maxNames = 65_536

	// maxAddresses is how many addresses of a name are remembered and tried.
	// An answer may hold thousands; whoever needs more than these is not there.
	maxAddresses = 16

	// maxAsking is how many names are asked for at a time. Each takes two sockets,
	// for as long as its resolver hesitates, also when nobody waits any more.
	maxAsking = 256
)

// Lookup returns the addresses that a dial of addr (host:port) tries, in that
// order, after any ConnectTo rule. It connects to none of them and judges none
// of them: the check is made when a connection is. An address is returned as
// it is. A name that the upstream proxy resolves has none, and no error.
//
// An answer is used for a minute, a failure for one to five seconds, and a
// name that many ask for is resolved once, with a time of its own: a caller
// who leaves takes nothing from the others. The slice is shared and must not
// be changed. An error holds a *net.DNSError unless addr is not host:port.
func (d *Dialer) Lookup(ctx context.Context, addr string) ([]netip.Addr, error) {
	to, err := d.target(addr)
	if err != nil {
		return nil, fmt.Errorf("looking up: %w", err)
	}
	if a, ok := literal(to.host); ok {
		return []netip.Addr{a.Unmap()}, nil
	}
	if d.through(to) {
		return nil, nil
	}
	a, err := d.names.get(ctx, to.host)
	return a.addrs, err
}

// names remembers what names resolve to.
//
// golang-lru has a cache whose entries expire; its goroutine cannot be ended,
// and it has one lifetime for all, so the entries here know their own. Caches
// made for DNS were weighed too: rs/dnscache keeps what it was ever asked, a
// failure like an answer, until somebody calls Refresh, which asks for all of
// it again, one name after the other.
type names struct {
	resolver Resolver
	timeout  time.Duration
	known    *lru.Cache[string, answer]
	asking   singleflight.Group
	places   chan struct{} // so many are asked for at a time
}

// answer is what a resolver said of a name.
type answer struct {
	addrs []netip.Addr // in the order in which they are tried
	err   error        // a *net.DNSError when there are none
	asked time.Time
	until time.Time
}

func newNames(resolver Resolver, timeout time.Duration) *names {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	known, err := lru.New[string, answer](maxNames)
	if err != nil {
		panic(err) // only of a size that is not positive
	}
	return &names{resolver: resolver, timeout: timeout, known: known, places: make(chan struct{}, maxAsking)}
}

// get returns the answer for a host that is not an address, remembered or new.
func (n *names) get(ctx context.Context, host string) (answer, error) {
	host = strings.ToLower(host)
	if a, ok := n.kept(host); ok {
		return a, a.err
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.DNSStart != nil {
		trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	}
	a, shared := n.join(ctx, host)
	if trace != nil && trace.DNSDone != nil {
		trace.DNSDone(httptrace.DNSDoneInfo{Addrs: ipAddrs(a.addrs), Err: a.err, Coalesced: shared})
	}
	return a, a.err
}

func (n *names) kept(host string) (answer, bool) {
	a, ok := n.known.Get(host)
	return a, ok && time.Now().Before(a.until)
}

// join waits for the query for a host, which it begins if there is none.
func (n *names) join(ctx context.Context, host string) (a answer, shared bool) {
	done := n.asking.DoChan(host, func() (any, error) {
		if a, ok := n.kept(host); ok { // another query ended in between
			return a, nil
		}
		a := n.ask(host)
		n.known.Add(host, a)
		return a, nil
	})
	select {
	case r := <-done:
		return r.Val.(answer), r.Shared
	case <-ctx.Done():
		return answer{err: gone(ctx, host)}, false
	}
}

// ask puts the question to the resolver, with a time of its own.
func (n *names) ask(host string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), n.timeout)
	defer cancel()
	found, err := n.resolve(ctx, host)
	a := answer{addrs: byTurns(found), err: err, asked: time.Now()}
	if len(a.addrs) == 0 && err == nil {
		a.err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var dns *net.DNSError
	keep := keepFound
	switch {
	case errors.As(a.err, &dns) && dns.IsNotFound:
		keep = keepMissing
	case a.err != nil:
		keep = keepFailed
	}
	a.until = a.asked.Add(keep)
	return a
}

// resolve waits for its turn, and asks.
func (n *names) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	select {
	case n.places <- struct{}{}:
	case <-ctx.Done():
		return nil, gone(ctx, host)
	}
	defer func() { <-n.places }()
	return n.resolver.LookupNetIP(ctx, "ip", host)
}

// forget drops the answer that led to no connection, so that a host that moved
// is found again before the minute is over. One that is as new as a failure
// may be stays: a dead host's resolver is not asked for each dial.
func (n *names) forget(host string) {
	host = strings.ToLower(host)
	if a, ok := n.known.Peek(host); ok && time.Since(a.asked) > keepMissing {
		n.known.Remove(host)
	}
}

// gone is what a caller is told who did not wait for the answer, in the words
// of package net.
func gone(ctx context.Context, host string) error {
	err := &net.DNSError{Err: "operation was canceled", Name: host, UnwrapErr: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err.Err, err.IsTimeout = "i/o timeout", true
	}
	return err
}

// byTurns puts addresses into the order in which they are tried: the families
// by turns, beginning with that of the first, and within a family as the
// resolver sorted them (RFC 8305 §4, RFC 6724).
func byTurns(found []netip.Addr) []netip.Addr {
	var first, other []netip.Addr
	for _, a := range found {
		a = a.Unmap()
		family := &first
		if len(first) > 0 && a.Is4() != first[0].Is4() {
			family = &other
		}
		if len(*family) < maxAddresses && !slices.Contains(*family, a) {
			*family = append(*family, a)
		}
	}
	all := make([]netip.Addr, 0, min(len(first)+len(other), maxAddresses))
	for i := 0; len(all) < cap(all); i++ {
		if i < len(first) {
			all = append(all, first[i])
		}
		if i < len(other) && len(all) < cap(all) {
			all = append(all, other[i])
		}
	}
	return all
}

// ipAddrs returns addresses as httptrace has them.
func ipAddrs(addrs []netip.Addr) []net.IPAddr {
	all := make([]net.IPAddr, len(addrs))
	for i, a := range addrs {
		all[i] = net.IPAddr{IP: a.AsSlice(), Zone: a.Zone()}
	}
	return all
}
