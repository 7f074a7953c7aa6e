package quota

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// noon of a day, a moment from which tests go on.
var noon = moment{wall: 20_000*wholeDay + wholeDay/2, mono: 1000}

func (m moment) plus(d time.Duration) moment {
	return moment{m.wall + int64(d), m.mono + int64(d)}
}

// set is m with the wall clock set forward, or back.
func (m moment) set(d time.Duration) moment { return moment{m.wall + int64(d), m.mono} }

func account(l Limits) *Account { return newAccount(Client{"a", l}, noon) }

// letIn takes and arrives at once, n times, and returns how often it was let in.
func letIn(a *Account, n int, now moment) (in int) {
	for range n {
		if p, _, ok := a.take(now); ok {
			a.arrived(&p, now)
			in++
		}
	}
	return in
}

func TestMinuteSlides(t *testing.T) {
	a := account(Limits{Minute: 3})
	for _, step := range []struct {
		after time.Duration // since noon
		asks  int
		in    int
		why   string
	}{
		{0, 1, 1, "the first"},
		{30 * time.Second, 5, 2, "two more are left"},
		{time.Minute - 1, 1, 0, "the first is a nanosecond short of a minute old"},
		{time.Minute, 5, 1, "it is a minute old, the others are not"},
		{90*time.Second - 1, 1, 0, "a nanosecond early"},
		{90 * time.Second, 5, 2, "those of half a minute ago"},
		{time.Hour, 5, 3, "all are forgotten"},
	} {
		if in := letIn(a, step.asks, noon.plus(step.after)); in != step.in {
			t.Errorf("after %s: %d of %d were let in, want %d: %s", step.after, in, step.asks, step.in, step.why)
		}
	}
}

func TestMinuteBeginsWhenTheRequestHasArrived(t *testing.T) {
	a := account(Limits{Minute: 1})
	p, _, _ := a.take(noon)
	if _, s, ok := a.take(noon.plus(time.Hour)); ok || s.Rest() != time.Minute {
		t.Errorf("%t, %s: one that is under way counts, and a minute of it is to come", ok, s.Rest())
	}
	a.arrived(&p, noon.plus(time.Hour))
	for _, row := range []struct {
		after time.Duration
		rest  time.Duration
		ok    bool
	}{
		{time.Hour, time.Minute, false},
		{time.Hour + time.Minute - 1, 1, false},
		{time.Hour + time.Minute, 0, true},
	} {
		if _, s, ok := a.take(noon.plus(row.after)); ok != row.ok || s.Rest() != row.rest {
			t.Errorf("after %s: %t, %s", row.after, ok, s.Rest())
		}
	}
}

func TestWhatIsReturnedWasNeverTaken(t *testing.T) {
	a := account(Limits{Minute: 1, Day: 1})
	for range 3 {
		p, _, ok := a.take(noon)
		if !ok {
			t.Fatal("nothing is used")
		}
		a.giveBack(&p, noon)
		a.giveBack(&p, noon)
		a.arrived(&p, noon)
	}
	if s := a.state(noon); s.Limits[Minute].Left != 1 || s.Limits[Day].Left != 1 {
		t.Errorf("left are %+v", s)
	}
	p, _, _ := a.take(noon)
	a.arrived(&p, noon)
	a.giveBack(&p, noon)
	if s := a.state(noon); s.Limits[Minute].Left != 0 || s.Limits[Day].Left != 0 {
		t.Errorf("what has arrived cannot be returned: left are %+v", s)
	}
}

func TestReturnOfYesterdayFreesNothingToday(t *testing.T) {
	a := account(Limits{Day: 1})
	yesterday, _, _ := a.take(noon)
	today := noon.plus(24 * time.Hour)
	letIn(a, 1, today)
	a.giveBack(&yesterday, today)
	if s := a.state(today); s.Limits[Day].Left != 0 {
		t.Errorf("left are %+v", s)
	}
}

func TestRefusedRequestsUseUpNothing(t *testing.T) {
	a := account(Limits{Minute: 1, Day: 2})
	if in := letIn(a, 100, noon); in != 1 {
		t.Fatalf("%d", in)
	}
	s := a.state(noon)
	if s.Limits[Day].Left != 1 || s.Limits[Minute].Refused != 99 || s.Limits[Day].Refused != 0 {
		t.Errorf("%+v", s)
	}
	if in := letIn(a, 1, noon.plus(time.Minute)); in != 1 {
		t.Error("the 99 that were refused count")
	}
}

