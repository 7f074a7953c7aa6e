package fetch

import (
	"context"
	"crypto/sha256"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Store keeps what is known of origins beyond memory, and beyond the process.
// It is a tier behind memory: asked when memory knows nothing, and told of
// every change. It must be safe for concurrent use.
//
// A store may lose what it was told: what is not there is asked of the origin
// again. It must not make anything up: a record that cannot be read whole and
// verified is none.
type Store interface {
	// Load returns what is kept of o, with its Body, and whether there is
	// anything. An error is a fault of the store; then it is as if nothing were
	// kept.
	Load(ctx context.Context, o origin.Origin) (Record, bool, error)

	// Save keeps r in place of what was kept of o. It returns at once: what it
	// has to write, it writes later, and what goes wrong then is its own to
	// report. It keeps r's slices, which nobody changes any more.
	Save(o origin.Origin, r Record)

	// Forget drops what is kept of o, what is still to be written included.
	Forget(ctx context.Context, o origin.Origin) error
}

// Record is what is known of an origin, as a Store keeps it: plain values, and
// times by the wall clock.
type Record struct {
	Access       policy.Access     // of the last answer that told whether there are rules; Unreachable: there was none
	Status       int               // HTTP status last obtained, 0 if none was
	Hops         []string          // URLs redirected to, in order
	Sum          [sha256.Size]byte // of Body; zero: there are no rules
	Body         []byte            // as read: content decoded, in its charset, at most one octet more than the limit. To Save, nil means: as kept under Sum already
	Charset      string            // declared for Body, in lower case; "" if none was
	ETag         string            // validators of Body (RFC 9110 §8.8), "" for none, and where it is cut
	LastModified string
	Fetched      time.Time     // when the last answer came that told whether there are rules; zero: never
	FreshUntil   time.Time     // end of the freshness of the last answer; zero: there was none
	FreshFor     time.Duration // the freshness lifetime that the last answer had
	Checked      time.Time     // when the origin was last asked
	Retry        time.Time     // after a failure, not to be asked before; else zero
	Attempts     int           // failed attempts in a row
	Err          string        // the last of them, in one line
}
