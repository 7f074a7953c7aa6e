package testnet

import "time"

// stream is one direction of a connection. Its link's lock guards it.
type stream struct {
	latency time.Duration
	window  int

	segments []segment // written and not read, in order
	queued   int       // octets in them
	end      time.Time // when the end arrives; zero: there is none yet
	reset    time.Time // when a reset arrives; zero: there is none
	gone     bool      // the end that reads is closed
	refused  bool      // that was noticed by a write
}

// segment is what one write sent.
type segment struct {
	octets []byte
	at     time.Time // when it arrives
}

// put queues as many octets as the window has room for.
func (s *stream) put(p []byte, now time.Time) int {
	n := min(len(p), s.window-s.queued)
	if n <= 0 {
		return 0
	}
	s.segments = append(s.segments, segment{append([]byte(nil), p[:n]...), now.Add(s.latency)})
	s.queued += n
	return n
}

// take moves octets that have arrived into p.
func (s *stream) take(p []byte, now time.Time) (total int) {
	for len(p) > 0 && len(s.segments) > 0 && arrived(s.segments[0].at, now) {
		first := &s.segments[0]
		n := copy(p, first.octets)
		p, first.octets = p[n:], first.octets[n:]
		total += n
		if len(first.octets) == 0 {
			s.segments = s.segments[1:]
		}
	}
	s.queued -= total
	return total
}

// drop is the end of whoever reads.
func (s *stream) drop() {
	s.gone = true
	s.segments, s.queued = nil, 0
}

// arrived reports whether a moment that may not be set has come.
func arrived(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
