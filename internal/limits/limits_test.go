package limits

import (
	"math"
	"os"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// files are those of a machine, by their paths.
func files(m map[string]string) fstest.MapFS {
	fs := fstest.MapFS{}
	for name, content := range m {
		fs[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fs
}

func TestLimitOfACgroup(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		why   string
		files map[string]string
		limit int64
		from  string
	}{
		{"nothing is there", nil, 0, ""},
		{"version 2, in a container", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 * mib, "/sys/fs/cgroup/memory.max"},
		{"version 2, a unit of systemd", map[string]string{
			"proc/self/cgroup": "0::/system.slice/heed.service\n",
			"sys/fs/cgroup/system.slice/heed.service/memory.max": "268435456\n",
			"sys/fs/cgroup/system.slice/memory.max":              "max\n",
		}, 256 * mib, "/sys/fs/cgroup/system.slice/heed.service/memory.max"},
		{"the group above has less", map[string]string{
			"proc/self/cgroup":             "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "1073741824\n",
			"sys/fs/cgroup/a/memory.max":   "134217728\n",
		}, 128 * mib, "/sys/fs/cgroup/a/memory.max"},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0, ""},
		{"version 1", map[string]string{
			"proc/self/cgroup": "12:cpu,cpuacct:/x\n9:memory:/docker/abc\n1:name=systemd:/\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "268435456\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
		}, 256 * mib, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes"},
		{"version 1, in a container that sees its own at the top", map[string]string{
			"proc/self/cgroup": "9:memory:/docker/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
		}, 256 * mib, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		{"both, of which one has the memory", map[string]string{
			"proc/self/cgroup": "9:memory:/x\n0::/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "134217728\n",
		}, 128 * mib, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes"},
		{"rubbish", map[string]string{"proc/self/cgroup": "::::\n\n0::/../..\n", "sys/fs/cgroup/memory.max": "-1\n"}, 0, ""},
		{"rubbish in the limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "lots\n"}, 0, ""},
	} {
		if limit, from := cgroup(files(tt.files)); limit != tt.limit || from != tt.from {
			t.Errorf("%s: %d from %q, want %d from %q", tt.why, limit, from, tt.limit, tt.from)
		}
	}
}

func TestSetMemoryLeavesTheUsersOwn(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	small := files(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000000\n"})

	debug.SetMemoryLimit(math.MaxInt64) // GOMEMLIMIT=off
	if m := SetMemory(small, true); m != (Memory{0, "GOMEMLIMIT"}) || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("off became %+v", m)
	}
	debug.SetMemoryLimit(1 << 30)
	if m := SetMemory(small, true); m != (Memory{1 << 30, "GOMEMLIMIT"}) || debug.SetMemoryLimit(-1) != 1<<30 {
		t.Errorf("1 GiB became %+v", m)
	}
	if m := SetMemory(small, false); m != (Memory{900_000_000, "/sys/fs/cgroup/memory.max"}) || debug.SetMemoryLimit(-1) != 900_000_000 {
		t.Errorf("the cgroup's became %+v", m)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if m := SetMemory(files(nil), false); m != (Memory{}) || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("none became %+v", m)
	}
}

func TestThisMachineIsRead(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	if m := SetMemory(os.DirFS("/"), false); m.Limit < 0 || (m.Limit == 0) != (m.From == "") {
		t.Errorf("%+v", m)
	}
	if n := Descriptors(); n < 0 {
		t.Errorf("%d descriptors", n)
	}
}
