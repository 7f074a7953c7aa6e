package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// built holds the programs that the tests start; TestMain makes them.
var built struct {
	heed     string
	goClient string
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "heed-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)

	built.heed = filepath.Join(dir, "heed")
	built.goClient = filepath.Join(dir, "goclient")
	race, cgo := []string{}, "CGO_ENABLED=0"
	if os.Getenv("HEED_E2E_RACE") == "1" {
		race, cgo = []string{"-race"}, "CGO_ENABLED=1"
	}
	for _, b := range []struct {
		output, pkg string
		flags       []string
		env         string
	}{
		{built.heed, "heed", race, cgo},
		{built.goClient, "heed/e2e/clients/goclient", nil, "CGO_ENABLED=0"},
	} {
		args := slices.Concat([]string{"build", "-trimpath", "-o", b.output}, b.flags, []string{b.pkg})
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), b.env)
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go %v: %v\n%s", args, err, out)
			return 1
		}
	}
	code := m.Run()
	printTable(os.Stdout)
	return code
}

// inCI is whether what is missing on this machine is a failure.
func inCI() bool { return os.Getenv("CI") == "true" }
