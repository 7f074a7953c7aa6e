// Package dial opens heed's connections to the outside, and only to addresses
// that were checked.
//
// A name is resolved by the net.Dialer, and the check is made in its Control
// function, on the address that is about to be connected to. So a name that
// resolves to another address a moment later (DNS rebinding), a redirect, and
// an odd spelling of an address all meet the same check, on every connection.
//
// Three questions are asked of an address, in this order:
//
//  1. Is it one of heed's own listeners (Config.Deny)? Then it is refused,
//     whatever else is allowed: heed never asks itself.
//  2. Is it the literal address and port of a ConnectTo rule that was applied?
//     Then it is let through: the operator named it.
//  3. Is it special: loopback, unspecified, private, link-local, a cloud's
//     metadata service, shared (CGNAT), NAT64, 6to4, Teredo, multicast,
//     documentation, or anything else the IANA registries of special-purpose
//     addresses list (RFC 6890)? Then it is refused unless Config.Allow
//     covers it.
//
// A refusal is a *ProhibitedError, which errors.As finds inside the
// *net.OpError that DialContext returns.
package dial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// DefaultTimeout is what a Config.Timeout of zero means.
const DefaultTimeout = 10 * time.Second

// Config is what a Dialer is made of. The zero value connects to public
// addresses only.
type Config struct {
	// ConnectTo sends connections elsewhere. The first rule that matches is
	// applied, and only that one. Nil: none.
	ConnectTo []ConnectTo

	// Allow opens special ranges, such as 127.0.0.0/8. An IPv4 range also
	// covers the IPv6 spelling of its addresses (::ffff:0:0/96). An address
	// of NAT64 (64:ff9b::/96) or 6to4 (2002::/16) is open only when its own
	// range is allowed and the IPv4 address inside it is open too.
	// Nil: none are open.
	Allow []netip.Prefix

	// Deny is heed's own listeners, refused always. A listener on an
	// unspecified address (0.0.0.0, ::) stands for every address of this
	// machine. Nil: none. SetDeny changes it later.
	Deny []netip.AddrPort

	// Timeout bounds a dial: name resolution and all the addresses tried.
	// Zero means DefaultTimeout.
	Timeout time.Duration

	// Resolver resolves names. Nil means net.DefaultResolver.
	Resolver *net.Resolver
}

// Dialer connects to checked addresses. Make one with New. It is safe for
// concurrent use.
type Dialer struct {
	connectTo []ConnectTo
	guard     *ssrf.Guardian
	deny      atomic.Pointer[[]netip.AddrPort]
	timeout   time.Duration
	resolver  *net.Resolver

	// interfaces lists this machine's addresses; a field so that tests can
	// give it some.
	interfaces func() ([]net.Addr, error)
}

// New returns a Dialer. The error names a ConnectTo rule that does not parse
// or a range in Config.Allow that is none. It does no I/O.
func New(c Config) (*Dialer, error) {
	guard, err := newGuard(c.Allow)
	if err != nil {
		return nil, err
	}
	d := &Dialer{
		guard:      guard,
		timeout:    c.Timeout,
		resolver:   c.Resolver,
		interfaces: net.InterfaceAddrs,
	}
	if d.timeout <= 0 {
		d.timeout = DefaultTimeout
	}
	for _, r := range c.ConnectTo {
		if r, err = ParseConnectTo(r.String()); err != nil {
			return nil, err
		}
		d.connectTo = append(d.connectTo, r)
	}
	d.SetDeny(c.Deny)
	return d, nil
}

// SetDeny replaces the list of heed's own listeners, which are known only
// once they listen. Dials already under way may still use the former list.
func (d *Dialer) SetDeny(own []netip.AddrPort) {
	own = slices.Clone(own)
	for i, a := range own {
		own[i] = plain(a)
	}
	d.deny.Store(&own)
}

// DialContext connects to addr (host:port, an IPv6 address in brackets) on
// "tcp", "tcp4" or "tcp6", as net.Dialer does: all the addresses of a name are
// tried, IPv6 and IPv4 side by side (RFC 8305). Addresses that are refused are
// passed over; if none is left the error holds a *ProhibitedError.
//
// Where a ConnectTo rule matches addr, the connection goes to its target. The
// caller keeps the name for the Host field and for TLS.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, fmt.Errorf("dialling %s: network %q is not tcp, tcp4 or tcp6", addr, network)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dialling: %w", err)
	}
	target, named := d.redirect(host, port)
	nd := net.Dialer{
		Timeout:  d.timeout,
		Resolver: d.resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			return d.check(host, address, named)
		},
	}
	return nd.DialContext(ctx, network, target)
}

// redirect applies the first ConnectTo rule that matches. named is the address
// when the operator named it in full, else the zero value.
func (d *Dialer) redirect(host, port string) (target string, named netip.AddrPort) {
	for _, r := range d.connectTo {
		if !r.matches(host, port) {
			continue
		}
		if r.ToPort != "" {
			port = r.ToPort
		}
		if r.ToHost == "" {
			break
		}
		target = net.JoinHostPort(r.ToHost, port)
		if literal, err := netip.ParseAddrPort(target); err == nil {
			named = plain(literal)
		}
		return target, named
	}
	return net.JoinHostPort(host, port), netip.AddrPort{}
}
