package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// A sweep goes through the bodies and notes their names, goes through the
// records and marks the bodies that they name, and then drops those that were
// not marked. Of a name eight octets are noted: a million bodies take 8 MB
// while it lasts, and two that begin alike are kept or dropped together. A
// record that is written meanwhile marks its body too, so nothing in use is
// dropped. Each step is short, and the writer does it between two batches.
type sweep struct {
	stage stage
	from  []byte   // the key to go on from
	names []uint64 // how the bodies' sums begin, in their order
	used  []uint64 // a bit for each name
}

// stage is what the next step of a sweep does.
type stage uint8

const (
	sweepNote stage = iota // of bodies
	sweepRead              // of records
	sweepDrop              // of bodies
)

// mostNames bounds what a sweep notes. Bodies beyond it are left for when there
// are fewer.
const mostNames = 4 << 20

func nameOf(s []byte) uint64 { return binary.BigEndian.Uint64(s) }

// mark keeps a body from being dropped.
func (s *sweep) mark(body sum) {
	if i, ok := slices.BinarySearch(s.names, nameOf(body[:])); ok {
		s.used[i/64] |= 1 << (i % 64)
	}
}

// marked reports whether a body is to be kept.
func (s *sweep) marked(body []byte) bool {
	i, ok := slices.BinarySearch(s.names, nameOf(body))
	return !ok || s.used[i/64]&(1<<(i%64)) != 0
}

// sweepStep does one step and returns the time until the next.
func (f *File) sweepStep() time.Duration {
	d := f.disk.Load()
	if d == nil {
		f.sweep = sweep{}
		return f.config.Sweep
	}
	var done bool
	var err error
	switch f.sweep.stage {
	case sweepNote:
		done, err = f.sweepBodies(d)
	case sweepRead:
		done, err = f.sweepRecords(d)
	case sweepDrop:
		done, err = f.sweepUnused(d)
	}
	if err != nil {
		f.fault(d, err)
		f.sweep = sweep{}
		return f.config.Sweep
	}
	if !done {
		return sweepPause
	}
	f.sweep.stage++
	f.sweep.from = nil
	if f.sweep.stage <= sweepDrop {
		return sweepPause
	}
	f.sweep = sweep{}
	return f.config.Sweep
}

// sweepBodies notes the names of some bodies.
func (f *File) sweepBodies(d *disk) (done bool, err error) {
	s := &f.sweep
	s.from, err = scan(d, bucketBodies, s.from, 10*sweepRecords, func(key, _ []byte) {
		if len(key) != len(sum{}) || len(s.names) >= mostNames {
			return
		}
		if n := nameOf(key); len(s.names) == 0 || n != s.names[len(s.names)-1] {
			s.names = append(s.names, n)
		}
	})
	if err != nil || s.from != nil {
		return false, err
	}
	s.used = make([]uint64, len(s.names)/64+1)
	return true, nil
}

// sweepRecords marks the bodies of some records, and drops the records that are
// of no more use.
func (f *File) sweepRecords(d *disk) (done bool, err error) {
	var useless [][]byte
	bad := 0
	now := time.Now()
	f.sweep.from, err = scan(d, bucketRecords, f.sweep.from, sweepRecords, func(key, value []byte) {
		r, err := decodeRecord(key, value)
		switch {
		case err != nil:
			bad++
			useless = append(useless, bytes.Clone(key))
		case f.outlived(r, now):
			useless = append(useless, bytes.Clone(key))
		case r.Sum != (sum{}):
			f.sweep.mark(r.Sum)
		}
	})
	if err == nil && len(useless) > 0 {
		err = f.dropKeys(d, bucketRecords, useless)
		f.damaged.Add(uint64(bad))
	}
	return f.sweep.from == nil, err
}

// outlived reports whether a record is of no more use. One that was checked far
// in the future was so by a clock that was wrong.
func (f *File) outlived(r *kept, now time.Time) bool {
	last := r.Checked
	for _, t := range []time.Time{r.Fetched, r.FreshUntil, r.Retry} {
		if t.After(last) {
			last = t
		}
	}
	return last.Before(now.Add(-f.config.Keep)) || r.Checked.After(now.Add(f.config.Keep))
}

// sweepUnused drops some of the bodies that no record names.
func (f *File) sweepUnused(d *disk) (done bool, err error) {
	var unused [][]byte
	f.sweep.from, err = scan(d, bucketBodies, f.sweep.from, 10*sweepRecords, func(key, _ []byte) {
		if len(key) != len(sum{}) || !f.sweep.marked(key) {
			unused = append(unused, bytes.Clone(key))
		}
	})
	for err == nil && len(unused) > 0 {
		n := min(len(unused), sweepRecords)
		err = f.dropKeys(d, bucketBodies, unused[:n])
		unused = unused[n:]
	}
	return f.sweep.from == nil, err
}

// scan calls visit for some pairs of a bucket, beginning at a key, and returns
// the key to go on from, nil at the end.
func scan(d *disk, name, from []byte, count int, visit func(key, value []byte)) (next []byte, err error) {
	err = d.read(func(c content) error {
		next, err = c.of(name).scan(from, count, visit)
		return err
	})
	return next, err
}

// dropKeys deletes keys, which are in their order, in one transaction.
func (f *File) dropKeys(d *disk, name []byte, keys [][]byte) error {
	return d.write(func(tx *bbolt.Tx, before content) error {
		b := changer{to: tx.Bucket(name), before: before.of(name)}
		for _, k := range keys {
			if err := b.drop(k); err != nil {
				return err
			}
		}
		return nil
	})
}
