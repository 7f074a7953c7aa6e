// Package binary makes the heed that is measured.
package binary

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build makes the binary of a tree, as `make build` does, by a compiler that run
// runs and whose words it returns. The caller removes it in the end.
func Build(ctx context.Context, tree string, run func(*exec.Cmd) ([]byte, error)) (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "heed-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	binary = filepath.Join(dir, "heed")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, ".")
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOMAXPROCS=") //nolint:forbidigo // programs of their own: the compiler's environment is theirs
	if said, err := run(cmd); err != nil {
		remove()
		return "", nil, fmt.Errorf("building heed: %w\n%s", err, said)
	}
	return binary, remove, nil
}
