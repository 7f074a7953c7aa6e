package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// documents returns the text of every Markdown file of the project by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk(t, func(file string) error {
		if path.Ext(file) != ".md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root(t), file))
		all[file] = string(text)
		return err
	})
	return all
}

func document(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What documents say in code spans: `TestName`, `policy/match.go:matchTail`,
// `policy/testdata/spec.jsonl.gz`; and links to files of the tree.
var (
	spans     = regexp.MustCompile("`([^`\n]+)`")
	fences    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	links     = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	testName  = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	codePlace = regexp.MustCompile(`^([\w./-]+\.go):([A-Za-z]\w*(?:\.\w+)?)$`)
	filePath  = regexp.MustCompile(`^(?:\.ci|bench|deploy|docs|e2e|fetch|internal|policy|proxy|tools)/[\w./-]*$|^[\w-]+\.(?:md|mod|sum)$|^(?:main\.go|Makefile|Dockerfile|config\.example\.yaml)$`)
)

func TestDocumentsNameWhatExists(t *testing.T) {
	declared := declarations(sources(t))
	exists := func(file string) bool {
		_, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(file)))
		return err == nil
	}
	for file, text := range documents(t) {
		report(t, checkDocument(file, text, declared, exists))
	}
}

// declared is what Go files declare: by file the functions, methods
// ("Type.method"), types and values, and under "" the names of all tests.
type declared map[string]map[string]bool

func declarations(all []source) declared {
	found := declared{"": {}}
	for _, s := range all {
		names := map[string]bool{}
		found[s.path] = names
		for _, d := range s.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if s.test && d.Recv == nil && testName.MatchString(name) {
					found[""][name] = true
				}
				names[receiver(d)+name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							names[n.Name] = true
						}
					}
				}
			}
		}
	}
	return found
}

// receiver returns the type of a method and a dot, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if index, ok := of.(*ast.IndexExpr); ok {
		of = index.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// checkDocument returns the tests, places in code and files that a document
// names and that are not there.
func checkDocument(file, text string, known declared, exists func(string) bool) (faults []string) {
	text = fences.ReplaceAllString(text, "")
	for _, m := range spans.FindAllStringSubmatch(text, -1) {
		name := m[1]
		place := codePlace.FindStringSubmatch(name)
		switch {
		case testName.MatchString(name):
			if !known[""][name] {
				faults = append(faults, fmt.Sprintf("%s names the test %s, which is nowhere", file, name))
			}
		case place != nil:
			if names := known[place[1]]; names == nil {
				faults = append(faults, fmt.Sprintf("%s names %s, which is no Go file of the tree", file, place[1]))
			} else if !names[place[2]] {
				faults = append(faults, fmt.Sprintf("%s names %s, and %s declares no such thing", file, name, place[1]))
			}
		case filePath.MatchString(name) && !exists(name):
			faults = append(faults, fmt.Sprintf("%s names the file %s, which does not exist", file, name))
		}
	}
	for _, m := range links.FindAllStringSubmatch(text, -1) {
		if target := m[1]; !strings.Contains(target, ":") && !exists(path.Join(path.Dir(file), target)) {
			faults = append(faults, fmt.Sprintf("%s links to %s, which does not exist", file, path.Join(path.Dir(file), target)))
		}
	}
	return faults
}

// A row of a requirement that names no test would pass every check above.
func TestEveryRequirementNamesATest(t *testing.T) {
	const file = "docs/rfc9309.md"
	rows, faults := checkRequirements(document(t, file))
	if rows < 40 {
		t.Errorf("%s has %d requirements: the tables cannot be read", file, rows)
	}
	report(t, faults)
}

// checkRequirements counts the rows of the tables that have a column of tests,
// and returns those whose cell names none.
func checkRequirements(text string) (rows int, faults []string) {
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case strings.HasSuffix(line, "| tests |"):
			inTable = strings.Contains(line, "strength")
		case inTable && !strings.HasPrefix(line, "| ---"):
			rows++
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			if last := cells[len(cells)-1]; !strings.Contains(last, "`Test") && !strings.Contains(last, "`Fuzz") {
				faults = append(faults, "docs/rfc9309.md: a requirement names no test: "+line)
			}
		}
	}
	return rows, faults
}

