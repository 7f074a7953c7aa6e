package proxy

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestConnectionsToAnOriginAreKept: goproxy keeps two (proxy.go:176), so that
// the next of many requests at once connect anew.
func TestConnectionsToAnOriginAreKept(t *testing.T) {
	const many = 16
	var mu sync.Mutex
	conns, waiting, round := map[string]bool{}, 0, make(chan struct{})
	o := newOrigin(t, func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		conns[req.RemoteAddr] = true
		if waiting++; waiting == many { // all at once, so that none takes the connection of another
			close(round)
			waiting, round = 0, make(chan struct{})
			mu.Unlock()
			return
		}
		all := round
		mu.Unlock()
		select {
		case <-all:
		case <-time.After(patience):
			t.Error("the requests do not come at once")
		}
	})
	r := start(t)
	for range 3 {
		var requests sync.WaitGroup
		for range many {
			requests.Go(func() {
				if a := r.get(t, o+"/"); a.StatusCode != 200 {
					t.Errorf("%s: %s", a.Status, a.body)
				}
			})
		}
		requests.Wait()
	}
	if len(conns) >= 2*many { // one more now and then, where the next request comes before a connection is put back
		t.Errorf("%d connections were made for %d requests at a time", len(conns), many)
	}
}

// TestAnswersAreCopiedWithPooledBuffers: net/http allocates 32 KiB for each
// (server.go:589).
func TestAnswersAreCopiedWithPooledBuffers(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	body := strings.Repeat("x", 100_000)
	took := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		w := &responseWriter{ResponseWriter: nowhere{}}
		for b.Loop() {
			n, err := io.Copy(w, io.LimitReader(strings.NewReader(body), int64(len(body))))
			if err != nil || n != int64(len(body)) {
				b.Fatal(n, err)
			}
		}
	})
	if n := took.AllocedBytesPerOp(); n > 4<<10 {
		t.Errorf("a copy allocates %d octets", n)
	}
}

// nowhere is a client that takes everything.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
