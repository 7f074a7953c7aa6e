package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is requests made at random, and what became of them.
type crowd struct {
	*rig
	random *rand.Rand
	mu     sync.Mutex
	sent   []event
	ways   map[string]int // under way, by host and by address
	most   map[string]int
	told   []told
}

// event is a request that went out.
type event struct {
	at       time.Duration
	host     string
	robots   bool
	interval time.Duration
}

// told is an origin that named a time until which nothing may go out.
type told struct {
	at    time.Duration
	host  string
	until time.Duration
}

// TestWhateverHappensTheIntervalsAndTheBoundsAreKept makes requests at random, of
// clients that leave, origins that refuse, connections that take their time.
func TestWhateverHappensTheIntervalsAndTheBoundsAreKept(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { beCrowd(t, seed) })
	}
}

func FuzzWhateverHappens(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(beCrowd)
}

func beCrowd(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	config := Config{
		PerOrigin: 1 + random.IntN(4), PerAddress: 2 + random.IntN(4), Queue: 1 + random.IntN(20),
		MinInterval: time.Duration(random.IntN(2)) * 300 * time.Millisecond,
		Addresses: func(_ context.Context, addr string) ([]netip.Addr, error) {
			one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
			switch addr {
			case "a":
				return []netip.Addr{one}, nil
			case "b":
				return []netip.Addr{one, other}, nil
			case "c":
				return []netip.Addr{other, netip.MustParseAddr("2001:db8::2")}, nil
			}
			return nil, errors.New("no such host")
		},
	}
	inBubble(t, config, func(r *rig) {
		c := &crowd{rig: r, random: random, ways: map[string]int{}, most: map[string]int{}}
		for range 12 {
			own := rand.New(rand.NewPCG(random.Uint64(), 2))
			r.wg.Go(func() {
				for range 25 {
					c.request(own)
				}
			})
		}
		r.wg.Wait()
		c.check(config)
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if n := r.hosts.Size(); n != 0 {
			t.Errorf("%d hosts are remembered", n)
		}
		if n := len(r.addresses.byPrefix); n != 0 {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

func millis(own *rand.Rand, most int) time.Duration {
	return time.Duration(own.IntN(most)) * time.Millisecond
}

func (c *crowd) request(own *rand.Rand) {
	time.Sleep(millis(own, 1500))
	q := Request{
		Host: string(rune('a' + own.IntN(4))), By: Asker{Client: string(rune('x' + own.IntN(3))), Agent: string(rune('A' + own.IntN(3)))},
		Interval: []time.Duration{0, 0, 250 * time.Millisecond, s, 2 * s}[own.IntN(5)], Hold: millis(own, 5000),
	}
	q.Addr = q.Host
	robots := own.IntN(10) == 0
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if own.IntN(4) == 0 {
		timer := time.AfterFunc(millis(own, 4000), leave)
		defer timer.Stop()
	}
	var turn Turn
	asked, ask := c.since(), c.Ask
	if robots {
		ask = c.AskRobots
	}
	err := ask(ctx, &turn, q)
	if err == nil {
		defer turn.End()
		err = turn.Wait(ctx)
	}
	if waited := c.since() - asked; waited > q.Hold+1 {
		c.t.Errorf("a request that may wait %v waited %v", q.Hold, waited)
	}
	if err != nil {
		var refusal *Refusal
		if errors.As(err, &refusal) && refusal.Retry < s || turn.state == granted {
			c.t.Errorf("refused with %v, as %v", err, turn.state)
		}
		return
	}
	c.underWay(q.Host, 1)
	defer c.underWay(q.Host, -1)
	time.Sleep(millis(own, 300) * time.Duration(own.IntN(2)) * time.Duration(1+7*own.IntN(2)))
	if own.IntN(8) == 0 {
		return // no connection
	}
	for range 1 + own.IntN(8)/7 { // once more, now and then
		if turn.Send(ctx) != nil {
			return
		}
		c.goesOut(q, robots)
	}
	time.Sleep(millis(own, 800))
	switch own.IntN(20) {
	case 0:
		after := millis(own, 9000) + s
		turn.Answered(429, after)
		c.mu.Lock()
		c.told = append(c.told, told{c.since(), q.Host, c.since() + after})
		c.mu.Unlock()
	case 1:
		turn.Answered(503, 0)
	default:
		turn.Answered(200, 0)
	}
	if own.IntN(2) == 0 {
		time.Sleep(millis(own, 500)) // the body
	}
}

func (c *crowd) underWay(host string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := []string{host}
	if at := map[string]string{"a": "1", "b": "12", "c": "2"}[host]; at != "" {
		for _, address := range at {
			keys = append(keys, string(address))
		}
	}
	for _, key := range keys {
		c.ways[key] += n
		c.most[key] = max(c.most[key], c.ways[key])
	}
}

func (c *crowd) goesOut(q Request, robots bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := event{c.since(), q.Host, robots, max(q.Interval, c.config.MinInterval)}
	c.sent = append(c.sent, e)
}

func (c *crowd) check(config Config) {
	for key, n := range c.most {
		limit := config.PerOrigin
		if key == "1" || key == "2" {
			limit = config.PerAddress
		}
		if n > limit {
			c.t.Errorf("%d were under way at %s, where %d may be", n, key, limit)
		}
	}
	for _, w := range c.told {
		for _, e := range c.sent { // what goes out in the moment in which it is told may have come before
			if e.host == w.host && e.at > w.at && e.at < w.until {
				c.t.Errorf("%s is asked %v before the time that it named", w.host, w.until-e.at)
			}
		}
	}
	slices.SortStableFunc(c.sent, func(a, b event) int { return int(a.at - b.at) })
	for i, later := range c.sent {
		for _, earlier := range c.sent[:i] {
			if earlier.host != later.host {
				continue
			}
			gap := min(earlier.interval, later.interval)
			switch {
			case earlier.robots && later.robots:
				gap = config.MinInterval
			case earlier.robots:
				gap = later.interval
			case later.robots:
				gap = earlier.interval
			}
			if later.at-earlier.at < gap {
				c.t.Errorf("%+v goes out %v after %+v, and not %v", later, later.at-earlier.at, earlier, gap)
			}
		}
	}
}
