package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"heed/internal/origin"
)

// Entry is what is kept of an origin, for people and programs that look at it.
// Times are zero where there is none.
type Entry struct {
	Origin       string        `json:"origin"`
	Access       string        `json:"access"`           // successful, unavailable or unreachable
	Status       int           `json:"status,omitempty"` // HTTP status last obtained
	Fetched      time.Time     `json:"fetched,omitzero"` // when the body was obtained or last confirmed
	Checked      time.Time     `json:"checked,omitzero"` // when the origin was last asked
	FreshUntil   time.Time     `json:"fresh_until,omitzero"`
	StaleSince   time.Time     `json:"stale_since,omitzero"` // fresh_until, once that is over
	FreshFor     string        `json:"fresh_for,omitempty"`  // the freshness lifetime of the last answer
	Retry        time.Time     `json:"retry,omitzero"`       // not to be asked before
	Attempts     int           `json:"attempts,omitempty"`   // failed in a row
	Error        string        `json:"error,omitempty"`      // the last of them
	Hops         []string      `json:"hops,omitempty"`       // redirected to
	ETag         string        `json:"etag,omitempty"`
	LastModified string        `json:"last_modified,omitempty"`
	Charset      string        `json:"charset,omitempty"`
	Size         int64         `json:"size"`             // octets of the body
	SHA256       string        `json:"sha256,omitempty"` // of the body; empty: there are no rules
	Body         []byte        `json:"body,omitempty"`   // where it was asked for
	origin       origin.Origin // the same as Origin
}

// Stats is what a file holds.
type Stats struct {
	File        string    `json:"file"`
	Octets      int64     `json:"octets"`  // of the file
	Records     int       `json:"records"` // that can be read; the next three are parts of it
	Successful  int       `json:"successful"`
	Unavailable int       `json:"unavailable"`
	Unreachable int       `json:"unreachable"`
	Stale       int       `json:"stale"`           // whose freshness is over
	Bodies      int       `json:"bodies"`          // different ones
	BodyOctets  int64     `json:"body_octets"`     // that these take in the file, compressed
	Damaged     int       `json:"damaged"`         // records that cannot be read
	Oldest      time.Time `json:"oldest,omitzero"` // when the record checked longest ago was
	Newest      time.Time `json:"newest,omitzero"`
	Running     *Counts   `json:"running,omitempty"` // of the heed that has the file; nil if none has
}

// listChunk is how many records are looked at in one transaction: the file
// cannot grow meanwhile.
const listChunk = 1000

// Reader reads a file that no File has open, such as for a command. Between
// two thousand records it lets the file go, so that whoever wants it is not
// kept waiting by a slow reader. It writes nothing.
type Reader struct {
	Path     string
	Patience time.Duration // how long to wait while another process has the file
}

// using calls f with the file. There may be none: then f is not called.
func (r Reader) using(f func(*disk) error) error {
	d, err := openDisk(r.Path, true, orDefault(r.Patience, DefaultPatience))
	var damaged *damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &damaged):
		return fmt.Errorf("%s cannot be used: %s; the next heed serve sets it aside and begins a new one", r.Path, damaged.why)
	case err != nil:
		return fmt.Errorf("opening the file of robots.txt records: %w", err)
	}
	err = f(d)
	if closed := d.close(); err == nil {
		err = closed
	}
	if errors.As(err, &damaged) {
		return fmt.Errorf("%s cannot be used: %s; the next heed serve sets it aside and begins a new one", r.Path, damaged.why)
	}
	return err
}

// List yields what is kept of the origins that a pattern names, ordered by
// host, with the bodies if bodies is true. An error is the last that it yields.
func (r Reader) List(ctx context.Context, p Pattern, bodies bool) iter.Seq2[Entry, error] {
	coder, err := newCoder()
	if err != nil {
		return failing(err)
	}
	return list(ctx, r.using, coder, p, bodies)
}

// Stats counts what the file holds.
func (r Reader) Stats(ctx context.Context) (Stats, error) {
	return stats(ctx, r.Path, r.using)
}

// List is Reader's. What waits is written first.
func (f *File) List(ctx context.Context, p Pattern, bodies bool) iter.Seq2[Entry, error] {
	_ = f.Flush(ctx) // where it cannot be, what is in the file is shown
	return list(ctx, f.using, f.coder, p, bodies)
}

// Stats counts what the file holds. What waits is written first.
func (f *File) Stats(ctx context.Context) (Stats, error) {
	_ = f.Flush(ctx) // as for List
	s, err := stats(ctx, f.config.Path, f.using)
	counts := f.Counts()
	s.Running = &counts
	return s, err
}

// using calls f with the file that is open. There may be none.
func (f *File) using(call func(*disk) error) error {
	d := f.disk.Load()
	if d == nil {
		return nil
	}
	err := call(d)
	if err != nil {
		f.fault(d, err)
	}
	return err
}

func failing(err error) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
}

// list yields entries, a chunk of them at a time.
func list(ctx context.Context, using func(func(*disk) error) error, coder *coder, p Pattern, bodies bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for from := p.prefix(); ; {
			var found []Entry
			next, now := []byte(nil), time.Now()
			err := using(func(d *disk) (err error) {
				found, next, err = chunk(d, coder, from, p, bodies, now)
				return err
			})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range found {
				if !yield(e, nil) {
					return
				}
			}
			if from = next; from == nil {
				return
			}
		}
	}
}

