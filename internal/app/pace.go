package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"heed/fetch"
	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/metrics"
	"heed/internal/origin"
	"heed/internal/pace"
	"heed/policy"
	"heed/proxy"
)

// newPacer returns what says when a request may go out.
func newPacer(c config.Pace, d *dial.Dialer, log zerolog.Logger) *pace.Pacer {
	return pace.New(pace.Config{
		MinInterval:       time.Duration(c.MinInterval),
		MaxDelay:          time.Duration(c.MaxDelay),
		PerOrigin:         c.PerOrigin,
		PerAddress:        c.PerAddress,
		Queue:             c.Queue,
		TargetConcurrency: float64(c.TargetConcurrency),
		Addresses:         d.Lookup,
		Cut: func(host string, asked, granted time.Duration) {
			log.Warn().Str("host", host).Stringer("asked", asked).Stringer("granted", granted).
				Str("hint", "pace.max_delay says how long it may be").Msg("a site asks for a longer interval than it is granted")
		},
	})
}

// holdOf returns for how long a request of a client waits.
func holdOf(c config.Pace) func(policy.Tokens) time.Duration {
	return func(t policy.Tokens) time.Duration {
		for i := range c.Patient {
			if who := &c.Patient[i]; len(t.Main) > 0 && strings.EqualFold(t.Main[0], who.Token) {
				return time.Duration(who.Hold)
			}
		}
		return time.Duration(c.Hold)
	}
}

// robotsTurns has fetches of a robots.txt wait for their turn like any other
// request, for as long as a site can ask anybody to wait between two, and as any
// client is held.
func robotsTurns(p *pace.Pacer, c config.Config) func(context.Context, origin.Origin) (fetch.Turn, error) {
	hold := max(c.Pace.MaxDelay, c.Pace.MinInterval, c.Pace.Hold)
	for i := range c.Pace.Patient {
		hold = max(hold, c.Pace.Patient[i].Hold)
	}
	for i := range c.Clients.Named {
		hold = max(hold, c.Clients.Named[i].Hold)
	}
	return func(ctx context.Context, o origin.Origin) (fetch.Turn, error) {
		t := new(pace.Turn)
		err := p.AskRobots(ctx, t, pace.Request{Host: o.Host, Port: o.Port, Addr: o.Addr(), Hold: time.Duration(hold)})
		if err != nil {
			return nil, err
		}
		return t, nil
	}
}

// policies is the fetcher as the proxy asks it.
type policies struct{ *fetch.Fetcher }

// Await is the fetcher's, in the proxy's words.
func (p policies) Await(ctx context.Context, o origin.Origin, patience proxy.Patience) (policy.Snapshot, proxy.Held, error) {
	s, held, err := p.Fetcher.Await(ctx, o, fetch.Patience(patience))
	by, _ := errors.AsType[*pace.Refusal](held.By)
	return s, proxy.Held{Time: held.Time, By: by}, err
}

// Pace tells what goes on at hosts, and of at most limit hosts by themselves.
func (a *App) Pace(limit int) pace.State { return a.pacer.State(limit) }

func paceMetrics(p *pace.Pacer) func() metrics.Pace {
	return func() metrics.Pace {
		s := p.State(0)
		return metrics.Pace{Waiting: s.Waiting, Known: s.Known, Held: s.Held}
	}
}
