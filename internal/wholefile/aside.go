package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// SetAside gives a file that heed does not use a name of its own: its old one,
// .damaged- and the time. It never takes a name that something has. was is the
// file that was found damaged; where another stands in its place by now,
// nothing is done.
func SetAside(path string, was fs.FileInfo, now time.Time) (string, error) {
	if is, err := os.Lstat(path); err != nil || was != nil && is.Mode().IsRegular() && !os.SameFile(is, was) {
		return "", err
	}
	name := path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	for n := 2; ; n++ {
		err := rename(path, name)
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return name, err
		}
		name = fmt.Sprintf("%s.damaged-%s-%d", path, now.UTC().Format("20060102T150405Z"), n)
	}
}

// rename gives a file another name that nothing has.
func rename(from, to string) error {
	switch err := os.Link(from, to); {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// There are no links here. What is between the look and the step can only
	// be another heed that sets the same file aside.
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}
