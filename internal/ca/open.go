package ca

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxFile bounds what is read of either file: thirty times what they hold.
const maxFile = 64 << 10

// Open loads the CA of dir, and makes it first where there is none: the
// directory with mode 0700, the files as the package comment says. It may be
// called at once by any number of goroutines and processes; all get the same
// CA. An error names the path at fault and what to do about it.
func Open(dir string) (*CA, error) {
	c, err := Load(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := create(dir, time.Now()); err != nil {
		return nil, fmt.Errorf("making the CA: %w", err)
	}
	return Load(dir)
}

// Load loads the CA of dir and makes nothing. When there is none, or the
// first start was cut short before its certificate was there,
// errors.Is(err, fs.ErrNotExist) holds, and it holds for no other fault.
func Load(dir string) (*CA, error) {
	if err := checkDir(dir); err != nil {
		return nil, fmt.Errorf("loading the CA: %w", err)
	}
	// The certificate comes first: it is put in place last, so once it is
	// there its key must be there too.
	certPath, keyPath := filepath.Join(dir, certName), filepath.Join(dir, keyName)
	certPEM, err := readFile(certPath, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("loading the CA: %s: %w: the first start of heed makes it", certPath, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the CA: %w", err)
	}
	keyPEM, err := readFile(keyPath, checkKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("loading the CA: %s is missing, the key of %s: restore it, or remove the certificate to make a new CA that every client must trust anew", keyPath, certPath)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the CA: %w", err)
	}
	c, err := pair(dir, certPEM, keyPEM, time.Now())
	if err != nil {
		return nil, fmt.Errorf("loading the CA: %w", err)
	}
	return c, nil
}

// checkDir refuses a directory in which others could swap the files. Others
// may look into it: the key has a mode of its own.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return readRemedy(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: name another state directory (--state-dir)", dir)
	}
	return checkDirMode(dir, info)
}

// readFile reads a regular file of at most maxFile octets. check, when not
// nil, judges the opened file itself, so that nothing can be swapped between
// the look and the reading.
func readFile(path string, check func(path string, info fs.FileInfo, uid int) error) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, readRemedy(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: move it away and start again", path)
	}
	if check != nil {
		if err := check(path, info, os.Geteuid()); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d octets, which no certificate or key is: %s", path, maxFile, renew)
	}
	return data, nil
}

// readRemedy adds to a refusal by the operating system what to do about it.
func readRemedy(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run heed as the user who owns it, or name another state directory (--state-dir)", err)
	}
	return err
}
