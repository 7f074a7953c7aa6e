package pace

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestStateTellsWhoWaitsForWhat: one host of each kind, and those who wait for
// the longest time first.
func TestStateTellsWhoWaitsForWhat(t *testing.T) {
	inBubble(t, Config{PerOrigin: 1, MinInterval: s}, func(r *rig) {
		paced := Request{Host: "delay.example", Interval: 2 * s, Hold: time.Minute}
		for range 3 {
			r.begin(request{Request: paced, by: "a"})
		}
		r.begin(request{Request: paced, by: "b"})
		time.Sleep(500 * time.Millisecond)
		r.begin(request{Request: Request{Host: "rate.example", Interval: 4 * s, Asks: Rate, Hold: time.Minute}})
		r.begin(request{Request: Request{Host: "rate.example", Interval: 4 * s, Asks: Rate, Hold: time.Minute}, by: "c"})
		r.begin(request{Request: Request{Host: "busy.example", Hold: time.Minute}, takes: 9 * s})
		r.begin(request{Request: Request{Host: "held.example", Hold: time.Minute}, status: 429, after: 20 * s})
		r.begin(request{Request: Request{Host: "idle.example"}})
		time.Sleep(500 * time.Millisecond)
		r.begin(request{Request: Request{Host: "busy.example", Hold: time.Minute}, by: "d"})

		want := State{Known: 5, Active: 4, Held: 1, Waiting: 5, Hosts: []Host{
			{
				Host: "delay.example", Waiting: 3, Longest: Seconds(s), Interval: Seconds(2 * s), Cause: "crawl-delay", Next: Seconds(s),
				Clients: []Waiters{{"a", 2}, {"b", 1}}, Sharers: 2,
			},
			{
				Host: "rate.example", Waiting: 1, Longest: Seconds(500 * time.Millisecond), Interval: Seconds(4 * s), Cause: "request-rate", Next: Seconds(3500 * time.Millisecond),
				Clients: []Waiters{{"c", 1}}, Sharers: 1,
			},
			{Host: "held.example", Held: Seconds(19500 * time.Millisecond), Told: true, Interval: Seconds(s), Cause: "retry-after", Penalty: Seconds(s)},
			{
				Host: "busy.example", UnderWay: 1, Waiting: 1, Interval: Seconds(s), Cause: "min-interval", Next: Seconds(550 * time.Millisecond),
				Clients: []Waiters{{"d", 1}}, Sharers: 1,
			},
		}}
		got := r.State(10)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the state is\n%+v, want\n%+v", got, want)
		}
		time.Sleep(s)
		if h, known := r.HostState("busy.example"); !known || h.Cause != "concurrency" || h.Next != 0 || h.Longest != Seconds(s) {
			t.Errorf("%+v: it waits for the other one to end, and nobody knows when that is", h)
		}
		if h, known := r.HostState("idle.example"); !known || h.Waiting+h.UnderWay != 0 {
			t.Errorf("%+v, %v: of a host that is asked for by name all is told", h, known)
		}
		if _, known := r.HostState("none.example"); known {
			t.Error("a host that nobody asked")
		}
	})
}

func TestStateHasAsManyHostsAsAreAskedFor(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		for i := range 50 {
			name := fmt.Sprintf("%02d.example", i)
			r.begin(request{Request: Request{Host: name, Interval: 30 * s, Hold: time.Minute}})
			r.begin(request{Request: Request{Host: name, Interval: 30 * s, Hold: time.Minute}})
			time.Sleep(time.Millisecond)
		}
		for _, limit := range []int{1, 7, 50, 90} {
			got := r.State(limit)
			if len(got.Hosts) != min(limit, 50) || got.Active != 50 || got.Waiting != 50 {
				t.Errorf("of 50 hosts, %d asked for, there are %d; %d are active, %d requests wait", limit, len(got.Hosts), got.Active, got.Waiting)
			}
			for i, h := range got.Hosts {
				if want := fmt.Sprintf("%02d.example", i); h.Host != want {
					t.Errorf("at %d of %d stands %s, want %s: who waits for the longest time is first", i, limit, h.Host, want)
				}
			}
		}
		if got := r.State(0); len(got.Hosts) != 0 || got.Waiting != 50 {
			t.Errorf("%d hosts for 0, %d wait", len(got.Hosts), got.Waiting)
		}
	})
}

