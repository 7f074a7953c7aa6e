package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
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
type damage struct{ why string }

func (d *damage) Error() string { return d.why }

func isDamage(err error) bool {
	var d *damage
	return errors.As(err, &d)
}

// disk is one file that is open.
//
// bbolt never writes to a page that its last transaction can see, nor to one
// that the transaction before could see. So who reads needs no lock but this:
// no more than one transaction may end before it is done.
type disk struct {
	db     *bbolt.DB
	file   *os.File // bbolt's own
	broken atomic.Bool
	reads  sync.RWMutex // held shared while reading; taken for a moment before each transaction
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
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	case isDamage(err):
		_ = d.file.Close() // bbolt did not get as far
		return nil, err
	}
	var ofSystem syscall.Errno
	if errors.As(err, &ofSystem) {
		return nil, err
	}
	return nil, errBeginning
}

// check looks whether the file is heed's, as long as it should be, and sound
// where all reading and writing begins.
func (d *disk) check() error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	m, err := readMeta(d.file)
	if err != nil {
		return err
	}
	if uint64(info.Size())/m.pageSize < m.pages {
		return &damage{why: fmt.Sprintf("it is cut short: %d octets of %d", info.Size(), m.pages*m.pageSize)}
	}
	own, err := readBucket(d.file, m, bucketFormat)
	if err != nil {
		return err
	}
	if own == nil {
		return &damage{why: "another program wrote it"}
	}
	found, err := own.get(keyFormat)
	if err != nil {
		return err
	}
	if string(found) != string(format) {
		return &damage{why: fmt.Sprintf("it has the format %.20q, and this heed knows %q alone", found, format)}
	}
	for _, name := range [][]byte{bucketRecords, bucketBodies} {
		b, err := readBucket(d.file, m, name)
		if err == nil && b == nil {
			err = &damage{why: "it lacks a part"}
		}
		if err == nil {
			_, _, err = b.leaf(nil)
		}
		if err != nil {
			return err
		}
	}
	return m.checkFreelist(d.file)
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

// read calls f with what the last transaction left, or the one before. f must
// be done soon: writing waits for it.
func (d *disk) read(f func(content) error) error {
	d.reads.RLock()
	defer d.reads.RUnlock()
	return d.unlessBroken(func() error {
		c, err := d.content()
		if err != nil {
			return err
		}
		return f(c)
	})
}

// content is what is in the file, as some transaction left it.
type content struct{ records, bodies *bucket }

// of returns the bucket of a name.
func (c content) of(name []byte) *bucket {
	if string(name) == string(bucketBodies) {
		return c.bodies
	}
	return c.records
}

func (d *disk) content() (c content, err error) {
	m, err := readMeta(d.file)
	if err == nil {
		c.records, err = readBucket(d.file, m, bucketRecords)
	}
	if err == nil {
		c.bodies, err = readBucket(d.file, m, bucketBodies)
	}
	if err == nil && (c.records == nil || c.bodies == nil) {
		err = &damage{why: "it lacks a part"}
	}
	if err == nil {
		c.records.holds = func(key []byte) bool { return bytes.HasSuffix(key, []byte{nul, partEnd}) }
		c.bodies.holds = func(key []byte) bool { return len(key) == len(sum{}) }
	}
	return c, err
}

// write calls f within a transaction, with what the file held before it. For
// one goroutine.
func (d *disk) write(f func(tx *bbolt.Tx, before content) error) error {
	d.reads.Lock()   // those who read what the last transaction but one left are done
	d.reads.Unlock() //nolint:staticcheck // nothing is guarded: it is waited for
	return d.unlessBroken(func() error {
		c, err := d.content()
		if err != nil {
			return err
		}
		return guarded(func() error {
			return d.db.Update(func(tx *bbolt.Tx) error { return f(tx, c) })
		})
	})
}

// unlessBroken does nothing with a file that has shown damage.
func (d *disk) unlessBroken(do func() error) error {
	if d.broken.Load() {
		return &damage{why: "it is damaged"}
	}
	err := do()
	if isDamage(err) {
		d.broken.Store(true)
	}
	return err
}

// guarded calls bbolt, which maps the file into memory. A panic, and a fault in
// memory where a page is not there any more, are damage.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &damage{why: fmt.Sprintf("using it failed: %v", v)}
		}
	}()
	return f()
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
