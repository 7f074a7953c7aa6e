package roundtrip

import (
	"context"
	"errors"
	"testing"
)

// senders are how often a request may go out; the next time it may not.
type senders struct {
	may int
	err error
}

func (s *senders) Send(context.Context) error {
	if s.may--; s.may < 0 {
		return s.err
	}
	return nil
}

// TestNothingIsSentThatMayNotGoOut, on a new connection and on one that is kept,
// which serves the next one.
func TestNothingIsSentThatMayNotGoOut(t *testing.T) {
	late := errors.New("too late")
	for _, h2 := range []bool{false, true} {
		s := newH2Server(t, nil)
		s.h2.Store(h2)
		tr := newClient(t, withHTTP2)
		get := func(may int) error {
			req := newRequest(t, "GET", s.URL, nil)
			_, _, err := fetch(tr, req.WithContext(With(req.Context(), &Exchange{Sending: &senders{may, late}})))
			return err
		}
		for i, may := range []int{0, 1, 0, 1} {
			if err := get(may); may == 0 && !errors.Is(err, late) || may == 1 && err != nil {
				t.Errorf("HTTP/2 %t: request %d: %v", h2, i, err)
			}
		}
		if n := s.one.Load() + s.two.Load(); n != 2 {
			t.Errorf("HTTP/2 %t: %d requests came, want 2", h2, n)
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("HTTP/2 %t: on %d connections, want 1", h2, n)
		}
	}
}
