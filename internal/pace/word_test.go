package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOriginSpeaksForItsPort(t *testing.T) {
	for _, c := range []struct {
		why          string
		says, others string // ports
		want         time.Duration
	}{
		{"the same port", "8000", "8000", 60 * s},
		{"at another port another server may answer", "8000", "8001", 0},
		{"http and https, where no port is written, are one", "80", "443", 60 * s},
		{"and the other way", "443", "80", 60 * s},
		{"a port that is written is not the one that is not", "80", "8080", 0},
	} {
		inBubble(t, Config{}, func(r *rig) {
			r.begin(request{Request: Request{Port: c.says}, status: 429, after: 60 * s})
			r.begin(request{Request: Request{Port: c.others, Hold: 2 * time.Minute}})
			r.wg.Wait()
			if at := r.gone[1].at; at != c.want {
				t.Errorf("%s: went out at %v, want %v", c.why, at, c.want)
			}
		})
	}
}

// What is kept waiting by its own origin's word keeps nobody else waiting.
func TestOthersGoPastWhatItsOriginHolds(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{Request: Request{Port: "8000"}, status: 503, after: 60 * s})
		r.begin(request{Request: Request{Port: "8000", Hold: 2 * time.Minute}})
		for range 3 {
			r.begin(request{Request: Request{Port: "8001", Interval: 2 * s, Hold: time.Minute}})
		}
		if held, _ := r.HostState("a.example"); held.Waiting != 3 || time.Duration(held.Next) != 2*s || time.Duration(held.Held) != 60*s {
			t.Errorf("the state is %+v", held)
		}
		r.begin(request{Request: Request{Port: "8001", Interval: 2 * s, Hold: s}})
		r.wg.Wait()
		r.wantGone(0, 0, 2*s, 4*s, 60*s)
		if f := r.refused; len(f) != 1 || f[0].Cause != Site || f[0].Retry != 6*s {
			t.Errorf("refused %+v", f)
		}
	})
}

func TestTheWordOfAHostIsForgottenAfterAWhile(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		r.begin(request{Request: Request{Port: "8000"}, status: 503})
		time.Sleep(longestPause + forgiven + 2*sweepEvery)
		synctest.Wait()
		if n := r.hosts.Size(); n != 0 {
			t.Errorf("%d hosts are remembered", n)
		}
	})
}
