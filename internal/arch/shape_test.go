package arch

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasOnePackageComment(t *testing.T) {
	report(t, checkComments(sources(t)))
}

// checkComments returns the packages that have no manual, or more than one: go
// doc would run them together in the order of file names.
func checkComments(all []source) (faults []string) {
	manuals := map[string][]string{}
	for _, s := range all {
		found := manuals[s.folder]
		if s.syntax.Doc != nil && !s.test {
			found = append(found, s.path)
			if text := s.syntax.Doc.Text(); !strings.HasPrefix(text, "Package "+s.syntax.Name.Name+" ") && !strings.HasPrefix(text, "Command ") {
				faults = append(faults, fmt.Sprintf("%s: the package comment begins neither with \"Package %s\" nor, for a program, with \"Command\"", s.path, s.syntax.Name.Name))
			}
		}
		manuals[s.folder] = found
	}
	for _, folder := range slices.Sorted(maps.Keys(manuals)) {
		switch files := manuals[folder]; len(files) {
		case 0:
			faults = append(faults, fmt.Sprintf("package %s has no package comment: it is the package's manual", folder))
		case 1:
		default:
			faults = append(faults, fmt.Sprintf("package %s has %d package comments (%s): one is its manual", folder, len(files), strings.Join(files, ", ")))
		}
	}
	return faults
}

func TestOnlyMainGoStandsAtTheTop(t *testing.T) {
	report(t, checkTop(sources(t)))
}

func checkTop(all []source) (faults []string) {
	for _, s := range all {
		if s.folder == "." && s.path != "main.go" {
			faults = append(faults, s.path+": only main.go stands at the top of the tree; code belongs in a package")
		}
	}
	return faults
}

func TestGoModReplacesNothing(t *testing.T) {
	top, count := root(t), 0
	walk(t, func(file string) error {
		if path.Base(file) != "go.mod" {
			return nil
		}
		count++
		text, err := os.ReadFile(filepath.Join(top, file))
		if err == nil {
			report(t, checkGoMod(file, string(text)))
		}
		return err
	})
	if count == 0 {
		t.Error("no go.mod was found: this test has looked at nothing")
	}
}

var (
	replacement = regexp.MustCompile(`^\s*replace\b`)
	ofOurselves = regexp.MustCompile(`^replace ` + module + ` => ([./]+)\s*$`)
)

// checkGoMod returns the lines of a go.mod that replace a module. A module
// within the tree that uses heed means this tree: it alone may say so, and
// nobody installs it.
func checkGoMod(file, text string) (faults []string) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if m := ofOurselves.FindStringSubmatch(line); m != nil && file != "go.mod" && path.Join(path.Dir(file), m[1]) == "." {
			continue
		}
		if replacement.MatchString(line) {
			faults = append(faults, fmt.Sprintf("%s:%d: replace: what is built must be what go.mod names, here and for whoever runs go install", file, number))
		}
	}
	return faults
}
