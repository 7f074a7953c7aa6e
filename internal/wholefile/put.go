// Package wholefile writes small files that must be whole or not there, and
// gives those that heed cannot use a name of their own.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put writes data to a new file beside path, forces it to the disk and then
// moves it to path by place: os.Rename takes the place of what is there, LinkNew
// does not. A reader sees the whole file or none, after a crash too. Of calls for
// one path at a time each writes a file of its own.
func Put(path string, data []byte, mode fs.FileMode, place func(from, to string) error) (err error) {
	dir := filepath.Dir(path)
	// CreateTemp opens with O_EXCL and 0600: nobody else holds the file.
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // after a rename there is nothing to remove
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := place(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// LinkNew places a file only where there is none. That another process was
// first is no error: its file is as good.
func LinkNew(from, to string) error {
	if err := os.Link(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w (the file system must allow hard links)", err)
	}
	return nil
}