func TestOperationsExplainsEveryMetric(t *testing.T) {
	var names []string
	for _, s := range sources(t) {
		if s.folder == "internal/metrics" && !s.test {
			names = append(names, metricNames(s)...)
		}
	}
	if len(names) < 10 {
		t.Fatalf("%d metrics were found in internal/metrics, %q: this test does not know how they are declared", len(names), names)
	}
	report(t, checkRows("docs/operations.md", document(t, "docs/operations.md"), "metric", names))
}

// snake is what the name of a metric looks like.
var snake = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// metricNames returns the names of the metrics that a file of internal/metrics
// declares: the first argument of its helpers, which put the prefix before it,
// and whole names in options.
func metricNames(s source) (names []string) {
	const prefix = "heed_"
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if _, helper := n.Fun.(*ast.Ident); helper && len(n.Args) > 1 {
				if name := literal(n.Args[0]); snake.MatchString(name) {
					names = append(names, prefix+name)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Name" {
				if name := literal(n.Value); strings.HasPrefix(name, prefix) && name != prefix {
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}

// literal returns the value of a string literal, "" for any other expression.
func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(l.Value)
	if err != nil {
		return ""
	}
	return text
}

func TestOperationsExplainsEveryLogField(t *testing.T) {
	all := sources(t)
	i := slices.IndexFunc(all, func(s source) bool { return s.path == "internal/audit/log.go" })
	if i < 0 {
		t.Fatal("internal/audit/log.go is not there: where is the canonical line written?")
	}
	names := logFields(all[i])
	if len(names) < 10 {
		t.Fatalf("%d fields were found in internal/audit/log.go, %q: this test does not know how they are written", len(names), names)
	}
	names = append(names, "level", "message")
	report(t, checkRows("docs/operations.md", document(t, "docs/operations.md"), "log field", names))
}

// fieldName is how a field is written: its name, in quotes and before a colon, at
// the end of a literal.
var fieldName = regexp.MustCompile(`"([a-z_]+)":$`)

// logFields returns the names of the fields that a file writes.
func logFields(s source) (names []string) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok {
			if found := fieldName.FindStringSubmatch(literal(l)); found != nil {
				names = append(names, found[1])
			}
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// checkRows compares names that the code has with the first cells of the rows
// of a table, each a name in a code span, under the heading that says what they
// are: "| metric | …".
func checkRows(file, text, what string, names []string) (faults []string) {
	rows := map[string]bool{}
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "| "+what+" |"):
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable:
			if m := regexp.MustCompile("^\\| `([^`]+)` \\|").FindStringSubmatch(line); m != nil {
				rows[m[1]] = true
			}
		}
	}
	for _, name := range names {
		if !rows[name] {
			faults = append(faults, fmt.Sprintf("%s has no row for the %s %s", file, what, name))
		}
	}
	for name := range rows {
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Sprintf("%s has a row for the %s %s, which the code does not have", file, what, name))
		}
	}
	return faults
}

func TestOperationsExplainsEveryReason(t *testing.T) {
	var names []string
	for _, s := range sources(t) {
		if s.folder == "proxy" && !s.test {
			names = append(names, reasons(s)...)
		}
	}
	if len(names) < 10 {
		t.Fatalf("%d reasons were found in proxy, %q: this test does not know how they are declared", len(names), names)
	}
	report(t, checkRows("docs/operations.md", document(t, "docs/operations.md"), "reason", names))
}

// reasons returns the names of the kinds of problem that a file of proxy
// declares: kind{"disallowed", 403, …}.
func reasons(s source) (names []string) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		c, ok := n.(*ast.CompositeLit)
		if !ok || len(c.Elts) < 2 {
			return true
		}
		if of, ok := c.Type.(*ast.Ident); ok && of.Name == "kind" {
			if name := literal(c.Elts[0]); name != "" {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}
