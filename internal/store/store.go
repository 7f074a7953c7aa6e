// Package store is the tier that outlives the process: what is known of
// origins' robots.txt files, in one file.
//
//	file, err := store.Open(store.Config{Path: "/var/lib/heed/robots.db", Log: log})
//	defer file.Close()
//	fetcher := fetch.New(fetch.Config{Store: file, …})
//
// # The file
//
// It is a bbolt file with a record for each origin and each different body
// once, compressed, under its SHA-256. Every record has a version and a
// checksum over itself and its key, every body is compared with its SHA-256.
// What cannot be read whole and verified is no record: it is dropped, and the
// origin is asked again.
//
// # Writing
//
// Save returns at once. One goroutine writes what has gathered, a quarter
// of a second after the first of it or when it is much: a process that is killed loses at
// most the last second, and never the file, since bbolt writes a change beside
// what it replaces and then points to it. What waits is bounded in octets; what
// does not fit is lost, and counted.
//
// The same goroutine sweeps: every few hours it goes through the file, a
// thousand records at a time, and drops those that are of no more use, those
// that are damaged, and bodies that no record names.
//
// # Faults
//
// A file that is damaged, or not heed's, is set aside under a name with the
// time in it, never deleted, and a new one is made: when it is opened and also
// while it is in use, where a page that is gone or wrong shows as a panic or a
// memory fault, which is recovered. While the file cannot be written or made
// (no room, no permission, read only), what is said waits in memory, within its
// bound; that is logged when it begins and when it ends. Only a file that
// another process has, or a path that is no file's, is an error at the start.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"heed/fetch"
	"heed/internal/origin"
)

// Defaults of Config.
const (
	DefaultName     = "robots.db"
	DefaultDelay    = 250 * time.Millisecond
	DefaultKeep     = 30 * 24 * time.Hour
	DefaultSweep    = 6 * time.Hour
	DefaultMaxQueue = 64 << 20
	DefaultPatience = time.Second
)

const (
	flushAt       = 16_384 // changes that are not kept waiting for the delay
	retryAfter    = 10     // delays between attempts at what failed
	mostSetAside  = 3      // files in the life of a process: more says that the disk is failing
	sweepPause    = 50 * time.Millisecond
	firstSweep    = time.Minute
	sweepRecords  = 1000 // in one step
	closePatience = 10 * time.Second
)

// Config is what a File is made of. Zero and negative numbers mean the default.
type Config struct {
	// Path of the file. Required. It and the folders above it are made, for
	// their owner alone.
	Path string

	// Delay is how long a change waits for others that are written with it.
	Delay time.Duration

	// Keep is how long a record is kept after its last use: after it was
	// checked, its freshness ended and its pause was over.
	Keep time.Duration

	// Sweep is the time from one sweep to the next.
	Sweep time.Duration

	// MaxQueue bounds, approximately, the octets that wait to be written.
	MaxQueue int

	// Patience is how long to wait for another process to let the file go.
	Patience time.Duration

	// Log is told when the file is set aside, and when it cannot be written and
	// can be again. The zero value is silent.
	Log zerolog.Logger
}

// File is a fetch.Store in a file. Make one with Open; it is safe for
// concurrent use.
type File struct {
	config Config
	queue  *queue
	coder  *coder
	disk   atomic.Pointer[disk] // changed by run alone; nil while there is no file
	sweep  sweep                // run's alone
	aside  int                  // files set aside; run's alone
	gaveUp bool                 // too many were; run's alone

	kick   chan struct{} // there is something to write now, or the file is broken
	start  chan struct{} // there is something to write after the delay
	stop   chan struct{}
	done   chan struct{} // closed when run has ended
	closed sync.Once

	saved, lost, damaged, faults, sets atomic.Uint64
	degraded                           atomic.Pointer[string] // why nothing is written; nil while it is
}

// Counts is what a File has done since it was opened, and how it is.
type Counts struct {
	Saved    uint64 // records written
	Lost     uint64 // records that were not: no room to wait, or no body
	Damaged  uint64 // records and bodies dropped because they could not be verified
	Faults   uint64 // attempts to read or write the file that failed
	SetAside uint64 // files set aside
	Waiting  int    // origins of which something is to be written
	Octets   int64  // of the file; 0 while there is none
	Degraded string // why nothing can be written at the moment; "" while it can
}

var _ fetch.Store = (*File)(nil)

