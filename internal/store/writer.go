package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"heed/internal/origin"
)

// run is the one goroutine that writes, until Close.
func (f *File) run() {
	defer close(f.done)
	flush, sweep := newTimer(), time.NewTimer(min(firstSweep, f.config.Sweep))
	defer flush.Stop()
	defer sweep.Stop()
	armed := false
	arm := func(d time.Duration) {
		if !armed {
			flush.Reset(d)
			armed = true
		}
	}
	for {
		select {
		case <-f.start:
			arm(f.config.Delay)
			continue
		case <-f.kick:
		case <-flush.C:
		case <-sweep.C:
			sweep.Reset(f.sweepStep())
			continue
		case <-f.stop:
			f.flush()
			f.shut()
			return
		}
		flush.Stop()
		armed = false
		if !f.flush() {
			arm(retryAfter * f.config.Delay)
		}
	}
}

// newTimer returns a timer that has not been set.
func newTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// flush writes what waits. It returns false when it is to be tried again.
func (f *File) flush() bool {
	d := f.disk.Load()
	if d != nil && d.broken.Load() {
		f.replace(d, "it was damaged while in use")
	}
	if f.disk.Load() == nil && !f.gaveUp {
		if err := f.open(); err != nil {
			f.degrade(err)
		}
	}
	b := f.queue.begin()
	if b == nil {
		return f.disk.Load() != nil
	}
	if d = f.disk.Load(); d == nil {
		f.queue.end(b, errors.New(*f.degraded.Load()))
		return false
	}
	written, err := f.write(d, b)
	f.queue.end(b, err)
	if err != nil {
		f.faults.Add(1)
		f.degrade(err)
		if d.broken.Load() {
			f.nudge(f.kick) // for a new file, at once
		}
		return false
	}
	f.saved.Add(uint64(written.records))
	f.lost.Add(uint64(written.bodiless))
	f.recovered()
	return true
}

// written is what a batch came to.
type written struct{ records, bodiless int }

// write writes a batch in one transaction, in the order of its keys.
func (f *File) write(d *disk, b *batch) (w written, err error) {
	keys := make(map[string]origin.Origin, len(b.changes))
	sorted := make([]string, 0, len(b.changes))
	for o := range b.changes {
		key := string(keyOf(o))
		keys[key] = o
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	err = d.update(func(tx *bbolt.Tx) error {
		w = written{}
		bodies := tx.Bucket(bucketBodies)
		if err := f.writeBodies(bodies, b); err != nil {
			return err
		}
		records := tx.Bucket(bucketRecords)
		for _, key := range sorted {
			c := b.changes[keys[key]]
			if err := f.writeChange(records, bodies, []byte(key), c, &w); err != nil {
				return err
			}
		}
		return nil
	})
	return w, err
}

// writeBodies writes the bodies that are not there yet, in their order.
func (f *File) writeBodies(bodies *bbolt.Bucket, b *batch) error {
	for s := range b.damaged {
		if err := bodies.Delete(s[:]); err != nil {
			return err
		}
	}
	sums := make([]sum, 0, len(b.bodies))
	for s := range b.bodies {
		sums = append(sums, s)
	}
	slices.SortFunc(sums, func(a, b sum) int { return bytes.Compare(a[:], b[:]) })
	for _, s := range sums {
		body := b.bodies[s].body
		if bodies.Get(s[:]) != nil || len(body) > largestBody || sha256.Sum256(body) != s {
			continue // of the last two, no record is written either
		}
		if err := bodies.Put(s[:], f.coder.encode(body)); err != nil {
			return err
		}
	}
	return nil
}

// writeChange writes one record, or drops it. A record whose body is nowhere
// is dropped too.
func (f *File) writeChange(records, bodies *bbolt.Bucket, key []byte, c change, w *written) error {
	if c.record == nil {
		return records.Delete(key)
	}
	k := kept{Record: *c.record}
	if k.Sum != (sum{}) {
		body := bodies.Get(k.Sum[:])
		size, _, err := splitBody(body)
		if err != nil {
			w.bodiless++
			return records.Delete(key)
		}
		k.size = size
		f.sweep.mark(k.Sum)
	}
	value, err := encodeRecord(key, &k)
	if err != nil { // an access result that does not exist
		w.bodiless++
		return records.Delete(key)
	}
	w.records++
	return records.Put(key, value)
}

// open opens the file or makes one. A damaged one is set aside. It returns an
// error only where the start should fail; all else degrades.
func (f *File) open() error {
	for range 3 { // it may be made, set aside or taken by another meanwhile
		was, _ := os.Stat(f.config.Path)
		d, err := openDisk(f.config.Path, false, f.config.Patience)
		var damaged *damage
		switch {
		case err == nil:
			f.disk.Store(d)
			f.recovered()
			return nil
		case errors.Is(err, fs.ErrNotExist):
			if err := makeDisk(f.config.Path); err != nil {
				f.degrade(err)
				return nil
			}
		case errors.As(err, &damaged):
			if !f.putAside(was, damaged.why) {
				return nil
			}
		case errors.Is(err, ErrInUse), errors.Is(err, errNoFile):
			return fmt.Errorf("opening the file of robots.txt records: %w", err)
		default:
			f.degrade(err)
			return nil
		}
	}
	f.degrade(errors.New("it changes while it is opened"))
	return nil
}

// putAside sets the file aside, unless that happens too often, and reports
// whether there is room for a new one.
func (f *File) putAside(was fs.FileInfo, why string) bool {
	if f.aside >= mostSetAside {
		f.gaveUp = true
		f.degrade(fmt.Errorf("%s, as %d files before it were; look after the disk, then start heed again", why, f.aside))
		return false
	}
	name, err := setAside(f.config.Path, was, time.Now())
	if err != nil {
		f.degrade(fmt.Errorf("%s, and setting it aside failed: %w", why, err))
		return false
	}
	if name == "" {
		return true
	}
	f.aside++
	f.sets.Add(1)
	f.config.Log.Warn().Str("file", f.config.Path).Str("kept_as", name).Str("cause", why).
		Msg("the file of robots.txt records cannot be used; it was set aside, and a new one is begun")
	return true
}

// replace sets aside a file that failed in use and begins a new one.
func (f *File) replace(d *disk, why string) {
	f.disk.Store(nil)
	f.sweep = sweep{}
	was, err := d.file.Stat()
	_ = d.close() // it is lost already
	if err != nil {
		was = nil
	}
	if !f.putAside(was, why) {
		return
	}
	if err := f.open(); err != nil {
		f.degrade(err)
	}
}

// degrade notes that nothing can be written, and says so once.
func (f *File) degrade(err error) {
	why := err.Error()
	if f.degraded.Swap(&why) == nil {
		f.config.Log.Error().Str("file", f.config.Path).Err(err).
			Msg("the file of robots.txt records cannot be written; heed goes on from memory and tries again")
	}
}

// recovered notes that writing works.
func (f *File) recovered() {
	if f.degraded.Swap(nil) != nil {
		f.config.Log.Info().Str("file", f.config.Path).Msg("the file of robots.txt records is written again")
	}
}

// shut closes the file for good.
func (f *File) shut() {
	if d := f.disk.Swap(nil); d != nil {
		if err := d.close(); err != nil {
			f.config.Log.Warn().Str("file", f.config.Path).Err(err).Msg("closing the file of robots.txt records failed")
		}
	}
	f.coder.close()
}
