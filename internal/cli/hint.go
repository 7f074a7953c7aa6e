package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"heed/internal/store"
)

// hintFor says what to do about an error that comes from the system. Empty if
// there is nothing to add.
func hintFor(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == os.Stdout.Name() {
		return "standard output takes no more; send it elsewhere, or make room"
	}
	switch {
	case errors.Is(err, store.ErrInUse):
		return "stop the heed that has it, or name another file with cache.file; each heed serve needs one of its own"
	case errors.Is(err, syscall.EADDRINUSE):
		return "--listen 127.0.0.1:0 takes a free port, --admin-listen off does without the admin listener"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine does not have that address; listen on 127.0.0.1:3128"
	case errors.Is(err, syscall.EACCES) && strings.Contains(err.Error(), "listen"):
		return "ports below 1024 are the system's; listen on a higher one"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return "name a folder that you can write to with --state-dir or HEED_STATE_DIR, or mend the path"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full; make room, or name another folder with --state-dir"
	}
	return ""
}