// chunk returns the entries among the next records, and the key to go on from.
// What cannot be read is passed over.
func chunk(d *disk, coder *coder, from []byte, p Pattern, bodies bool, now time.Time) (found []Entry, next []byte, err error) {
	count := listChunk
	if bodies {
		count = 50 // a body may be half a megabyte
	}
	err = d.read(func(c content) error {
		enough := false
		next, err = c.records.scan(from, count, func(key, value []byte) {
			enough = enough || p.past(key)
			if e, ok := entryOf(key, value, now); ok && !enough && p.Matches(e.origin) {
				found = append(found, e)
			}
		})
		if enough {
			next = nil
		}
		if err == nil && bodies {
			found, err = withBodies(found, c.bodies, coder)
		}
		return err
	})
	return found, next, err
}

// withBodies returns the entries that have a body that can be read, or need
// none.
func withBodies(all []Entry, bodies *bucket, coder *coder) (found []Entry, err error) {
	for _, e := range all {
		if e.SHA256 != "" {
			s, _ := hex.DecodeString(e.SHA256) // it was encoded just now
			coded, err := bodies.get(s)
			if err != nil {
				return nil, err
			}
			if e.Body, err = coder.decode(sum(s), coded); err != nil {
				continue
			}
		}
		found = append(found, e)
	}
	return found, nil
}

// entryOf returns what a record says, at a time.
func entryOf(key, value []byte, now time.Time) (Entry, bool) {
	o, err := originOf(key)
	if err != nil {
		return Entry{}, false
	}
	r, err := decodeRecord(key, value)
	if err != nil {
		return Entry{}, false
	}
	e := Entry{
		Origin: o.String(), origin: o,
		Access: r.Access.String(), Status: r.Status,
		Fetched: r.Fetched, Checked: r.Checked, FreshUntil: r.FreshUntil, Retry: r.Retry,
		Attempts: r.Attempts, Error: r.Err, Hops: r.Hops,
		ETag: r.ETag, LastModified: r.LastModified, Charset: r.Charset,
		Size: int64(r.size),
	}
	if r.FreshFor != 0 {
		e.FreshFor = r.FreshFor.String()
	}
	if !now.Before(r.FreshUntil) {
		e.StaleSince = r.FreshUntil
	}
	if r.Sum != (sum{}) {
		e.SHA256 = hex.EncodeToString(r.Sum[:])
	}
	return e, true
}

// stats goes through the file, a chunk at a time.
func stats(ctx context.Context, path string, using func(func(*disk) error) error) (Stats, error) {
	s := Stats{File: path}
	if info, err := os.Stat(path); err == nil {
		s.Octets = info.Size()
	}
	now := time.Now()
	err := each(ctx, using, bucketRecords, func(key, value []byte) {
		if r, err := decodeRecord(key, value); err != nil {
			s.Damaged++
		} else {
			s.count(r, now)
		}
	})
	if err != nil {
		return s, err
	}
	return s, each(ctx, using, bucketBodies, func(_, value []byte) {
		s.Bodies++
		s.BodyOctets += int64(len(value)) + sha256.Size
	})
}

func (s *Stats) count(r *kept, now time.Time) {
	s.Records++
	switch accessCodes[r.Access] {
	case 1:
		s.Successful++
	case 2:
		s.Unavailable++
	default:
		s.Unreachable++
	}
	if !r.FreshUntil.IsZero() && !now.Before(r.FreshUntil) {
		s.Stale++
	}
	if s.Oldest.IsZero() || r.Checked.Before(s.Oldest) {
		s.Oldest = r.Checked
	}
	if r.Checked.After(s.Newest) {
		s.Newest = r.Checked
	}
}

// each calls visit for all pairs of a bucket.
func each(ctx context.Context, using func(func(*disk) error) error, bucket []byte, visit func(key, value []byte)) error {
	for from := []byte{}; from != nil; {
		var next []byte
		err := using(func(d *disk) (err error) {
			next, err = scan(d, bucket, from, 10*listChunk, visit)
			return err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// ForgetAll calls forget for every origin of a list, some at a time so that
// they are written together, and yields those for which that is done. An error
// is the last that it yields.
func ForgetAll(ctx context.Context, entries iter.Seq2[Entry, error], forget func(context.Context, origin.Origin) error) iter.Seq2[string, error] {
	const together = 256
	return func(yield func(string, error) bool) {
		var some []Entry
		done := func() bool {
			g, running := errgroup.WithContext(ctx)
			for _, e := range some {
				g.Go(func() error { return forget(running, e.origin) })
			}
			if err := g.Wait(); err != nil {
				yield("", err)
				return false
			}
			for _, e := range some {
				if !yield(e.Origin, nil) {
					return false
				}
			}
			some = some[:0]
			return true
		}
		for e, err := range entries {
			if err != nil {
				yield("", err)
				return
			}
			if some = append(some, e); len(some) == together && !done() {
				return
			}
		}
		done()
	}
}
