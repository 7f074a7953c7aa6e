package pace

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rig is a Pacer in a bubble of synctest, and what went out through it.
type rig struct {
	*Pacer
	t     *testing.T
	began time.Time
	wg    sync.WaitGroup

	mu      sync.Mutex
	gone    []gone
	refused []refused
}

type gone struct {
	at   time.Duration
	by   string
	host string
}

type refused struct {
	at time.Duration
	by string
	*Refusal
}

func inBubble(t *testing.T, c Config, do func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{Pacer: New(c), t: t, began: time.Now()}
		defer r.Close()
		do(r)
		r.wg.Wait()
	})
}

// request is one that goes out, and takes some time.
type request struct {
	Request
	by      string
	agent   string
	robots  bool
	connect time.Duration
	takes   time.Duration
	status  int
	after   time.Duration // Retry-After
}

func (r *rig) since() time.Duration { return time.Since(r.began) }

// do makes a request, and returns once it is over.
func (r *rig) do(q request) error { return r.doCtx(r.t.Context(), q) }

func (r *rig) doCtx(ctx context.Context, q request) error {
	if q.Host == "" {
		q.Host = "a.example"
	}
	q.By = Asker{Client: q.by, Agent: q.agent}
	var turn Turn
	ask := r.Ask
	if q.robots {
		ask = r.AskRobots
	}
	err := ask(ctx, &turn, q.Request)
	if err == nil {
		defer turn.End()
		if err = turn.Wait(ctx); err == nil {
			time.Sleep(q.connect)
			err = turn.Send(ctx)
		}
	}
	if err != nil {
		var refusal *Refusal
		if errors.As(err, &refusal) {
			r.mu.Lock()
			r.refused = append(r.refused, refused{r.since(), q.by, refusal})
			r.mu.Unlock()
		}
		return err
	}
	r.mu.Lock()
	r.gone = append(r.gone, gone{r.since(), q.by + q.agent, q.Host})
	r.mu.Unlock()
	time.Sleep(q.takes)
	if q.status == 0 {
		q.status = 200
	}
	turn.Answered(q.status, q.after)
	return nil
}

// begin makes a request in the background, and waits until it waits or is over.
func (r *rig) begin(q request) {
	r.wg.Go(func() { _ = r.do(q) })
	synctest.Wait()
}

func (r *rig) wantGone(want ...time.Duration) {
	r.t.Helper()
	var got []time.Duration
	for _, g := range r.gone {
		got = append(got, g.at)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("went out at %v, want %v", got, want)
	}
}

const s = time.Second

func TestRequestsKeepTheIntervalToTheNanosecond(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for range 4 {
			r.begin(request{Request: Request{Interval: 2 * s, Hold: time.Minute}})
		}
		r.wg.Wait()
		r.wantGone(0, 2*s, 4*s, 6*s)
	})
}

func TestWhatWouldWaitForTooLongIsRefusedAtOnce(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for i := range 5 {
			r.begin(request{Request: Request{Interval: 2 * s, Hold: 3 * s, What: string(rune('a' + i))}})
		}
		if r.since() != 0 {
			t.Errorf("it took %v to refuse", r.since())
		}
		var retry []time.Duration
		for _, f := range r.refused {
			if f.Cause != Site || f.Interval != 2*s {
				t.Errorf("refused for %v, every %v", f.Cause, f.Interval)
			}
			retry = append(retry, f.Retry)
		}
		if want := []time.Duration{4 * s, 6 * s, 8 * s}; !slices.Equal(retry, want) {
			t.Errorf("told to come back after %v, want %v: one after the other", retry, want)
		}
		r.wg.Wait()
		r.wantGone(0, 2*s)
	})
}

func TestWhoComesBackWhenToldGetsThrough(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for i := range 50 {
			r.wg.Go(func() {
				for tries := 1; ; tries++ {
					err := r.do(request{Request: Request{Interval: 2 * s, Hold: 3 * s, What: string(rune('A' + i))}})
					var refusal *Refusal
					if !errors.As(err, &refusal) {
						if tries > 3 {
							t.Errorf("it took %d tries", tries)
						}
						return
					}
					time.Sleep(refusal.Retry)
				}
			})
		}
		r.wg.Wait()
		if last := r.gone[len(r.gone)-1].at; len(r.gone) != 50 || last > 110*s {
			t.Errorf("%d went out in %v", len(r.gone), last)
		}
		r.wantGaps(2 * s)
	})
}

func TestWhoComesBackTooEarlyIsToldTheSameTime(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		_ = r.do(request{Request: Request{Interval: 10 * s}})
		for _, want := range []time.Duration{10 * s, 8 * s, 6 * s, 4 * s, 2 * s} {
			_ = r.do(request{Request: Request{Interval: 10 * s, What: "/a"}})
			if got := r.refused[len(r.refused)-1].Retry; got != want {
				t.Errorf("told to come back after %v, want %v", got, want)
			}
			time.Sleep(2 * s)
		}
		_ = r.do(request{Request: Request{Interval: 10 * s, What: "/a"}})
		r.wantGone(0, 10*s)
		_ = r.do(request{Request: Request{Interval: 10 * s, What: "/a"}})
		if got := r.refused[len(r.refused)-1].Retry; got != 10*s {
			t.Errorf("told to come back after %v once it had been there", got)
		}
	})
}

func (r *rig) wantGaps(least time.Duration) {
	r.t.Helper()
	for i := 1; i < len(r.gone); i++ {
		if gap := r.gone[i].at - r.gone[i-1].at; gap < least {
			r.t.Errorf("a gap of %v at %v, want %v", gap, r.gone[i].at, least)
		}
	}
}

func TestTheIntervalCountsFromWhenTheRequestGoesOut(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{Request: Request{Interval: 2 * s, Hold: time.Minute}, connect: s / 2})
		r.begin(request{Request: Request{Interval: 2 * s, Hold: time.Minute}})
		r.wg.Wait()
		r.wantGone(s/2, s/2+2*s)
	})
}

func TestWhatIsNotAnsweredYetIsOnItsWay(t *testing.T) {
	for _, c := range []struct {
		why      string
		interval time.Duration
		takes    time.Duration
		want     time.Duration
	}{
		{"answered at once", 2 * s, 0, 2 * s},
		{"answered within the time", 2 * s, 60 * time.Millisecond, 2*s + 60*time.Millisecond},
		{"answered later", 2 * s, s, 2*s + 100*time.Millisecond},
		{"not answered when the next goes", 2 * s, 5 * s, 2*s + 100*time.Millisecond},
		{"a short interval", 200 * time.Millisecond, s, 210 * time.Millisecond},
	} {
		inBubble(t, Config{}, func(r *rig) {
			r.begin(request{Request: Request{Interval: c.interval}, takes: c.takes})
			r.begin(request{Request: Request{Interval: c.interval, Hold: time.Minute}})
			r.wg.Wait()
			if got := r.gone[1].at; got != c.want {
				t.Errorf("%s: the next went out at %v, want %v", c.why, got, c.want)
			}
		})
	}
}

func TestARequestThatNeverWentOutKeepsNobodyWaiting(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		var turn Turn
		if err := r.Ask(r.t.Context(), &turn, Request{Host: "a.example", Interval: 2 * s}); err != nil {
			t.Fatal(err)
		}
		turn.End()
		r.begin(request{Request: Request{Interval: 2 * s}})
		r.wantGone(0)
	})
}

func TestShorterOfTwoIntervalsIsKept(t *testing.T) {
	for _, c := range []struct {
		why           string
		first, second time.Duration
		want          time.Duration
	}{
		{"nobody asks for anything", 0, 0, 0},
		{"the one that went asks for nothing", 0, 2 * s, 0},
		{"the one that comes asks for nothing", 2 * s, 0, 0},
		{"the same", 2 * s, 2 * s, 2 * s},
		{"the first asks for more", 10 * s, 2 * s, 2 * s},
		{"the second asks for more", 2 * s, 10 * s, 2 * s},
		{"more than anybody is granted", time.Hour, time.Hour, 30 * s},
	} {
		inBubble(t, Config{}, func(r *rig) {
			_ = r.do(request{Request: Request{Interval: c.first}})
			_ = r.do(request{Request: Request{Interval: c.second, Hold: time.Hour}})
			if got := r.gone[1].at; got != c.want {
				t.Errorf("%s: %v, want %v", c.why, got, c.want)
			}
		})
	}
}

func TestWhoIsAskedForMoreIsNotStarvedByWhoIsAskedForLess(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.wg.Go(func() {
			for range 40 {
				_ = r.do(request{Request: Request{Interval: s, Hold: time.Minute}, by: "quick"})
			}
		})
		r.wg.Go(func() {
			for range 3 {
				_ = r.do(request{Request: Request{Interval: 10 * s, Hold: time.Minute}, by: "slow"})
			}
		})
		r.wg.Wait()
		r.wantGaps(s)
		var slow []time.Duration
		for _, g := range r.gone {
			if g.by == "slow" {
				slow = append(slow, g.at)
			}
		}
		for i := 1; i < len(slow); i++ {
			if gap := slow[i] - slow[i-1]; gap < 10*s || gap > 12*s {
				t.Errorf("the slow one went at %v", slow)
			}
		}
	})
}

func TestAFetchOfRobotsTxtCounts(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		_ = r.do(request{robots: true})                                             // nobody knows an interval yet
		_ = r.do(request{Request: Request{Interval: 2 * s, Hold: time.Minute}})     // after it
		_ = r.do(request{Request: Request{Hold: time.Minute}, robots: true})        // it keeps what pages have
		_ = r.do(request{Request: Request{Hold: time.Minute}, robots: true})        // as after a redirect to the same host
		_ = r.do(request{Request: Request{Interval: 3 * s, Hold: time.Minute}})     //
		_ = r.do(request{Request: Request{Interval: 0, Hold: time.Minute}, by: ""}) // asks for nothing
		r.wantGone(0, 2*s, 4*s, 6*s, 9*s, 9*s)
	})
}

func TestAFetchOfRobotsTxtGoesBeforeWhatWaits(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for range 3 {
			r.begin(request{Request: Request{Interval: 2 * s, Hold: time.Minute}, by: "page"})
		}
		r.begin(request{Request: Request{Hold: time.Minute}, robots: true, by: "robots"})
		r.wg.Wait()
		r.wantGone(0, 2*s, 4*s, 6*s)
		if r.gone[1].by != "robots" {
			t.Errorf("went in the order %v", r.gone)
		}
	})
}

func TestNothingGoesOutBeforeTheOriginsOwnTime(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{status: 429, after: 60 * s})
		for range 3 {
			r.begin(request{Request: Request{Hold: 2 * time.Minute}})
		}
		r.begin(request{Request: Request{Hold: 3 * s}})
		if f := r.refused; len(f) != 1 || f[0].Cause != RetryAfter || f[0].Retry < 60*s {
			t.Errorf("refused %+v", f)
		}
		r.wg.Wait()
		r.wantGone(0, 60*s, 60*s+500*time.Millisecond, 60*s+750*time.Millisecond)
	})
}

func TestWhatWaitsIsRefusedWhenTheOriginWantsToBeLeftAlone(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{Request: Request{Interval: 2 * s}, takes: s, status: 503, after: 60 * s})
		r.begin(request{Request: Request{Interval: 2 * s, Hold: 3 * s}})
		time.Sleep(s)
		synctest.Wait()
		if f := r.refused; len(f) != 1 || f[0].at != s || f[0].Retry != 60*s {
			t.Errorf("refused %+v", f)
		}
	})
}

func TestWithoutATimeThePauseGrowsAndTheIntervalRecovers(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for _, status := range []int{429, 429, 503, 200, 200, 200, 200, 200, 200, 200, 200} {
			if err := r.do(request{Request: Request{Hold: time.Hour}, status: status}); err != nil {
				t.Fatal(err)
			}
		}
		var gaps []time.Duration
		for i := 1; i < len(r.gone); i++ {
			gaps = append(gaps, r.gone[i].at-r.gone[i-1].at)
		}
		for i, least := range []time.Duration{s, 2 * s, 4 * s} {
			if gaps[i] < least || gaps[i] > least*3/2 {
				t.Errorf("pause %d was %v", i, gaps[i])
			}
		}
		if want := []time.Duration{2 * s, s, s / 2, s / 4, s / 8, s / 16, 0}; !slices.Equal(gaps[3:], want) {
			t.Errorf("recovered by %v, want %v", gaps[3:], want)
		}
	})
}

func TestOfManyRefusalsAtOnceOneCounts(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for range 8 {
			r.begin(request{takes: s, status: 429})
		}
		r.wg.Wait()
		h := r.host("a.example")
		defer h.mu.Unlock()
		if h.words[0].penalty != firstPause {
			t.Errorf("the pause is %v", h.words[0].penalty)
		}
	})
}

func TestSlowAnswersMakeTheIntervalLonger(t *testing.T) {
	inBubble(t, Config{TargetConcurrency: 2}, func(r *rig) {
		_ = r.do(request{takes: 4 * s}) // 2 s each from now on
		r.begin(request{Request: Request{Hold: time.Minute}})
		r.begin(request{Request: Request{Hold: time.Minute}})
		r.wg.Wait()
		r.wantGone(0, 4*s, 5*s) // 2 s, and 1 s once one was quick
	})
}

func TestSoManyAreUnderWayAtAHost(t *testing.T) {
	inBubble(t, Config{PerOrigin: 2}, func(r *rig) {
		for range 6 {
			r.begin(request{Request: Request{Hold: time.Minute}, takes: s})
		}
		r.wg.Wait()
		r.wantGone(0, 0, s, s, 2*s, 2*s)
		r.begin(request{takes: s})
		r.begin(request{takes: s})
		r.begin(request{Request: Request{Hold: s / 2}, takes: s})
		r.wg.Wait()
		if f := r.refused; len(f) != 1 || f[0].Cause != Concurrency || f[0].at != 3*s+s/2+1 {
			t.Errorf("refused %+v", f)
		}
	})
}

func TestSoManyAreUnderWayAtAnAddress(t *testing.T) {
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	where := func(_ context.Context, addr string) ([]netip.Addr, error) {
		switch addr {
		case "both":
			return []netip.Addr{one, other}, nil
		case "other":
			return []netip.Addr{other}, nil
		}
		return []netip.Addr{one}, nil
	}
	inBubble(t, Config{PerAddress: 2, Addresses: where}, func(r *rig) {
		// None end in one moment: of those the order is nobody's.
		for _, one := range []struct {
			name  string
			takes time.Duration
		}{{"a", s}, {"b", 3 * s / 2}, {"c", s}, {"d", s}, {"both", s}, {"other", 6 * s / 5}} {
			r.begin(request{Request: Request{Host: one.name, Addr: one.name, Hold: time.Minute}, takes: one.takes})
		}
		r.wg.Wait()
		var order []string
		for _, g := range r.gone {
			order = append(order, g.host)
		}
		if want := []string{"a", "b", "other", "c", "d", "both"}; !slices.Equal(order, want) {
			t.Errorf("went in the order %v, want %v", order, want)
		}
		r.wantGone(0, 0, 0, s, 3*s/2, 2*s)
	})
}

func TestAClientThatGoesAwayLeavesTheQueue(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{Request: Request{Interval: 2 * s}})
		ctx, leave := context.WithCancel(r.t.Context())
		r.wg.Go(func() {
			if err := r.doCtx(ctx, request{Request: Request{Interval: 2 * s, Hold: time.Minute}}); !errors.Is(err, context.Canceled) {
				t.Errorf("left with %v", err)
			}
		})
		synctest.Wait()
		r.begin(request{Request: Request{Interval: 2 * s, Hold: time.Minute}})
		time.Sleep(s)
		leave()
		r.wg.Wait()
		r.wantGone(0, 2*s)
	})
}

// jain is how fairly turns were shared: 1 is as fairly as can be.
func (r *rig) jain(names ...string) float64 {
	var sum, squares float64
	for _, name := range names {
		n := 0.0
		for _, g := range r.gone {
			if g.by == name {
				n++
			}
		}
		sum += n
		squares += n * n
	}
	return sum * sum / (float64(len(names)) * squares)
}

func TestClientsShareFairly(t *testing.T) {
	type crowd struct {
		by       string
		agents   []string
		requests int           // at a time
		retry    time.Duration // 0: when told
	}
	for _, c := range []struct {
		why    string
		hold   time.Duration
		crowds []crowd
		names  []string
	}{
		{"32 against one, who wait", time.Minute, []crowd{{"a", nil, 32, 0}, {"b", nil, 1, 0}}, []string{"a", "b"}},
		{"32 against four, who are refused", 3 * s, []crowd{{"a", nil, 32, 0}, {"b", nil, 4, 0}}, []string{"a", "b"}},
		{"one that asks all the time against one that comes when told", 3 * s, []crowd{{"a", nil, 4, 10 * time.Millisecond}, {"b", nil, 1, 0}}, []string{"a", "b"}},
		{"a full queue", 10 * time.Minute, []crowd{{"a", nil, 150, s}, {"b", nil, 1, 0}}, []string{"a", "b"}},
		{"two agents of one client", time.Minute, []crowd{{"", []string{"x"}, 16, 0}, {"", []string{"y"}, 2, 0}}, []string{"x", "y"}},
	} {
		inBubble(t, Config{}, func(r *rig) {
			ctx, stop := context.WithTimeout(r.t.Context(), 10*time.Minute)
			defer stop()
			for _, w := range c.crowds {
				for i := range w.requests {
					agent := ""
					if len(w.agents) > 0 {
						agent = w.agents[i%len(w.agents)]
					}
					r.wg.Go(func() {
						for ctx.Err() == nil {
							err := r.doCtx(ctx, request{Request: Request{Interval: 2 * s, Hold: c.hold}, by: w.by, agent: agent})
							var refusal *Refusal
							switch {
							case !errors.As(err, &refusal):
							case w.retry > 0:
								time.Sleep(w.retry)
							default:
								time.Sleep(refusal.Retry)
							}
						}
					})
				}
			}
			r.wg.Wait()
			r.wantGaps(2 * s)
			if j := r.jain(c.names...); j < 0.95 {
				t.Errorf("%s: Jain's index is %.3f", c.why, j)
			}
			if n := len(r.gone); n < 270 {
				t.Errorf("%s: %d of 300 turns were taken", c.why, n)
			}
		})
	}
}

func TestWhoTakesManyNamesHasNoMoreTurns(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		ctx, stop := context.WithTimeout(r.t.Context(), 10*time.Minute)
		defer stop()
		for i := range 60 {
			r.wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_ = r.doCtx(ctx, request{Request: Request{Interval: 2 * s, Hold: time.Minute}, by: "many", agent: string(rune('a'+i)) + string(rune('a'+n%20))})
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		r.wg.Go(func() {
			for ctx.Err() == nil {
				if err := r.doCtx(ctx, request{Request: Request{Interval: 2 * s, Hold: time.Minute}, by: "one"}); err != nil {
					time.Sleep(100 * time.Millisecond) // else it would ask for ever in this moment
				}
			}
		})
		r.wg.Wait()
		n := 0
		for _, g := range r.gone {
			if g.by == "one" {
				n++
			}
		}
		if n < 135 || n > 165 {
			t.Errorf("the one had %d of %d turns", n, len(r.gone))
		}
	})
}

func TestASiteThatAsksForMoreThanItIsGrantedIsToldOfOnce(t *testing.T) {
	var told []time.Duration
	inBubble(t, Config{MaxDelay: 10 * s, Cut: func(_ string, asked, granted time.Duration) { told = append(told, asked, granted) }}, func(r *rig) {
		for range 3 {
			_ = r.do(request{Request: Request{Interval: time.Hour, Hold: time.Minute}})
		}
		r.wantGone(0, 10*s, 20*s)
		if want := []time.Duration{time.Hour, 10 * s}; !slices.Equal(told, want) {
			t.Errorf("told of %v, want %v", told, want)
		}
	})
}

func TestAnIdleHostIsForgotten(t *testing.T) {
	inBubble(t, Config{PerAddress: 1, Addresses: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}}, func(r *rig) {
		_ = r.do(request{Request: Request{Interval: 2 * s}})
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := r.hosts.Size(); n != 0 {
			t.Errorf("%d hosts are remembered", n)
		}
		if n := len(r.addresses.byPrefix); n != 0 {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

func TestAHostThatWantsToBeLeftAloneIsNotForgotten(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		_ = r.do(request{status: 429, after: time.Hour})
		time.Sleep(30 * time.Minute)
		if err := r.do(request{}); err == nil {
			t.Error("it was asked again")
		}
	})
}