func TestOctetsAreCountedAtTheEnd(t *testing.T) {
	a := account(Limits{Bytes: 100})
	for range 2 {
		if _, _, ok := a.take(noon); !ok {
			t.Fatal("nothing is carried yet")
		}
	}
	a.carried(99, noon)
	if _, _, ok := a.take(noon); !ok {
		t.Error("an octet is left")
	}
	a.carried(1000, noon) // what is under way is not cut off
	if _, s, ok := a.take(noon); ok || s.Limits[Bytes].Left != 0 {
		t.Errorf("%t, %+v", ok, s)
	}
	midnight := noon.plus(12 * time.Hour)
	a.carried(7, midnight)
	if s := a.state(midnight); s.Limits[Bytes].Left != 93 {
		t.Errorf("%+v: what ends today counts today", s)
	}
}

func TestDayEndsAtMidnightInUTC(t *testing.T) {
	const twelve = 12 * time.Hour
	for _, row := range []struct {
		name string
		now  moment
		in   int
		rest time.Duration // when nothing is left
	}{
		{"the same moment", noon, 0, twelve},
		{"a nanosecond before midnight", noon.plus(twelve - 1), 0, 1},
		{"midnight", noon.plus(twelve), 1, 24 * time.Hour},
		{"the machine slept over midnight: one clock stood", noon.plus(time.Hour).set(twelve), 1, 23 * time.Hour},
		{"set back within the day", noon.plus(time.Hour).set(-6 * time.Hour), 0, 17 * time.Hour},
		{"set back to the day before", noon.plus(time.Hour).set(-24 * time.Hour), 0, 11 * time.Hour},
		{"set back by years", noon.plus(time.Hour).set(-9000 * time.Hour), 0, 11 * time.Hour},
		{"the same, a nanosecond before what should be midnight", noon.plus(twelve - 1).set(-9000 * time.Hour), 0, 1},
		{"the same, when the day should be over", noon.plus(twelve).set(-9000 * time.Hour), 1, 24 * time.Hour},
		{"set back to the day before, and through that to this one", noon.plus(13 * time.Hour).set(-13 * time.Hour), 0, twelve},
	} {
		a := account(Limits{Day: 1})
		letIn(a, 1, noon)
		if in := letIn(a, 2, row.now); in != row.in {
			t.Errorf("%s: %d were let in, want %d", row.name, in, row.in)
		}
		if rest := a.state(row.now).Rest(); rest != row.rest {
			t.Errorf("%s: the next in %s, want %s", row.name, rest, row.rest)
		}
	}
}

func TestClockThatJumpsHoldsNobodyForLong(t *testing.T) {
	a := account(Limits{Day: 1})
	ahead := noon.set(10 * 365 * 24 * time.Hour)
	if in := letIn(a, 2, ahead); in != 1 {
		t.Fatalf("%d", in)
	}
	back := noon.plus(time.Minute)
	if in := letIn(a, 1, back); in != 0 {
		t.Error("the clock set back has renewed the day")
	}
	if in := letIn(a, 2, noon.plus(24*time.Hour)); in != 1 {
		t.Errorf("a day later %d were let in", in)
	}
}

func TestClockDoesNotMoveTheMinute(t *testing.T) {
	for _, set := range []time.Duration{time.Hour, -time.Hour} {
		a := account(Limits{Minute: 1})
		letIn(a, 1, noon)
		if in := letIn(a, 1, noon.plus(time.Minute-1).set(set)); in != 0 {
			t.Errorf("set by %s: the minute is not over", set)
		}
		if in := letIn(a, 1, noon.plus(time.Minute).set(set)); in != 1 {
			t.Errorf("set by %s: the minute is over", set)
		}
	}
}

func TestLateMomentIsNoEarlierOne(t *testing.T) {
	a := account(Limits{Minute: 2, Day: 2})
	letIn(a, 1, noon.plus(12*time.Hour)) // somebody else was first to the lock
	if in := letIn(a, 3, noon.plus(12*time.Hour-1)); in != 1 {
		t.Errorf("%d were let in on a day that was over", in)
	}
	if in := letIn(a, 1, noon.plus(12*time.Hour+time.Minute-1)); in != 0 {
		t.Error("an arrival was noted before the one that came first")
	}
}

func TestNoAccountLetsEverythingIn(t *testing.T) {
	var a *Account
	p, _, ok := a.Take(time.Now())
	a.Arrived(&p, time.Now())
	a.Return(&p, time.Now())
	a.Carried(1, time.Now())
	if !ok || a.State(time.Now()) != (State{}) {
		t.Error("a client without a quota has one")
	}
}

func TestExactlyWhatIsLeftIsLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const left, each = 1000, 100
		a := newAccount(Client{"a", Limits{Minute: left, Day: 5 * left}}, momentOf(time.Now()))
		for round := range 6 {
			var in atomic.Int64
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					for n := range each {
						p, _, ok := a.Take(time.Now())
						if !ok {
							continue
						}
						if (i+n)%3 == 0 { // and takes of others come in between
							a.Return(&p, time.Now())
							continue
						}
						a.Arrived(&p, time.Now())
						a.Carried(1, time.Now())
						in.Add(1)
					}
				})
			}
			all.Wait()
			want := int64(left)
			if round == 5 {
				want = 0 // of the day
			}
			if in.Load() != want {
				t.Fatalf("minute %d: %d were let in, want %d", round, in.Load(), want)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestTakeAllocatesNothing(t *testing.T) {
	a := account(Limits{Minute: 100, Day: 1 << 40, Bytes: 1 << 50})
	now := noon
	letIn(a, 100, now)
	if n := testing.AllocsPerRun(1000, func() {
		now = now.plus(time.Second)
		p, _, _ := a.take(now)
		a.arrived(&p, now)
		a.carried(1, now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	letIn(a, 200, now)
	if n := testing.AllocsPerRun(1000, func() { _, _, _ = a.take(now) }); n != 0 {
		t.Errorf("%v allocations for a refusal", n)
	}
}

func BenchmarkTake(b *testing.B) {
	a := account(Limits{Minute: 6_000_000, Day: 1 << 50, Bytes: 1 << 60})
	now := noon
	b.ReportAllocs()
	for b.Loop() {
		now.mono += int64(time.Millisecond)
		p, _, ok := a.take(now)
		if !ok {
			b.Fatal("refused")
		}
		a.arrived(&p, now)
		a.carried(1000, now)
	}
}

// naive is what an Account should be, with everything in lists.
type naive struct {
	limits   Limits
	underWay int64
	arrivals []int64
	day      int64
	requests int64
	octets   int64
}

func (m *naive) ask(now moment) bool {
	inMinute := m.underWay
	for _, at := range m.arrivals {
		if now.mono-at < minute {
			inMinute++
		}
	}
	if today := now.wall / wholeDay; today > m.day {
		m.day, m.requests, m.octets = today, 0, 0
	}
	return (m.limits[Minute] == 0 || inMinute < m.limits[Minute]) &&
		(m.limits[Day] == 0 || m.requests < m.limits[Day]) &&
		(m.limits[Bytes] == 0 || m.octets < m.limits[Bytes])
}

// FuzzAccount compares an Account with the naive one, over any order of what can
// happen while the clock is not set.
func FuzzAccount(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		steps := make([]byte, 400)
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		f.Add(byte(random.Uint32()%9), byte(random.Uint32()%20), byte(random.Uint32()), steps)
	}
	f.Fuzz(func(t *testing.T, perMinute, perDay, octets byte, steps []byte) {
		limits := Limits{int64(perMinute), int64(perDay), int64(octets)}
		a, m, now := account(limits), &naive{limits: limits, day: noon.wall / wholeDay}, noon
		var under []Pass
		for i, step := range steps[:min(len(steps), 1000)] { // each looks at all before it
			now = now.plus(time.Duration(step>>3) * []time.Duration{0, 1, time.Millisecond, time.Second, 10 * time.Second, time.Hour}[step%6])
			switch pick := len(under); {
			case step&1 == 0 || pick == 0:
				want := m.ask(now)
				p, s, ok := a.take(now)
				if ok != want {
					t.Fatalf("step %d: %t, want %t: %+v, of %+v", i, ok, want, m, limits)
				}
				if ok {
					m.underWay++
					m.requests++
					under = append(under, p)
					continue
				}
				later := now.plus(s.Rest() - 1)
				if copied := *m; copied.ask(later) {
					t.Fatalf("step %d: more is left before %s are over: %+v", i, s.Rest(), s)
				}
				if copied := *m; copied.underWay == 0 && !copied.ask(now.plus(s.Rest())) {
					t.Fatalf("step %d: nothing is left when %s are over: %+v", i, s.Rest(), s)
				}
			default:
				n := int(step) % pick
				p := under[n]
				under = append(under[:n], under[n+1:]...)
				m.ask(now)
				m.underWay--
				if step&6 == 0 {
					a.giveBack(&p, now)
					if int64(p.day) == m.day {
						m.requests--
					}
					continue
				}
				a.arrived(&p, now)
				a.carried(int64(step), now)
				m.arrivals = append(m.arrivals, now.mono)
				m.octets += int64(step)
			}
		}
	})
}
