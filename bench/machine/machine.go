// Package machine says on what a measurement was made.
package machine

import (
	"os"
	"runtime"
	"strings"
)

// CPU is the processor's model as the system names it, which only Linux tells;
// elsewhere its architecture.
func CPU() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if key, name, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(name)
		}
	}
	return runtime.GOARCH
}
