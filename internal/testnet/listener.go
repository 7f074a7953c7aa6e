package testnet

import (
	"net"
	"net/netip"
	"sync"
)

// Listener takes the connections to one address of a Network.
type Listener struct {
	network *Network
	addr    netip.AddrPort

	mu      sync.Mutex // guards what follows
	arrived *sync.Cond
	waiting []*Conn
	closed  bool
}

func newListener(n *Network, addr netip.AddrPort) *Listener {
	l := &Listener{network: n, addr: addr}
	l.arrived = sync.NewCond(&l.mu)
	return l
}

// deliver hands a connection to Accept. It is false when the listener was
// closed meanwhile.
func (l *Listener) deliver(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.waiting = append(l.waiting, c)
	l.arrived.Signal()
	return true
}

// Accept waits for the next connection, which is a *Conn. After Close the
// error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.closed {
		l.arrived.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	return c, nil
}

// Close frees the address. Connections that nobody accepted are reset; those
// that were stay.
func (l *Listener) Close() error {
	l.network.mu.Lock()
	if l.network.listeners[l.addr] == l {
		delete(l.network.listeners, l.addr)
	}
	l.network.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.arrived.Broadcast()
	for _, c := range l.waiting {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	l.waiting = nil
	return nil
}

// Addr returns the address, a *net.TCPAddr.
func (l *Listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }
