package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// robotsLog is when the robots.txt of each host was asked for.
type robotsLog struct {
	mu    sync.Mutex
	times map[string][]time.Time
}

func (l *robotsLog) note(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[host] = append(l.times[host], time.Now())
}

func (l *robotsLog) of(host string) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Time(nil), l.times[host]...)
}

// kill ends heed as a power cut does, and waits until it is gone.
func (h *heed) kill(t testing.TB) {
	t.Helper()
	if err := h.Cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-h.Done
}

// TestKilledUnderLoadHeedFetchesNothingTwice that it had for more than a second
// when it was killed; and what was denied before stays denied.
func TestKilledUnderLoadHeedFetchesNothingTwice(t *testing.T) {
	asked := robotsLog{times: map[string][]time.Time{}}
	o := newOrigin(t, nil, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, r *http.Request) {
			asked.note(r.Host)
			_, _ = fmt.Fprintf(w, "# %s\nUser-agent: *\nDisallow: /private\n", r.Host) // the asker may be gone
		},
	})
	state := filepath.Join(t.TempDir(), "state")
	flags := append([]string{"--state-dir", state}, o.connectTo()...)
	fresh := 0 // hosts that were never asked for begin here
	for round := range 2 {
		h := startUnattended(t, flags...)
		for i := range fresh {
			if a := get(t, h, fmt.Sprintf("http://h%d.example/private", i)); a.status != 403 {
				t.Fatalf("round %d: h%d.example: %s", round, i, a.reason)
			}
		}
		time.AfterFunc(2500*time.Millisecond, func() { _ = h.Cmd.Process.Signal(syscall.SIGKILL) })
		for done := false; !done; fresh++ {
			select {
			case <-h.Done:
				done = true
			default:
				host := fmt.Sprintf("h%d.example", fresh)
				c := &rawConn{addr: h.Proxy}
				_, _ = c.once("GET", []byte("GET http://"+host+"/private HTTP/1.1\r\nHost: "+host+"\r\n\r\n")) // heed may be dead by now
				c.drop()
			}
		}
		ended := time.Now()
		h = startUnattended(t, flags...)
		if took := time.Since(ended); took > 5*time.Second {
			t.Errorf("round %d: it was up again after %v", round, took)
		}
		again, due := 0, 0
		for i := range fresh {
			host := fmt.Sprintf("h%d.example", i)
			before := asked.of(host)
			if a := get(t, h, "http://"+host+"/private"); a.status != 403 {
				t.Errorf("round %d: %s: %s", round, host, a.reason)
			}
			after := asked.of(host)
			if len(after) == len(before) {
				continue
			}
			again++
			if len(before) > 0 && ended.Sub(before[len(before)-1]) > time.Second {
				due++
			}
		}
		t.Logf("round %d: %d hosts known, %d fetched again", round, fresh, again)
		if due > 0 {
			t.Errorf("round %d: %d of %d hosts were fetched again although they had been known for more than a second", round, due, fresh)
		}
		h.kill(t)
		if bytes.Contains([]byte(h.Log.String()), []byte("set aside")) {
			t.Errorf("round %d: the file was damaged by the kill\n%s", round, h.Log.Tail(20))
		}
	}
}

// startUnattended starts a heed that the test ends by itself.
func startUnattended(t *testing.T, flags ...string) *heed {
	t.Helper()
	return start(t, func(h *heed, _ testing.TB) { _ = h.Cmd.Process.Kill(); <-h.Done }, nil, flags...) // it may be gone
}
