package pace

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
)

// Defaults of Config.
const (
	DefaultMaxDelay = 30 * time.Second
	DefaultQueue    = 100
)

const (
	// sweepEvery is how often it is looked for hosts to be forgotten.
	sweepEvery = 30 * time.Second

	// resolvedFor is how long a host is taken to have the addresses that it had.
	resolvedFor = time.Minute

	// connecting is how long others wait for one that has no connection yet.
	connecting = time.Second

	// unresolvedFor is how long a host is left alone whose name does not resolve.
	unresolvedFor = time.Second
)

// Config is what a Pacer is made of. The zero value asks for nothing but what
// sites ask for.
type Config struct {
	// MinInterval is the operator's floor: the least time between two requests to
	// one host. 0: none.
	MinInterval time.Duration

	// MaxDelay is the longest interval that a site is granted; what it asks for
	// beyond that is cut. 0: DefaultMaxDelay.
	MaxDelay time.Duration

	// PerOrigin is how many requests may be under way at one host, PerAddress at
	// one address (of IPv6, in one /64) of however many hosts. 0: any number.
	PerOrigin, PerAddress int

	// Queue is how many requests may wait at one host. 0: DefaultQueue.
	Queue int

	// TargetConcurrency is how many requests are to be under way at a host, on
	// average: slow answers make its interval longer, up to MaxDelay. 0: they do
	// not.
	TargetConcurrency float64

	// Addresses finds the addresses that a host:port will be connected to. It is
	// asked once a minute for a host. Nil, or no address without an error: they
	// are not known, and PerAddress bounds nothing.
	Addresses func(ctx context.Context, addr string) ([]netip.Addr, error)

	// Cut is told of a host that asks for more than MaxDelay, when it is met and
	// not again while it is remembered. Nil: nobody is.
	Cut func(host string, asked, granted time.Duration)
}

// Pacer knows when requests may go out. Make one with New.
type Pacer struct {
	config    Config
	epoch     time.Time
	hosts     *xsync.Map[string, *host]
	addresses addresses

	mu       sync.Mutex
	sweeping *time.Timer // nil while there is no host
	closed   bool
}

// New returns a Pacer. It does no I/O and starts no goroutine.
func New(c Config) *Pacer {
	if c.MaxDelay <= 0 {
		c.MaxDelay = DefaultMaxDelay
	}
	if c.Queue <= 0 {
		c.Queue = DefaultQueue
	}
	return &Pacer{
		config:    c,
		epoch:     time.Now().Add(-1), // no moment is zero
		hosts:     xsync.NewMap[string, *host](),
		addresses: addresses{limit: c.PerAddress, byPrefix: map[netip.Prefix]*address{}},
	}
}

// Close ends the search for hosts to be forgotten. What is under way goes on.
func (p *Pacer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweeping != nil {
		p.sweeping.Stop()
		p.sweeping = nil
	}
}

// moment is a time by the monotonic clock, since the Pacer was made: a clock that
// is set must not let anybody go early.
type moment = time.Duration

func (p *Pacer) now() moment { return time.Since(p.epoch) }

// at is a time that was read before; now if it is zero.
func (p *Pacer) at(t time.Time) moment {
	if t.IsZero() {
		return p.now()
	}
	return max(t.Sub(p.epoch), 1)
}

// host returns a host, locked.
func (p *Pacer) host(name string) *host {
	for {
		h, known := p.hosts.Load(name)
		if !known {
			h, known = p.hosts.LoadOrStore(name, newHost(p, name))
		}
		if !known {
			p.sweepLater()
		}
		h.mu.Lock()
		if !h.forgotten {
			return h
		}
		h.mu.Unlock() // it is being taken out of the map
	}
}

func (p *Pacer) sweepLater() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sweeping == nil && !p.closed {
		p.sweeping = time.AfterFunc(sweepEvery, p.sweep)
	}
}

// sweep forgets hosts of which nothing needs to be known.
func (p *Pacer) sweep() {
	now := p.now()
	p.hosts.Range(func(name string, h *host) bool {
		h.mu.Lock()
		if h.forgotten = h.isIdle(now); h.forgotten {
			h.settle(nil)
			p.hosts.Delete(name)
		}
		h.mu.Unlock()
		return true
	})
	p.mu.Lock()
	p.sweeping = nil
	p.mu.Unlock()
	if p.hosts.Size() > 0 {
		p.sweepLater()
	}
}
