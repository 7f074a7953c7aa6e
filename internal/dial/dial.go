// Package dial opens heed's connections to the outside, and only to addresses
// that were checked.
//
// The check is made in the Control function of a net.Dialer, on the address
// that is about to be connected to. So a name that resolves to another address
// a moment later (DNS rebinding), a redirect, and an odd spelling of an address
// all meet the same check, on every connection.
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
//
// What a name resolves to is remembered for a minute, and asked for once
// however many want it at the same time: Dialer.Lookup tells it, and the dial
// that follows asks no resolver again. Several addresses are tried as RFC 8305
// says, the families by turns.
//
// With an upstream proxy (Config.Proxy) it is the proxy that connects, and that
// resolves names. Then no address of a name is ever seen here, and the third
// question cannot be asked: whoever runs the proxy must see to it. A literal
// address is still judged, loopback and Config.Direct do not go through the
// proxy, and heed's own listeners are refused in place of it, too.
package dial

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
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

	// Timeout bounds a dial: name resolution and all the addresses tried, and
	// what the upstream proxy takes for the same.
	// Zero means DefaultTimeout.
	Timeout time.Duration

	// Resolver resolves names. Nil means net.DefaultResolver.
	Resolver Resolver

	// Connect opens a connection to an address (host:port) that was checked just
	// before. Nil: this system's TCP, where the check is made in Control. It is
	// for tests, over a network in memory.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)

	// Proxy is the upstream proxy that all connections go through, of the form
	// that ParseProxy returns. Nil: none.
	Proxy *url.URL

	// Direct reports that a target, after any ConnectTo rule, is connected to
	// without Proxy. Loopback always is. Nil: nothing else.
	Direct func(host, port string) bool

	// Roots verify the certificate of a Proxy that is https. Nil: the system's.
	Roots *x509.CertPool

	// Via is this proxy's pseudonym (RFC 9110 §7.6.3), which CONNECT carries to
	// Proxy, so that a loop can be known by it. Empty: none is sent.
	Via string
}

// Resolver resolves names; *net.Resolver is one. An error is a *net.DNSError.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to checked addresses. Make one with New. It is safe for
// concurrent use.
type Dialer struct {
	connectTo []ConnectTo
	guard     *ssrf.Guardian
	deny      atomic.Pointer[[]netip.AddrPort]
	timeout   time.Duration
	names     *names
	open      open
	upstream  *upstream // nil: none

	// interfaces lists this machine's addresses; a field so that tests can
	// give it some.
	interfaces func() ([]net.Addr, error)
}

// New returns a Dialer. The error names a ConnectTo rule that does not parse,
// a range in Config.Allow that is none, or what is wrong with Config.Proxy. It
// does no I/O.
func New(c Config) (*Dialer, error) {
	guard, err := newGuard(c.Allow)
	if err != nil {
		return nil, err
	}
	d := &Dialer{
		guard:      guard,
		timeout:    c.Timeout,
		interfaces: net.InterfaceAddrs,
		open:       overTCP,
	}
	if c.Connect != nil {
		d.open = over(c.Connect)
	}
	if d.timeout <= 0 {
		d.timeout = DefaultTimeout
	}
	d.names = newNames(c.Resolver, d.timeout)
	if d.upstream, err = newUpstream(c); err != nil {
		return nil, err
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
// "tcp", "tcp4" or "tcp6": the addresses of a name are tried as RFC 8305 says,
// those that Lookup returns. Addresses that are refused are passed over; if
// none is left the error holds a *ProhibitedError.
//
// Where a ConnectTo rule matches addr, the connection goes to its target. The
// caller keeps the name for the Host field and for TLS.
//
// An error is a *net.OpError as net.Dialer's are, with a *net.DNSError in it
// where the name did not resolve, and the hooks of httptrace are called.
//
// Where the way leads through the upstream proxy, that makes the connection; an
// error is a *ProxyError then, or for a literal address that is refused a
// *ProhibitedError as ever. network is not looked at.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, fmt.Errorf("dialling %s: network %q is not tcp, tcp4 or tcp6", addr, network)
	}
	to, err := d.target(addr)
	if err != nil {
		return nil, fmt.Errorf("dialling: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if d.through(to) {
		return d.tunnel(ctx, to)
	}
	return d.connect(ctx, network, to, func(address string) error {
		return d.check(to.asked, address, to.named)
	})
}

// target is where a connection goes.
type target struct {
	asked      string // the host before any ConnectTo rule
	host, port string
	named      netip.AddrPort // the address when the operator named it in full, else the zero value
}

// target reads host:port and applies the first ConnectTo rule that matches.
func (d *Dialer) target(addr string) (target, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return target{}, err
	}
	to := target{asked: host, host: host, port: port}
	for _, r := range d.connectTo {
		if !r.matches(host, port) {
			continue
		}
		if r.ToPort != "" {
			to.port = r.ToPort
		}
		if r.ToHost == "" {
			break
		}
		to.host = r.ToHost
		if literal, err := netip.ParseAddrPort(to.addr()); err == nil {
			to.named = plain(literal)
		}
		break
	}
	return to, nil
}

func (t target) addr() string { return net.JoinHostPort(t.host, t.port) }

// literal returns the address that a host is, if it is one and no name. It
// comes before ParseAddr, whose errors cost an allocation.
func literal(host string) (netip.Addr, bool) {
	if host == "" || host[len(host)-1] > '9' && strings.IndexByte(host, ':') < 0 {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}
