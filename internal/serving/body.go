package serving

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// body is a request's body. A handler may read it on another goroutine. When it
// has returned, a read that is under way goes on and fails with the connection
// at the latest, and further ones fail with http.ErrBodyReadAfterClose.
type body struct {
	io.ReadCloser
	conn           *conn
	parsed, served *http.Request // as http.ReadRequest has it, where trailers go to; as the handler has it
	none           bool          // there is none
	here           bool          // all of it came with the header section
	mine           bool          // the watch has left the connection to it, for who holds reading

	reading sync.Mutex // held by who reads
	closed  atomic.Bool
	cause   error         // why it is over, for who holds reading
	reads   atomic.Uint64 // how often somebody has asked for a part
	over    atomic.Bool   // nothing more is read of it, whole or not; set last
	seen    atomic.Bool   // its end was
}

// Read reads from the client, who must not take longer than the idle time for a
// part. An error stays.
func (b *body) Read(p []byte) (int, error) {
	b.reads.Add(1) // before the watch is told: it does not begin again
	b.reading.Lock()
	defer b.reading.Unlock()
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case b.over.Load():
		return 0, b.cause
	}
	if !b.mine {
		b.mine = true
		b.conn.watch.yield()
		if !b.here {
			b.conn.server.config.Awaited(b.conn.Conn)
		}
	}
	b.conn.readWithin(b.conn.server.config.IdleTimeout)
	n, err := b.read(p)
	if err != nil && len(b.parsed.Trailer) > 0 {
		b.served.Trailer = b.parsed.Trailer // also those that were not declared
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cause = err
		b.seen.Store(err == io.EOF)
		b.over.Store(true)
	}
	return n, err
}

// Close keeps the body from being read further.
func (b *body) Close() error {
	b.closed.Store(true)
	return nil
}

// ended reports whether nothing more is read of it, for good or ill.
func (b *body) ended() bool { return b.none || b.over.Load() }

// begun reports whether somebody has asked for it.
func (b *body) begun() bool { return b.reads.Load() > 0 }

// whole reports whether what follows on the connection is the next request.
func (b *body) whole() bool { return b.none || b.seen.Load() }

// end closes it for good. False means that somebody reads still.
func (b *body) end() bool {
	if b.ended() { // who holds the lock, if anybody, is done with the connection
		return true
	}
	b.closed.Store(true)
	if !b.reading.TryLock() {
		return false
	}
	b.reading.Unlock() // whoever comes now sees that it is closed
	return true
}

// drain reads what the handler did not, if that is little and comes within the
// idle time, and reports whether what follows is the next request. It is for
// after end.
func (b *body) drain() bool {
	if b.ended() {
		return b.whole()
	}
	b.conn.readWithin(b.conn.server.config.IdleTimeout)
	buf := smalls.Get().(*[smallBuffer]byte)
	defer smalls.Put(buf)
	for total := 0; total < drainOctets && !b.over.Load(); {
		n, _ := b.read(buf[:]) // it keeps the error
		total += n
	}
	return b.whole()
}
