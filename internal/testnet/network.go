// Package testnet is a network in memory, for tests in a bubble of
// testing/synctest. No code of heed's imports it; tests do.
//
//	n := testnet.New(testnet.Config{Latency: 20 * time.Millisecond})
//	n.SetName("a.example", netip.MustParseAddr("192.0.2.1"))
//	l, err := n.Listen("192.0.2.1:80")
//	conn, err := n.DialContext(ctx, "tcp", "a.example:80")
//
// In a bubble time passes when every goroutine waits for something of the
// bubble, and a read from a real socket is not of it. So here everything that
// waits does so on a sync.Cond, a channel or a timer. net.Pipe would do that
// too, but it is no TCP: it has no buffer, cannot be closed in one direction,
// and cannot be reset.
//
// What can go wrong in a network goes wrong on demand: names (SetNameFault),
// addresses (SetRoute), and connections (Conn.CloseWrite; Conn.SetLinger(0) and
// Close for a reset; latency and a bounded window for all). Errors are those
// of package net on Linux: *net.OpError around syscall.ECONNREFUSED,
// syscall.ECONNRESET, syscall.EPIPE, os.ErrDeadlineExceeded or *net.DNSError.
//
// Everything is safe for concurrent use.
package testnet

import (
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// DefaultWindow is what a Config.Window of zero means.
const DefaultWindow = 64 << 10

// Config is what a Network is made of. The zero value is a network without
// latency.
type Config struct {
	// Latency is how long an octet is on its way. A dial takes twice as long.
	Latency time.Duration

	// Window is how many octets of one direction may have been written and not
	// yet read; who writes more waits. Zero means DefaultWindow.
	Window int
}

// Network is a network in memory. Make one with New.
type Network struct {
	latency time.Duration
	window  int

	mu        sync.Mutex // guards what follows
	names     map[string]name
	routes    map[netip.Addr]Route
	listeners map[netip.AddrPort]*Listener
	dialled   map[string]int
	port      uint16 // the last ephemeral port that was given out
}

// New returns a network on which there is nothing.
func New(c Config) *Network {
	if c.Window <= 0 {
		c.Window = DefaultWindow
	}
	return &Network{
		latency:   c.Latency,
		window:    c.Window,
		names:     map[string]name{},
		routes:    map[netip.Addr]Route{},
		listeners: map[netip.AddrPort]*Listener{},
		dialled:   map[string]int{},
		port:      32767,
	}
}

// Route is what becomes of connections to an address.
type Route uint8

// The routes there are.
const (
	Connected  Route = iota // a listener takes it, or it is refused
	BlackHole               // nothing ever comes back
	Unroutable              // EHOSTUNREACH
)

// SetRoute says what becomes of connections to an address from now on.
func (n *Network) SetRoute(addr netip.Addr, r Route) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routes[addr] = r
}

// Dialled is how often an address (host:port as it was dialled) was asked for,
// whatever came of it.
func (n *Network) Dialled(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialled[addr]
}

// Listen takes connections to addr, an IP address and a port. Port 0 takes a
// free one. The error is EADDRINUSE, or says that addr is not an address.
func (n *Network) Listen(addr string) (*Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.Port() == 0 {
		at = netip.AddrPortFrom(at.Addr(), n.ephemeral())
	}
	if n.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: net.TCPAddrFromAddrPort(at), Err: syscall.EADDRINUSE}
	}
	l := newListener(n, at)
	n.listeners[at] = l
	return l, nil
}

// ephemeral returns a port that was not given out lately. n.mu is held.
func (n *Network) ephemeral() uint16 {
	if n.port++; n.port < 32768 || n.port > 60999 {
		n.port = 32768
	}
	return n.port
}

// clientAddr is where every dial comes from.
var clientAddr = netip.MustParseAddr("127.0.0.1")

// DialContext connects to addr, which is host:port, on "tcp", "tcp4" or
// "tcp6". The addresses of a name are tried one after the other. The end of
// ctx is a timeout, or a cancellation, as net.Dialer reports it.
//
// It tells net/http/httptrace of name resolution and connections, as
// net.Dialer does.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dialled[addr]++
	n.mu.Unlock()
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "invalid port", Addr: addr}}
	}
	addrs, err := n.resolve(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var conn net.Conn
	for _, a := range addrs {
		if conn, err = n.connect(ctx, network, netip.AddrPortFrom(a, uint16(port))); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// connect tries one address.
func (n *Network) connect(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.ConnectStart != nil {
		trace.ConnectStart(network, to.String())
	}
	conn, err := n.handshake(ctx, to)
	if err != nil {
		err = &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	if trace != nil && trace.ConnectDone != nil {
		trace.ConnectDone(network, to.String(), err)
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// handshake exchanges what opens a connection, one way and back.
func (n *Network) handshake(ctx context.Context, to netip.AddrPort) (*Conn, error) {
	n.mu.Lock()
	route, latency := n.routes[to.Addr()], n.latency
	from := netip.AddrPortFrom(clientAddr, n.ephemeral())
	n.mu.Unlock()
	if route == BlackHole {
		<-ctx.Done()
		return nil, ended(ctx)
	}
	if err := wait(ctx, 2*latency); err != nil {
		return nil, err
	}
	if route == Unroutable {
		return nil, syscall.EHOSTUNREACH
	}
	n.mu.Lock()
	l := n.listeners[to]
	n.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	client, server := newPair(from, to, n.latency, n.window)
	if !l.deliver(server) {
		return nil, syscall.ECONNREFUSED
	}
	return client, nil
}

// wait returns when d is over, or with an error when ctx is.
func wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}
