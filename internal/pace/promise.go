package pace

import (
	"hash/maphash"
	"slices"
	"time"
)

// promise is when one of a client's agents was told to come back for something.
type promise struct {
	agent *share[string]
	what  uint64
	at    moment
}

var seed = maphash.MakeSeed()

// promise returns when a client is to come back for a turn that would come at a
// time. Those who are refused together are told one time after the other, so that
// they do not come together, and those of a client's agents by turns: behind all
// that another one was told, one with few requests would hardly ever come. Who asks
// for the same again is told the same. Of a client that was told enough already
// nothing more is remembered.
func (h *host) promise(s *share[client], a *share[string], t *Turn, at, now moment) moment {
	at = max(at, now+shortestRetry)
	s.promises = slices.DeleteFunc(s.promises, func(p promise) bool { return p.at+grace < now })
	told, again := at, false
	for i := range s.promises {
		if p := &s.promises[i]; p.what == t.what && p.agent == a {
			p.at, again = max(p.at, at), true
			told = p.at
		}
	}
	if !again && len(s.promises) < mostPromises {
		each := max(h.interval(t), guessed) * time.Duration(max(h.clients.present(now), 1))
		if last, others := s.promised(a); last == 0 {
			told = at + each*time.Duration(others)
		} else { // it is present itself, having been told something
			told = max(at, last+each*time.Duration(max(s.agents.present(now), 1)))
		}
		s.promises = append(s.promises, promise{a, t.what, told})
	}
	s.expected = max(s.expected, told+grace)
	a.expected = max(a.expected, told+grace)
	return told
}

// promised returns the last time that an agent of a client was told, 0 for none,
// and how many other agents were told one.
func (s *share[K]) promised(a *share[string]) (last moment, others int) {
	seen := make([]*share[string], 0, mostShares) // on the stack
	for _, p := range s.promises {
		switch {
		case p.agent == a:
			last = max(last, p.at)
		case !slices.Contains(seen, p.agent):
			seen = append(seen, p.agent)
		}
	}
	return last, len(seen)
}

// keep keeps a promise: an agent of the client has come back, and its turn has come.
func (s *share[K]) keep(a *share[string], what uint64) {
	if len(s.promises) > 0 {
		s.promises = slices.DeleteFunc(s.promises, func(p promise) bool { return p.what == what && p.agent == a })
	}
}