// Open opens the file, or makes it, and starts to write. It does not read the
// file as a whole: a million records take it no longer than ten, but for one
// page in fifty.
//
// errors.Is(err, ErrInUse) holds when another process has the file. Nearly all
// other faults are no error: the File that is returned does without a file
// until it can have one.
func Open(c Config) (*File, error) {
	if c.Path == "" {
		return nil, errors.New("opening the file of robots.txt records: no path was given")
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, fmt.Errorf("opening the file of robots.txt records: %w", err)
	}
	c.Path = path
	c.Delay = orDefault(c.Delay, DefaultDelay)
	c.Keep = orDefault(c.Keep, DefaultKeep)
	c.Sweep = orDefault(c.Sweep, DefaultSweep)
	c.MaxQueue = orDefault(c.MaxQueue, DefaultMaxQueue)
	c.Patience = orDefault(c.Patience, DefaultPatience)
	coder, err := newCoder()
	if err != nil {
		return nil, fmt.Errorf("making a coder for robots.txt files: %w", err)
	}
	f := &File{
		config: c, coder: coder,
		kick: make(chan struct{}, 1), start: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.queue = newQueue(c.MaxQueue, func(n int) { f.lost.Add(uint64(n)) })
	if err := f.open(); err != nil {
		coder.close()
		return nil, err
	}
	if f.disk.Load() == nil {
		f.nudge(f.start) // to try again
	}
	go f.run()
	return f, nil
}

func orDefault[T int | time.Duration](n, def T) T {
	if n <= 0 {
		return def
	}
	return n
}

// Load is fetch.Store's.
func (f *File) Load(ctx context.Context, o origin.Origin) (fetch.Record, bool, error) {
	if err := ctx.Err(); err != nil {
		return fetch.Record{}, false, err
	}
	said, known := f.queue.load(o)
	switch {
	case known && said == nil:
		return fetch.Record{}, false, nil
	case known && (said.Body != nil || said.Sum == sum{}):
		return *said, true, nil
	}
	d := f.disk.Load()
	if d == nil {
		return fetch.Record{}, false, nil
	}
	r, err := f.read(d, o, said)
	var bad *badRecord
	switch {
	case errors.As(err, &bad):
		f.damaged.Add(1)
		f.queue.drop(o, bad.body)
		f.nudge(f.start)
		return fetch.Record{}, false, nil
	case err != nil:
		f.fault(d, err)
		return fetch.Record{}, false, fmt.Errorf("reading %s: %w", f.config.Path, err)
	case r == nil:
		return fetch.Record{}, false, nil
	}
	return *r, true, nil
}

// badRecord is a record that is there and is none.
type badRecord struct {
	why  error
	body *sum // the body is at fault
}

func (b *badRecord) Error() string { return b.why.Error() }

// read returns what the file has of an origin, or the record that is known with
// the body that the file has of it. nil if there is nothing.
func (f *File) read(d *disk, o origin.Origin, known *fetch.Record) (*fetch.Record, error) {
	r, key := known, keyOf(o)
	var coded []byte
	err := d.read(func(c content) error {
		if r == nil {
			b, err := c.records.get(key)
			if b == nil || err != nil {
				return err
			}
			k, err := decodeRecord(key, b)
			if err != nil {
				return &badRecord{why: err}
			}
			r = &k.Record
		}
		if r.Sum == (sum{}) {
			return nil
		}
		var err error
		if coded, err = c.bodies.get(r.Sum[:]); err == nil && coded == nil {
			err = &badRecord{why: errors.New("its body is missing")}
		}
		return err
	})
	if err != nil || r == nil || coded == nil {
		return r, err
	}
	if r.Body, err = f.coder.decode(r.Sum, coded); err != nil {
		return nil, &badRecord{why: err, body: &r.Sum}
	}
	return r, nil
}

// fault counts a failure to read or write, and has a broken file replaced.
func (f *File) fault(d *disk, err error) {
	f.faults.Add(1)
	if isDamage(err) && f.disk.Load() == d {
		f.nudge(f.kick)
	}
}

// Save is fetch.Store's.
func (f *File) Save(o origin.Origin, r fetch.Record) {
	if len(o.Host)+len(o.Scheme)+len(o.Port) > longestKey/2 {
		f.lost.Add(1) // no such origin exists
		return
	}
	if f.queue.save(o, r) >= flushAt && f.degraded.Load() == nil {
		f.nudge(f.kick)
		return
	}
	f.nudge(f.start)
}

// Forget is fetch.Store's. It returns once it is done, with the error if the
// file could not be written; then it is done as soon as that can be.
func (f *File) Forget(ctx context.Context, o origin.Origin) error {
	f.queue.forget(o)
	if err := f.Flush(ctx); err != nil {
		return fmt.Errorf("forgetting %s: %w", o, err)
	}
	return nil
}

// Flush returns when all that was said before is written, or with the reason
// why it is not.
func (f *File) Flush(ctx context.Context) error {
	done := f.queue.wait()
	f.nudge(f.kick)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-f.done:
		select {
		case err := <-done:
			return err
		default:
			return errClosed
		}
	}
}

var errClosed = errors.New("the file is closed")

// nudge wakes the writer.
func (f *File) nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // somebody did already
	}
}

// Counts returns what has happened so far.
func (f *File) Counts() Counts {
	c := Counts{
		Saved: f.saved.Load(), Lost: f.lost.Load(), Damaged: f.damaged.Load(),
		Faults: f.faults.Load(), SetAside: f.sets.Load(), Waiting: f.queue.count(),
	}
	if why := f.degraded.Load(); why != nil {
		c.Degraded = *why
	}
	if d := f.disk.Load(); d != nil {
		c.Octets = d.octets()
	}
	return c
}

// Path returns where the file is.
func (f *File) Path() string { return f.config.Path }

// Close writes what waits and closes the file. What is said afterwards is lost.
// The error says what could not be written.
func (f *File) Close() error {
	f.closed.Do(func() { close(f.stop) })
	<-f.done
	if n := f.queue.abandon(); n > 0 {
		f.lost.Add(uint64(n))
		return fmt.Errorf("closing %s: %d records were not written", f.config.Path, n)
	}
	return nil
}
