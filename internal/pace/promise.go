package pace

import (
	"hash/maphash"
	"slices"
	"time"
)

// promise is when a client was told to come back for something.
type promise struct {
	what uint64
	at   moment
}

var seed = maphash.MakeSeed()

// promise returns when a client is to come back for a turn that would come at a
// time. Those who are refused together are told one time after the other, so that
// they do not come together; who asks for the same again is told the same. Of a
// client that was told enough already nothing more is remembered.
func (h *host) promise(s *share[client], t *Turn, at, now moment) moment {
	at = max(at, now+shortestRetry)
	s.promises = slices.DeleteFunc(s.promises, func(p promise) bool { return p.at+grace < now })
	told, again := at, false
	for i := range s.promises {
		if p := &s.promises[i]; p.what == t.what {
			p.at, again = max(p.at, at), true
			told = p.at
		}
	}
	if !again && len(s.promises) < mostPromises {
		each := max(h.interval(t), guessed) * time.Duration(max(h.clients.present(now), 1))
		for _, p := range s.promises {
			told = max(told, p.at+each)
		}
		s.promises = append(s.promises, promise{t.what, told})
	}
	s.expected = max(s.expected, told+grace)
	return told
}

// keep keeps a promise: the client has come back, and its turn has come.
func (s *share[K]) keep(what uint64) {
	if len(s.promises) > 0 {
		s.promises = slices.DeleteFunc(s.promises, func(p promise) bool { return p.what == what })
	}
}
