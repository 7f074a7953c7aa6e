package metrics

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"heed/internal/audit"
)

// series are what counts the exchanges of one verdict, channel and reason.
type series struct {
	count    prometheus.Counter
	duration prometheus.Observer
}

// kindOf is what series are found by. Its values are few: reasons are a fixed
// set.
type kindOf struct {
	verdict audit.Verdict
	channel audit.Channel
	reason  string
}

// resolved remembers series, since to find one by its labels takes longer than
// to count. It is read without a lock, and copied for each new one.
type resolved struct {
	known atomic.Pointer[map[kindOf]series]
	mu    sync.Mutex // held to replace known
}

func (m *Metrics) seriesOf(v audit.Verdict, c audit.Channel, reason string) series {
	k := kindOf{v, c, reason}
	if known := m.resolved.known.Load(); known != nil {
		if s, ok := (*known)[k]; ok {
			return s
		}
	}
	return m.resolve(k)
}

// resolve finds series by their labels, for the first exchange of a kind.
func (m *Metrics) resolve(k kindOf) series {
	m.resolved.mu.Lock()
	defer m.resolved.mu.Unlock()
	verdict := k.verdict.String()
	s := series{
		count:    m.exchanges.WithLabelValues(verdict, k.reason, k.channel.String()),
		duration: m.duration.WithLabelValues(verdict),
	}
	next := map[kindOf]series{k: s}
	if known := m.resolved.known.Load(); known != nil {
		maps.Copy(next, *known)
	}
	m.resolved.known.Store(&next)
	return s
}
