package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// after puts the URLs behind options.
func after(options ...string) func(urls ...string) []string {
	return func(urls ...string) []string {
		return append(options[:len(options):len(options)], urls...)
	}
}

// onPath finds a command, and others that its test needs.
func onPath(name string, others ...string) func() ([]string, error) {
	return func() ([]string, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		for _, other := range others {
			if _, err := exec.LookPath(other); err != nil {
				return nil, err
			}
		}
		return []string{path}, nil
	}
}

// python finds an interpreter that can import the module: Debian's own, whose
// packages make deps installs, before another that comes first on PATH.
func python(module, script string) func() ([]string, error) {
	return func() ([]string, error) {
		for _, name := range []string{"/usr/bin/python3", "python3"} {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			if exec.Command(path, "-c", "import "+module).Run() == nil {
				return []string{path, clientFile(script)}, nil
			}
		}
		return nil, fmt.Errorf("no python3 here can import %s", module)
	}
}

// node finds the first Node release line whose http, https and fetch know the
// proxy variables, on PATH or in e2e/node, and the packages that a script needs.
func node(script string, packages ...string) func() ([]string, error) {
	return func() ([]string, error) {
		for _, p := range packages {
			if _, err := os.Stat(filepath.Join("node", "node_modules", p, "package.json")); err != nil {
				return nil, fmt.Errorf("npm package %s is not in e2e/node/node_modules", p)
			}
		}
		arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
		if arch == "" {
			arch = runtime.GOARCH
		}
		found := "no node here"
		for _, name := range []string{"node", filepath.Join("node", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")} {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			version, err := exec.Command(path, "--version").Output()
			if err != nil {
				continue
			}
			if knowsProxies(string(version)) {
				path, err = filepath.Abs(path)
				return []string{path, clientFile(script)}, err
			}
			found = "node " + strings.TrimSpace(string(version)) + " goes past every proxy; 22.21 and 24.5 are the first that do not"
		}
		return nil, errors.New(found)
	}
}

func knowsProxies(version string) bool {
	m := regexp.MustCompile(`^v(\d+)\.(\d+)\.`).FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1]) // digits by the pattern
	minor, _ := strconv.Atoi(m[2]) // digits by the pattern
	return major > 24 || major == 24 && minor >= 5 || major == 22 && minor >= 21
}

func rscript() ([]string, error) {
	path, err := exec.LookPath("Rscript")
	if err != nil {
		return nil, err
	}
	if err := exec.Command(path, "-e", "library(httr)").Run(); err != nil {
		return nil, errors.New("Rscript cannot load httr")
	}
	return []string{path, clientFile("httr.R")}, nil
}

func java(first ...string) func() ([]string, error) {
	return func() ([]string, error) {
		for _, name := range []string{"javac", "keytool"} { // the program is one source file
			if _, err := exec.LookPath(name); err != nil {
				return nil, err
			}
		}
		path, err := exec.LookPath("java")
		if err != nil {
			return nil, err
		}
		return append([]string{path, clientFile("Client.java")}, first...), nil
	}
}

func clientFile(name string) string {
	path, err := filepath.Abs(filepath.Join("clients", name))
	if err != nil {
		panic(err) // the working directory is gone
	}
	return path
}

// versionOf is the version a client gives of itself, "?" where it gives none.
func versionOf(c client, program []string) string {
	var out []byte
	switch {
	case c.version != nil:
		out, _ = exec.Command(program[0], append(program[1:len(program):len(program)], c.version...)...).CombinedOutput()
	case strings.HasPrefix(c.name, "Node"):
		out, _ = exec.Command(program[0], "--version").CombinedOutput()
	case strings.HasPrefix(c.name, "Java"):
		out, _ = exec.Command(program[0], "-version").CombinedOutput()
	case c.name == "Go":
		out = []byte(runtime.Version())
	}
	if v := regexp.MustCompile(`\d+(\.\d+)+`).Find(out); v != nil {
		return string(v)
	}
	return "?"
}
