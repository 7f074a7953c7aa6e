//go:build unix

package ca

import (
	"fmt"
	"io/fs"
	"syscall"
)

// checkKeyFile refuses a key that anyone but uid, who runs heed, could have
// read or written.
func checkKeyFile(path string, info fs.FileInfo, uid int) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o, so others than its owner may have read the CA's key: run \"chmod 600 %s\", or, if they may have, remove %s and %s to make a new CA",
			path, mode, path, certName, keyName)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner cannot be told: name another state directory (--state-dir)", path)
	}
	if owner := int(stat.Uid); owner != uid {
		return fmt.Errorf("%s belongs to user %d and heed runs as user %d: run heed as user %d, or name another state directory (--state-dir)",
			path, owner, uid, owner)
	}
	return nil
}

func checkDirMode(dir string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s has mode %04o, so others than its owner could replace the CA: run \"chmod 700 %s\"", dir, mode, dir)
	}
	return nil
}