// TestStateIsReadWhileRequestsGoOut is for the race detector.
func TestStateIsReadWhileRequestsGoOut(t *testing.T) {
	inBubble(t, Config{PerOrigin: 2}, func(r *rig) {
		for i := range 20 {
			r.wg.Go(func() {
				_ = r.do(request{Request: Request{Host: fmt.Sprint(i % 3), Interval: time.Duration(i%2) * s, Hold: time.Minute}, by: fmt.Sprint(i % 5), takes: s})
			})
		}
		for range 40 {
			time.Sleep(100 * time.Millisecond)
			for _, h := range r.State(2).Hosts {
				if _, known := r.HostState(h.Host); !known {
					t.Errorf("%s is not known", h.Host)
				}
			}
		}
	})
}

func TestSecondsAreNumbersInJSON(t *testing.T) {
	for _, row := range []struct {
		is   time.Duration
		text string
		why  string
	}{
		{0, "0", "nothing"},
		{2 * s, "2", "whole"},
		{1234567890, "1.235", "to the millisecond"},
		{36 * time.Hour, "129600", "no exponent"},
	} {
		text, err := json.Marshal(Seconds(row.is))
		if err != nil || string(text) != row.text {
			t.Errorf("%v is %s, %v, want %s: %s", row.is, text, err, row.text, row.why)
		}
		var back Seconds
		if err := json.Unmarshal(text, &back); err != nil || back != Seconds(row.is.Round(time.Millisecond)) {
			t.Errorf("%s is read as %v, %v: %s", text, back, err, row.why)
		}
	}
	if err := json.Unmarshal([]byte(`"2"`), new(Seconds)); err == nil {
		t.Error("a text is no number")
	}
}

// TestHundredThousandHostsTakeLittleAndGo: 64 MiB is what they may take, with a
// request of each that went out and keeps the next from going.
func TestHundredThousandHostsTakeLittleAndGo(t *testing.T) {
	const hosts, most = 100_000, 64 << 20
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{PerOrigin: 8})
		defer p.Close()
		names := make([]string, hosts)
		for i := range names {
			names[i] = fmt.Sprintf("host-%06d.example", i)
		}
		before := heap()
		for _, name := range names {
			goOut(t, p, name)
		}
		took := heap() - before
		t.Logf("%d octets a host", took/hosts)
		if took > most {
			t.Errorf("%d paced hosts take %d MiB, want at most %d", hosts, took>>20, most>>20)
		}
		if n := p.State(0).Known; n != hosts {
			t.Errorf("%d hosts are known, want %d", n, hosts)
		}
		time.Sleep(30*s + 2*sweepEvery)
		if n := p.State(0).Known; n != 0 {
			t.Errorf("%d hosts are known though nobody asks", n)
		}
		if left := heap() - before; left > most/8 {
			t.Errorf("they are gone, and %d KiB are not", left>>10)
		}
		runtime.KeepAlive(names)
	})
}

// TestHostsWhereRequestsHadToWaitTakeLittle: shares and a timer are left of them.
func TestHostsWhereRequestsHadToWaitTakeLittle(t *testing.T) {
	const hosts, most = 20_000, 64 << 20 / 5
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{PerOrigin: 8})
		defer p.Close()
		names := make([]string, hosts)
		for i := range names {
			names[i] = fmt.Sprintf("host-%06d.example", i)
		}
		before := heap()
		for _, name := range names {
			goOut(t, p, name)
			var turn Turn
			if err := p.Ask(t.Context(), &turn, Request{Host: name, By: Asker{Client: "a"}, Interval: 30 * s, Hold: time.Minute}); err != nil {
				t.Fatal(err)
			}
			turn.End()
		}
		took := heap() - before
		t.Logf("%d octets a host", took/hosts)
		if took > most {
			t.Errorf("%d paced hosts take %d MiB, want at most %d", hosts, took>>20, int(most)>>20)
		}
		runtime.KeepAlive(names)
		time.Sleep(30*s + 2*sweepEvery)
	})
}

func goOut(t *testing.T, p *Pacer, host string) {
	t.Helper()
	var turn Turn
	if err := p.Ask(t.Context(), &turn, Request{Host: host, Interval: 30 * s, Hold: 3 * s}); err != nil {
		t.Fatal(err)
	}
	_ = turn.Send(t.Context())
	turn.Answered(200, 0)
	turn.End()
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what has finalizers goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
