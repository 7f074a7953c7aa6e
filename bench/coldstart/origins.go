package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// origins are all the origins: one listener, which tells them by the address
// that was connected to.
type origins struct {
	effort   effort
	listener net.Listener
	port     int
	robots   []atomic.Int32 // requests for robots.txt, by origin
	pages    []atomic.Int32
	strange  atomic.Int32 // requests for anything else

	mu      sync.Mutex
	open    map[net.Conn]struct{}
	closed  bool
	running sync.WaitGroup
}

func newOrigins(e effort) (*origins, error) {
	// Only an unspecified address takes connections to all of 127.0.0.0/8;
	// those from elsewhere are closed.
	l, err := net.Listen("tcp4", "0.0.0.0:0") //nolint:noctx // it listens at once
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	o := &origins{
		effort: e, listener: l, port: l.Addr().(*net.TCPAddr).Port, open: map[net.Conn]struct{}{},
		robots: make([]atomic.Int32, e.origins), pages: make([]atomic.Int32, e.origins),
	}
	o.running.Go(o.accept)
	return o, nil
}

// addr is the address of an origin: 127.1.0.0 and so on.
func (o *origins) addr(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(1 + n>>16), byte(n >> 8), byte(n)}), uint16(o.port))
}

// number is the inverse.
func number(a netip.Addr) int {
	b := a.Unmap().As4()
	return int(b[1]-1)<<16 | int(b[2])<<8 | int(b[3])
}

func (o *origins) accept() {
	for {
		c, err := o.listener.Accept()
		if err != nil {
			return
		}
		o.mu.Lock()
		if o.closed || !netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().Unmap().IsLoopback() {
			o.mu.Unlock()
			_ = c.Close()
			continue
		}
		o.open[c] = struct{}{}
		o.running.Go(func() { o.serve(c) })
		o.mu.Unlock()
	}
}

var (
	rules = answerOf("User-agent: *\nDisallow: /not-this-one\n")
	page  = answerOf("page\n")
)

func answerOf(body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// serve answers requests after the latency, for as long as the connection is
// kept.
func (o *origins) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.open, c)
	}()
	n := number(netip.MustParseAddrPort(c.LocalAddr().String()).Addr())
	r := bufio.NewReaderSize(c, 1<<10)
	wait := time.NewTimer(0)
	<-wait.C
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		answer := page
		switch {
		case n >= len(o.robots):
			o.strange.Add(1)
		case bytes.HasPrefix(line, []byte("GET /robots.txt ")):
			o.robots[n].Add(1)
			answer = rules
		case bytes.HasPrefix(line, []byte("GET /page ")):
			o.pages[n].Add(1)
		default:
			o.strange.Add(1)
		}
		for len(line) > 2 {
			if line, err = r.ReadSlice('\n'); err != nil {
				return
			}
		}
		wait.Reset(o.effort.latency)
		<-wait.C
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// check tells whether each origin saw what it was to see.
func (o *origins) check() error {
	var faults []error
	for n := range o.robots {
		if robots, pages := o.robots[n].Load(), o.pages[n].Load(); robots != 1 || pages != 1 {
			faults = append(faults, fmt.Errorf("origin %s saw %d requests for its robots.txt and %d for its page, not one of each", o.addr(n), robots, pages))
		}
	}
	if n := o.strange.Load(); n > 0 {
		faults = append(faults, fmt.Errorf("%d requests that no client made", n))
	}
	if len(faults) > 3 {
		faults = append(faults[:3], fmt.Errorf("and %d more", len(faults)-3))
	}
	return errors.Join(faults...)
}

func (o *origins) close() {
	_ = o.listener.Close()
	o.mu.Lock()
	o.closed = true
	for c := range o.open {
		_ = c.Close()
	}
	o.mu.Unlock()
	o.running.Wait()
}
