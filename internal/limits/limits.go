// Package limits is about what this process may use of its machine: memory and
// descriptors.
//
// Go's collector lets the heap double between two collections (GOGC=100) and
// knows nothing of a container's limit, at which the kernel ends the process.
// So heed tells Go: SetMemory. Descriptors need no setting, since Go raises the
// soft limit to the hard one at the start, and gives children the old one back;
// they are looked at, and where there are few heed says so.
package limits

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// share of a cgroup's limit that Go may use, in percent. The rest is for what
// Go does not count: the pages of the cache file, the binary, the kernel's
// buffers of connections.
const share = 90

// Memory is what bounds the memory of this process.
type Memory struct {
	Limit int64  // octets that Go keeps to by collecting more often; 0: none
	From  string // "GOMEMLIMIT", the path of a cgroup's file, or "" where there is no limit
}

// SetMemory sets Go's memory limit to 90 % of the cgroup's, and returns what
// is in force. Where the user has set GOMEMLIMIT, own, that holds as it is, off
// included. The root is that of the file system, os.DirFS("/").
func SetMemory(root fs.FS, own bool) Memory {
	if own {
		limit := debug.SetMemoryLimit(-1)
		if limit == math.MaxInt64 {
			limit = 0
		}
		return Memory{Limit: limit, From: "GOMEMLIMIT"}
	}
	bound, from := cgroup(root)
	if bound == 0 {
		return Memory{}
	}
	m := Memory{Limit: bound / 100 * share, From: from}
	debug.SetMemoryLimit(m.Limit)
	return m
}

// unlimited is where a number stands for none: version 1 has the largest
// multiple of a page for it.
const unlimited = 1 << 60

// cgroup returns the lowest memory limit of this process's cgroup and of those
// above it, of version 2 or 1, and the file that says so. It is 0 where there
// is none, or none that can be read.
func cgroup(root fs.FS) (limit int64, from string) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, ""
	}
	for line := range strings.Lines(string(own)) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case hierarchy == "0" && controllers == "": // version 2
			limit, from = lowest(root, limit, from, "sys/fs/cgroup", group, "memory.max")
		case controllers == "memory":
			limit, from = lowest(root, limit, from, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
		}
	}
	return limit, from
}

// lowest looks at a group and at all above it. A container sees its own at the
// top, whatever its path is outside.
func lowest(root fs.FS, limit int64, from, mount, group, name string) (int64, string) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		file := path.Join(mount, group, name)
		if n, err := read(root, file); err == nil && (limit == 0 || n < limit) {
			limit, from = n, "/"+file
		}
		if group == "/" {
			return limit, from
		}
	}
}

var errNone = errors.New("there is no limit")

func read(root fs.FS, file string) (int64, error) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no number
	if err == nil && (n <= 0 || n >= unlimited) {
		err = errNone
	}
	return n, err
}
