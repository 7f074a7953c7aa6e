package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"heed/bench/engine/load"
)

// The figures of a measurement, by their names in the results.
const (
	perSecond   = "per_s"       // answers
	cpuMicros   = "cpu_us"      // of the proxy, for each answer
	p50Micros   = "p50_us"      // latency
	p99Micros   = "p99_us"      //
	residentMiB = "rss_mib"     // of the proxy when the load ends
	peakMiB     = "peak_mib"    // the most it ever was
	proxyBusy   = "proxy_busy"  // share of its processor that the proxy used
	loadBusy    = "load_busy"   // share of theirs that clients and origin used
	connections = "connections" // that clients opened
)

// figures are those of one measurement.
type figures map[string]float64

// bench is what all measurements have in common.
type bench struct {
	cores *cores
	id    *load.Identity
	heed  string // the binary
	warm  time.Duration
	time  time.Duration
}

// measure measures one participant in one scenario: a new origin, a new proxy,
// new clients.
func (b *bench) measure(ctx context.Context, s *scenario, p *participant) (f figures, err error) {
	folder, err := os.MkdirTemp("", "heed-engine-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	rig, err := load.NewRig(b.id)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	plan := s.plan
	plan.Warm, plan.Time = b.warm, b.time
	var proxy *process
	if p.command != nil {
		if plan.Proxy, err = freePort(ctx); err != nil {
			return nil, err
		}
		if proxy, err = b.start(ctx, p, &setup{at: plan.Proxy, folder: folder, way: plan.Way, origin: rig.Origin, heed: b.heed}); err != nil {
			return nil, err
		}
		defer proxy.stop()
	}
	return b.run(ctx, rig, plan, proxy)
}

func (b *bench) start(ctx context.Context, p *participant, s *setup) (*process, error) {
	if err := os.WriteFile(filepath.Join(s.folder, originCA), b.id.CA, 0o644); err != nil {
		return nil, err
	}
	what, err := p.command(s)
	if err != nil {
		return nil, err
	}
	return start(ctx, b.cores, what, s.at, s.folder)
}

// run has the clients do what they are to do, and looks at the proxy at the
// beginning and at the end of what counts. There is none if proxy is nil.
func (b *bench) run(ctx context.Context, rig *load.Rig, plan load.Plan, proxy *process) (figures, error) {
	var before, after, ownBefore, ownAfter time.Duration
	var now, most int64
	var failed error
	begin := func() {
		if proxy != nil {
			failed = proxy.count()
			if failed == nil {
				before, failed = proxy.cpu()
			}
		}
		ownBefore = ownCPU()
	}
	end := func() {
		ownAfter = ownCPU()
		if proxy != nil && failed == nil {
			after, failed = proxy.cpu()
			if failed == nil {
				now, most, failed = proxy.memory()
			}
		}
	}
	result, err := rig.Run(ctx, plan, begin, end)
	if err = errors.Join(err, failed); err != nil {
		if proxy != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w\nwhat the proxy said last:\n%s", err, proxy.tail())
		}
		return nil, err
	}
	f := figures{
		perSecond:   result.Answers / result.Took.Seconds(),
		p50Micros:   micros(result.At(0.5)),
		p99Micros:   micros(result.At(0.99)),
		loadBusy:    (ownAfter - ownBefore).Seconds() / result.Took.Seconds(),
		connections: float64(result.Connections),
	}
	if proxy != nil {
		f[cpuMicros] = micros(after-before) / result.Answers
		f[proxyBusy] = (after - before).Seconds() / result.Took.Seconds()
		f[residentMiB] = float64(now) / (1 << 20)
		f[peakMiB] = float64(most) / (1 << 20)
		return f, proxy.alive()
	}
	return f, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// freePort returns an address that nobody listens on.
func freePort(ctx context.Context) (netip.AddrPort, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("looking for a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return netip.ParseAddrPort(l.Addr().String())
}
