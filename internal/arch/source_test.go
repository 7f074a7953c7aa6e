package arch

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path before every package of heed.
const module = "heed"

// source is one parsed Go file.
type source struct {
	path   string // from the top of the tree, with slashes: "proxy/deny.go"
	folder string // of path; "." at the top
	test   bool
	syntax *ast.File
	lines  *token.FileSet
}

// parse reads the text of one file.
func parse(file string, text []byte) (source, error) {
	lines := token.NewFileSet()
	syntax, err := parser.ParseFile(lines, file, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{
		path:   file,
		folder: path.Dir(file),
		test:   strings.HasSuffix(file, "_test.go"),
		syntax: syntax,
		lines:  lines,
	}, err
}

// at returns where something stands, as editors read it: "proxy/deny.go:12".
func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.lines.Position(n.Pos()).Line)
}

// imports returns the paths that the file imports, with where it does.
func (s source) imports() map[string]ast.Node {
	all := map[string]ast.Node{}
	for _, spec := range s.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			all[p] = spec
		}
	}
	return all
}

// nameOf returns the name under which the file knows an imported package, ""
// if it does not import it.
func (s source) nameOf(importPath string) string {
	for _, spec := range s.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// root returns the top of the tree.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("this test runs in internal/arch of heed's tree: %v", err)
	}
	return dir
}

// walk calls visit for every file of the tree, but for what is hidden, what npm
// installed and what tests read as data.
func walk(t *testing.T, visit func(file string) error) {
	t.Helper()
	top := root(t)
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone while we looked
			}
			return err
		}
		if d.IsDir() {
			base := d.Name()
			if name != top && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		file, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(file))
	})
	if err != nil {
		t.Fatalf("reading the tree: %v", err)
	}
}

// sources returns every Go file of the module, in the order of their paths.
// Modules of their own (tools, bench) are not heed's.
func sources(t *testing.T) []source {
	t.Helper()
	top := root(t)
	var all []source
	var others []string
	walk(t, func(file string) error {
		switch {
		case path.Base(file) == "go.mod" && file != "go.mod":
			others = append(others, path.Dir(file)+"/")
		case strings.HasSuffix(file, ".go"):
			text, err := os.ReadFile(filepath.Join(top, file))
			if err != nil {
				return err
			}
			s, err := parse(file, text)
			if err != nil {
				return fmt.Errorf("parsing: %w", err)
			}
			all = append(all, s)
		}
		return nil
	})
	all = slices.DeleteFunc(all, func(s source) bool {
		return slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(s.path, dir) })
	})
	slices.SortFunc(all, func(a, b source) int { return cmp.Compare(a.path, b.path) })
	return all
}

// report fails the test once for each fault.
func report(t *testing.T, faults []string) {
	t.Helper()
	slices.Sort(faults)
	for _, fault := range slices.Compact(faults) {
		t.Error(fault)
	}
}
