package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/origin"
	"heed/internal/roundtrip"
	"heed/policy"
)

// turns notes what is done with the turns that it gives.
type turns struct {
	mu   sync.Mutex
	done []string
	err  error
	wait time.Duration
	late error // of a turn that came, and has passed

	blind  bool          // it cannot be told when a turn comes
	learns time.Duration // after which it is known when it comes
	pushed time.Duration // by how much later it comes than it was said in the beginning
}

func (s *turns) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, fmt.Sprintf(format, args...))
}

func (s *turns) of(_ context.Context, o origin.Origin) (Turn, error) {
	s.note("ask %s", o.Host)
	if s.err != nil {
		return nil, s.err
	}
	return &turn{s, o.Host, time.Now()}, nil
}

type turn struct {
	*turns
	host  string
	asked time.Time
}

func (t *turn) Waits() bool { return t.wait > 0 }

func (t *turn) Wait(ctx context.Context) error {
	select {
	case <-time.After(t.wait + t.pushed):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *turn) Due() (time.Duration, error) {
	in := t.wait - time.Since(t.asked)
	if in <= 0 {
		in += t.pushed
	}
	if in <= 0 || time.Since(t.asked) < t.learns {
		return 0, nil
	}
	if t.blind {
		return 0, early{}
	}
	return in, early{}
}

func (t *turn) Send(context.Context) error {
	t.note("sent %s", t.host)
	return t.late
}

func (t *turn) Answered(status int, after time.Duration) {
	t.note("answered %s %d %v", t.host, status, after)
}
func (t *turn) End() { t.note("end %s", t.host) }

func TestEachRequestForARobotsTxtHasATurn(t *testing.T) {
	s := new(turns)
	pages := site(map[string]string{first: "301 https://b.example/r", "https://b.example/r": "503"})
	f := newFetcher(t, Config{Turn: s.of, Transport: script(func(r *http.Request) (*http.Response, error) {
		s.note("GET %s", r.URL.Host)
		resp, err := pages.RoundTrip(r)
		if resp.StatusCode == http.StatusServiceUnavailable {
			resp.Header.Set("Retry-After", "7")
		}
		return resp, err
	})})
	_ = snapshot(t, f, at(t, "a.example"))
	want := []string{
		"ask a.example", "GET a.example", "answered a.example 301 0s", "end a.example",
		"ask b.example", "GET b.example", "answered b.example 503 7s", "end b.example",
	}
	if !slices.Equal(s.done, want) {
		t.Errorf("it went %q, want %q", s.done, want)
	}
}

func TestAConnectionTellsThatTheRequestGoesOut(t *testing.T) {
	s := new(turns)
	h := newHostile(t, write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
	f := newFetcher(t, Config{Turn: s.of, Transport: realTransport(t)})
	_ = snapshot(t, f, h.origin)
	if want := []string{"ask 127.0.0.1", "sent 127.0.0.1", "answered 127.0.0.1 404 0s", "end 127.0.0.1"}; !slices.Equal(s.done, want) {
		t.Errorf("it went %q, want %q", s.done, want)
	}
}

// early is the error of a turn that did not come.
type early struct{}

func (early) Error() string   { return "too early" }
func (early) Blameless() bool { return true }

func TestATurnThatDoesNotComeIsNotRememberedOfTheOrigin(t *testing.T) {
	s := &turns{err: early{}}
	f := newFetcher(t, Config{Turn: s.of, Transport: answers(200, "User-agent: *\nDisallow: /x\n")})
	o := at(t, "a.example")
	if got := snapshot(t, f, o); got.Access != policy.Unreachable || !errors.Is(got.Cause, early{}) {
		t.Errorf("%v: %v", got.Access, got.Cause)
	}
	s.err = nil
	if got := snapshot(t, f, o); got.Access != policy.Successful {
		t.Errorf("once its turn has come: %v", got.Access)
	}
}

// TestTheTimeOfAFetchDoesNotRunWhileItWaitsForItsTurn: nor is it begun.
func TestTheTimeOfAFetchDoesNotRunWhileItWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{wait: time.Minute}
		f := newFetcher(t, Config{Turn: s.of, Timeout: time.Second, Transport: answers(404, "")})
		began := time.Now()
		if got := snapshot(t, f, at(t, "a.example")); got.Access != policy.Unavailable || time.Since(began) != time.Minute {
			t.Errorf("%v after %v: %v", got.Access, time.Since(began), got.Err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Snapshot(ctx, at(t, "b.example")); err == nil {
			t.Error("it came at once")
		}
		synctest.Wait()
		if n := f.Stats().Fetching; n != 0 {
			t.Errorf("%d wait for a turn that nobody waits for", n)
		}
	})
}

// TestATurnThatHasPassedByTheTimeOfTheConnection is no fault of the origin, which
// is not asked. Of net/http's own transport it would be now and then: that looks
// at the context a moment later.
func TestATurnThatHasPassedByTheTimeOfTheConnection(t *testing.T) {
	s := &turns{late: early{}}
	h := newHostile(t, write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
	transport := roundtrip.New(roundtrip.Config{Base: realTransport(t)})
	t.Cleanup(transport.CloseIdleConnections)
	f := newFetcher(t, Config{Turn: s.of, Transport: transport})
	if got := snapshot(t, f, h.origin); got.Access != policy.Unreachable || !errors.Is(got.Cause, early{}) {
		t.Errorf("%v: %v", got.Access, got.Cause)
	}
	if want := []string{"ask 127.0.0.1", "sent 127.0.0.1", "end 127.0.0.1"}; !slices.Equal(s.done, want) {
		t.Errorf("it went %q, want %q", s.done, want)
	}
}
