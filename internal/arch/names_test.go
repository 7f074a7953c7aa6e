package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// nameRule keeps names of a package out of files.
type nameRule struct {
	pkg   string
	names []string
	holds func(source) bool // of which files; nil: of all, tests included
	why   string
}

var nameRules = []nameRule{
	{
		pkg:   "os",
		names: []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv"},
		holds: notTheEdge,
		why:   "only internal/cli reads the environment: all else is told by its Config",
	},
	{
		pkg:   "os",
		names: []string{"Exit"},
		holds: notTheEdge,
		why:   "only main.go and internal/cli end the process: all else returns an error",
	},
	{
		pkg:   "syscall",
		names: []string{"Getenv", "Environ", "Setenv", "Exit"},
		holds: notTheEdge,
		why:   "only internal/cli reads the environment, and it ends the process",
	},
	{
		pkg:   "log",
		names: []string{"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
		holds: notTheEdge,
		why:   "only main.go and internal/cli end the process: all else returns an error",
	},
	{
		pkg:   "time",
		names: []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		holds: func(s source) bool { return s.folder == "policy" && !s.test },
		why:   "policy is pure: times are carried, no clock is read",
	},
	{
		pkg: "github.com/elazarl/goproxy",
		names: []string{
			"GoproxyCa", "CA_CERT", "CA_KEY", "TLSConfigFromCA",
			"OkConnect", "MitmConnect", "HTTPMitmConnect", "RejectConnect", "AlwaysMitm", "AlwaysReject",
		},
		why: "the key of goproxy's own CA is public, and the keys of the leaves it makes are predictable",
	},
	{
		pkg:   "github.com/elazarl/goproxy",
		names: []string{"ConnectAccept", "ConnectMitm", "ConnectHTTPMitm"},
		why:   "goproxy's own loops have no timeouts, decide on Host, and end the process by a panic in a hook; heed hijacks and serves itself",
	},
}

// notTheEdge holds for all code but that where the process begins and ends.
// What the end-to-end tests start are programs of their own.
func notTheEdge(s source) bool {
	return !s.test && s.path != "main.go" && s.folder != "internal/cli" && !strings.HasPrefix(s.path, "e2e/")
}

func TestNamesStandWhereTheyBelong(t *testing.T) {
	var faults []string
	for _, s := range sources(t) {
		faults = append(faults, checkNames(s)...)
	}
	report(t, faults)
}

// checkNames returns the uses of names that a file may not use.
func checkNames(s source) (faults []string) {
	for _, rule := range nameRules {
		name := s.nameOf(rule.pkg)
		if name == "" || rule.holds != nil && !rule.holds(s) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && slices.Contains(rule.names, sel.Sel.Name) {
				faults = append(faults, fmt.Sprintf("%s: %s.%s: %s", s.at(sel), rule.pkg, sel.Sel.Name, rule.why))
			}
			return true
		})
	}
	return faults
}
