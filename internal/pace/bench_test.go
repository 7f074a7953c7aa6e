package pace

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

// BenchmarkUnpaced is what a request costs that nobody asks to wait.
func BenchmarkUnpaced(b *testing.B) {
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"no bounds", Config{}},
		{"bounds", Config{PerOrigin: 8, PerAddress: 16, Addresses: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := New(c.config)
			defer p.Close()
			q := Request{At: time.Now(), Host: "www.example.com", Addr: "www.example.com:443", Hold: 3 * time.Second, By: Asker{Addr: netip.MustParseAddr("127.0.0.1"), Agent: "curl"}}
			ctx := b.Context()
			var turn Turn
			b.ReportAllocs()
			for b.Loop() {
				if p.Ask(ctx, &turn, q) != nil || turn.Wait(ctx) != nil {
					b.Fatal("refused")
				}
				if turn.Send(ctx) != nil {
					b.Fatal("refused")
				}
				turn.Answered(200, 0)
				turn.End()
			}
		})
	}
}

// BenchmarkRefused is what a request costs that comes too early to a host where
// some wait.
func BenchmarkRefused(b *testing.B) {
	for _, waiting := range []int{0, 10, 100} {
		b.Run(strconv.Itoa(waiting), func(b *testing.B) {
			p := New(Config{MaxDelay: time.Hour, Queue: 1000})
			defer p.Close()
			ctx := b.Context()
			turns := make([]Turn, waiting+1)
			for i := range turns {
				if p.Ask(ctx, &turns[i], Request{Host: "a.example", Interval: time.Hour, Hold: 2000 * time.Hour}) != nil {
					b.Fatal("refused")
				}
			}
			if err := turns[0].Send(ctx); err != nil {
				b.Fatal(err)
			}
			var turn Turn
			b.ReportAllocs()
			for b.Loop() {
				if p.Ask(ctx, &turn, Request{Host: "a.example", Interval: time.Hour, Hold: time.Second}) == nil {
					b.Fatal("granted")
				}
			}
		})
	}
}

// BenchmarkPaced is a request with an interval that is over when it comes.
func BenchmarkPaced(b *testing.B) {
	p := New(Config{PerOrigin: 8})
	defer p.Close()
	q, ctx := Request{Host: "a.example", Interval: time.Nanosecond, Hold: 3 * time.Second}, b.Context()
	var turn Turn
	b.ReportAllocs()
	for b.Loop() {
		if p.Ask(ctx, &turn, q) != nil || turn.Wait(ctx) != nil {
			b.Fatal("refused")
		}
		_ = turn.Send(ctx)
		turn.Answered(200, 0)
		turn.End()
	}
}

// BenchmarkState is what it costs to look at 10,000 hosts where requests are
// under way.
func BenchmarkState(b *testing.B) {
	p := New(Config{})
	defer p.Close()
	turns := make([]Turn, 10_000)
	for i := range turns {
		if p.Ask(b.Context(), &turns[i], Request{Host: strconv.Itoa(i) + ".example"}) != nil {
			b.Fatal("refused")
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if p.State(100).Active != len(turns) {
			b.Fatal("not all are there")
		}
	}
}
