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

	"heed/internal/wholefile"
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
			if !f.flush() {
				f.flush() // to a new file, if the first attempt showed that the old one is damaged
			}
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
	keys := make([][]byte, 0, len(b.changes))
	changes := make(map[string]change, len(b.changes))
	for o, c := range b.changes {
		key := keyOf(o)
		keys = append(keys, key)
		changes[string(key)] = c
	}
	slices.SortFunc(keys, bytes.Compare)
	err = d.write(func(tx *bbolt.Tx, before content) error {
		sizes := bodySizes{before: before.bodies, known: map[sum]uint64{}}
		if err := f.writeBodies(tx, b, sizes); err != nil {
			return err
		}
		records := changer{to: tx.Bucket(bucketRecords), before: before.records}
		w = written{}
		for _, key := range keys {
			value, err := f.valueOf(key, changes[string(key)], sizes)
			switch {
			case err != nil:
				return err
			case value != nil:
				w.records++
				err = records.put(key, value)
			default:
				if changes[string(key)].record != nil {
					w.bodiless++
				}
				err = records.drop(key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return w, err
}

// bodySizes says how long the bodies in the file are, those that are being
// written included. 0 and false: it is not there.
type bodySizes struct {
	before *bucket
	known  map[sum]uint64
}

const noBody = 1<<64 - 1

func (b bodySizes) of(s sum) (size uint64, ok bool, err error) {
	size, known := b.known[s]
	if known {
		return size, size != noBody, nil
	}
	coded, err := b.before.get(s[:])
	if err != nil {
		return 0, false, err
	}
	size, _, bad := splitBody(coded)
	if bad != nil {
		size = noBody
	}
	b.known[s] = size
	return size, bad == nil, nil
}

// writeBodies writes the bodies that are not there yet, in their order, and
// drops those that cannot be read.
func (f *File) writeBodies(tx *bbolt.Tx, b *batch, sizes bodySizes) error {
	var sums []sum
	for s := range b.bodies {
		sums = append(sums, s)
	}
	for s := range b.damaged {
		if b.bodies[s] == nil {
			sums = append(sums, s)
		}
	}
	slices.SortFunc(sums, func(a, b sum) int { return bytes.Compare(a[:], b[:]) })
	bodies := changer{to: tx.Bucket(bucketBodies), before: sizes.before}
	for _, s := range sums {
		_, there, err := sizes.of(s)
		if err != nil {
			return err
		}
		h := b.bodies[s]
		switch {
		case h == nil:
			sizes.known[s] = noBody
			err = bodies.drop(s[:])
		case there && !b.damaged[s], len(h.body) > largestBody, sha256.Sum256(h.body) != s:
		default:
			sizes.known[s] = uint64(len(h.body))
			err = bodies.put(s[:], f.coder.encode(h.body))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// valueOf returns the record to be written, nil if what is there is to be
// dropped: because that was said, or because the record's body is nowhere.
func (f *File) valueOf(key []byte, c change, sizes bodySizes) ([]byte, error) {
	if c.record == nil {
		return nil, nil
	}
	k := kept{Record: *c.record}
	if k.Sum != (sum{}) {
		size, there, err := sizes.of(k.Sum)
		if err != nil || !there {
			return nil, err
		}
		k.size = size
		f.sweep.mark(k.Sum)
	}
	value, err := encodeRecord(key, &k)
	if err != nil {
		return nil, nil //nolint:nilerr // an access result that does not exist is not kept
	}
	return value, nil
}

// open opens the file or makes one. A damaged one is set aside. It returns an
// error only where the start should fail; all else degrades.
func (f *File) open() error {
	for range 3 { // it may be made, set aside or taken by another meanwhile
		was, _ := os.Stat(f.config.Path)
		d, err := openDisk(f.config.Path, false, f.config.Patience)
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
		case isDamage(err):
			if !f.putAside(was, err.Error()) {
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
	name, err := wholefile.SetAside(f.config.Path, was, time.Now())
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
