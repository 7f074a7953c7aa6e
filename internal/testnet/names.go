package testnet

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// NameFault is what goes wrong with a name.
type NameFault uint8

// The faults there are.
const (
	NoSuchHost    NameFault = iota + 1 // NXDOMAIN; what every name is that was not set
	ServerFailure                      // SERVFAIL
	Silence                            // the resolver does not answer, until the dialler's time is over
)

// name is what is known of a name: its addresses, or its fault.
type name struct {
	addrs []netip.Addr
	fault NameFault
}

// SetName says what addresses a name has from now on.
func (n *Network) SetName(host string, addrs ...netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[fold(host)] = name{addrs: slices.Clone(addrs)}
}

// SetNameFault says what goes wrong with a name from now on.
func (n *Network) SetNameFault(host string, f NameFault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[fold(host)] = name{fault: f}
}

func fold(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// resolve returns the addresses of a host, which may be an address itself. An
// error is a *net.DNSError as Go's own resolver makes it.
func (n *Network) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.DNSStart != nil {
		trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	}
	addrs, err := n.ask(ctx, host)
	if trace != nil && trace.DNSDone != nil {
		trace.DNSDone(httptrace.DNSDoneInfo{Err: err})
	}
	return addrs, err
}

// LookupNetIP resolves a name, as a net.Resolver does.
func (n *Network) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	return n.ask(ctx, host)
}

func (n *Network) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	known := n.names[fold(host)]
	n.mu.Unlock()
	if known.fault == Silence {
		<-ctx.Done()
		return nil, unresolved(host, ended(ctx))
	}
	if err := wait(ctx, 2*n.latency); err != nil {
		return nil, unresolved(host, err)
	}
	switch {
	case known.fault == ServerFailure:
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, Server: "192.0.2.53:53", IsTemporary: true}
	case len(known.addrs) == 0:
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.0.2.53:53", IsNotFound: true}
	}
	return known.addrs, nil
}

// unresolved is a name whose resolution was ended.
func unresolved(host string, cause error) error {
	timeout := errors.Is(cause, os.ErrDeadlineExceeded)
	return &net.DNSError{UnwrapErr: cause, Err: cause.Error(), Name: host, IsTimeout: timeout, IsTemporary: timeout}
}

// ended is the error of a dial whose context is over: a timeout, in the words
// of package net, or the cancellation.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	return ctx.Err()
}
