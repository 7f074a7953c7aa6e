package roundtrip

import (
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	shards = 64

	// sweepEvery is how often connections are looked through: for those that were
	// kept for long enough, and those that the origin has closed.
	sweepEvery = 5 * time.Second
)

// pool keeps connections by host. Hosts are in shards, whose locks are held for
// the look into a map.
type pool struct {
	seed        maphash.Seed
	maxIdle     int // 0: no bound
	maxPerHost  int
	idleTimeout time.Duration // 0: for ever

	shards [shards]shard
	armed  atomic.Bool // a sweep will come
	shut   atomic.Bool // nothing is kept until there is another request

	mu             sync.Mutex // guards what follows, and what each host keeps
	idle           int
	oldest, newest *conn // by the time since when they are kept
}

type shard struct {
	mu    sync.Mutex
	hosts map[key]*host
}

const defaultPerHost = http.DefaultMaxIdleConnsPerHost

func (p *pool) init(c *http.Transport) {
	p.maxIdle, p.maxPerHost, p.idleTimeout = c.MaxIdleConns, c.MaxIdleConnsPerHost, c.IdleConnTimeout
	switch {
	case c.DisableKeepAlives:
		p.maxPerHost = -1
	case p.maxPerHost == 0:
		p.maxPerHost = defaultPerHost
	}
	p.seed = maphash.MakeSeed()
	for i := range p.shards {
		p.shards[i].hosts = map[key]*host{}
	}
}

func (p *pool) shard(k key) *shard { return &p.shards[maphash.String(p.seed, k.host)%shards] }

// host returns what is known of a host that is wanted, which is little at first.
func (p *pool) host(k key) *host {
	if p.shut.Load() {
		p.shut.Store(false)
	}
	return p.known(k)
}

func (p *pool) known(k key) *host {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[k]
	if h == nil {
		h = &host{key: k, asked: time.Now()}
		s.hosts[k] = h
		p.swept()
	}
	return h
}

// take returns a connection that was kept, nil if there is none that is still
// good. The last one used is the first one taken, so that the others grow old.
// Each is looked at first.
func (p *pool) take(h *host) *conn {
	for {
		p.mu.Lock()
		n := len(h.idle)
		if n == 0 {
			p.mu.Unlock()
			return nil
		}
		c := h.idle[n-1]
		h.idle[n-1] = nil
		h.idle = h.idle[:n-1]
		p.unlink(c)
		p.mu.Unlock()
		if !p.expired(c) && c.quiet() {
			return c
		}
		c.close()
	}
}

func (p *pool) expired(c *conn) bool {
	return p.idleTimeout > 0 && time.Since(c.since) >= p.idleTimeout
}

// keep keeps a connection on which nothing is under way, and closes another one
// if these are too many now: the one that was kept for longest.
func (p *pool) keep(c *conn) {
	too := c
	if !p.shut.Load() {
		too = p.push(c)
	}
	if too != nil {
		too.close()
	}
}

// push returns the connection that there is no room for, nil if there is.
func (p *pool) push(c *conn) (over *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.host.dead { // its request took so long that the host was forgotten
		p.mu.Unlock()
		h := p.known(c.host.key)
		p.mu.Lock()
		c.host = h
	}
	h := c.host
	if h.dead || len(h.idle) >= p.maxPerHost {
		return c
	}
	c.since = time.Now()
	h.idle, h.kept = append(h.idle, c), c.since
	p.link(c)
	if p.maxIdle <= 0 || p.idle <= p.maxIdle {
		return nil
	}
	over = p.oldest
	p.unlink(over)
	of := over.host // of which it is the oldest, too
	of.idle = slices.Delete(of.idle, 0, 1)
	return over
}

// link makes a connection the newest. mu is held.
func (p *pool) link(c *conn) {
	c.older, c.newer = p.newest, nil
	if c.older == nil {
		p.oldest = c
	} else {
		c.older.newer = c
	}
	p.newest = c
	p.idle++
}

// unlink takes a connection out of the order. mu is held.
func (p *pool) unlink(c *conn) {
	if c.older == nil {
		p.oldest = c.newer
	} else {
		c.older.newer = c.newer
	}
	if c.newer == nil {
		p.newest = c.older
	} else {
		c.newer.older = c.older
	}
	c.older, c.newer = nil, nil
	p.idle--
}

// swept has a sweep come, if none will.
func (p *pool) swept() {
	if p.armed.CompareAndSwap(false, true) {
		time.AfterFunc(sweepEvery, p.sweep)
	}
}

// sweep closes connections that were kept for long enough, or that the origin
// has closed, and forgets hosts that nobody asked for as long.
func (p *pool) sweep() {
	p.armed.Store(false) // before the look: a host that comes now has its own sweep come
	for h := range p.each {
		p.closeAll(h, func(c *conn) bool { return p.expired(c) || !c.quiet() }, time.Now().Add(-sweepEvery))
	}
	left := 0
	for i := range p.shards {
		left += p.forget(&p.shards[i])
	}
	if left > 0 {
		p.swept()
	}
}

// each yields all hosts, with no lock held.
func (p *pool) each(yield func(*host) bool) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		hosts := slices.Collect(maps.Values(s.hosts))
		s.mu.Unlock()
		for _, h := range hosts {
			if !yield(h) {
				return
			}
		}
	}
}

// closeAll closes those connections to a host of which bad says so, and the one
// that was handed over before. The lock is held for the look at one host's.
func (p *pool) closeAll(h *host, bad func(*conn) bool, before time.Time) {
	var out []io.Closer
	p.mu.Lock()
	h.idle = slices.DeleteFunc(h.idle, func(c *conn) bool {
		if !bad(c) {
			return false
		}
		p.unlink(c)
		out = append(out, c)
		return true
	})
	p.mu.Unlock()
	if c := h.leftOver(before); c != nil {
		out = append(out, c)
	}
	for _, c := range out {
		_ = c.Close()
	}
}

// forget removes hosts at which nothing is kept, and was not for long, and
// returns how many are left.
func (p *pool) forget(s *shard) (left int) {
	since := time.Now().Add(-max(p.idleTimeout, sweepEvery))
	s.mu.Lock()
	defer s.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, h := range s.hosts {
		if len(h.idle) == 0 && h.kept.Before(since) && h.unused(since) {
			h.dead = true
			delete(s.hosts, k)
		}
	}
	return len(s.hosts)
}

// closeIdle closes all that is kept.
func (p *pool) closeIdle() {
	p.shut.Store(true)
	for h := range p.each {
		p.closeAll(h, func(*conn) bool { return true }, time.Now())
	}
}
