package fetch

import (
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Observer is told what a Fetcher does. Every field may be nil. The functions
// are called by many goroutines at a time and should return at once: callers
// wait for them.
type Observer struct {
	// Fetched is called after each fetch, before its callers are released.
	Fetched func(Event)

	// Joined is called when a caller joins a fetch that is under way.
	Joined func(origin.Origin)

	// Evicted is called when snapshots are dropped to stay within
	// Config.MemoryBytes.
	Evicted func(origins int, octets int64)
}

// Event is one fetch.
type Event struct {
	Origin     origin.Origin
	Snapshot   *policy.Snapshot // what came of it
	Err        error            // why it failed; nil unless the origin is unreachable. May hold a *PanicError
	Waited     time.Duration    // for a slot
	Duration   time.Duration    // of the fetch itself
	Requests   int              // sent, redirects and a retry included
	Confirmed  bool             // what was known is what there is still (304)
	Ahead      bool             // it was made before what was known expired
	Remembered bool             // false where the fault is heed's own
}

func (o Observer) fetched(e Event) {
	if o.Fetched != nil {
		o.Fetched(e)
	}
}

func (o Observer) joined(at origin.Origin) {
	if o.Joined != nil {
		o.Joined(at)
	}
}

func (o Observer) evicted(origins int, octets int64) {
	if o.Evicted != nil && origins > 0 {
		o.Evicted(origins, octets)
	}
}
