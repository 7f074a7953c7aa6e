package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// What is in the file. The format stands in a bucket of its own, so that a
// bbolt file of another program is told from heed's.
var (
	bucketFormat  = []byte("heed")
	bucketRecords = []byte("records")
	bucketBodies  = []byte("bodies")

	keyFormat = []byte("format")
	format    = []byte("1")
)

// ErrInUse is what opening fails with while another process has the file.
var ErrInUse = errors.New("another process has it open")

// errNoFile is of a path where something else than a file is.
var errNoFile = errors.New("it is not a regular file; name another with cache.file, or write off there")

// damage is what makes a file one that heed does not use.
type damage struct {
	why   string
	fault bool // it showed when the file was used
}

func (d *damage) Error() string { return d.why }

// disk is one file that is open.
type disk struct {
	db     *bbolt.DB
	file   *os.File // bbolt's own
	broken atomic.Bool
}

// openDisk opens the file at path, which must be whole. Where there is none the
// error is fs.ErrNotExist; where it is not heed's, or damaged, a *damage; where
// another process has it, ErrInUse once patience is over.
func openDisk(path string, readOnly bool, patience time.Duration) (*disk, error) {
	if err := checkRegular(path); err != nil {
		return nil, err
	}
	// bbolt maps the list of free pages when it opens a file for writing. To
	// check it before, under the lock, the file is opened for reading first.
	d, err := mapFile(path, true, patience)
	if err != nil {
		return nil, err
	}
	err = d.check()
	if readOnly && err == nil {
		return d, nil
	}
	if closed := d.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return mapFile(path, false, patience)
}

func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", path, errNoFile)
	}
	if info.Size() == 0 {
		return &damage{why: "it is empty"}
	}
	return nil
}

// mapFile lets bbolt open a file that exists.
func mapFile(path string, readOnly bool, patience time.Duration) (*disk, error) {
	d := &disk{}
	err := guarded(func() (err error) {
		d.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: patience, ReadOnly: readOnly, FreelistType: bbolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode fs.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
				d.file = f
				return f, err
			},
		})
		return err
	})
	var damaged *damage
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, bbolt.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	case errors.As(err, &damaged):
		_ = d.file.Close() // bbolt did not get as far
		return nil, err
	case errors.Is(err, bbolt.ErrInvalid), errors.Is(err, bbolt.ErrVersionMismatch), errors.Is(err, bbolt.ErrChecksum):
		return nil, &damage{why: "it is not a file that heed wrote, or its beginning is damaged"}
	}
	return nil, err
}

// check looks whether the file is whole and heed's.
func (d *disk) check() error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if err := checkPages(d.file, info.Size()); err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			return err // of the disk, not of what is on it
		}
		return &damage{why: err.Error()}
	}
	return d.view(func(tx *bbolt.Tx) error {
		own := tx.Bucket(bucketFormat)
		if own == nil {
			return &damage{why: "another program wrote it"}
		}
		if found := own.Get(keyFormat); string(found) != string(format) {
			return &damage{why: fmt.Sprintf("it has the format %.20q, and this heed knows %q alone", found, format)}
		}
		if tx.Bucket(bucketRecords) == nil || tx.Bucket(bucketBodies) == nil {
			return &damage{why: "it lacks a part"}
		}
		return nil
	})
}

// makeDisk makes a file at path where there is none. It is whole from its first
// moment: a start that is cut short leaves none, and of two processes the
// second finds the first's.
func makeDisk(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has the other name by then
	if err := f.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(f.Name(), 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		own, err := tx.CreateBucket(bucketFormat)
		if err == nil {
			err = own.Put(keyFormat, format)
		}
		for _, name := range [][]byte{bucketRecords, bucketBodies} {
			if err == nil {
				_, err = tx.CreateBucket(name)
			}
		}
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return placeNew(f.Name(), path)
}

// placeNew gives a file a second name that nothing has yet; that something has
// it is no error. Where there are no links it gets that name instead of its own.
func placeNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if _, taken := os.Lstat(to); taken == nil {
		return nil
	}
	return os.Rename(from, to)
}

// view reads. What it hands out is valid until f returns, which must be soon:
// the file cannot grow before.
func (d *disk) view(f func(*bbolt.Tx) error) error { return d.do(func() error { return d.db.View(f) }) }

// update writes. For one goroutine at a time.
func (d *disk) update(f func(*bbolt.Tx) error) error {
	return d.do(func() error { return d.db.Update(f) })
}

// do calls bbolt, but for a file that has shown damage.
func (d *disk) do(call func() error) error {
	if d.broken.Load() {
		return &damage{why: "it is damaged", fault: true}
	}
	err := guarded(call)
	if faulted(err) {
		d.broken.Store(true)
	}
	return err
}

// guarded calls f, which reads a file that is mapped into memory. A panic, and
// a fault in memory where a page is not there any more, are damage.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &damage{why: fmt.Sprintf("reading it failed: %v", v), fault: true}
		}
	}()
	return f()
}

// faulted reports whether an error is of a file that failed in use.
func faulted(err error) bool {
	var d *damage
	return errors.As(err, &d) && d.fault
}

// close ends the use of the file. Of one that has shown damage bbolt's locks
// may be held for ever, and its memory in use: the file alone is closed.
func (d *disk) close() error {
	if d.broken.Load() {
		return d.file.Close()
	}
	return guarded(d.db.Close)
}

// octets returns the size of the file.
func (d *disk) octets() int64 {
	if info, err := d.file.Stat(); err == nil {
		return info.Size()
	}
	return 0
}
