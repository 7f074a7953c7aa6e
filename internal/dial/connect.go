package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// stagger is how long one address is tried alone before the next one is tried
// beside it (RFC 8305 §5: the Connection Attempt Delay).
const stagger = 250 * time.Millisecond

// connect connects to one of the addresses of a target, each of which control
// is asked about right before. Its time is that of ctx.
func (d *Dialer) connect(ctx context.Context, network string, to target, control func(address string) error) (net.Conn, error) {
	port, err := strconv.ParseUint(to.port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("dialling %s: port %q is not a number below 65536", to.addr(), to.port)
	}
	addrs, err := d.addresses(ctx, network, to.host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	r := race{
		pause: min(stagger, d.timeout/time.Duration(len(addrs)+1)),
		open: func(ctx context.Context, address string) (net.Conn, error) {
			return d.open(ctx, network, address, control)
		},
	}
	for _, a := range addrs {
		r.addrs = append(r.addrs, netip.AddrPortFrom(a, uint16(port)).String())
	}
	conn, err := r.run(ctx)
	if err != nil && !prohibited(err) && !errors.Is(err, context.Canceled) {
		d.names.forget(to.host)
	}
	return conn, err
}

// addresses returns those of a host that are of the network, at least one.
func (d *Dialer) addresses(ctx context.Context, network, host string) ([]netip.Addr, error) {
	all := []netip.Addr{{}}
	if a, ok := literal(host); ok {
		all[0] = a
	} else {
		found, err := d.names.get(ctx, host)
		if err != nil {
			return nil, err
		}
		all = found.addrs
	}
	if network == "tcp" {
		return all, nil
	}
	var of []netip.Addr
	for _, a := range all {
		if a.Unmap().Is4() == (network == "tcp4") {
			of = append(of, a)
		}
	}
	if len(of) == 0 {
		return nil, &net.AddrError{Err: "no address for " + network, Addr: host}
	}
	return of, nil
}

// open opens a connection to one address, of which control is asked.
type open func(ctx context.Context, network, address string, control func(address string) error) (net.Conn, error)

func overTCP(ctx context.Context, network, address string, control func(string) error) (net.Conn, error) {
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return control(address) }}
	return d.DialContext(ctx, network, address)
}

func over(connect func(ctx context.Context, network, address string) (net.Conn, error)) open {
	return func(ctx context.Context, network, address string, control func(string) error) (net.Conn, error) {
		if err := control(address); err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return connect(ctx, network, address)
	}
}

// race tries addresses in their order, the next one as soon as the last one
// failed, or beside it when it takes its time (RFC 8305 §5). net.Dialer does
// that for two families of a name that it resolves itself, and for no list of
// addresses.
type race struct {
	addrs []string // host:port
	pause time.Duration
	open  func(ctx context.Context, address string) (net.Conn, error)
}

// attempt is what came of one address.
type attempt struct {
	conn net.Conn
	err  error
}

// run returns the first connection, or the error that tells most. When it
// returns, the others have ended.
func (r *race) run(ctx context.Context) (net.Conn, error) {
	if len(r.addrs) == 1 {
		return r.open(ctx, r.addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan attempt)
	running := 0
	defer func() {
		cancel()
		for range running {
			if a := <-ended; a.conn != nil {
				_ = a.conn.Close()
			}
		}
	}()
	next := time.NewTimer(0)
	defer next.Stop()
	var failed error
	for left := r.addrs; ; {
		select {
		case <-next.C:
			addr := left[0]
			go func() {
				conn, err := r.open(ctx, addr)
				ended <- attempt{conn, err}
			}()
			running++
			if left = left[1:]; len(left) > 0 {
				next.Reset(r.pause)
			}
		case a := <-ended:
			running--
			if a.err == nil {
				return a.conn, nil
			}
			failed = telling(failed, a.err)
			switch {
			case len(left) > 0 && ctx.Err() == nil:
				next.Reset(0)
			case running == 0:
				return nil, failed
			case ctx.Err() != nil:
				next.Stop()
			}
		}
	}
}

// telling returns which of two errors says more: the first, unless that is a
// refusal of heed's own and the other is not.
func telling(first, then error) error {
	if first == nil || prohibited(first) && !prohibited(then) {
		return then
	}
	return first
}

func prohibited(err error) bool {
	var p *ProhibitedError
	return errors.As(err, &p)
}
